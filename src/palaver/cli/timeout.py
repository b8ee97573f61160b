"""An end to work that has taken long enough, whatever it is doing."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from palaver import interruption

T = TypeVar("T")

# How often the time is looked at while sessions go on, and how late work may be that looks at it by itself.
_LOOK_EVERY_S = 0.2
_MOST_LATE_S = 0.4

# The alarm goes off again and again: the spec's own code may catch it once.
_AGAIN_S = 0.05


class _TimeUp(BaseException):
    """Passes through everything that catches what spec code raises."""


class _Alarm:
    """Goes off after some seconds; while something `is_interruptible`, by an exception."""

    def __init__(self) -> None:
        self.is_due = False
        self.is_interruptible = False

    def interrupt(self, items: Iterator[T]) -> T:
        """The next item, unless the alarm goes off before it is there."""
        self.is_interruptible = True
        try:
            return next(items)
        finally:
            self.is_interruptible = False

    def ring(self, _number: int, _frame: FrameType | None) -> None:
        self.is_due = True
        if self.is_interruptible:
            raise _TimeUp


def until(items: Iterator[T], ends_at: float | None) -> Iterator[T]:
    """The items until this time (`time.monotonic`). Making one is interrupted then, what is done with one is not."""
    if ends_at is None:
        yield from items
        return
    alarm = _Alarm()
    before = signal.signal(signal.SIGALRM, alarm.ring)
    # A timer of 0 would mean none at all.
    signal.setitimer(signal.ITIMER_REAL, max(ends_at - time.monotonic(), 1e-6), _AGAIN_S)
    try:
        while not alarm.is_due and time.monotonic() < ends_at:
            yield alarm.interrupt(items)
    except (StopIteration, _TimeUp):
        return
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def late_work_interrupted() -> Iterator[None]:
    """Interrupt work whose time is over and that does not look at the time itself, such as the Python of a spec."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        interruption.check(late_by=_MOST_LATE_S)

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_EVERY_S, _LOOK_EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
