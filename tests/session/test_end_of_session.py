"""When the dialogue is complete, the peer is watched for a while: it must send nothing more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from driven_session import CLIENT, SERVER, DrivenSession

import palaver
from palaver.session.findings import FindingKind, Severity, Verdict
from palaver.session.interface import Closed, Received
from palaver.session.leaving import EndWatch

CASES = Path(__file__).parents[1] / "cases"

TALK = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK\\n"
<answer> ::= "YES\\n"
"""
PROGRAM = TALK.replace("Client:", "In:").replace("Server:", "Out:") + "set_program_command('echo')\n"
MORE = TALK.replace("<Server:answer>", "<Server:answer> <Server:answer>?")


def complete(text: str = TALK, grace: float = 0.5, link: str = "Client", data: bytes = b"YES\n") -> DrivenSession:
    driven = DrivenSession(text, CLIENT if link == "Client" else SERVER, link, grace=grace).open()
    assert driven.talk() == b"ASK\n"
    driven.hear(data)
    return driven


def test_without_a_grace_the_session_is_over_at_once() -> None:
    assert complete(grace=0.0).session.is_over


def test_a_message_within_the_grace_is_out_of_turn() -> None:
    driven = complete()
    assert not driven.session.is_over
    assert driven.session.deadline == 0.5
    driven.hear(b"YES\n", after=0.3)
    assert driven.session.is_over
    assert driven.kinds == [FindingKind.UNEXPECTED]
    assert driven.session.findings[0].got == b"YES\n"


def test_a_quiet_peer_passes_when_the_grace_is_over() -> None:
    driven = complete()
    driven.wait(0.5)
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS


def test_a_peer_that_closes_is_not_waited_for() -> None:
    driven = complete()
    driven.close()
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS


def test_a_message_that_may_still_come_is_taken() -> None:
    driven = complete(MORE, data=b"YES\nYES\n")
    driven.wait(0.5)
    assert [said.symbol for said in driven.session.said] == ["<ask>", "<answer>", "<answer>"]
    assert driven.session.verdict is Verdict.PASS


def test_who_connects_to_us_may_begin_the_next_session() -> None:
    driven = DrivenSession(TALK, SERVER, "Server", grace=0.5).open()
    driven.hear(b"ASK\n")
    assert driven.talk() == b"YES\n"
    assert driven.session.is_over


@pytest.mark.parametrize(
    ("data", "severity"),
    [
        (b"YES\n", Severity.VIOLATION),
        (b"YE", Severity.VIOLATION),  # the rest comes a moment later
        (b"\n", Severity.NOTE),
        (b"bye\n", Severity.NOTE),
    ],
)
def test_what_a_program_writes_when_its_input_ends_is_a_note_unless_it_is_a_message(
    data: bytes, severity: Severity
) -> None:
    driven = complete(PROGRAM, link="In")
    driven.wait(0.5)  # its input is closed
    assert not driven.session.is_over
    driven.do(Received(driven.now, "In", data))
    (finding,) = driven.session.findings
    assert (finding.kind, finding.severity) == (FindingKind.UNEXPECTED, severity)


def test_what_a_program_writes_before_is_a_violation_whatever_it_is() -> None:
    driven = complete(PROGRAM, link="In")
    driven.hear(b"\n", after=0.1)
    assert driven.session.verdict is Verdict.FAIL


def test_a_program_that_exits_in_good_order_passes() -> None:
    driven = complete(PROGRAM, link="In")
    driven.wait(0.5)
    driven.do(Closed(driven.now, "In", exit_code=0))
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS


def test_unless_told_otherwise_only_new_ends_are_watched() -> None:
    watch = EndWatch(None)
    assert [watch.seconds_after(name) > 0 for name in ("<a>", "<b>", "<a>", "<b>")] == [True, True, False, False]
    assert [EndWatch(0.25).seconds_after("<a>") for _ in range(2)] == [0.25, 0.25]


@pytest.mark.parametrize("program", ["twice.py", "twice_slow.py"])
def test_a_program_that_answers_twice_is_found(program: str) -> None:
    ran = palaver.talk(
        CASES / "tail.fan", program=(sys.executable, "-SE", str(CASES / program)), seed=1, sessions=3
    ).run()
    assert len(ran.findings) == 3
    assert {finding.kind for finding in ran.findings} == {FindingKind.UNEXPECTED}
    assert ran.verdict is Verdict.FAIL


def test_the_end_of_a_session_is_watched_from_its_last_message_on() -> None:
    driven = DrivenSession(TALK, grace=0.5).open()
    driven.talk()
    driven.hear(b"YES\n", after=3.0)
    assert driven.session.leaving.watch_until == driven.now + 0.5
    assert not driven.session.is_over
    driven.wait(0.5)
    assert driven.session.is_over
