"""Waiting for the peer: the session says until when, and each wait has a time of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from driven_session import ECHO, DrivenSession

from palaver.session.findings import FindingKind

ENDS = "<start> ::= <Client:ask> <Server:answer>*\n" + ECHO.partition("<exchange> ::=")[2].partition("\n")[2]
ENDS = ENDS.partition("where")[0]
OPEN_ENDED = ENDS.replace('"SAY " <word> "\\n"', '"SAY " <word>')
WITH_TIMER = """
<start> ::= <Client:ask> <TimerControl:begin> (<Server:answer> | <TimerEvent:timer_expired>)
<ask> ::= "ASK\\n"
<begin> ::= "start: 1 (60)\\n"
<answer> ::= "SAY\\n"
"""
COLLECTING = f"""
{ECHO}
class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:7", connection_mode=ConnectionMode.CONNECT)
        self.start()
    def receive(self, message, sender):
        pass
class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:7", connection_mode=ConnectionMode.EXTERNAL)
"""


def silent(driven: DrivenSession) -> None:
    pass


def begun(driven: DrivenSession) -> None:
    driven.hear(b"SAY he")


def complete(driven: DrivenSession) -> None:
    driven.hear(b"SAY hello")


# What was said in which spec, until when the peer is waited for, and the finding if nothing comes.
WAITS: dict[str, tuple[str, Callable[[DrivenSession], None], float, list[FindingKind]]] = {
    "for an answer": (ECHO, silent, 7.0, [FindingKind.SILENCE]),
    "for the rest of an answer": (ECHO, begun, 3.0, [FindingKind.SILENCE]),
    "for an answer that may go on": (OPEN_ENDED, complete, 1.0, []),
    "for an answer that need not come": (ENDS, silent, 1.0, []),
    "for what a party collects": (COLLECTING, begun, 3.0, [FindingKind.SILENCE]),
    "for an answer or a timer": (WITH_TIMER, silent, 60.0, []),
}


@pytest.mark.parametrize("name", WAITS)
def test_the_peer_is_waited_for(name: str) -> None:
    text, happens, until, kinds = WAITS[name]
    driven = DrivenSession(text, timeout=7.0, patience=3.0, quiet=1.0).open()
    assert driven.talk()
    happens(driven)
    assert driven.session.deadline == until
    driven.wait(until - 0.001)
    assert driven.kinds == []
    assert not driven.session.is_over
    driven.wait(0.001)
    driven.talk()
    assert driven.kinds == kinds


def test_a_connection_that_is_not_open_yet_is_left_to_the_transport() -> None:
    driven = DrivenSession(timeout=7.0)
    assert driven.session.deadline is None
    driven.wait(100.0)
    assert driven.kinds == []


def test_all_waiting_starts_again_with_every_byte() -> None:
    driven = DrivenSession(patience=3.0).open()
    driven.talk()
    for at in range(10):
        driven.hear(b"SAY hellooo"[at : at + 1], after=2.9)
        assert driven.session.deadline == pytest.approx(driven.now + 3.0)
    assert driven.kinds == []
