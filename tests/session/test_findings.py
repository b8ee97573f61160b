"""Each kind of finding shows the session up to the point, what came there, and what was expected."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from driven_session import SERVER, DrivenSession, answered

from palaver.session.events import Closed, Failed, Opened
from palaver.session.findings import Finding, FindingKind, Verdict, show_data

TALK = """
<start> ::= <Client:ask> <Server:answer> <Client:thanks>
<ask> ::= "ASK\\n"
<answer> ::= "SAY " <word> "\\n"
<word> ::= r"[a-z]{1,8}"
<thanks> ::= "THANKS\\n"
where str(<word>) != "nonsense"
"""
PROGRAM = TALK.replace("Client:", "In:").replace("Server:", "Out:") + "set_program_command('echo')\n"


def asked(text: str = TALK, **timeouts: float) -> DrivenSession:
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
        driven = DrivenSession(TALK)
        driven.do(Failed(0.0, "Client", trouble, reason))  # type: ignore[arg-type]
        return driven

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


SHOWN: dict[Callable[[], DrivenSession], tuple[FindingKind, Verdict, str]] = {
    unparseable: (
        FindingKind.UNPARSEABLE,
        Verdict.FAIL,
        """\
unparseable: what Server said cannot go on at offset 4
  Client: 'ASK\\n'
  Server: 'SAY 12\\n'  <- here
  expected r'[a-z]{1,8}'""",
    ),
    unexpected: (
        FindingKind.UNEXPECTED,
        Verdict.FAIL,
        """\
unexpected message: Server spoke out of turn
  Client: 'ASK\\n'
  Server: 'SAY yes\\n'
  Server: 'SAY no\\n'  <- here
  expected <thanks>""",
    ),
    broken: (
        FindingKind.CONSTRAINT,
        Verdict.FAIL,
        """\
constraint broken: <answer>: str(<word>) != "nonsense" does not hold (<word> = 'nonsense'), as demanded at <string>:7:7
  Client: 'ASK\\n'
  Server: 'SAY nonsense\\n'  <- here""",
    ),
    silent: (
        FindingKind.SILENCE,
        Verdict.FAIL,
        """\
silence: Server said nothing for 2.0 s
  Client: 'ASK\\n'
  expected <answer>""",
    ),
    silent_in_a_message: (
        FindingKind.SILENCE,
        Verdict.FAIL,
        """\
silence: Server stopped in the middle of a message for 2.0 s
  Client: 'ASK\\n'
  Server: 'SAY y'  <- here
  expected '\\n' or r'[a-z]{1,8}'""",
    ),
    closed: (
        FindingKind.CLOSED,
        Verdict.FAIL,
        """\
closed early: the connection was closed before the conversation was over
  Client: 'ASK\\n'
  expected <answer>""",
    ),
    closed_in_a_message: (
        FindingKind.CLOSED,
        Verdict.FAIL,
        """\
closed early: Server closed the connection in the middle of a message
  Client: 'ASK\\n'
  Server: 'SA'  <- here
  expected 'SAY '""",
    ),
    reset: (
        FindingKind.RESET,
        Verdict.FAIL,
        """\
reset: the connection was reset
  Client: 'ASK\\n'
  expected <answer>""",
    ),
    endless: (
        FindingKind.LIMIT,
        Verdict.FAIL,
        """\
limit: Server has said more than 10 bytes without an end of the message
  Client: 'ASK\\n'
  Server: 'SAY yesyesyes'  <- here
  expected <answer>""",
    ),
    crashed: (
        FindingKind.CRASH,
        Verdict.FAIL,
        """\
crash: the program was ended by signal 11
  In: 'ASK\\n'
  expected <answer>""",
    ),
    broken_handshake: (
        FindingKind.TLS,
        Verdict.FAIL,
        """\
tls failure: the peer hung up
  Client: 'ASK\\n'""",
    ),
    without_words: (
        FindingKind.UNSOLVED,
        Verdict.INCONCLUSIVE,
        """\
nothing to say: no <thanks> was found that satisfies the constraints: no <thanks> satisfies its conditions
  Client: 'ASK\\n'
  Server: 'SAY yes\\n'""",
    ),
    spec_crashed: (
        FindingKind.SPEC_CRASH,
        Verdict.ERROR,
        """\
spec crash: <answer>: int(<word>) > 0 raised ConversionError: <word> is 'yes', which int() does not read as a number \
(<word> = 'yes'), at <string>:8:7: this is a failure of the spec, not of the input
  Client: 'ASK\\n'
  Server: 'SAY yes\\n'  <- here""",
    ),
    failed("refused", "nobody there"): (FindingKind.REFUSED, Verdict.INCONCLUSIVE, "refused: nobody there"),
    failed("unreachable", "no way"): (FindingKind.UNREACHABLE, Verdict.INCONCLUSIVE, "unreachable: no way"),
    failed("in use", "taken"): (FindingKind.IN_USE, Verdict.ERROR, "address in use: taken"),
}


@pytest.mark.parametrize("make", SHOWN, ids=lambda make: make.__name__)
def test_a_finding_can_be_read_by_itself(make: Callable[[], DrivenSession]) -> None:
    kind, verdict, shown = SHOWN[make]
    driven = make()
    (finding,) = driven.session.findings
    assert finding.show() == shown
    assert (finding.kind, driven.session.verdict) == (kind, verdict)
    assert driven.session.is_over


def test_each_kind_of_finding_is_shown_here() -> None:
    assert {kind for kind, _, _ in SHOWN.values()} == {*FindingKind}


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
    def signature(seed: int, data: bytes) -> tuple[str, ...]:
        driven = DrivenSession(seed=seed)
        driven.do(Opened(0.0, "Client"))
        driven.talk()
        driven.hear(data)
        finding: Finding = driven.session.findings[0]
        return finding.signature

    assert signature(1, b"SAY other\n") == signature(2, b"SAY another\n")
    assert signature(1, b"SAY other\n") != signature(1, b"SAX")


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

    def signature(data: bytes) -> tuple[str, ...]:
        driven = DrivenSession(text).open()
        driven.talk()
        driven.hear(data)
        (finding,) = driven.session.findings
        assert finding.kind is FindingKind.CONSTRAINT
        return finding.signature

    assert signature(b"bad 1\n") == signature(b"bad 2\n")
    assert signature(b"bad 1\n") != signature(b"good 11\n")
