"""A repetition in one message may count by a field of an earlier one of any party."""

from __future__ import annotations

import pytest
from driven_session import CLIENT, SERVER, DrivenSession

import palaver
from amounts import few
from palaver.session.findings import FindingKind, Verdict
from palaver.testing import run_pair

ORDER = r"""
<start> ::= <round>{3}
<round> ::= <Server:hello> <Client:items>
<hello> ::= "WANT " <count> "\n"
<count> ::= r"[0-9]"
<items> ::= "HAVE" <item>{BOUND} "\n"
<item> ::= " " r"[a-z]"
"""

BOUNDS = ["int(<hello>.<count>)", "int(<count>)", "int(<round>.<hello>.<count>)", "0, int(<hello>..<count>)"]
EXACT = BOUNDS[:3]


def order(bound: str = EXACT[0], more: str = "") -> str:
    return ORDER.replace("BOUND", bound) + more


def number_of_items(said: bytes) -> int:
    assert said.startswith(b"HAVE"), said
    assert said.endswith(b"\n"), said
    return said.count(b" ")


@pytest.mark.parametrize("bound", EXACT)
def test_we_send_as_many_items_as_were_asked_for_in_this_exchange(bound: str) -> None:
    driven = DrivenSession(order(bound)).open()
    for count in (3, 0, 7):
        driven.hear(b"WANT %d\n" % count)
        assert number_of_items(driven.talk()) == count
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("seed", few(range(5)))
def test_we_send_no_more_items_than_were_asked_for(seed: int) -> None:
    driven = DrivenSession(order(BOUNDS[3]), seed=seed).open()
    for count in (1, 2, 0):
        driven.hear(b"WANT %d\n" % count)
        assert number_of_items(driven.talk()) <= count
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("bound", EXACT)
def test_a_peer_may_send_as_many_items_as_we_asked_for(bound: str) -> None:
    driven = DrivenSession(order(bound), SERVER, "Server").open()
    for _ in range(3):
        count = int(driven.talk().split()[1])
        driven.hear(b"HAVE" + b" x" * count + b"\n")
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("bound", EXACT)
@pytest.mark.parametrize("wrong_at", range(3))
def test_more_items_than_we_asked_for_are_a_finding(bound: str, wrong_at: int) -> None:
    driven = DrivenSession(order(bound), SERVER, "Server").open()
    for number in range(wrong_at + 1):
        count = int(driven.talk().split()[1])
        driven.hear(b"HAVE" + b" x" * (count + (number == wrong_at)) + b"\n")
    assert driven.kinds == [FindingKind.UNPARSEABLE]


def test_constraints_on_the_items_hold_for_any_number_of_them() -> None:
    driven = DrivenSession(order(more="where len(set(map(str, *<item>))) == len(*<item>)\n"), seed=3).open()
    for count in (5, 6, 4):
        driven.hear(b"WANT %d\n" % count)
        assert number_of_items(driven.talk()) == count
    assert driven.session.verdict is Verdict.PASS


def test_several_messages_count_by_the_same_field_and_the_latest_counts() -> None:
    text = r"""
<start> ::= <Server:hello> <Client:items> <Client:items> <Server:hello> <Client:items>
<hello> ::= "WANT " <count>? "\n"
<count> ::= r"[0-9]"
<items> ::= "HAVE" (" " r"[a-z]"){int(<count>)} "\n"
"""
    driven = DrivenSession(text).open()
    driven.hear(b"WANT 4\n")
    assert [line.count(b" ") for line in driven.talk().splitlines()] == [4, 4]
    driven.hear(b"WANT \n")  # says nothing new
    assert number_of_items(driven.talk()) == 4


def test_a_repetition_can_come_together_with_the_message_it_counts_by() -> None:
    text = r"""
<start> ::= <Client:go> (<Server:hello> <Server:items>){2}
<go> ::= "GO\n"
<hello> ::= r"[0-9]+" <count> "\n"?
<count> ::= r"[0-9]"
<items> ::= "x"{int(<count>)} "."
"""
    driven = DrivenSession(text, CLIENT).open()
    driven.talk()
    driven.hear(b"12\nxx.103\nxxx.")
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("assignment, link", [(CLIENT, "Client"), (SERVER, "Server")])
def test_messages_of_other_sessions_do_not_count(assignment: object, link: str) -> None:
    text = order().replace("<round>{3}", "<Client:items> <round>")
    driven = DrivenSession(text, assignment, link).open()  # type: ignore[arg-type]
    driven.talk()
    if link == "Server":
        driven.hear(b"HAVE x\n")
    assert driven.kinds == [FindingKind.UNSOLVED if link == "Client" else FindingKind.UNPARSEABLE]


COUNTED = """
<start> ::= <Server:hello> <Client:ask> <Server:answer>
<hello> ::= "H" <n> "\\n"
<n> ::= r"[0-9]"
<x> ::= r"[a-z]"
<answer> ::= "OK\\n"
"""


@pytest.mark.parametrize(
    "rules",
    [
        '<ask> ::= "A" <code> "\\n"\n<code> ::= r"[a-z]*" := str(<body>)\n<body> ::= <x>{int(<n>)} := str(<code>)\n',
        '<ask> ::= "A" <x>{int(<n>)} "\\n" := "Aqqq\\n"\n<n> ::= "3"\n',
        '<ask> ::= "A" <body> "\\n"\n<body> ::= <x>{int(<hello>.<n>)} := "qqq"\n<n> ::= "3"\n',
    ],
    ids=["what a generator is given", "what it returns", "a part of the message"],
)
def test_a_generator_may_be_counted_by_a_field_of_an_earlier_message(rules: str) -> None:
    text = f"{COUNTED}{rules}" if "<n> ::=" not in rules else f"{COUNTED.replace('<n> ::= r', '<m> ::= r')}{rules}"
    client, server = run_pair(palaver.loads(text), seed=2)
    assert (client.findings, server.findings) == ([], [])
    hello, ask, _ = client.said
    assert len(ask.data) == 2 + int(hello.data[1:2])


def test_a_message_whose_sources_cannot_be_recovered_is_an_error_of_the_spec() -> None:
    rules = '<ask> ::= "A" <code> "\\n"\n<code> ::= r"[a-z]*" := str(<body>)\n<body> ::= <x>{int(<n>)}\n'
    _, server = run_pair(palaver.loads(f"{COUNTED}{rules}"), seed=2)
    assert [finding.kind for finding in server.findings] == [FindingKind.SPEC_CRASH]
