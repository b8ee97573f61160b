"""Timers run on the clock of the session: they are started, cancelled and waited for like anybody else."""

from __future__ import annotations

import pytest
from scenes import CLIENT, Scene

from palaver.session.cast import Casting
from palaver.session.findings import Kind, Verdict

ALONE = Casting()


def symbols(scene: Scene) -> list[str]:
    return [said.symbol for said in scene.session.said]


def run(scene: Scene) -> list[float]:
    """Let time pass as the session asks for it; when something was said."""
    scene.talk()
    while not scene.session.is_over:
        assert scene.session.deadline is not None
        scene.wait(scene.session.deadline - scene.now)
        scene.talk()
    return [said.at for said in scene.session.said]


def test_a_timer_is_waited_for_as_long_as_it_takes() -> None:
    text = '<start> ::= <TimerControl:timer_start> <TimerEvent:timer_expired>\nwhere <timer_timeout> == "100"\n'
    scene = Scene(text, ALONE, timeout=5.0)
    assert run(scene) == [0.0, 100.0]
    assert scene.session.verdict is Verdict.PASS


def test_the_timer_that_expires_is_the_one_that_was_started() -> None:
    text = "<start> ::= <TimerControl:timer_start> <TimerEvent:timer_expired>\n"
    text += "where <timer_start>.<timer_id> == <timer_expired>.<timer_id>\nwhere int(<timer_timeout>) < 9\n"
    scene = Scene(text, ALONE)
    run(scene)
    assert scene.session.verdict is Verdict.PASS


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
    scene = Scene(SEVERAL, ALONE)
    assert run(scene) == [0.0, 0.0, 3.0, 7.0]
    assert scene.session.verdict is Verdict.PASS


def test_timers_that_expire_together_do_so_by_their_numbers() -> None:
    scene = Scene(SEVERAL.replace("(7)", "(3)").replace("10", "8").replace("7", "3"), ALONE)
    assert run(scene) == [0.0, 0.0, 3.0, 3.0]
    assert scene.session.verdict is Verdict.PASS


RETRY = """
<start> ::= <Client:ask> <TimerControl:timer_start> (<Server:answer> <TimerControl:timer_cancel> | <again>)
<again> ::= <TimerEvent:timer_expired> <Client:ask> <Server:answer>
<ask> ::= "ASK\\n"
<answer> ::= "SAY\\n"
where <timer_timeout> == "30"
where <timer_id> == "1"
"""


def test_who_answers_before_the_timer_expires_lets_it_be_cancelled() -> None:
    scene = Scene(RETRY, CLIENT).open()
    assert scene.talk() == b"ASK\n"
    scene.wait(29.0)
    scene.hear(b"SAY\n")
    scene.talk()
    assert symbols(scene) == ["<ask>", "<timer_start>", "<answer>", "<timer_cancel>"]
    assert scene.session.verdict is Verdict.PASS


def test_who_does_not_answer_before_the_timer_expires_is_asked_again() -> None:
    scene = Scene(RETRY, CLIENT, timeout=5.0).open()
    scene.talk()
    assert scene.session.deadline == pytest.approx(30.0)
    scene.wait(30.0)
    assert scene.talk() == b"ASK\n"
    scene.hear(b"SAY\n")
    assert symbols(scene)[2:] == ["<timer_expired>", "<ask>", "<answer>"]
    assert scene.session.verdict is Verdict.PASS


def test_a_timer_that_nobody_waits_for_disturbs_nobody() -> None:
    text = RETRY.replace("| <again>", "")
    scene = Scene(text, CLIENT, timeout=60.0).open()
    scene.talk()
    scene.wait(45.0)
    scene.hear(b"SAY\n")
    scene.talk()
    assert scene.session.verdict is Verdict.PASS


def test_what_the_peer_says_while_only_a_timer_is_waited_for_is_held() -> None:
    text = "<start> ::= <Client:go> <TimerControl:timer_start> <TimerEvent:timer_expired> <Server:answer>\n"
    text += "<go> ::= 'GO\\n'\n<answer> ::= 'SAY\\n'\n"
    scene = Scene(text + 'where <timer_timeout> == "30"\n', CLIENT).open()
    scene.talk()
    scene.hear(b"SAY\n")
    scene.wait(29.0)
    assert not scene.session.findings
    scene.wait(1.0)
    assert scene.session.verdict is Verdict.PASS
    assert symbols(scene)[-1] == "<answer>"


def test_to_wait_for_a_timer_that_does_not_run_is_the_specs_failure() -> None:
    scene = Scene("<start> ::= <TimerControl:cancel> <TimerEvent:timer_expired>\n<cancel> ::= 'cancel: 1\\n'\n", ALONE)
    scene.talk()
    (finding,) = scene.session.findings
    assert finding.kind is Kind.SPEC_CRASH
    assert "no timer runs" in finding.message
