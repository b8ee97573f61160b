"""Conditions on states inside of states: our messages obey them, and a wrong message is accused when it comes."""

from __future__ import annotations

import pytest
from dialogue_worlds import WRONG, run
from driven_session import DrivenSession

import palaver
from palaver.session.findings import FindingKind
from palaver.testing import run_pair

VISITS = """
<start> ::= <visit>{1,2} <Client:quit> <Server:bye>
<visit> ::= <Client:sub> <Server:ok> <heard>{2} <Client:unsub> <Server:ok>
<heard> ::= <Client:publish> <Server:delivery> <Client:ack>
<sub> ::= "SUB " <word> "\\n"
<ok> ::= "OK\\n"
<unsub> ::= "UNSUB\\n"
<publish> ::= "PUB " <word> "\\n"
<delivery> ::= "DEL " <word> "\\n"
<ack> ::= "ACK\\n"
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
<word> ::= r"[a-y]"
"""

# What is delivered is the word of the subscription around it.
NESTED = [
    "forall <v> in <visit>: forall <h> in <v>.<heard>: <h>.<delivery>.<word> == <v>.<sub>.<word>",
    "forall <v> in <visit>: forall <h> in <v>..<heard>: <h>..<delivery>.<word> == <v>.<sub>.<word>",
    "forall <v> in <visit>: forall <h> in <v>..<heard>: str(<v>..<sub>.<word>) == str(<h>.<delivery>.<word>)",
    "forall <v> in <visit>: forall <h> in <v>.<heard>: str(<h>)[10:11] == str(<v>.<sub>.<word>)",
    "forall <v> in <visit>: forall <h> in <v>.<heard>: str(<h>)[10:11] == str(<v>)[4]",
    "forall <s> in <start>: forall <v> in <s>..<visit>: forall <d> in <v>..<delivery>: <d>.<word> == <v>.<sub>.<word>",
]


def server(line: bytes, subscribed: bytes) -> bytes:
    replies = {b"SUB": b"OK\n", b"UNS": b"OK\n", b"QUI": b"BYE\n", b"PUB": b"DEL " + subscribed + b"\n"}
    return replies.get(line[:3], b"")


def visited(text: str, *, wrong: int, seed: int) -> DrivenSession:
    """A session as the client of a server one of whose deliveries is wrong."""
    session = DrivenSession(text, seed=seed).open()
    subscribed, deliveries = b"", 0
    while not session.session.is_over:
        asked = session.talk()
        if not asked:
            session.wait(10)
        for line in asked.splitlines(keepends=True):
            if line.startswith(b"SUB"):
                subscribed = line[4:5]
            deliveries += line.startswith(b"PUB")
            said = server(line, b"z" if deliveries == wrong else subscribed)
            if said and not session.session.is_over:
                session.hear(said)
    return session


@pytest.mark.parametrize("condition", NESTED)
def test_a_wrong_message_inside_of_an_open_state_is_accused(condition: str) -> None:
    text = f"{VISITS}where {condition}\n".replace("[a-y]", "[a-z]")
    for seed in range(2):
        session = visited(text, wrong=2, seed=seed)
        assert session.kinds == [FindingKind.CONSTRAINT]
        (finding,) = session.session.findings
        assert (finding.party, finding.got) == ("Server", b"DEL z\n")
        assert finding.messages[-1].symbol == "<publish>"


@pytest.mark.parametrize("condition", NESTED)
def test_nobody_is_accused_where_all_is_right(condition: str) -> None:
    text = f"{VISITS}where {condition}\n"
    assert visited(text, wrong=-1, seed=1).session.findings == []
    assert [session.findings for session in run_pair(palaver.loads(text), seed=1)] == [[], []]


COMPUTED = """
def first(visit):
    return str(visit)[4:5]
def after(word):
    return chr((ord(str(word)) - 96) % 25 + 97)
<start> ::= <visit>{1,2} <Client:quit> <Server:bye>
<visit> ::= <Client:sub> <Server:ok> <news>{1,3} <Client:unsub> <Server:ok>
<news> ::= NEWS
<ask> ::= "ASK " <x> "\\n"
<tell> ::= "TELL " <x> "\\n"
<ack> ::= "ACK " <x> "\\n"
<sub> ::= "SUB " <word> "\\n"
<ok> ::= "OK\\n"
<unsub> ::= "UNSUB\\n"
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
<word> ::= r"[a-y]"
<x> ::= r"[a-y]"
"""


