"""What the system under test does is told once, and in the session that it belongs to."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import palaver
from palaver.campaign.crash_reports import CrashReport, ReportReader
from palaver.campaign.events import SilenceRetried
from palaver.campaign.run import Campaign
from palaver.campaign.system_under_test import SystemUnderTest
from palaver.campaign.target_findings import HeldSession, TargetExit, TargetNews, explained
from palaver.session.findings import Finding, FindingKind, SessionMessage, Severity, Verdict
from palaver.session.interface import Action, Send
from palaver.trees.node import Node, NonTerminal

CASES = Path(__file__).parents[1] / "cases"
ASAN = CrashReport("AddressSanitizer", "heap-buffer-overflow", "parse a.c:1")
TRACEBACK = CrashReport("Python", "ValueError: 1", "f (a.py:1)", is_sure=False)


def said(*texts: str) -> tuple[SessionMessage, ...]:
    """Messages; those in capital letters are ours."""
    return tuple(
        SessionMessage(0.0, "A", "B", "<m>", text.encode(), Node(NonTerminal("<m>"), (text,)), is_ours=text.isupper())
        for text in texts
    )


def closed() -> Finding:
    return Finding(FindingKind.CLOSED, 1.0, "connection closed", expected=("<answer>",))


def exited(code: int, *reports: CrashReport) -> TargetNews:
    return TargetNews(exits=(TargetExit(1.0, code, b"", reports),))


def told(findings: list[Finding]) -> list[tuple[FindingKind, Severity]]:
    return [(finding.kind, finding.severity) for finding in findings]


@pytest.mark.parametrize(
    ("news", "kind"),
    [
        (exited(-11), FindingKind.CRASH),
        (exited(0), FindingKind.EXIT),
        (exited(1, ASAN), FindingKind.CRASH),
        (TargetNews(reports=(ASAN,)), FindingKind.REPORT),
    ],
)
def test_what_the_program_did_explains_the_end_of_its_connection(news: TargetNews, kind: FindingKind) -> None:
    (finding,) = explained([closed()], news, said("ASK"))
    assert (finding.kind, finding.verdict) == (kind, Verdict.FAIL)
    assert finding.expected == ("<answer>",)


def test_other_findings_stay() -> None:
    wrong = Finding(FindingKind.UNPARSEABLE, 1.0, "wrong")
    found = explained([wrong], exited(-6), said("ASK"))
    assert told(found) == [(FindingKind.CRASH, Severity.VIOLATION), (FindingKind.UNPARSEABLE, Severity.VIOLATION)]


def test_an_exit_in_good_order_after_a_whole_session_is_a_note() -> None:
    found = explained([], exited(0), said("ASK", "yes"))
    assert told(found) == [(FindingKind.EXIT, Severity.NOTE)]


def test_an_error_that_may_have_been_handled_is_a_note_and_explains_nothing() -> None:
    found = explained([closed()], TargetNews(reports=(TRACEBACK, TRACEBACK)), said("ASK"))
    assert told(found) == [(FindingKind.REPORT, Severity.NOTE), (FindingKind.CLOSED, Severity.VIOLATION)]


def test_the_session_before_is_shown_only_if_the_program_has_said_nothing_since() -> None:
    before = HeldSession(3, said("ASK", "yes"))
    (uncertain,) = explained([closed()], exited(-6), said("ASK"), [before])
    assert "session 3 may have caused it" in uncertain.headline
    assert uncertain.before == before.messages
    (certain,) = explained([closed()], exited(-6), said("ASK", "yes", "ASK"), [before])
    assert certain.before == ()


def test_a_crash_after_a_whole_session_may_be_the_doing_of_all_that_had_just_ended() -> None:
    before = [
        HeldSession(number, said("ASK", str(number)), ended) for number, ended in ((3, 0.5), (4, 0.92), (5, 0.95))
    ]
    (uncertain,) = explained([], exited(-6), said("ASK", "yes"), before)
    assert "one of sessions 4 to 5 may have caused it, which had just ended" in uncertain.headline
    assert uncertain.before == before[-1].messages
    (certain,) = explained([], exited(-6), said("ASK", "yes"), before[:1])
    assert "may have caused it" not in certain.headline


# --- with programs ----------------------------------------------------------------------------------------------------


def campaign(server: str, *words: str, sessions: int, **options: object) -> Campaign:
    command = shlex.join([sys.executable, "-SE", str(CASES / server), "{port}", *words])
    made = palaver.talk(CASES / "ask.fan", target=command, seed=1, sessions=sessions, **options)  # type: ignore[arg-type]
    return made.run()


@pytest.mark.parametrize("server", ["childasan.py", "ubsan.py"])
def test_reports_of_sanitizers_are_findings_also_of_a_child_and_without_a_crash(server: str) -> None:
    ran = campaign(server, sessions=2)
    assert [(finding.kind, finding.session) for finding in ran.findings] == [
        (FindingKind.REPORT, 1),
        (FindingKind.REPORT, 2),
    ]
    assert ran.verdict is Verdict.FAIL
    assert len({finding.fingerprint for finding in ran.findings}) == 1
    assert b"Sanitizer" in ran.findings[0].output or b"runtime error" in ran.findings[0].output


def test_a_late_crash_is_shown_with_both_sessions_that_may_have_caused_it() -> None:
    ran = campaign("ab.py", "0.05", sessions=4)
    (finding,) = ran.findings
    assert finding.kind is FindingKind.CRASH
    assert "SIGABRT" in finding.message
    if finding.session == 4:
        assert "session 3 may have caused it" in finding.message
        assert [message.symbol for message in finding.before] == ["<ask>", "<answer>"]
    else:  # it was faster than we were
        assert finding.session == 3


def test_a_crash_after_the_last_session_belongs_to_it_or_to_one_that_had_just_ended() -> None:
    (finding,) = campaign("ab.py", "0.01", sessions=3).findings
    assert (finding.kind, finding.session) == (FindingKind.CRASH, 3)
    others = [f"session {number} may have caused it" for number in (1, 2)]
    assert bool(finding.before) == any(text in finding.message for text in (*others, "one of sessions 1 to 2 may have"))


def test_with_a_grace_a_late_crash_belongs_to_its_session() -> None:
    (finding,) = campaign("ab.py", "0.05", sessions=4, grace=1.0).findings[:1]
    assert (finding.kind, finding.session, finding.before) == (FindingKind.CRASH, 3, ())


ASKING_CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.sendall(b"GET abc\\n")
    connection.recv(100)
"""


