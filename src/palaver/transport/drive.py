"""Brings a session and the world together, and listens before it lets the session talk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from palaver.session.events import Action, Close, Input, Listening, Open, Passed
from palaver.transport.clock import Clock

# Sees every input before it is handled and every action before it is carried out.
Watch: TypeAlias = Callable[[Input | Action], None]


class Talker(Protocol):
    """A session, as far as the world needs to know it.

    It is started by `Passed`, and answers with what it wants to be opened. To talk takes three steps: `speak` makes
    something to say, and then, if nobody was faster, `commit` says it; otherwise `discard` takes it back, and what has
    come is handled.
    """

    @property
    def is_over(self) -> bool: ...

    @property
    def deadline(self) -> float | None:
        """When it wants to be woken if nothing happens before."""
        ...

    @property
    def wants_to_speak(self) -> bool: ...

    def handle(self, happened: Input) -> Sequence[Action]: ...

    def speak(self, at: float) -> bool:
        """Make something to say, and tell whether that worked. False makes us wait for what happens next."""
        ...

    def commit(self, at: float) -> Sequence[Action]: ...

    def discard(self) -> None: ...


class Carrier(Protocol):
    """Carries out actions and reports what happens: a `Loop`, or one in memory."""

    @property
    def clock(self) -> Clock: ...

    def carry_out(self, actions: Iterable[Action]) -> None: ...

    def poll(self) -> list[Input]:
        """What has happened; [] if nothing has. Does not wait."""
        ...

    def wait(self, until: float | None) -> list[Input]:
        """What has happened, as soon as something has; `Passed` if nothing has until then."""
        ...

    def port_of(self, link: str) -> int:
        """The port where a link listens, as soon as it was opened; 0 if it does not."""
        ...


def drive(session: Talker, carrier: Carrier, watch: Watch | None = None) -> None:
    """Let a session talk until it is over."""
    driver = Driver(session, carrier, watch)
    driver.step()
    while not session.is_over:
        # To listen before one only waits for others would be to listen twice.
        if not session.wants_to_speak or not driver.step():
            driver.hand_over(carrier.wait(session.deadline))
            driver.has_listened = True


class Driver:
    """A session with its carrier, moved step by step so that several can take turns."""

    def __init__(self, session: Talker, carrier: Carrier, watch: Watch | None = None) -> None:
        self.session = session
        self.carrier = carrier
        self._watch = watch
        self._is_started = False
        self.has_listened = False  # just now, so there is no need to do so before anything is made
        self.is_busy = False  # in the middle of a step: code of the spec may wait for others in it

    def step(self) -> bool:
        """Do what can be done without waiting; False if that is nothing."""
        if self.session.is_over:
            return False
        was_busy, self.is_busy = self.is_busy, True
        try:
            return self._go_on()
        finally:
            self.is_busy = was_busy

    def _go_on(self) -> bool:
        if not self._is_started:
            self._is_started = True
            return self.hand_over([Passed(self.carrier.clock.now())])
        if self.has_listened:
            self.has_listened = False
        elif self.hand_over(self.carrier.poll()):
            return True
        return self._speak()

    def hand_over(self, inputs: Sequence[Input]) -> bool:
        """Whether there was anything to hand over."""
        was_busy, self.is_busy = self.is_busy, True
        try:
            self._hand_over(inputs)
        finally:
            self.is_busy = was_busy
        return bool(inputs)

    def _hand_over(self, inputs: Sequence[Input]) -> None:
        # A link that was closed or opened anew on the way has nothing to do with what is still to be told about it.
        stale: set[str] = set()
        for happened in inputs:
            if self.session.is_over:
                break
            if isinstance(happened, Passed) or happened.link not in stale:
                self._see([happened])
                actions = self.session.handle(happened)
                stale.update(action.link for action in actions if isinstance(action, Open | Close))
                self._carry_out(actions)

    def _speak(self) -> bool:
        if not self.session.wants_to_speak or not self.session.speak(self.carrier.clock.now()):
            return False
        faster = self.carrier.poll()
        if faster:
            self.session.discard()
            return self.hand_over(faster)
        self._carry_out(self.session.commit(self.carrier.clock.now()))
        return True

    def _carry_out(self, actions: Sequence[Action]) -> None:
        self._see(actions)
        self.carrier.carry_out(actions)
        for action in actions:
            if isinstance(action, Open) and _is_at_any_port(action) and (port := self.carrier.port_of(action.link)):
                self.hand_over([Listening(self.carrier.clock.now(), action.link, port)])

    def _see(self, happenings: Sequence[Input | Action]) -> None:
        if self._watch is not None:
            for happening in happenings:
                self._watch(happening)


def _is_at_any_port(action: Open) -> bool:
    return action.role == "listen" and action.address.kind in ("tcp", "udp") and not action.address.port
