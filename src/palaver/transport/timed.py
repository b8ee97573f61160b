"""A carrier by the clock: how long it was waited for, and somebody to look up meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from palaver.session.events import Input, Passed
from palaver.transport.drive import Carrier

# How often somebody may look up while nothing happens, in seconds.
LOOK_UP_EVERY = 0.25


class Timed:
    """Does what another carrier does, and measures the waiting."""

    def __init__(self, carrier: Carrier) -> None:
        self.clock = carrier.clock
        self.carry_out = carrier.carry_out
        self.poll = carrier.poll
        self.port_of = carrier.port_of
        self.waited = 0.0  # seconds in which there was nothing to do but to wait
        self.look_up: Callable[[], None] | None = None  # called now and then while nothing happens
        self._carrier = carrier

    def wait(self, until: float | None) -> list[Input]:
        """What has happened, as soon as something has; `Passed` if nothing has until then."""
        began = self.clock.now()
        try:
            return self._wait_in_pieces(until)
        finally:  # also if it is interrupted
            self.waited += self.clock.now() - began

    def _wait_in_pieces(self, until: float | None) -> list[Input]:
        # Who waits without a limit waits in one piece: only so the carrier can tell that nothing will ever happen.
        while self.look_up is not None and until is not None:
            pause = self.clock.now() + LOOK_UP_EVERY
            if pause >= until:
                break
            heard = self._carrier.wait(pause)
            if not all(isinstance(happened, Passed) for happened in heard):
                return heard
            self.look_up()
        return self._carrier.wait(until)
