"""Runs sessions on an event loop, one or several. Inputs come first: a session sends only while nothing has come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from palaver.addresses import picks_port
from palaver.lean_dataclasses import replace
from palaver.session.interface import Action, Close, Input, Listening, Open, TimePassed, Turn
from palaver.transport.clock import Clock

# Sees inputs before they are handled, turns of ours before they are taken, and actions before they are carried out.
EventObserver: TypeAlias = Callable[[Input | Action | Turn], None]


class SessionLike(Protocol):
    """A session, or a scripted peer in its place.

    It is started by `TimePassed`, and answers with the links to open. To send takes three steps: `speak` makes a
    message, and then, if nothing has come meanwhile, `commit` sends it; otherwise `discard` takes it back, and what has
    come is handled.
    """

    @property
    def is_over(self) -> bool: ...

    @property
    def deadline(self) -> float | None:
        """The time at which to wake it if nothing happens before."""

    @property
    def wants_to_send(self) -> bool: ...

    def handle(self, happened: Input) -> Sequence[Action]: ...

    def speak(self, at: float) -> bool:
        """Make a message. False means that there is none, and we wait for what happens next."""

    def commit(self, at: float) -> Sequence[Action]: ...

    def discard(self) -> None: ...


class EventLoop(Protocol):
    """An event loop: carries out actions and reports what happens, in the world or in memory."""

    @property
    def clock(self) -> Clock: ...

    def carry_out(self, actions: Iterable[Action]) -> None: ...

    def poll(self) -> list[Input]:
        """Return what has happened, without waiting."""

    def wait(self, until: float | None) -> list[Input]:
        """Wait until something has happened; `TimePassed` if nothing has until then."""

    def port_of(self, link: str) -> int:
        """Return the port where a link listens, as soon as it was opened; 0 if it does not."""


def drive(session: SessionLike, carrier: EventLoop, watch: EventObserver | None = None) -> None:
    """Run a session until it is over."""
    driver = Driver(session, carrier, watch)
    driver.step()
    while not session.is_over:
        # Who only waits for others needs no poll before.
        if not session.wants_to_send or not driver.step():
            driver.deliver(carrier.wait(session.deadline))
            driver.has_polled = True


class Driver:
    """A session with its event loop, moved step by step so that several can take turns."""

    def __init__(self, session: SessionLike, carrier: EventLoop, watch: EventObserver | None = None) -> None:
        self.session = session
        self.event_loop = carrier
        self._watch = watch
        self._is_started = False
        self.has_polled = False  # just now, so a poll before a message is made is not needed
        self.is_busy = False  # in the middle of a step: code of the spec may wait for other sessions in it

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
            return self.deliver([TimePassed(self.event_loop.clock.now())])
        if self.has_polled:
            self.has_polled = False
        elif self.deliver(self.event_loop.poll()):
            return True
        return self._speak()

    def deliver(self, inputs: Sequence[Input]) -> bool:
        """Let the session handle inputs; True if there were any."""
        was_busy, self.is_busy = self.is_busy, True
        try:
            self._deliver(inputs)
        finally:
            self.is_busy = was_busy
        return bool(inputs)

    def _deliver(self, inputs: Sequence[Input]) -> None:
        # The rest of the inputs of a link that was closed or opened anew on the way are about the old connection.
        stale: set[str] = set()
        for event in inputs:
            if self.session.is_over:
                break
            if isinstance(event, TimePassed) or event.link not in stale:
                self._see([event])
                if actions := self.session.handle(event):
                    stale.update(action.link for action in actions if isinstance(action, Open | Close))
                    self._carry_out(actions)

    def _speak(self) -> bool:
        if not self.session.wants_to_send:
            return False
        made_at = self.event_loop.clock.now()
        if not self.session.speak(made_at):
            self._see([Turn(made_at, made_at, "yielded")])
            return False
        inputs = self.event_loop.poll()
        at = self.event_loop.clock.now()
        if inputs:
            self._see([Turn(made_at, at, "dropped")])
            self.session.discard()
            return self.deliver(inputs)
        self._see([Turn(made_at, at, "taken")])
        self._carry_out(self.session.commit(at))
        return True

    def _carry_out(self, actions: Sequence[Action]) -> None:
        self._see(actions)
        self.event_loop.carry_out(actions)
        for action in actions:
            is_any = isinstance(action, Open) and action.role == "listen" and picks_port(action.address)
            if is_any and (port := self.event_loop.port_of(action.link)):
                self.deliver([Listening(self.event_loop.clock.now(), action.link, port)])

    def _see(self, events: Sequence[Input | Action | Turn]) -> None:
        if self._watch is not None:
            for event in events:
                self._watch(event)


class Switchboard:
    """One event loop for sessions that go on at the same time: what happens to each goes to a mailbox of its own."""

    def __init__(self, carrier: EventLoop) -> None:
        self.clock = carrier.clock
        self.carrier = carrier
        self._lines: dict[str, tuple[SwitchboardLine, str]] = {}  # by link: whose it is, and what that one calls it
        self._count = 0

    def line(self) -> SwitchboardLine:
        """Make the event loop of one session after another. The links of the first keep their names."""
        self._count += 1
        return SwitchboardLine(self, "" if self._count == 1 else f" {self._count}")

    def open(self, line: SwitchboardLine, link: str) -> None:
        """Note whose a link is."""
        self._lines[line.name_of(link)] = (line, link)

    def poll(self) -> None:
        """Put what has happened into the mailboxes."""
        self._sort(self.carrier.poll())

    def wait(self, until: float | None) -> float:
        """Wait until something has happened, and put it into the mailboxes; return the time."""
        return self._sort(self.carrier.wait(until))

    def _sort(self, inputs: Sequence[Input]) -> float:
        now = self.clock.now()
        for happened in inputs:
            if isinstance(happened, TimePassed):
                now = max(now, happened.at)
                continue
            line, link = self._lines[happened.link]
            line.mail.append(happened if link == happened.link else replace(happened, link=link))
        return now


class SwitchboardLine:
    """The event loop of one session after another, beside those of others."""

    def __init__(self, board: Switchboard, suffix: str) -> None:
        self.clock = board.clock
        self.mail: list[Input] = []  # what has happened, and was not taken yet
        self._board = board
        self._suffix = suffix

    def name_of(self, link: str) -> str:
        """The name of a link among those of all sessions."""
        return link + self._suffix

    def carry_out(self, actions: Iterable[Action]) -> None:
        actions = list(actions)
        for action in actions:
            if isinstance(action, Open):
                self._board.open(self, action.link)
            if isinstance(action, Open | Close):  # what is left is about a connection that is over
                self.mail = [each for each in self.mail if isinstance(each, TimePassed) or each.link != action.link]
        if self._suffix:
            actions = [replace(action, link=self.name_of(action.link)) for action in actions]
        self._board.carrier.carry_out(actions)

    def take(self) -> list[Input]:
        """Take what is in the mailbox."""
        taken, self.mail = self.mail, []
        return taken

    def poll(self) -> list[Input]:
        self._board.poll()
        return self.take()

    def wait(self, until: float | None) -> list[Input]:
        while not self.mail:
            now = self._board.wait(until)
            if not self.mail and until is not None and now >= until:
                return [TimePassed(now)]
        return self.take()

    def port_of(self, link: str) -> int:
        return self._board.carrier.port_of(self.name_of(link))


class Scheduler(ABC):
    """Runs several sessions on one clock, round robin: while one waits, the others go on."""

    clock: Clock

    def __init__(self) -> None:
        self._drivers: list[Driver] = []

    def run(self) -> None:
        """Let all sessions go on until all are over. :raises RuntimeError: they wait for each other, for ever"""
        while not all(driver.session.is_over for driver in self._drivers):
            if not self._go_on():
                self._pass_time(None)

    def _wait(self, take: Callable[[], list[Input]], until: float | None) -> list[Input]:
        """Wait until there is something to take, and let the other sessions go on meanwhile."""
        while not (inputs := take()):
            if self._go_on():
                continue
            if until is not None and self.clock.now() >= until:
                return [TimePassed(self.clock.now())]
            self._pass_time(until)
        return inputs

    def _go_on(self) -> bool:
        """Let every session do what can be done now; False if that is nothing."""
        idle = [driver for driver in self._drivers if not driver.session.is_over and not driver.is_busy]
        # Every session gets a turn before any gets another.
        moved = [driver.step() for driver in idle]
        if not any(moved):
            moved = [driver.deliver(self._arrived(driver.event_loop)) for driver in idle]
        if not any(moved):
            moved = [driver.deliver(self._alarm(driver.session)) for driver in idle]
        return any(moved)

    def _alarm(self, session: SessionLike) -> list[Input]:
        now, deadline = self.clock.now(), session.deadline
        return [TimePassed(now)] if not session.is_over and deadline is not None and deadline <= now else []

    def _deadlines(self, until: float | None) -> list[float]:
        """Return the times at which a session that is not busy, or the caller, wants to go on."""
        sessions = [driver.session for driver in self._drivers if not driver.is_busy]
        times = [until, *(session.deadline for session in sessions if not session.is_over)]
        return [at for at in times if at is not None]

    def _arrived(self, loop: EventLoop) -> list[Input]:
        """Return the inputs of an event loop that `poll` holds back."""
        return []

    @abstractmethod
    def _pass_time(self, until: float | None) -> None:
        """Wait until something may happen, or `until` if that is before. :raises RuntimeError: nothing can happen"""
