"""Messages of the peer may have deadlines, which the spec or the command line says."""

from __future__ import annotations

from typing import Any

import pytest
from driven_session import CLIENT, DrivenSession

import palaver
from palaver.errors import PalaverError
from palaver.session.findings import FindingKind, Verdict
from palaver.session.setup import SessionSetup

TALK = """
<start> ::= <Client:ask> (<Server:answer> | <Server:report>) <Client:bye>
<ask> ::= "ASK\\n"
<answer> ::= "YES\\n"
<report> ::= "REPORT\\n"
<bye> ::= "BYE\\n"
MESSAGE_DEADLINES = {"<answer>": 0.5, "report": 30}
"""


def asked(text: str = TALK) -> DrivenSession:
    driven = DrivenSession(text, timeout=5.0).open()
    assert driven.talk() == b"ASK\n"
    return driven


def test_a_message_after_its_deadline_is_a_finding_and_the_session_goes_on() -> None:
    driven = asked()
    driven.hear(b"YES\n", after=0.75)
    assert driven.talk() == b"BYE\n"
    assert driven.session.is_over
    (finding,) = driven.session.findings
    assert (finding.kind, finding.party) == (FindingKind.LATE, "Server")
    assert finding.message == "<answer> from Server took 0.750 s, its deadline is 0.5 s; see --deadline"
    assert driven.session.verdict is Verdict.FAIL


@pytest.mark.parametrize(("data", "after"), [(b"YES\n", 0.5), (b"REPORT\n", 20.0)])
def test_a_message_in_time_is_none_also_if_it_takes_longer_than_the_timeout(data: bytes, after: float) -> None:
    driven = asked()
    driven.hear(data, after=after)
    driven.talk()
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS


def test_a_message_that_never_comes_is_waited_for_until_the_last_deadline() -> None:
    driven = asked()
    assert driven.session.deadline == 30.0
    driven.wait(30.0)
    (finding,) = driven.session.findings
    assert finding.message == "no <answer> or <report> from Server in 30.0 s; see --deadline"


def test_a_message_with_a_short_deadline_is_waited_for_until_the_timeout() -> None:
    driven = asked(TALK.replace("30", "0.25"))
    driven.wait(4.0)
    assert not driven.session.is_over
    driven.hear(b"REPORT\n")
    assert driven.session.findings[0].kind is FindingKind.LATE
    driven = asked(TALK.replace("30", "0.25"))
    driven.wait(5.0)
    assert driven.session.findings[0].message == "no <answer> or <report> from Server in 5.0 s; see --timeout"


def test_without_a_deadline_the_timeout_counts() -> None:
    driven = asked(TALK.partition("MESSAGE_DEADLINES")[0])
    driven.wait(5.0)
    assert driven.session.findings[0].message == "no <answer> or <report> from Server in 5.0 s; see --timeout"


@pytest.mark.parametrize(
    ("deadlines", "reason"),
    [
        ({"<nothing>": 1}, "a deadline is given for <nothing>, but there is no such message"),
        ({"<start>": 1}, "a deadline is given for <start>, but there is no such message"),
        ({"answer": 0}, "the deadline of <answer> must be a number of seconds, not 0"),
        ({"answer": "soon"}, "the deadline of <answer> must be a number of seconds, not 'soon'"),
    ],
)
def test_a_wrong_deadline_is_told_before_the_first_session(deadlines: dict[str, Any], reason: str) -> None:
    with pytest.raises(PalaverError, match=reason):
        SessionSetup(palaver.loads(TALK), CLIENT, deadlines=deadlines)


def test_a_spec_that_leaves_a_message_out_keeps_its_deadline() -> None:
    shorter = TALK.replace("<start>", "<whole>") + "<start> ::= <Client:ask> <Server:report>\n"
    driven = asked(shorter)
    driven.hear(b"REPORT\n", after=4.0)
    assert (driven.kinds, driven.session.verdict) == ([], Verdict.PASS)


def test_a_deadline_counts_from_the_message_before() -> None:
    text = (
        '<start> ::= <Client:ask> <Server:one> <Server:two>\n<ask> ::= "ASK\\n"\n<one> ::= "1\\n"\n<two> ::= "2\\n"\n'
    )
    driven = asked(text + 'MESSAGE_DEADLINES = {"<one>": 0.5, "<two>": 0.5}\n')
    driven.hear(b"1\n", after=0.4)
    driven.hear(b"2\n", after=0.4)
    assert driven.kinds == []
