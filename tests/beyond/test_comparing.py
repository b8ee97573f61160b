"""Implementations compared by the same conversations: differences are notes, and what is forbidden is a finding."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from beyond_peers import served

from palaver.comparing.differences import Differences, aspects_of, exchanges_of
from palaver.recording.run_reader import open_run
from palaver.session.findings import SessionMessage
from palaver.trees.node import Node, NonTerminal
from servers.in_process import StreamSession

SPEC = r"""
<start> ::= <Client:login> <Server:ticket> <visit>{1,3} <Client:bye> <Server:gone>
<visit> ::= <Client:ask> (<Server:yes> | <Server:no>)
<login> ::= "login\n"
<ask> ::= "ask " <number> " " <word> "\n"
<bye> ::= "bye\n"
<ticket> ::= "ticket " <given> "\n"
<number> ::= r"[0-9]{1,4}"
<given> ::= r"[0-9]{1,4}"
<word> ::= r"[a-z]{1,6}"
<yes> ::= "yes " <code> " " <rest> "\n"
<code> ::= r"[0-9]"
<rest> ::= r"[a-z ]*"
<no> ::= "no\n"
<gone> ::= "gone\n"

where forall <a> in <ask>: str(<a>.<number>) == str(<given>)
where forall <c> in <code>: int(<c>) < 9

COMPARABLE_FIELDS = ["<code>"]

<beyond> ::= <early> | <again> | <misspelt>
<early> ::= (<Client:any_ask> | <Client:any_bye>) <Server:refusal>
<again> ::= <Client:any_login> <Server:refusal>
<misspelt> ::= <Client:any_line> <Server:refusal>
<any_login> ::= "login\n"
<any_bye> ::= "bye\n"
<any_ask> ::= r"ask [0-9]{1,4} [a-z]{1,6}\n"
<any_line> ::= r"[^\n]*\n"
<refusal> ::= r"error[a-z ]*\n"
"""


class Desk(StreamSession):
    """Gives out a ticket, another one each time, and wants to see it."""

    code, words, tickets = b"1", b"well", iter(range(1, 9999))

    def __init__(self) -> None:
        self.is_over = False
        self.buffer = b""
        self.ticket = b""

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        return b"".join(self.answer(line) for line in lines)

    def answer(self, line: bytes) -> bytes:
        """The answer to one line."""
        if line == b"login" and not self.ticket:
            self.ticket = b"%d" % next(self.tickets)
            return b"ticket " + self.ticket + b"\n"
        if line == b"bye" and self.ticket:
            self.is_over = True
            return b"gone\n"
        word = line.removeprefix(b"ask " + self.ticket + b" ")
        if self.ticket and word != line and word.isalpha() and word.islower() and len(word) <= 6:
            return self.told(word)
        return self.refusal(line)

    def told(self, word: bytes) -> bytes:
        """The answer to a question."""
        return b"yes " + self.code + b" " + self.words + b"\n"

    def refusal(self, line: bytes) -> bytes:
        """The answer to what is wrong."""
        return b"error\n"


class OtherWords(Desk):
    """Has words of its own, which do not count."""

    words = b"by all means"


class OtherCode(Desk):
    """Has another code, which the spec calls comparable."""

    code = b"2"


class SaysNo(Desk):
    """Refuses long questions, which the spec allows."""

    def told(self, word: bytes) -> bytes:
        return b"no\n" if len(word) > 3 else super().told(word)


class LargeCode(Desk):
    """Has a code that the spec forbids."""

    code = b"9"


class Polite(Desk):
    """Takes what is wrong for right, which the spec forbids."""

    def refusal(self, line: bytes) -> bytes:
        return b"yes 1 well\n" if b"\0" in line else super().refusal(line)


@pytest.fixture
def compared(palaver: Any) -> Any:
    palaver.write(desk_fan=SPEC)

    def compare(*kinds: type[Desk], options: tuple[str, ...] = ()) -> Any:
        with ExitStack() as stack:
            ports = [str(stack.enter_context(served(kind))) for kind in kinds]
            places = [word for port in ports for word in ("--client", port)]
            return palaver("compare", "desk.fan", *places, "--seed", "1", "-n", "9", *options)

    return compare


def test_words_of_their_own_are_no_difference(compared: Any) -> None:
    shown = compared(Desk, OtherWords, Desk)
    assert shown.code == 0
    assert "0 kinds of differences" in shown.text
    assert "(a finding)" not in shown.text


@pytest.mark.parametrize(("kind", "aspect"), [(OtherCode, "fields after <ask>"), (SaysNo, "answer after <ask>")])
def test_what_the_spec_allows_is_a_note(compared: Any, kind: type[Desk], aspect: str) -> None:
    shown = compared(Desk, Desk, kind)
    assert shown.code == 0
    first = next(line for line in shown.text.splitlines() if line.startswith("difference"))
    assert aspect in first, shown.text
    names = [line.split(":")[0].strip() for line in shown.text.splitlines() if line.startswith("  ")][:3]
    assert first.endswith(f"minority: {names[2]}")


def test_what_the_spec_forbids_is_a_finding_of_that_one(compared: Any) -> None:
    shown = compared(Desk, Polite, options=("--beyond", "0.6", "-n", "60"))
    assert shown.code == 1, shown.text
    assert "wrong message accepted" in shown.text
    assert "class after terminal: " in shown.text


def test_an_answer_that_breaks_a_constraint_is_told(compared: Any) -> None:
    shown = compared(Desk, LargeCode, Desk)
    assert shown.code == 1
    _, _, told = shown.text.partition("difference, ")
    answers = [line.partition(": ")[2] for line in told.splitlines()[1:4]]
    assert answers == ["<yes>", "<yes> (constraint violated) (a finding)", "<yes>"], shown.text
    assert "fields after" not in told


def test_of_two_that_differ_nobody_is_a_minority(compared: Any) -> None:
    shown = compared(Desk, SaysNo)
    first = next(line for line in shown.text.splitlines() if line.startswith("difference"))
    assert first.endswith("answer after <ask>"), shown.text


def test_the_run_of_each_is_kept(compared: Any, palaver: Any) -> None:
    compared(Desk, SaysNo, options=("--run", "kept"))
    for number in ("1", "2"):
        with open_run(Path(palaver.folder) / "kept" / number) as run:
            assert len(run.sessions) == 9
            assert run.ending == "reached the limit of 9 conversations (-n 9)"


def test_to_compare_takes_two(compared: Any) -> None:
    assert compared(Desk).code == 2


@pytest.mark.parametrize(
    ("slow", "told"),
    [
        ([0.0, 0.0, 3.0, 0.0], []),  # once alone may be chance
        ([3.0, 2.0, 3.0, 0.2], [("class 0", "class 0", "class 2")]),  # one group, whatever the class each time
        ([0.0, 0.2, 0.0, 0.5], []),
    ],
)
def test_who_is_usually_slower_is_told_once(slow: list[float], told: list[tuple[str, ...]]) -> None:
    node = Node(NonTerminal("<ask>"), ())
    asked = SessionMessage(0.0, "Client", "Server", "<ask>", b"ask\n", node, is_ours=True)
    differences = Differences(("one", "two", "three"))
    for seconds in slow:
        said = [(asked, SessionMessage(at, "Server", "Client", "<yes>", b"yes\n", node)) for at in (0.0, 0.0, seconds)]
        exchanges = [exchanges_of(each)[0] for each in said]
        aspects = [dict(aspects_of(each, None, lambda message: "")) for each in exchanges]
        assert differences.add(exchanges, aspects, [None] * 3, said[0])
    assert [group.answers for group in differences.groups] == told
