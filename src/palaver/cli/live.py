"""What a run of conversations shows while it lasts: a live area on a terminal, elsewhere a line now and then.

How it works
============

Nothing here has a thread. The run calls `look` for every message, and now and then while it waits; a look at the clock
tells whether it is time to show something again. Figures are read only then, from those who have them anyway.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import click

from palaver.cli.status import Status

if TYPE_CHECKING:
    from palaver.cli.area import Area

# What is over sooner than this needs no console.
SHOW_AFTER_S = 0.5
# More often than this nobody sees a difference.
DRAW_EVERY_S = 1 / 8
# Before it draws again, a run gets so many times as long as drawing took: so that takes less than 2 % of the time.
REST_AFTER_DRAWING = 60
# How often a line is printed where nothing can be drawn.
LINE_EVERY_S = 5.0
# Over so many drawings messages per second are counted: a few seconds.
_RECENT = 24

Now: TypeAlias = Callable[[], float]


class Display(Protocol):
    """Where a run shows itself while it lasts."""

    def look(self, happened: object = None) -> None:
        """Something has happened, or time has passed."""

    def show(self, text: str) -> None:
        """Show a text that stays."""

    def close(self) -> None:
        """The run is over."""


class Silent:
    """Shows only what stays."""

    def look(self, happened: object = None) -> None:
        """Nothing is shown."""

    def show(self, text: str) -> None:
        click.echo(text, err=True)

    def close(self) -> None:
        """Nothing was opened."""


class Lines(Silent):
    """Prints a line every few seconds."""

    def __init__(self, status: Status, now: Now = time.monotonic) -> None:
        self._status = status
        self._now = now
        self._next = now() + LINE_EVERY_S

    def look(self, happened: object = None) -> None:
        if self._now() >= self._next:
            self.show(self._status.line)
            self._next = self._now() + LINE_EVERY_S


class Live(Silent):
    """Draws how far the run is, again and again."""

    def __init__(self, status: Status, now: Now = time.monotonic, make_area: Callable[[], Area] | None = None) -> None:
        self._status = status
        self._now = now
        self._make_area = make_area or _area
        self._area: Area | None = None
        self._began = now()
        self._next = self._began + SHOW_AFTER_S
        self._recent = deque([(self._began, 0)], maxlen=_RECENT)

    def look(self, happened: object = None) -> None:
        if self._now() >= self._next:
            self._draw()

    def show(self, text: str) -> None:
        if self._area is None:
            super().show(text)
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
    """What shows a run: `live`, `plain` or `none`; `auto` is what suits standard error."""
    if wanted == "auto":
        wanted = "none" if verbose else "live" if _can_draw() else "plain"
    match wanted:
        case "live":
            return Live(status)
        case "plain":
            return Lines(status)
        case _:
            return Silent()


def _can_draw() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def _area() -> Area:
    from palaver.cli.area import Area  # rich takes longer to import than many runs take in all

    return Area()
