"""An end to long work: searches ask now and then whether their time is over.

Below the transports nobody knows a clock. Whoever has one says how many seconds are left for the work of a context;
loops in it that may go on for long call `check` every few hundred steps:

    with interruptible(lambda: ends_at - clock.now()):
        ...

Without such a context nothing is ever interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

SecondsLeft: TypeAlias = Callable[[], float]

_seconds_left: ContextVar[SecondsLeft | None] = ContextVar("seconds left", default=None)


class Interrupted(BaseException):
    """The time for some work is over. It passes through everything that catches what spec code raises."""


def check(late_by: float = 0.0) -> None:
    """Go on, unless the time has been over for so many seconds. :raises Interrupted: it has"""
    seconds_left = _seconds_left.get()
    if seconds_left is not None and seconds_left() <= -late_by:
        raise Interrupted


@contextmanager
def interruptible(seconds_left: SecondsLeft) -> Iterator[None]:
    """Let the work in this context be interrupted when no seconds are left."""
    token = _seconds_left.set(seconds_left)
    try:
        yield
    finally:
        _seconds_left.reset(token)
