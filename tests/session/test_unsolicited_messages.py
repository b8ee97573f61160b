"""What may come at any time is said once, and may come between any two messages."""

from __future__ import annotations

import pytest
from driven_session import DrivenSession

import palaver
from amounts import few
from palaver.session.findings import FindingKind, Verdict
from palaver.testing import run_pair

SPEC = """
<start> ::= <exchange>{2} <Client:Server:bye> <Server:Client:connection_closed>
<exchange> ::= <Client:Server:ask> <Server:Client:answer>
<at_any_time> ::= <Server:Client:ping> <Client:Server:pong> | <Server:Client:notice>
<ask> ::= "ASK\\n"
<answer> ::= "SAY\\n"
<bye> ::= "BYE\\n"
<ping> ::= "PING\\n"
<pong> ::= "PONG\\n"
<notice> ::= "NOTE " <digit> "\\n"
<connection_closed> ::= ""
where len(set(map(str, *<notice>))) == len(*<notice>)
"""


def symbols(driven: DrivenSession) -> list[str]:
    return [said.symbol for said in driven.session.said]


def begun() -> DrivenSession:
    driven = DrivenSession(SPEC, timeout=2.0).open()
    assert driven.talk() == b"ASK\n"
    return driven


def test_it_may_come_before_an_answer_and_is_answered_itself() -> None:
    driven = begun()
    driven.hear(b"PING\n")
    assert driven.talk() == b"PONG\n"
    driven.hear(b"NOTE 1\nSAY\n")
    assert driven.talk() == b"ASK\n"
    assert symbols(driven) == ["<ask>", "<ping>", "<pong>", "<notice>", "<answer>", "<ask>"]


def test_it_may_come_when_the_session_is_nearly_over() -> None:
    driven = begun()
    driven.hear(b"SAY\n")
    driven.talk()
    driven.hear(b"SAY\nNOTE 1\n")
    assert driven.talk() == b"BYE\n"
    driven.hear(b"NOTE 2\n")
    driven.close()
    assert driven.session.verdict is Verdict.PASS


def test_it_does_not_replace_an_answer() -> None:
    driven = begun()
    driven.hear(b"NOTE 1\n")
    driven.wait(3.0)
    assert driven.kinds == [FindingKind.SILENCE]


def test_constraints_see_it() -> None:
    driven = begun()
    driven.hear(b"NOTE 1\n")
    driven.hear(b"NOTE 1\n")
    assert driven.kinds == [FindingKind.CONSTRAINT]


def test_only_what_is_said_may_come() -> None:
    driven = begun()
    driven.hear(b"NOTE X\n")
    assert driven.kinds == [FindingKind.UNPARSEABLE]


@pytest.mark.parametrize("seed", few(range(3)))
def test_sessions_that_talk_to_each_other_agree_about_it(seed: int) -> None:
    pair = run_pair(palaver.loads(SPEC), seed=seed)
    assert [session.verdict for session in pair] == [Verdict.PASS, Verdict.PASS]


def test_a_spec_with_it_has_no_objections_and_reads_what_it_makes() -> None:
    spec = palaver.loads(SPEC)
    assert not spec.warnings
    for tree in spec.fuzz(5, seed=1):
        assert spec.parse(str(tree))
