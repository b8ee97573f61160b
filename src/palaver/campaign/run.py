"""Conversation after conversation, until the goal is reached, nothing more can be, or the time is over."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from palaver.campaign.target import Target
from palaver.chance import Chance
from palaver.navigation.guidance import Guidance
from palaver.session.engine import Patience, Session
from palaver.session.findings import Kind
from palaver.session.play import Play
from palaver.session.player import Player
from palaver.transport.drive import Carrier, Watch, drive
from palaver.transport.timed import Timed

# A run ends if so many conversations in a row say nothing at all: there is nobody to talk to.
_MOST_SILENT = 3
# A run is on a plateau, whatever the plans say, if so many messages in a row have covered nothing.
_LONGEST_STALL = 2_000
# Findings that come about when a program is gone.
_MAY_BE_A_CRASH = frozenset((Kind.CLOSED, Kind.RESET, Kind.SILENCE, Kind.REFUSED))
# With --until coverage, how often what was given up is tried again, each time with twice the patience.
_MOST_AGAIN = 3


class Until(Enum):
    """When a run ends that has no other end."""

    COVERAGE = "coverage"  # when all is covered; what seems out of reach is tried again
    PLATEAU = "plateau"  # when all is covered that seems within reach
    FOREVER = "forever"  # never


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a run may be."""

    until: Until = Until.PLATEAU
    sessions: int | None = None
    seconds: float | None = None


class Phase(Enum):
    GUIDED = "guided"
    UNGUIDED = "unguided"


@dataclass(slots=True)
class Progress:
    """How far a run has come."""

    sessions: int = 0
    sent: int = 0
    received: int = 0
    findings: int = 0
    phase: Phase = Phase.GUIDED
    ended: str = ""  # why, once it has
    goal_after: tuple[int, int] | None = None  # messages and sessions when the goal was reached, or the plateau

    @property
    def messages(self) -> int:
        return self.sent + self.received


class Campaign:
    """Runs conversations of a play, guided or not."""

    def __init__(
        self,
        play: Play,
        guidance: Guidance,
        chance: Chance,
        patience: Patience,
        budget: Budget,
        carrier: Carrier,
        *,
        is_guided: bool = True,
        target: Target | None = None,
    ) -> None:
        self.guidance = guidance
        self.progress = Progress(phase=Phase.GUIDED if is_guided else Phase.UNGUIDED)
        self.on_session: Callable[[Session], None] = lambda session: None  # told of each before it begins
        self.on_happening: Watch | None = None  # told of all that happens between a session and the world
        self.on_end: Callable[[Session], None] = lambda session: None  # and after it has ended
        self.tell: Callable[[str], None] = lambda what: None  # what happens to the run itself
        self.carrier = Timed(target or carrier)
        self._target = target
        self._play = play
        self._chance = chance
        self._patience = patience
        self._budget = budget
        self._began = carrier.clock.now()
        self._ended: float | None = None
        self._silent = 0  # conversations in a row in which nothing was said
        self._again = 0
        self._covered = 0
        self._covered_at = 0  # the message that last covered something

    @property
    def seconds(self) -> float:
        """How long the run has lasted."""
        until = self.carrier.clock.now() if self._ended is None else self._ended
        return until - self._began

    def run(self) -> None:
        """Talk until there is a reason to stop."""
        try:
            with _spec_kept():
                while not self.progress.ended:
                    self._converse()
                    self.progress.ended = self._reason_to_stop()
        finally:
            self._ended = self.carrier.clock.now()

    def _converse(self) -> None:
        progress = self.progress
        stream = self._chance / "session" / progress.sessions
        session = Session(self._play, self._player, stream, self._patience)
        self.on_session(session)
        if self._target is not None:
            self._target.before_session()
        try:
            drive(session, self.carrier, self.on_happening)
            if self._target is not None:
                self._see_to(self._target, session)
        finally:
            self._count(session)  # what was said was said, also if it was interrupted
        self._silent = 0 if session.said else self._silent + 1
        if len(self.guidance.coverage) > self._covered:
            self._covered = len(self.guidance.coverage)
            self._covered_at = progress.messages
        self.on_end(session)

    def _see_to(self, target: Target, session: Session) -> None:
        """Whether the program under test has crashed; if so, that explains what else was found."""
        was_cut = any(finding.kind in _MAY_BE_A_CRASH for finding in session.findings)
        crashes = [death for death in target.after_session(was_cut=was_cut) if target.is_crash(death)]
        session.findings[:0] = [death.finding("", session.said) for death in crashes]

    def _count(self, session: Session) -> None:
        progress = self.progress
        progress.sessions += 1
        ours = sum(said.is_ours for said in session.said)
        progress.sent += ours
        progress.received += len(session.said) - ours
        progress.findings += len(session.findings)
        for finding in session.findings:
            if finding.constraint:
                self.guidance.views.note_constraint(finding.constraint, False)

    @property
    def _player(self) -> Player:
        return self.guidance.guide if self.progress.phase is Phase.GUIDED else self.guidance.walker

    # --- When to stop -------------------------------------------------------------------------------------------------

    def _reason_to_stop(self) -> str:
        progress, budget = self.progress, self._budget
        if budget.sessions is not None and progress.sessions >= budget.sessions:
            return f"{progress.sessions} session{'s' * (progress.sessions != 1)}, as many as were wanted"
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return f"the time is over ({budget.seconds:g} s)"
        if self._silent >= _MOST_SILENT:
            return f"nothing was said in {self._silent} sessions in a row"
        if progress.phase is Phase.GUIDED:
            return self._reason_of_guidance()
        if budget.until is not Until.FOREVER and self._is_complete and not progress.goal_after:
            progress.goal_after = (progress.messages, progress.sessions)
            return self._told_goal()
        return ""

    def _reason_of_guidance(self) -> str:
        progress = self.progress
        is_stalled = progress.messages - self._covered_at > _LONGEST_STALL
        if not self._is_complete and not self.guidance.guide.is_done and not is_stalled:
            return ""
        if not self._is_complete and self._budget.until is Until.COVERAGE and self._again < _MOST_AGAIN:
            self._again += 1
            self._covered_at = progress.messages
            self.guidance.ask_again()
            self.tell("nothing more seems within reach; what was given up is tried again, with twice the patience")
            return ""
        progress.goal_after = (progress.messages, progress.sessions)
        reason = self._told_goal() if self._is_complete else self._told_plateau(is_stalled)
        if self._budget.until is Until.FOREVER:
            progress.phase = Phase.UNGUIDED
            self.tell(f"{reason}; from here on unguided")
            return ""
        return reason

    @property
    def _is_complete(self) -> bool:
        return self.guidance.aim.reached >= self.guidance.aim.total

    def _told_goal(self) -> str:
        return f"goal reached after {self._so_far}: all {self.guidance.aim.total} paths are covered"

    def _told_plateau(self, is_stalled: bool) -> str:
        aim = self.guidance.aim
        why = f"the last {_LONGEST_STALL} messages covered nothing" if is_stalled else "nothing more is within reach"
        return f"plateau after {self._so_far}: {aim.reached} of {aim.total} paths are covered, and {why}"

    @property
    def _so_far(self) -> str:
        progress = self.progress
        sessions = f"{progress.sessions} session{'s' * (progress.sessions != 1)}"
        return f"{progress.messages} messages in {sessions}"


@contextmanager
def _spec_kept() -> Iterator[None]:
    """The spec stays. To look through it for garbage, again and again, would take a tenth of the time."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
