"""The quiet interval follows the pauses of the peer, on a clock that advances only when it is told."""

from __future__ import annotations

import pytest

from palaver.session.quiescence import SessionClock, Timeouts


def test_time_does_not_go_back() -> None:
    clock = SessionClock(Timeouts())
    clock.advance(2.0)
    clock.advance(1.0)
    assert clock.now == 2.0


@pytest.mark.parametrize(("pause", "quiet"), [(0.0, 0.15), (0.001, 0.05), (0.1, 0.4), (10.0, 2.0)])
def test_a_peer_is_quiet_after_four_of_its_longest_pauses_within_bounds(pause: float, quiet: float) -> None:
    clock = SessionClock(Timeouts())
    clock.note_forwarded(is_more=False)
    clock.advance(pause)
    clock.note_forwarded(is_more=True)
    assert clock.quiet_at == pytest.approx(pause + quiet)
    assert not clock.is_quiet
    clock.advance(clock.quiet_at)
    assert clock.is_quiet


def test_a_pause_between_messages_does_not_change_the_quiet_interval() -> None:
    clock = SessionClock(Timeouts())
    clock.advance(3.0)
    clock.note_forwarded(is_more=False)
    assert clock.quiet_at == pytest.approx(3.15)


def test_the_user_may_set_the_quiet_interval() -> None:
    clock = SessionClock(Timeouts(quiet=1.5))
    clock.advance(1.0)
    clock.note_forwarded(is_more=True)
    assert clock.quiet_at == 2.5


def test_a_message_that_a_party_collects_has_begun() -> None:
    clock = SessionClock(Timeouts(max_message_bytes=10))
    clock.advance(1.0)
    clock.note_buffered(b"")
    clock.mark_buffering()
    assert clock.is_buffering
    assert clock.idle_seconds == 0.0


def test_data_that_a_party_drops_without_end_is_no_activity() -> None:
    clock = SessionClock(Timeouts(max_message_bytes=10))
    clock.advance(1.0)
    clock.note_buffered(b"more than that")
    clock.mark_buffering()
    assert clock.idle_seconds == 1.0


def test_forwarded_data_is_not_buffered() -> None:
    clock = SessionClock(Timeouts())
    clock.note_buffered(b"all")
    clock.note_forwarded(is_more=False)
    assert not clock.is_buffering


def test_the_alarm_is_set_to_the_quiet_interval_or_as_told() -> None:
    clock = SessionClock(Timeouts(quiet=1.0))
    clock.advance(2.0)
    clock.set_alarm()
    assert clock.alarm == 3.0
    clock.set_alarm(5.0)
    assert clock.alarm == 7.0
