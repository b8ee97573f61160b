"""Our messages satisfy the constraints, solved or random."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from driven_session import SERVER, DrivenSession

import palaver
from amounts import few
from palaver.session.findings import FindingKind, Verdict
from palaver.session.setup import SessionSetup
from palaver.solving.solver import Solver

GRAMMAR = """
<start> ::= <exchange>{1,30} <Client:quit>
<exchange> ::= <Client:ask> <Server:answer> | <Client:noop> <Server:answer>
<ask> ::= "ASK " <word> "\\n"
<noop> ::= "NOOP\\n"
<answer> ::= "OK\\n"
<quit> ::= "QUIT\\n"
<word> ::= r"[ab]{1,8}"
"""


def session_with(constraint: str, seed: int) -> tuple[list[str], Verdict]:
    """The client's messages in a session whose server always agrees."""
    driven = DrivenSession(GRAMMAR + f"where {constraint}\n", seed=seed).open()
    told: list[str] = []
    while not driven.session.is_over:
        said = driven.talk()
        told += said.decode().splitlines()
        if not driven.session.is_over:
            driven.hear(b"OK\n")
    return told, driven.session.verdict


@pytest.mark.parametrize("seed", few(range(10), 3))
def test_messages_that_need_no_solving_satisfy_the_constraints(seed: int) -> None:
    told, verdict = session_with("str(<ask>.<word>)[0] == 'a'", seed)
    assert verdict is Verdict.PASS
    assert all(re.fullmatch("ASK a[ab]*|NOOP|QUIT", line) for line in told)


@pytest.mark.parametrize("seed", few(range(10), 3))
def test_early_messages_count(seed: int) -> None:
    told, verdict = session_with("len(set(str(w) for w in *<word>)) == len(*<word>)", seed)
    words = [line for line in told if line.startswith("ASK")]
    assert verdict is Verdict.PASS
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("seed", few(range(10), 3))
def test_a_message_that_a_constraint_does_not_mention_can_be_sent_before_it_holds(seed: int) -> None:
    told, verdict = session_with("exists <a> in <ask>: str(<a>.<word>) == 'abba'", seed)
    assert verdict is Verdict.PASS
    assert "ASK abba" in told


ENOUGH = r"""
<start> ::= <exchange>{60}
<exchange> ::= <Client:ask> <Server:answer> | <Client:noop> <Server:note>
<ask> ::= "ASK\n"
<noop> ::= "NOOP\n"
<answer> ::= "OK\n"
<note> ::= "NOTE\n"
LIMIT = 2
def more():
    ASSIGNING
    LIMIT = 3
where CONSTRAINT
"""


def enough(constraint: str, assigning: str = "pass") -> str:
    return ENOUGH.replace("CONSTRAINT", constraint).replace("ASSIGNING", assigning)


@pytest.mark.parametrize("constraint", ["len(*<ask>) <= 2", "len(*<ask>) <= LIMIT", "LIMIT >= len(*<ask>)"])
def test_a_message_too_many_is_found_when_it_comes(constraint: str) -> None:
    driven = DrivenSession(enough(constraint), SERVER, "Server").open()
    for number in range(3):
        assert not driven.session.findings, number
        driven.hear(b"ASK\n")
        driven.talk()
    assert driven.kinds == [FindingKind.CONSTRAINT]