@pytest.mark.parametrize(
    "news", ["<Client:ask> <Server:tell> <Client:ack>", "<Server:tell> | <Server:tell> <Client:ack>"]
)
@pytest.mark.parametrize(
    "condition",
    [
        "forall <v> in <visit>: forall <n> in <v>.<news>: <n>..<x> == first(<v>)",
        "forall <v> in <visit>: forall <n> in <v>.<news>: str(<n>..<x>) == after(<v>..<word>)",
        "forall <v> in <visit>: forall <n> in <v>.<news>: forall <y> in <n>..<x>: str(<y>) == after(<v>.<sub>.<word>)",
        "forall <v> in <visit>: all(str(x) == first(<v>) for x in *<v>.<news>..<x>)",
    ],
)
def test_our_next_message_obeys_what_is_computed_from_the_state_around_it(news: str, condition: str) -> None:
    spec = palaver.loads(f"{COMPUTED}where {condition}\n".replace("NEWS", news))
    for seed in range(2):
        assert [session.findings for session in run_pair(spec, seed=seed)] == [[], []]


ECHOED = """
<start> ::= <heard>{3}
<heard> ::= <Client:publish> <Server:delivery> <Client:ack>
<publish> ::= "PUB " <word> "\\n"
<delivery> ::= "DEL " <word> "\\n"
<ack> ::= "ACK\\n"
<word> ::= r"[a-y]"
"""


@pytest.mark.parametrize(
    "condition",
    [
        "forall <h> in <heard>: str(<h>)[4] == str(<h>)[10:11]",
        "forall <h> in <start>.<heard>: str(<h>)[4] == str(<h>)[10:11]",
        "all(str(h)[4] == str(h)[10:11] for h in *<heard>)",
    ],
)
def test_our_answer_makes_hold_what_failed_with_the_question(condition: str) -> None:
    """The condition fails with the question, holds with the answer, and is decided by a third message."""
    pair = run_pair(palaver.loads(f"{ECHOED}where {condition}\n"), seed=1)
    assert [session.findings for session in pair] == [[], []]


@pytest.mark.timeout(600)
def test_the_innocent_are_not_accused_and_the_guilty_are_in_random_states_of_states() -> None:
    figures = run(specs=12, sessions=12, seed=1, is_nested=True)
    assert not any(figures.counts[what] for what in WRONG), "\n".join(figures.troubles)
    assert figures.counts["found"] == figures.counts["changed"] > 0, "\n".join(figures.troubles)


@pytest.mark.slow
def test_the_same_at_length() -> None:
    figures = run(specs=60, sessions=120, seed=2, is_nested=True)
    assert not any(figures.counts[what] for what in WRONG), "\n".join(figures.troubles)
    assert figures.counts["found"] >= 0.99 * figures.counts["changed"] > 0, "\n".join(figures.troubles)


GROWING = """
CALLS = []
def grows(visits):
    CALLS.append(1)
    found = [[int(str(number)) for number in visit.find_subtrees("<level>")] for visit in visits]
    return all(numbers == sorted(numbers) for numbers in found)
<start> ::= <visit>{3}
<visit> ::= <Client:hello> <round>{3}
<round> ::= <Client:light> <Server:glow>
<hello> ::= "HELLO\\n"
<light> ::= "LIGHT " r"[a-z]{1,5}" "\\n"
<glow> ::= "GLOW " <level> "\\n"
<level> ::= r"[1-9]"
where grows(*<visit>)
"""


def test_what_a_peer_has_broken_is_not_searched_for_by_us() -> None:
    session = DrivenSession(GROWING, seed=1).open()
    glows = 0
    while not session.session.is_over:
        asked = session.talk()
        glows += asked.count(b"LIGHT")
        if asked and not session.session.is_over:
            session.hear(b"GLOW %d\n" % (7 if glows == 1 else 3))
    assert session.kinds == [FindingKind.CONSTRAINT]
    assert session.session.findings[0].got == b"GLOW 3\n"
    assert len(session.spec.namespace.names["CALLS"]) < 6000
