"""Each kind of finding shows the session up to the point, what came there, and what was expected.

They are all in a golden file, which is written anew as `golden` tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from driven_session import SERVER, DrivenSession, answered

import golden
from palaver.session.events import Closed, Failed, Opened
from palaver.session.findings import Finding, FindingKind, Fingerprint, Severity, Verdict, show_data

FINDINGS = Path(__file__).parent / "findings.txt"

TALK = """
<start> ::= <Client:ask> <Server:answer> <Client:thanks>
<ask> ::= "ASK\\n"
<answer> ::= "SAY " <word> "\\n"
<word> ::= r"[a-z]{1,8}"
<thanks> ::= "THANKS\\n"
where str(<word>) != "nonsense"
"""
PROGRAM = TALK.replace("Client:", "In:").replace("Server:", "Out:") + "set_program_command('echo')\n"


def asked(text: str = TALK, **timeouts: Any) -> DrivenSession:
    driven = DrivenSession(text, **timeouts).open()
    assert driven.talk() == b"ASK\n"
    return driven


def unparseable() -> DrivenSession:
    driven = asked()
    driven.hear(b"SAY 12\n")
    return driven


def unexpected() -> DrivenSession:
    driven = asked()
    driven.hear(b"SAY yes\nSAY no\n")
    return driven


def broken() -> DrivenSession:
    driven = asked()
    driven.hear(b"SAY nonsense\n")
    return driven


def silent() -> DrivenSession:
    driven = asked(timeout=2.0)
    driven.wait(2.0)
    return driven


def silent_in_a_message() -> DrivenSession:
    driven = asked(patience=2.0)
    driven.hear(b"SAY y")
    driven.wait(2.0)
    return driven


def closed() -> DrivenSession:
    driven = asked()
    driven.close()
    return driven


def closed_in_a_message() -> DrivenSession:
    driven = asked()
    driven.hear(b"SA")
    driven.close()
    return driven


def reset() -> DrivenSession:
    driven = asked()
    driven.close("reset")
    return driven


def endless() -> DrivenSession:
    driven = asked(TALK.replace("{1,8}", "+"), max_message_bytes=10)
    driven.hear(b"SAY yesyesyes")
    return driven


def crashed() -> DrivenSession:
    driven = DrivenSession(PROGRAM, SERVER, link="In").open()
    driven.talk()
    driven.do(Closed(driven.now, "In", exit_code=-11))
    return driven


def spec_crashed() -> DrivenSession:
    driven = asked(TALK + "where int(<word>) > 0\n")
    driven.hear(b"SAY yes\n")
    return driven


def failed(trouble: str, reason: str) -> Callable[[], DrivenSession]:
    def driven() -> DrivenSession:
        session = DrivenSession(TALK)
        session.do(Failed(0.0, "Client", trouble, reason))  # type: ignore[arg-type]
        return session

    driven.__name__ = trouble
    return driven


def broken_handshake() -> DrivenSession:
    driven = asked()
    driven.do(Failed(driven.now, "Client", "tls", "the peer hung up"))
    return driven


def without_words() -> DrivenSession:
    driven = asked(TALK + "where len(str(<thanks>)) == 3\n")
    driven.hear(b"SAY yes\n")
    driven.talk()
    return driven


def too_many() -> DrivenSession:
    driven = asked(TALK.replace("<Server:answer>", "<Server:answer>+"), max_messages=2)
    driven.hear(b"SAY a\nSAY b\nSAY c\n")
    return driven


def without_a_timer() -> DrivenSession:
    text = "<start> ::= <Client:ask> <TimerEvent:timer_expired>\n<ask> ::= 'ASK\\n'\n"
    driven = DrivenSession(text).open()
    driven.talk()
    return driven


SCENES: list[Callable[[], DrivenSession]] = [
    unparseable,
    unexpected,
    broken,
    silent,
    silent_in_a_message,
    closed,
    closed_in_a_message,
    reset,
    endless,
    crashed,
    broken_handshake,
    without_words,
    spec_crashed,
    failed("refused", "tcp 127.0.0.1:2525: Connection refused"),
    failed("unreachable", "tcp 192.0.2.1:25: No route to host"),
    failed("in use", "tcp 127.0.0.1:2525: Address already in use"),
    too_many,
    without_a_timer,
]


@pytest.mark.parametrize("make", SCENES, ids=lambda make: make.__name__)
def test_a_finding_can_be_read_by_itself(make: Callable[[], DrivenSession]) -> None:
    driven = make()
    (finding,) = driven.session.findings
    title = make.__name__.replace("_", " ")
    golden.check_case(FINDINGS, title, finding.show())
    given, _ = golden.cases(FINDINGS)[title]
    assert f"{finding.kind.name}, {driven.session.verdict.value}\n" == given
    assert driven.session.is_over


def test_each_kind_of_finding_is_shown_here() -> None:
    shown = {given.partition(",")[0] for given, _ in golden.cases(FINDINGS).values()}
    assert shown == {kind.name for kind in FindingKind}
    assert len(golden.cases(FINDINGS)) == len(SCENES) + 2


@pytest.mark.parametrize(("title", "severity"), [("oracle", Severity.VIOLATION), ("note", Severity.NOTE)])
def test_a_finding_of_an_oracle_is_shown_alike(title: str, severity: Severity) -> None:
    (finding,) = silent().session.findings
    text = "Server took 1.500 s to send <answer>, more than 1 s"
    finding = Finding(FindingKind.ORACLE, 1.5, text, "Server", messages=finding.messages, severity=severity)
    golden.check_case(FINDINGS, title, replace(finding, number=2, session=7).show())


def test_without_a_finding_the_verdict_is_pass() -> None:
    driven = DrivenSession().open()
    while not driven.session.is_over:
        driven.hear(answered(driven.talk()))
    assert driven.session.verdict is Verdict.PASS


# --- how it is shown --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"HELO\r\n", r"'HELO\r\n'"),
        ("grüße".encode(), "'grüße'"),
        (b"", "''"),
        (b"\x00\xff", "00 ff"),
        (b"\x1b[31m", "1b 5b 33 31 6d"),
        (b"a" * 300, f"'{'a' * 200}' … (300 bytes)"),
    ],
    ids=["text", "more than ASCII", "nothing", "bytes", "what a terminal would obey", "much"],
)
def test_data_is_shown_as_text_or_in_hexadecimal(data: bytes, shown: str) -> None:
    assert show_data(data) == shown


def test_the_middle_of_a_long_session_is_left_out() -> None:
    driven = DrivenSession(TALK.replace("<Client:ask>", "<Client:ask>{50}")).open()
    driven.talk()
    driven.hear(b"?")
    (finding,) = driven.session.findings
    lines = finding.show().splitlines()
    assert lines[21] == "  … 10 messages …"
    assert len(lines) == 1 + 20 + 1 + 20 + 2
    assert len(finding.messages) == 50


def test_findings_are_the_same_whatever_the_values_in_them_are() -> None:
    def fingerprint(seed: int, data: bytes) -> Fingerprint:
        driven = DrivenSession(seed=seed)
        driven.do(Opened(0.0, "Client"))
        driven.talk()
        driven.hear(data)
        finding: Finding = driven.session.findings[0]
        return finding.fingerprint

    assert fingerprint(1, b"SAY other\n") == fingerprint(2, b"SAY another\n")
    assert fingerprint(1, b"SAY other\n") != fingerprint(1, b"SAX")


def test_findings_differ_if_they_violate_different_constraints() -> None:
    text = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK\\n"
<answer> ::= <word> " " <number> "\\n"
<word> ::= r"[a-z]+"
<number> ::= r"[0-9]+"
where <word> != "bad"
where int(<number>) < 10
"""

    def fingerprint(data: bytes) -> Fingerprint:
        driven = DrivenSession(text).open()
        driven.talk()
        driven.hear(data)
        (finding,) = driven.session.findings
        assert finding.kind is FindingKind.CONSTRAINT
        return finding.fingerprint

    assert fingerprint(b"bad 1\n") == fingerprint(b"bad 2\n")
    assert fingerprint(b"bad 1\n") != fingerprint(b"good 11\n")
