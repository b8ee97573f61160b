"""Lanes: sessions that go on at the same time, each with connections of its own, in one thread (coroutines).

How it works
============

What is to be done in a session is a *course*: a generator of events, which pauses where another session may go
on. Each lane holds one course after another. Lanes take turns, and each goes on until its next pause. When all
of them wait, the event loop waits for the first thing that happens to any of them. A lane whose time is over is told so
only if nothing has come for it meanwhile: else a slow lane of ours would be taken for a silence of the peer.

A course may ask to be alone, to try something again which others might have caused: then no other begins, and it
goes on when all others have ended.

With one lane this is one session after another. The order of events decides everything else, so the same order gives
the same run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import field
from enum import Enum
from functools import partial
from math import inf
from typing import TypeAlias

from palaver.campaign.campaign_limits import WAITING_EVENT_EVERY
from palaver.campaign.events import Event, StillWaiting
from palaver.campaign.target_findings import JointCrash, TargetExit, heard_of
from palaver.interruption import Interrupted, interruptible
from palaver.lean_dataclasses import dataclass
from palaver.limits import Limit, recorded
from palaver.navigation.guidance import GuidanceLane
from palaver.session.engine import Session
from palaver.session.findings import Finding
from palaver.session.interface import Action, Input, TimePassed, Turn
from palaver.transport.driver import Driver, Switchboard, SwitchboardLine


class LanePause(Enum):
    """A place where a course pauses."""

    READY = "others may have their turn"
    WAITING = "nothing can be done before something happens"
    ALONE = "it goes on when all others have ended"


SessionCourse: TypeAlias = Generator[Event | LanePause, None, None]


@dataclass(eq=False, slots=True)
class SessionLane:
    """One session after another, beside those of other lanes."""

    strategies: GuidanceLane
    event_loop: SwitchboardLine
    course: SessionCourse | None = None
    pause: LanePause = LanePause.READY
    is_alone: bool = False  # it has asked for that
    driver: Driver | None = None  # of the session that is being held
    session: Session | None = None  # that goes on
    number: int = 0  # of that
    beside: dict[int, None] = field(default_factory=dict)  # the numbers of all sessions that went on at the same time
    found: list[Finding] = field(default_factory=list)  # in it, by oracles
    seen: int = 0  # messages of it that have become events
    happened: list[Input | Action | Turn] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    exits: list[TargetExit] = field(default_factory=list)  # of the system under test, that another lane was told
    crash: JointCrash | None = None  # of the system under test, while others went on

    def begin(self, session: Session, number: int) -> None:
        """Begin another session."""
        self.session, self.number = session, number
        self.beside, self.found, self.seen = {}, [], 0
        self.exits, self.crash = [], None
        self.happened.clear()
        self.event_loop.mail.clear()  # nobody is left who would want to hear it

    @property
    def is_unheard(self) -> bool:
        """True if a session has begun, and its peer has said nothing yet."""
        return self.session is not None and not heard_of(self.session.said)

    @property
    def deadline(self) -> float | None:
        """The time until which its session waits."""
        return None if self.driver is None else self.driver.session.deadline

    def talk(self, session: Session, driver: Driver, limits: Counter[Limit]) -> SessionCourse:
        """Let a session talk until it is over, and count the limits that it reaches."""
        self.driver = driver

        def bounded(step: Callable[[], bool]) -> bool:
            """Take a step of the session, and cut it if the step takes longer than the session may."""
            with recorded(limits):
                try:
                    with interruptible(lambda: self._seconds_left(session)):
                        return step()
                except Interrupted as error:
                    # Without a limit: on a busy machine the time would be over for this, too.
                    self.event_loop.carry_out(session.cut(error))
                    return True

        bounded(driver.step)
        while not session.is_over:
            yield LanePause.READY
            # To listen before one only waits for others would be to listen twice.
            has_moved = session.wants_to_send and bounded(driver.step)
            if not has_moved and not session.is_over:
                yield LanePause.WAITING
                if inputs := self.event_loop.take():
                    bounded(partial(driver.deliver, inputs))
                    driver.has_polled = True

    def _seconds_left(self, session: Session) -> float:
        return inf if session.ends_at is None else session.ends_at - self.event_loop.clock.now()


class Lanes:
    """Lets the courses of all lanes go on, in turns."""

    def __init__(self, board: Switchboard, strategies: list[GuidanceLane]) -> None:
        self.lanes = [SessionLane(each, board.line()) for each in strategies]
        self.waited = 0.0  # seconds in which there was nothing to do but to wait
        self._board = board

    @property
    def talking(self) -> list[SessionLane]:
        """The lanes with a course."""
        return [lane for lane in self.lanes if lane.course is not None]

    def beside(self, lane: SessionLane) -> list[SessionLane]:
        """The other lanes with a session that goes on."""
        return [other for other in self.talking if other is not lane and other.session is not None]

    def is_wanted_alone(self) -> bool:
        """Return True if a course waits for all others to end, or is alone."""
        return any(lane.is_alone for lane in self.talking)

    def sort_mail(self) -> None:
        """Let each lane have what has happened for it."""
        self._board.poll()

    def of(self, session: int) -> SessionLane:
        """The lane of a session; the first if there is none any more."""
        return next((lane for lane in self.talking if lane.number == session), self.lanes[0])

    def run_alone(self, course: SessionCourse) -> Iterator[Event]:
        """Let one course go on until it has ended."""
        self.lanes[0].course, self.lanes[0].pause = course, LanePause.READY
        return self.run(lambda _lane: None)

    def run(self, begin: Callable[[SessionLane], SessionCourse | None]) -> Iterator[Event]:
        """Let all go on until all have ended, and no other begins."""
        try:
            while True:
                has_moved = False
                for lane in self.lanes:
                    if lane.course is None:
                        lane.course, lane.pause = begin(lane), LanePause.READY
                    if lane.course is not None and self._can_go_on(lane):
                        has_moved = True
                        yield from self._go_on(lane, lane.course)
                if not has_moved:
                    if not self.talking:
                        return
                    yield from self._wait()
        finally:
            for lane in self.talking:
                if lane.course is not None:
                    lane.course.close()
                lane.course = None

    def _can_go_on(self, lane: SessionLane) -> bool:
        match lane.pause:
            case LanePause.READY:
                return True
            case LanePause.WAITING:
                return bool(lane.event_loop.mail)
            case LanePause.ALONE:
                return lane is self.talking[0] and all(other.pause is LanePause.ALONE for other in self.talking)

    def _go_on(self, lane: SessionLane, course: SessionCourse) -> Iterator[Event]:
        """Let a course go on until its next pause."""
        for each in course:
            if isinstance(each, LanePause):
                lane.pause = each
                lane.is_alone = lane.is_alone or each is LanePause.ALONE
                return
            yield each
        lane.course, lane.is_alone = None, False

    def _wait(self) -> Iterator[Event]:
        """Wait until something happens for one of those that wait, or its time is over."""
        clock = self._board.clock
        waiting = [lane for lane in self.talking if lane.pause is LanePause.WAITING]
        deadlines = [at for lane in waiting if (at := lane.deadline) is not None]
        until = min(deadlines, default=None)
        began = clock.now()
        # Who waits without a limit waits in one piece: only so the transport can tell that nothing will ever happen.
        pause = began + WAITING_EVENT_EVERY
        try:
            now = self._board.wait(until if until is None else min(until, pause))
        finally:  # also if it is interrupted
            self.waited += clock.now() - began
        for lane in waiting:
            deadline = lane.deadline
            if not lane.event_loop.mail and deadline is not None and deadline <= now:
                lane.event_loop.mail.append(TimePassed(now))
        if not any(lane.event_loop.mail for lane in waiting):
            yield StillWaiting(clock.now(), waiting[0].number)
            for lane in waiting:
                lane.pause = LanePause.READY


def share_exits(exits: Sequence[TargetExit], lanes: Sequence[SessionLane]) -> None:
    """Tell all sessions that go on of an exit: each of them may have caused it, and is cut by it."""
    concerned = [lane for lane in lanes if not lane.is_alone]
    numbers = [lane.number for lane in concerned]
    crash = JointCrash(numbers, list(numbers)) if len(numbers) > 1 else None
    for lane in concerned:
        lane.exits += exits
        lane.crash = lane.crash or crash