@pytest.mark.parametrize("constraint", ["len(*<ask>) <= 2", "len(*<ask>) <= LIMIT", "len(*<ask>) < LIMIT"])
@pytest.mark.parametrize("seed", few(range(5)))
def test_we_send_no_message_more_often_than_the_spec_allows(constraint: str, seed: int) -> None:
    driven = DrivenSession(enough(constraint), seed=seed).open()
    told = []
    while not driven.session.is_over:
        told.append(driven.talk())
        if not driven.session.is_over:
            driven.hear(b"OK\n" if told[-1] == b"ASK\n" else b"NOTE\n")
    assert told.count(b"ASK\n") <= 2
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("assigning", ["global LIMIT", "globals()['LIMIT'] = 3"])
def test_a_limit_that_the_spec_may_raise_is_asked_for_at_the_end(assigning: str) -> None:
    driven = DrivenSession(enough("len(*<ask>) <= LIMIT", assigning), SERVER, "Server").open()
    for _ in range(3):
        driven.hear(b"ASK\n")
        driven.talk()
    assert not driven.session.findings


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(_: Solver) -> None:
        raise AssertionError("nothing is to be searched for")

    monkeypatch.setattr(Solver, "solve", search)


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("constraint", ["len(*<ask>) <= 2", "len(*<word>) < 3", "|<ask>| + |<word>| <= 5"])
@pytest.mark.parametrize("seed", few(range(5)))
def test_a_message_that_was_sent_often_enough_is_not_searched_for(constraint: str, seed: int) -> None:
    told, verdict = session_with(constraint, seed)
    assert verdict is Verdict.PASS
    assert sum(line.startswith("ASK") for line in told) <= 2


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("seed", few(range(5)))
def test_a_constant_message_that_cannot_be_sent_is_not_searched_for(seed: int) -> None:
    text = r"""
<start> ::= (<Client:ask> (<Server:yes> | <Server:no>)){4}
<ask> ::= "ASK " <word> "\n"
<word> ::= r"[ab]"
<yes> ::= <polite> "YES\n"
<polite> ::= "VERY "{2}
<no> ::= "NO\n"
where forall <y> in <yes>: forall <w> in <word>: str(<w>) == "a"
"""
    driven = DrivenSession(text, SERVER, "Server", seed).open()
    for _ in range(4):
        driven.hear(b"ASK b\n")
        assert driven.talk() == b"NO\n"
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("seed", few(range(5)))
def test_a_message_with_fewer_parts_is_sent_if_that_helps(seed: int) -> None:
    text = r"""
<start> ::= <exchange>{8}
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK" <word>{0,2} "\n"
<word> ::= " " r"[a-z]"
<answer> ::= "OK\n"
where len(*<word>) <= 3
"""
    driven = DrivenSession(text, seed=seed).open()
    said = b""
    while not driven.session.is_over:
        said += driven.talk()
        driven.hear(b"OK\n")
    assert driven.session.verdict is Verdict.PASS
    assert said.count(b"ASK") == 8
    assert said.count(b" ") <= 3


@pytest.mark.parametrize("seed", few(range(10), 3))
@pytest.mark.parametrize(
    "constraint, numbers",
    [("len(*<ask>) >= 3", range(3, 31)), ("len(*<ask>) == 3", [3]), ("|<word>| > 3", range(4, 31))],
)
def test_a_number_that_takes_several_messages_is_reached(constraint: str, numbers: Sequence[int], seed: int) -> None:
    told, verdict = session_with(constraint, seed)
    assert verdict is Verdict.PASS
    assert sum(line.startswith("ASK") for line in told) in numbers


BRIEF = """
<start> ::= <exchange>+
<exchange> ::= <Client:ask> <Server:full> | <Client:peek> <Server:brief>
<ask> ::= "ASK\\n"
<peek> ::= "PEEK\\n"
<full> ::= <size> <mark>* ":" <x>{int(<size>)} "\\n"
<brief> ::= <size> <mark>* "\\n"
<size> ::= r"[1-9]"
<mark> ::= "!" | <odd>
<odd> ::= "?"
<x> ::= "x"
where forall <m> in <full>: len(*<m>..<odd>) == 0
where forall <m> in <brief>: len(*<m>..<odd>) == 0
"""


@pytest.mark.parametrize("seed", few(range(20), 6))
def test_earlier_messages_stay_though_repetitions_count_by_fields_of_ours(seed: int) -> None:
    driven = DrivenSession(BRIEF, SERVER, "Server", seed).open()
    for asked in (b"PEEK\n", b"ASK\n", b"PEEK\n"):
        driven.hear(asked)
        answer = driven.talk()
        assert not driven.session.findings
        rest = b":" + b"x" * int(answer[:1]) if asked == b"ASK\n" else b""
        assert re.fullmatch(rb"[1-9]!*" + rest + rb"\n", answer)


