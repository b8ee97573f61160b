"""The progress of a campaign on standard error: a live area on a terminal, elsewhere a line now and then.

How it works
============

Nothing here has a thread. A display is a reader of events; a look at the clock tells whether it is time to draw again.
Figures are read only then. While the peer is waited for, `StillWaiting` events keep it going.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import click

from palaver.campaign.events import Event
from palaver.printable import printable
from palaver.reporting.reporting_limits import (
    DRAW_EVERY_S,
    LINE_EVERY_S,
    RATE_WINDOW,
    REST_AFTER_DRAWING,
    SHOW_AFTER_S,
)
from palaver.reporting.status import Status

if TYPE_CHECKING:
    from palaver.reporting.live_area import LiveArea

Now: TypeAlias = Callable[[], float]


class Display(Protocol):
    """A reader of events that shows the progress of a campaign."""

    def __call__(self, event: Event) -> None:
        """Show something if it is time to."""

    def show(self, text: str, *, is_result: bool = False) -> None:
        """Show a text that stays: a result goes to standard output, a remark to standard error."""

    def close(self) -> None:
        """Remove what was drawn."""


class NoDisplay:
    """Shows only what stays."""

    def __call__(self, event: Event) -> None:
        """Draw nothing."""

    def show(self, text: str, *, is_result: bool = False) -> None:
        click.echo(printable(text), err=not is_result)

    def close(self) -> None:
        """There is nothing to remove."""


class LineDisplay(NoDisplay):
    """Prints a line every few seconds."""

    def __init__(self, status: Status, now: Now = time.monotonic) -> None:
        self._status = status
        self._now = now
        self._next = now() + LINE_EVERY_S

    def __call__(self, event: Event) -> None:
        if self._now() >= self._next:
            self.show(self._status.line)
            self._next = self._now() + LINE_EVERY_S


class LiveDisplay(NoDisplay):
    """Draws bars and figures again and again."""

    def __init__(
        self, status: Status, now: Now = time.monotonic, make_area: Callable[[], LiveArea] | None = None
    ) -> None:
        self._status = status
        self._now = now
        self._make_area = make_area or _make_area
        self._area: LiveArea | None = None
        self._began = now()
        self._next = self._began + SHOW_AFTER_S
        self._recent = deque([(self._began, 0)], maxlen=RATE_WINDOW)

    def __call__(self, event: Event) -> None:
        if self._now() >= self._next:
            self._draw()

    def show(self, text: str, *, is_result: bool = False) -> None:
        if self._area is None or (is_result and not sys.stdout.isatty()):
            super().show(text, is_result=is_result)
        else:
            self._area.print(text)

    def close(self) -> None:
        area, self._area = self._area, None
        if area is not None:
            area.close()

    def _draw(self) -> None:
        if self._area is None:
            self._area = self._make_area()
        began = self._now()
        self._area.draw(self._status, self._rate(began), began - self._began)
        ended = self._now()
        self._next = max(began + DRAW_EVERY_S, ended + REST_AFTER_DRAWING * (ended - began))

    def _rate(self, now: float) -> float:
        """Messages per second, lately."""
        since, before = self._recent[0]
        self._recent.append((now, self._status.messages))
        return (self._status.messages - before) / (now - since)


def display_for(wanted: str, status: Status, *, verbose: bool) -> Display:
    """Make the display for `live`, `plain` or `none`; `auto` is the one that suits standard error."""
    if wanted == "auto":
        wanted = "none" if verbose else "live" if _can_draw() else "plain"
    match wanted:
        case "live":
            return LiveDisplay(status)
        case "plain":
            return LineDisplay(status)
        case _:
            return NoDisplay()


def _can_draw() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def _make_area() -> LiveArea:
    from palaver.reporting.live_area import LiveArea  # rich takes longer to import than many campaigns take in all

    return LiveArea()