@pytest.mark.parametrize("server", ["0", "127.0.0.1:0", "Server=tcp://127.0.0.1:0"])
def test_a_client_is_told_the_free_port_at_which_we_listen(server: str) -> None:
    command = shlex.join([sys.executable, "-SEc", ASKING_CLIENT, "{port}"])
    ran = palaver.talk(CASES / "ask.fan", server=server, target=command, seed=1, sessions=1).run()
    assert (ran.verdict, ran.progress.received) == (Verdict.PASS, 1)


# --- silence ----------------------------------------------------------------------------------------------------------


def silent(how: str, **options: object) -> tuple[Campaign, list[bytes]]:
    command = shlex.join([sys.executable, "-SE", str(CASES / "silent.py"), "{port}", how])
    made = palaver.talk(CASES / "ask.fan", target=command, seed=1, timeout=0.3, **options)  # type: ignore[arg-type]
    sent = [event.data for event in carried_out(made)]
    return made, sent


def carried_out(made: Campaign) -> list[Send]:
    """What was sent to the peer, whether it is told as a message of a session or not."""
    sent: list[Send] = []
    carry_out = SystemUnderTest.carry_out

    def noted(target: SystemUnderTest, actions: Iterable[Action]) -> None:
        actions = list(actions)
        sent.extend(action for action in actions if isinstance(action, Send))
        carry_out(target, actions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemUnderTest, "carry_out", noted)
        made.run()
    return sent


def test_a_silence_that_is_not_repeated_is_a_note_and_the_same_was_sent_again() -> None:
    ran, sent = silent("once", sessions=3)
    (finding,) = ran.findings
    assert (finding.kind, finding.severity, finding.session) == (FindingKind.SILENCE, Severity.NOTE, 2)
    assert "no <answer> from Server in 0.3 s; see --timeout (but not when it was tried once more)" in finding.message
    assert len(sent) == 4
    assert sent[1] == sent[2]
    assert ran.verdict is Verdict.PASS


def test_a_silence_that_is_repeated_is_a_finding_and_the_server_is_started_again() -> None:
    ran, sent = silent("hung", sessions=4)
    assert [(finding.session, finding.severity) for finding in ran.findings] == [
        (2, Severity.VIOLATION),
        (4, Severity.VIOLATION),
    ]
    first, second = ran.findings
    assert first.message.endswith("(the same when it was tried once more; the system under test was started again)")
    assert second.message.endswith("(as before; the system under test was started again)")
    assert first.fingerprint == second.fingerprint
    assert len(sent) == 5  # the second silence is not tried again


def test_the_retry_is_an_event() -> None:
    command = shlex.join([sys.executable, "-SE", str(CASES / "silent.py"), "{port}", "once"])
    made = palaver.talk(CASES / "ask.fan", target=command, seed=1, timeout=0.3, sessions=2)
    retried = [event for event in made if isinstance(event, SilenceRetried)]
    assert [(event.session, event.is_confirmed) for event in retried] == [(2, False)]


def test_a_report_in_colours_is_read_and_shown_without_them() -> None:
    """On a terminal, which the output of a target is, sanitizers write in colours."""
    reader = ReportReader()
    red, plain = "\x1b[1m\x1b[31m", "\x1b[1m\x1b[0m"
    legend = "\n".join(f"  shadow byte {number}" for number in range(30))
    output = (
        f"==7=={red}ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1 at pc 0x2\n{plain}"
        f"    {red}#0 0x3 in copy /src/a.c:7{plain}\n{legend}\n"
    ).encode()
    reader.feed(output)
    (report,) = reader.take()
    assert report.cause == "AddressSanitizer: heap-buffer-overflow in copy /src/a.c:7"
    lines = TargetExit(1.0, 1, output, (report,)).finding(()).message.splitlines()
    assert lines[:3] == [
        "the system under test exited with code 1: AddressSanitizer: heap-buffer-overflow in copy /src/a.c:7",
        "  from its output:",
        "  | ==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1 at pc 0x2",
    ]
