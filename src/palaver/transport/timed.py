"""An event loop that measures how long it waits, and calls somebody back meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from palaver.session.events import Input, Passed
from palaver.transport.drive import Carrier

# How often `look_up` is called while nothing happens, in seconds.
LOOK_UP_EVERY = 0.25


class Timed:
    """Does what another event loop does, and measures the waiting."""

    def __init__(self, loop: Carrier) -> None:
        self.clock = loop.clock
        self.carry_out = loop.carry_out
        self.poll = loop.poll
        self.port_of = loop.port_of
        self.waited = 0.0  # seconds spent waiting
        self.look_up: Callable[[], None] | None = None  # called regularly while nothing happens
        self._loop = loop

    def wait(self, until: float | None) -> list[Input]:
        """Wait for inputs; `Passed` if nothing has happened until then."""
        began = self.clock.now()
        try:
            return self._wait_in_pieces(until)
        finally:  # also if it is interrupted
            self.waited += self.clock.now() - began

    def _wait_in_pieces(self, until: float | None) -> list[Input]:
        # Without a limit in one piece: only so the event loop can tell that nothing will ever happen.
        while self.look_up is not None and until is not None:
            pause = self.clock.now() + LOOK_UP_EVERY
            if pause >= until:
                break
            inputs = self._loop.wait(pause)
            if not all(isinstance(happened, Passed) for happened in inputs):
                return inputs
            self.look_up()
        return self._loop.wait(until)
