"""Value classes as a goal: boundaries of lengths and numbers, each number of digits, each range of characters."""

from __future__ import annotations

import json

import pytest
from guided import campaign, guidance

import palaver
from palaver.campaign.events import MessageSent
from palaver.campaign.run import Budget, Until
from palaver.grammar.symbol_languages import Languages
from palaver.navigation.value_classes import classes_of
from palaver.random_source import RandomSource
from palaver.session.findings import SessionMessage, Verdict

PUT = """
<start> ::= <exchange>*
<exchange> ::= <Client:put> <Server:ok>
<put> ::= "PUT " <key> " " <len> "\\n" <body>
<key> ::= r"[a-z][a-z0-9]{0,15}"
<len> ::= r"[0-9]{1,3}"
<body> ::= r"[ -~]*"
<ok> ::= "OK\\n"
where forall <p> in <put>: int(<p>.<len>) == len(str(<p>.<body>))
"""

# The length has seven bits in each byte, and the highest bit tells that another one follows, as in MQTT.
FRAMES = """
<start> ::= <exchange>*
<exchange> ::= <Client:frame> <Server:ok>
<frame> ::= b"\\x30" <size> <payload>
<size> ::= <byte>{2}
<payload> ::= <byte>*
<ok> ::= b"\\x40"
where forall <f> in <frame>: int.from_bytes(bytes(<f>.<size>), "big") == len(bytes(<f>.<payload>))
"""


def classes(rule: str, *, binary: bool = False) -> list[str]:
    spec = guidance(f"<start> ::= <Client:m>\n<m> ::= <f>\n<f> ::= {rule}\n").spec
    language = Languages(spec.grammar.rules, binary=binary).of("<f>")
    assert language is not None
    return [str(each).removeprefix("<f> in <m>: ") for each in classes_of("<m>", "<f>", language)]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('r"[a-z]{2,9}"', ["length 2", "length 9", "characters 'a' to 'z'"]),
        ('r"[a-z]*"', [*(f"length {n}" for n in (0, 1, 127, 128, 255, 256, 65535)), "characters 'a' to 'z'"]),
        ('r"(ab){1,3}"', ["length 2", "length 6", "characters 'a' to 'a'", "characters 'b' to 'b'"]),
        ('r"[0-9]{2}"', [f"number {n}" for n in (0, 1, 98, 99)]),
        ('r"[1-9][0-9]?"', ["length 1", "length 2", *(f"number {n}" for n in (1, 98, 99))]),
    ],
)
def test_the_classes_of_a_field_are_its_boundaries_and_its_characters(rule: str, expected: list[str]) -> None:
    assert classes(rule) == expected


def test_a_field_of_few_bytes_is_a_number() -> None:
    assert classes("<byte>{2}", binary=True) == [f"number {n}" for n in (0, 1, 127, 128, 255, 256, 65534, 65535)]


@pytest.mark.parametrize("rule", ['r"[a-z]{2,9}"', 'r"[a-z]*"', 'r"(ab){1,3}"', 'r"[0-9]{2}"', 'r"[1-9][0-9]?"'])
def test_a_word_that_is_drawn_for_a_class_is_in_it(rule: str) -> None:
    spec = guidance(f"<start> ::= <Client:m>\n<m> ::= <f>\n<f> ::= {rule}\n").spec
    language = Languages(spec.grammar.rules, binary=False).of("<f>")
    assert language is not None
    for each in classes_of("<m>", "<f>", language):
        word = each.draw(language, RandomSource(1))
        assert word is not None
        assert each.has(word)
        assert language.accepts(word)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_classes_are_covered_through_equations_and_what_cannot_be_is_told(seed: int) -> None:
    run = campaign(PUT, seed, Budget(Until.PLATEAU, None), covers_values=True)
    assert run.run().verdict is Verdict.PASS
    values = run.guidance.value_classes
    assert values is not None
    assert run.guidance.missing_values() == ["<body> in <put>: length 65535 (tried 3 times)"]
    assert (values.reached, values.total) == (22, 23)


def test_a_length_of_two_bytes_is_reached_by_a_longer_payload() -> None:
    run = campaign(FRAMES, 1, Budget(Until.PLATEAU, None), covers_values=True)
    assert run.run().verdict is Verdict.PASS
    missing = run.guidance.missing_values()
    assert not [each for each in missing if each.startswith("<size> in <frame>: number 25")]


COUNTED = """
<start> ::= <exchange>{1,4}
<exchange> ::= <Client:put> <Server:ok>
<put> ::= "put " <key> <text> ";" <text> "\\n"
<key> ::= r"[a-z]{2}"
<text> ::= <size> ":" <char>{int(<size>)}
<size> ::= r"0|[1-9][0-9]?"
<char> ::= r"[a-z]"
<ok> ::= "OK\\n"
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_messages_with_a_wanted_count_have_as_many_parts(seed: int) -> None:
    run = campaign(COUNTED, seed, Budget(Until.PLATEAU, None), covers_values=True)
    said: list[SessionMessage] = []
    run.attach(lambda event: said.append(event.message) if isinstance(event, MessageSent) else None).run()
    spec = palaver.loads(COUNTED)
    assert [each.data for each in said if spec.read_as(each.symbol, each.data) is None] == []
    assert run.guidance.missing_values() == []
    assert run.verdict is Verdict.PASS


def test_what_another_run_has_covered_is_left_out() -> None:
    first = campaign(PUT, 1, Budget(Until.PLATEAU, None), covers_values=True)
    first.run()
    data = json.loads(json.dumps(first.guidance.as_data()))
    again = guidance(PUT, covers_values=True)
    again.resume_from(data)
    assert again.value_classes is not None
    assert [str(each) for each in again.value_classes.missing()] == ["<body> in <put>: length 65535"]
    assert again.value_classes.reached == 22
