"""Timers that a spec starts and cancels by talking to `TimerControl`, and hears of from `TimerEvent`."""

from __future__ import annotations

import re

_START = re.compile(r"start: (?P<number>[0-9]+) \((?P<seconds>[0-9]+)\)\n?")
_CANCEL = re.compile(r"cancel: (?P<number>[0-9]+)\n?")

# A timer that expires later than this never does, as far as a session is concerned.
_LONGEST = 1e9


class Timers:
    """The timers of one session; `are_heard` if the spec has a `TimerEvent` that tells of them."""

    def __init__(self, *, are_heard: bool) -> None:
        self.are_heard = are_heard
        self._due: dict[str, float] = {}

    @property
    def next_at(self) -> float | None:
        """When the next one expires."""
        return min(self._due.values(), default=None)

    def control(self, text: str, now: float) -> None:
        """Do what a message to `TimerControl` says."""
        if started := _START.fullmatch(text):
            self._due[started["number"]] = now + min(float(started["seconds"]), _LONGEST)
        elif cancelled := _CANCEL.fullmatch(text):
            self._due.pop(cancelled["number"], None)

    def expired(self, now: float) -> str | None:
        """What `TimerEvent` says if a timer is over: of several, the one that was over first. Each is told of once."""
        over = [(at, int(number), number) for number, at in self._due.items() if at <= now]
        if not over:
            return None
        _, _, number = min(over)
        del self._due[number]
        return f"expired: {number}\n"
