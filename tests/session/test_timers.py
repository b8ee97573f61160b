"""Timers run on the clock of the session: they are started, cancelled and waited for like a peer."""

from __future__ import annotations

import pytest
from driven_session import CLIENT, DrivenSession

from palaver.session.findings import FindingKind, Verdict
from palaver.session.setup import RoleAssignment

ALONE = RoleAssignment()


def symbols(driven: DrivenSession) -> list[str]:
    return [said.symbol for said in driven.session.said]


def run(driven: DrivenSession) -> list[float]:
    """Let time pass as the session asks for it; when something was said."""
    driven.talk()
    while not driven.session.is_over:
        assert driven.session.deadline is not None
        driven.wait(driven.session.deadline - driven.now)
        driven.talk()
    return [said.at for said in driven.session.said]


def test_a_timer_is_waited_for_as_long_as_it_takes() -> None:
    text = '<start> ::= <TimerControl:timer_start> <TimerEvent:timer_expired>\nwhere <timer_timeout> == "100"\n'
    driven = DrivenSession(text, ALONE, timeout=5.0)
    assert run(driven) == [0.0, 100.0]
    assert driven.session.verdict is Verdict.PASS


def test_the_timer_that_expires_is_the_one_that_was_started() -> None:
    text = "<start> ::= <TimerControl:timer_start> <TimerEvent:timer_expired>\n"
    text += "where <timer_start>.<timer_id> == <timer_expired>.<timer_id>\nwhere int(<timer_timeout>) < 9\n"
    driven = DrivenSession(text, ALONE)
    run(driven)
    assert driven.session.verdict is Verdict.PASS


def test_a_timer_may_be_a_fraction_of_a_second() -> None:
    text = "<start> ::= <TimerControl:timer_start> <TimerEvent:timer_expired>\n<timer_timeout> ::= '0.25'\n"
    driven = DrivenSession(text, ALONE)
    assert run(driven) == [0.0, 0.25]
    assert driven.session.verdict is Verdict.PASS


SEVERAL = """
<start> ::= <TimerControl:late> <TimerControl:soon> <TimerEvent:first> <TimerEvent:second>
<late> ::= "start: 9 (7)\\n"
<soon> ::= "start: 10 (3)\\n"
<first> ::= <timer_expired>
<second> ::= <timer_expired>
where str(<first>) == "expired: 10\\n"
where str(<second>) == "expired: 9\\n"
"""


def test_several_timers_expire_in_their_order() -> None:
    driven = DrivenSession(SEVERAL, ALONE)
    assert run(driven) == [0.0, 0.0, 3.0, 7.0]
    assert driven.session.verdict is Verdict.PASS


def test_timers_that_expire_together_do_so_by_their_numbers() -> None:
    driven = DrivenSession(SEVERAL.replace("(7)", "(3)").replace("10", "8").replace("7", "3"), ALONE)
    assert run(driven) == [0.0, 0.0, 3.0, 3.0]
    assert driven.session.verdict is Verdict.PASS


RETRY = """
<start> ::= <Client:ask> <TimerControl:timer_start> (<Server:answer> <TimerControl:timer_cancel> | <again>)
<again> ::= <TimerEvent:timer_expired> <Client:ask> <Server:answer>
<ask> ::= "ASK\\n"
<answer> ::= "SAY\\n"
where <timer_timeout> == "30"
where <timer_id> == "1"
"""


def test_an_answer_before_the_timer_expires_cancels_it() -> None:
    driven = DrivenSession(RETRY, CLIENT).open()
    assert driven.talk() == b"ASK\n"
    driven.wait(29.0)
    driven.hear(b"SAY\n")
    driven.talk()
    assert symbols(driven) == ["<ask>", "<timer_start>", "<answer>", "<timer_cancel>"]
    assert driven.session.verdict is Verdict.PASS


def test_without_an_answer_before_the_timer_expires_we_ask_again() -> None:
    driven = DrivenSession(RETRY, CLIENT, timeout=5.0).open()
    driven.talk()
    assert driven.session.deadline == pytest.approx(30.0)
    driven.wait(30.0)
    assert driven.talk() == b"ASK\n"
    driven.hear(b"SAY\n")
    assert symbols(driven)[2:] == ["<timer_expired>", "<ask>", "<answer>"]
    assert driven.session.verdict is Verdict.PASS


def test_a_timer_that_is_not_waited_for_does_nothing() -> None:
    text = RETRY.replace("| <again>", "")
    driven = DrivenSession(text, CLIENT, timeout=60.0).open()
    driven.talk()
    driven.wait(45.0)
    driven.hear(b"SAY\n")
    driven.talk()
    assert driven.session.verdict is Verdict.PASS


def test_data_that_comes_while_a_timer_is_waited_for_is_kept() -> None:
    text = "<start> ::= <Client:go> <TimerControl:timer_start> <TimerEvent:timer_expired> <Server:answer>\n"
    text += "<go> ::= 'GO\\n'\n<answer> ::= 'SAY\\n'\n"
    driven = DrivenSession(text + 'where <timer_timeout> == "30"\n', CLIENT).open()
    driven.talk()
    driven.hear(b"SAY\n")
    driven.wait(29.0)
    assert not driven.session.findings
    driven.wait(1.0)
    assert driven.session.verdict is Verdict.PASS
    assert symbols(driven)[-1] == "<answer>"


def test_waiting_for_a_timer_that_does_not_run_is_an_error_of_the_spec() -> None:
    driven = DrivenSession(
        "<start> ::= <TimerControl:cancel> <TimerEvent:timer_expired>\n<cancel> ::= 'cancel: 1\\n'\n", ALONE
    )
    driven.talk()
    (finding,) = driven.session.findings
    assert finding.kind is FindingKind.SPEC_CRASH
    assert "no timer is running" in finding.message
