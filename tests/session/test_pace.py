"""How long is waited follows the rhythm of the peer, on a clock that goes only when it is told."""

from __future__ import annotations

import pytest

from palaver.session.pace import Pace, Patience


def test_time_does_not_go_back() -> None:
    pace = Pace(Patience())
    pace.reach(2.0)
    pace.reach(1.0)
    assert pace.now == 2.0


@pytest.mark.parametrize(("pause", "quiet"), [(0.0, 0.15), (0.001, 0.05), (0.1, 0.4), (10.0, 2.0)])
def test_a_peer_is_quiet_after_four_of_its_longest_pauses_within_bounds(pause: float, quiet: float) -> None:
    pace = Pace(Patience())
    pace.pass_on(is_more=False)
    pace.reach(pause)
    pace.pass_on(is_more=True)
    assert pace.quiet_at() == pytest.approx(pause + quiet)
    assert not pace.is_quiet()
    pace.reach(pace.quiet_at())
    assert pace.is_quiet()


def test_a_pause_between_messages_is_not_the_rhythm_of_a_peer() -> None:
    pace = Pace(Patience())
    pace.reach(3.0)
    pace.pass_on(is_more=False)
    assert pace.quiet_at() == pytest.approx(3.15)


def test_the_user_may_say_when_a_peer_is_quiet() -> None:
    pace = Pace(Patience(quiet=1.5))
    pace.reach(1.0)
    pace.pass_on(is_more=True)
    assert pace.quiet_at() == 2.5


def test_a_message_that_a_party_gathers_has_begun() -> None:
    pace = Pace(Patience(largest_message=10))
    pace.reach(1.0)
    pace.withhold(b"")
    pace.stir_if_withheld()
    assert pace.is_withholding()
    assert pace.waited() == 0.0


def test_what_comes_without_end_and_is_dropped_is_no_message() -> None:
    pace = Pace(Patience(largest_message=10))
    pace.reach(1.0)
    pace.withhold(b"more than that")
    pace.stir_if_withheld()
    assert pace.waited() == 1.0


def test_what_was_passed_on_is_not_withheld() -> None:
    pace = Pace(Patience())
    pace.withhold(b"all")
    pace.pass_on(is_more=False)
    assert not pace.is_withholding()


def test_others_may_speak_for_a_quiet_interval_or_until_one_does() -> None:
    pace = Pace(Patience(quiet=1.0))
    pace.hold()
    assert pace.is_holding()
    pace.reach(1.0)
    assert not pace.is_holding()
    assert pace.holds_until == 1.0
    pace.end_turn()
    assert pace.holds_until is None