LOOKS = r"""
<start> ::= <visit>
<visit> ::= <Client:add> <Server:ok> <looks>
<looks> ::= REPEATED
<look>  ::= <Client:get> <Server:found>
<add>   ::= "ADD\n"
<ok>    ::= "ID " <id> "\n"
<get>   ::= "GET " <id> "\n"
<found> ::= "GOT\n"
<id>    ::= r"[0-9]{4}"
where forall <v> in <visit>: <v>..<get>.<id> == <v>.<ok>.<id>
"""


@pytest.mark.parametrize("repeated", ["<look>{40}", "<look> <looks> | <look>{45}"], ids=["wide", "deep"])
def test_early_messages_of_an_open_state_still_bind_us(repeated: str) -> None:
    driven = DrivenSession(LOOKS.replace("REPEATED", repeated), seed=1).open()
    driven.talk()
    driven.hear(b"ID 4711\n")
    for _ in range(40):
        assert driven.talk() == b"GET 4711\n"
        driven.hear(b"GOT\n")


KNOWN = """
<word> ::= r"[a-z]{1,2}"
def known(answers, questions):
    return {str(each) for each in answers} <= {str(each) for each in questions}
where known(*<tell>.<word>, *<ask>.<word>)
"""
ROUNDS = r"""
<start> ::= <round>{3} <Client:put>{1,9} <Client:stop> <Server:got>{1,9} <Server:done>
<round> ::= <Client:ask> <Client:tell>
<ask> ::= "ASK " <word> "\n"
<tell> ::= "TELL " <word> "\n"
<put> ::= "PUT " <word> "\n"
<got> ::= "GOT " <word> "\n"
<stop> ::= "STOP\n"
<done> ::= "DONE\n"
where any(str(word) == "cc" for word in *<ask>.<word>)
where len(*<put>.<word>) == len(*<got>.<word>)
"""


def test_what_was_said_long_ago_still_holds_wherever_our_message_stands() -> None:
    # In the first round something is said that later ones need. The solver sees the latest messages only.
    setup = SessionSetup(palaver.loads(ROUNDS + KNOWN), SERVER)
    for puts in range(1, 10):
        driven = DrivenSession(setup=setup, link="Server").open()
        driven.hear(b"ASK cc\nTELL cc\nASK h\nTELL cc\nASK h\nTELL h\n" + b"PUT x\n" * puts + b"STOP\n")
        told = driven.talk()
        assert (told.count(b"GOT"), told.count(b"DONE"), driven.session.findings) == (puts, 1, []), puts


LONG_AGO = r"""
<start> ::= <Client:ask>{3} <pause>{PAUSES} <Server:tell>{2}
<pause> ::= <Client:noop> <Server:ok>
<ask> ::= "ASK " <word> "\n"
<tell> ::= "TELL " <word> "\n"
<noop> ::= "NOOP\n"
<ok> ::= "OK\n"
"""


@pytest.mark.parametrize("pauses", [0, 2, 20, 100])
@pytest.mark.parametrize("seed", few(range(3)))
def test_a_message_repeats_what_was_said_long_ago_if_it_has_to(pauses: int, seed: int) -> None:
    text = LONG_AGO.replace("PAUSES", str(pauses)) + KNOWN
    driven = DrivenSession(text, SERVER, link="Server", seed=seed).open()
    driven.hear(b"ASK ab\nASK cd\nASK ef\n")
    for _ in range(pauses):
        assert driven.talk() in (b"", b"OK\n")
        driven.hear(b"NOOP\n")
    told = driven.talk().split()
    assert driven.session.verdict is Verdict.PASS
    assert set(told) - {b"OK", b"TELL"} <= {b"ab", b"cd", b"ef"}


def test_what_cannot_be_said_is_told_with_all_that_was_said() -> None:
    text = (LONG_AGO + KNOWN).replace("PAUSES", "20").replace('"TELL " <word>', '"TELL " <id>')
    text = text.replace("<tell>.<word>", "<tell>.<id>") + '<id> ::= r"[0-9]"\n'
    driven = DrivenSession(text, SERVER, link="Server").open()
    driven.hear(b"ASK ab\nASK cd\nASK ef\n")
    for _ in range(20):
        driven.hear(b"NOOP\n")
        driven.talk()
    assert driven.kinds == [FindingKind.UNSOLVED]
    assert "*<ask>.<word> = ['ab', 'cd', 'ef']" in driven.session.findings[0].show()


