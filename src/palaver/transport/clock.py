"""Clocks: that of the system, and one for tests."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Return the seconds since some moment; never less than before."""


class SystemClock:
    """The monotonic clock of the system."""

    def now(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that only its owner moves."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self.advance_to(self._now + seconds)

    def advance_to(self, at: float) -> None:
        """Move the clock to `at`, unless it is later already."""
        self._now = max(self._now, at)
