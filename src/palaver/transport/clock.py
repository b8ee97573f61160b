"""Where the time comes from."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since some moment; never less than it said before."""
        ...


class SystemClock:
    """The time that passes."""

    def now(self) -> float:
        return time.monotonic()


class ManualClock:
    """A time that passes only when it is told to."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self.advance_to(self._now + seconds)

    def advance_to(self, at: float) -> None:
        """Make it `at`, unless it is later already."""
        self._now = max(self._now, at)