REPEATS = r"""
<start> ::= <exchange>{4}
<exchange> ::= <Client:ask> <Client:more> <Server:answer>
<ask> ::= "ASK " <name> " " <number> "\n"
<more> ::= "MORE " <name> "\n"
<answer> ::= "SAY " <word> " " <word> " " <number> "\n"
<name> ::= r"[a-z]{8}"
<word> ::= r"[a-z0-9]{1,20}"
<number> ::= r"[0-9]{6}"
import hashlib
def digest(*values):
    return hashlib.sha1(repr([str(value) for value in values]).encode()).digest()
def fits(exchange):
    asked, answered = exchange[0], exchange[2]
    return CONDITION
where all(fits(e) for e in *<exchange>)
"""


@pytest.mark.parametrize("seed", few(range(3)))
@pytest.mark.parametrize(
    "condition, wanted",
    [
        ("digest(asked[1]) == digest(answered[1])", rb"SAY question \w+ \d+"),
        ("digest(asked[3]) == digest(answered[5])", rb"SAY \w+ \w+ 123456"),
        ("digest(answered[1]) == digest(answered[3])", rb"SAY (\w+) \1 \d+"),
        ("digest(asked[1], asked[3]) == digest(answered[1], answered[5])", rb"SAY question \w+ 123456"),
    ],
    ids=["another symbol", "the same symbol", "in one message", "two fields"],
)
def test_values_are_repeated_where_code_demands_it_and_tells_no_distance(
    condition: str, wanted: bytes, seed: int
) -> None:
    driven = DrivenSession(REPEATS.replace("CONDITION", condition), SERVER, "Server", seed).open()
    for _ in range(4):
        driven.hear(b"ASK question 123456\nMORE whatever\n")
        said = driven.talk()
        assert re.fullmatch(wanted + rb"\n", said), (said, driven.session.findings)
    assert driven.session.verdict is Verdict.PASS


TWO_IN_THE_WAY = r"""
<start> ::= <Client:ask> <Server:one>{2} <Server:two>{2}
<ask> ::= "ASK\n"
<one> ::= "ONE " <a> " " <b> "\n"
<two> ::= "TWO " <a> " " <b> "\n"
<a> ::= r"[0-9]"
<b> ::= r"[0-9]"
def even(*lists):
    return all(len(each) % 2 == 0 for each in lists)
where even(*<a>)
where even(*<b>)
"""


@pytest.mark.parametrize("seed", few(range(3)))
def test_a_message_may_leave_several_constraints_to_later_ones(seed: int) -> None:
    driven = DrivenSession(TWO_IN_THE_WAY, SERVER, "Server", seed).open()
    driven.hear(b"ASK\n")
    said = driven.talk()
    assert (said.count(b"ONE"), said.count(b"TWO"), driven.session.findings) == (2, 2, [])


# Each message of ours breaks the balance, and only the right one of very many answers restores it.
BALANCE = r"""
<start> ::= <turn>{6}
<turn> ::= <Client:spend> <Server:left>
<spend> ::= "SPEND " <amount> "\n"
<left> ::= "LEFT " <rest> "\n"
<amount> ::= r"[1-9][0-9]?"
<rest> ::= r"[0-9]+"
def total(amounts):
    return sum(int(amount) for amount in amounts)
where total(*<amount>) <= 60
where sum(int(amount) for amount in *<amount>) + min([60] + [int(rest) for rest in *<rest>]) == 60
"""


@pytest.mark.parametrize("seed", few(range(4)))
def test_a_message_may_leave_a_sum_to_the_one_answer_that_fits(seed: int) -> None:
    driven = DrivenSession(BALANCE, seed=seed).open()
    left, said = 60, driven.talk()
    while said and left > 12:  # with less, there may be nothing left to be said
        left -= int(said.split()[1])
        driven.hear(b"LEFT %d\n" % left)
        said = driven.talk()
    assert 0 <= left <= 12 or driven.session.verdict is Verdict.PASS, driven.session.findings
