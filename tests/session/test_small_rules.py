"""Small rules of sessions that decide what is told, or how a script goes on."""

from __future__ import annotations

import pytest
from driven_session import CLIENT, ECHO

import palaver
from palaver.random_source import RandomSource
from palaver.session.blame import Recoveries
from palaver.session.engine import Session, Timeouts
from palaver.session.extension import Refusal
from palaver.session.finding_drafts import incomplete
from palaver.session.findings import FindingKind
from palaver.session.interface import Opened, TimePassed
from palaver.session.message_text import show_fields, show_place
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptedStrategy, ScriptLine
from palaver.trees.node import Node


def test_a_session_that_cannot_be_completed_is_the_fault_of_who_broke_it_if_that_is_known() -> None:
    accused = incomplete(Refusal("<x> does not hold", blamed=3), "<x> is missing")
    assert (accused.kind, accused.blamed) == (FindingKind.CONSTRAINT, 3)
    ours = incomplete(None, "<x> is missing")
    assert (ours.kind, ours.blamed) == (FindingKind.UNSOLVED, None)
    assert ours.message.endswith("none is left, but <x> is missing")


def test_a_clause_that_holds_again_in_a_continuation_is_noted_for_that_message_alone() -> None:
    recoveries = Recoveries()
    assert not recoveries.is_passing(1, "<ask>")
    recoveries.note_passing(1, "<ask>")
    assert recoveries.is_passing(1, "<ask>")
    assert not recoveries.is_passing(1, "<put>")
    assert recoveries.may_hold_later(1)
    assert not recoveries.may_hold_later(2)


def test_fields_of_up_to_eight_bytes_are_shown_as_numbers() -> None:
    for size, shown in ((8, "<x> = 72340172838076673"), (9, "<x>")):
        spec = palaver.loads(f"<start> ::= <x> <y>\n<x> ::= b'\\x01'{{{size}}}\n<y> ::= b'\\x02'\n")
        node = spec.parse(b"\x01" * size + b"\x02").node
        assert isinstance(node, Node)
        rows = show_fields(b"\x01" * size + b"\x02", node)
        assert any(row.rstrip().endswith(shown) for row in rows), rows


@pytest.mark.parametrize(("offset", "row", "column"), [(0, 1, 0), (15, 1, 15), (16, 2, 0), (17, 2, 1), (20, 2, 4)])
def test_the_caret_stands_below_the_byte_in_its_row_or_behind_the_last_one(offset: int, row: int, column: int) -> None:
    shown = show_place(bytes(range(128, 148)), offset, "here")
    assert [line for line in shown if line.endswith("^ here")] == [shown[row + 1]]
    assert shown[row].startswith(f"  {16 * (row - 1):04x}  ")
    assert shown[row + 1].index("^") == 8 + 3 * column


def test_a_script_goes_on_without_an_answer_that_does_not_come() -> None:
    script = [
        ScriptLine("Server", "<greeting>", b"HELLO\n", is_ours=False),
        ScriptLine("Client", "<ask>", b"ASK a\n", is_ours=True),
    ]
    text = ECHO.replace("<start> ::= <exchange>+", "<start> ::= <Server:greeting>? <exchange>+")
    setup = SessionSetup(palaver.loads(text + '<greeting> ::= "HELLO\\n"\n'), CLIENT)
    session = Session(setup, ScriptedStrategy(tuple(script)), RandomSource(1), Timeouts(timeout=2.0))
    session.handle(TimePassed(0.0))
    session.handle(Opened(0.0, "Client"))
    for now in (1.0, 2.5, 5.0):
        session.handle(TimePassed(now))
        while session.wants_to_send and session.speak(now):
            session.commit(now)
    assert [said.data for said in session.said] == [b"ASK a\n"]
