"""When a campaign stops, and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from palaver.campaign.campaign_limits import (
    MAX_EMPTY_SESSIONS,
    MAX_MESSAGES_OF_CHECK,
    MAX_MESSAGES_WITHOUT_GAIN,
    MAX_RANDOM_MESSAGES,
    MAX_RANDOM_SESSIONS,
    MAX_RETRIES,
    MAX_SILENT_SESSIONS,
    MAX_TRIED_THAT_COUNTS,
    MIN_RANDOM_MESSAGES,
    MIN_RANDOM_SESSIONS,
)
from palaver.lean_dataclasses import dataclass
from palaver.printable import counted

if TYPE_CHECKING:  # so that the command line can name the ways to stop without loading the rest
    from palaver.navigation.guidance import Guidance
    from palaver.session.engine import CutOff


class Until(Enum):
    """The end of a campaign that has no other."""

    COVERAGE = "coverage"  # when all is covered; what was given up is tried again
    PLATEAU = "plateau"  # when neither plans nor sessions at random cover anything more
    FOREVER = "forever"  # never


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a campaign."""

    until: Until = Until.PLATEAU
    sessions: int | None = None
    seconds: float | None = None

    @property
    def time_is_over(self) -> str:
        """The reason to stop when the time is over."""
        return f"reached the limit of {self.seconds:g} s (--time {self.seconds:g})"


class Phase(Enum):
    GUIDED = "guided"
    CHECKING = "checking at random that guidance has missed nothing"
    UNGUIDED = "unguided"


@dataclass(slots=True)
class Progress:
    """The figures of a campaign; a session counts once it has ended."""

    sessions: int = 0
    sent: int = 0
    received: int = 0
    open_messages: int = 0  # of other sessions that go on, when one has ended
    findings: int = 0
    earlier_findings: int = 0  # of the run that is resumed; they have numbers already
    cut_off: list[CutOff] = field(default_factory=list)  # why sessions were cut
    silent: int = 0  # sessions in a row without a message, that should have had some
    empty: int = 0  # sessions in a row without a message, of any kind
    phase: Phase = Phase.GUIDED
    ended: str = ""  # why, once it has
    is_broken_off: bool = False  # it could not go on, as the system under test or a command around it has failed
    goal_after: tuple[int, int] | None = None  # messages and sessions when the goal was reached, or the plateau

    @property
    def messages(self) -> int:
        return self.sent + self.received

    def count_silence(self, said: int, is_well: bool) -> None:
        """Count a session that has ended after so many messages, whether as the spec allows or not."""
        if said:
            self.silent = self.empty = 0
        else:
            self.silent += not is_well
            self.empty += 1

    @property
    def said(self) -> int:
        """The messages of all sessions, also of those that go on."""
        return self.messages + self.open_messages


class SessionRule(ABC):
    """Decides which sessions a campaign holds."""

    most_sessions: int | None  # at most so many are held, with those that were held before

    def number(self, count: int) -> int:
        """The number of a session, of which `count` were begun with it."""
        return count

    @abstractmethod
    def check(self, progress: Progress, seconds: float) -> tuple[str, str]:
        """Return the reason to stop, or "", and a note about how the campaign goes on, or ""."""


class StopRule(SessionRule):
    """Decides after each session whether the campaign goes on."""

    def __init__(self, budget: Budget, guidance: Guidance) -> None:
        self._budget = budget
        self.most_sessions = budget.sessions
        self._guidance = guidance
        self._retries = 0
        self._covered = 0
        self._covered_at = 0  # the message that last covered something
        self._checked_from = (0, 0)  # messages and sessions when sessions at random began,
        self._gained_at = (0, 0)  # and when they last covered something

    def check(self, progress: Progress, seconds: float) -> tuple[str, str]:
        """Return the reason to stop, or "", and a note about how the campaign goes on, or ""."""
        budget = self._budget
        if self._guidance.reached > self._covered:
            self._covered = self._guidance.reached
            self._covered_at = max(self._covered_at, progress.said - self._guidance.messages_in_vain)
        if budget.sessions is not None and progress.sessions >= budget.sessions:
            # Earlier findings that are tried first may be more than that.
            more = f" after {progress.sessions}" if progress.sessions > budget.sessions else ""
            return f"reached the limit of {counted(budget.sessions, 'session')} (-n {budget.sessions}){more}", ""
        if budget.seconds is not None and seconds >= budget.seconds:
            return budget.time_is_over, ""
        if progress.cut_off and progress.cut_off[-1].ends_run:
            return str(progress.cut_off[-1]), ""  # nobody has come in so long
        if progress.silent >= MAX_SILENT_SESSIONS or progress.empty >= MAX_EMPTY_SESSIONS:
            return f"no message was sent or received in {counted(progress.empty, 'session')} in a row", ""
        if progress.phase is Phase.GUIDED:
            return self._check_guided(progress)
        if progress.phase is Phase.CHECKING:
            return self._check_random(progress)
        if budget.until is not Until.FOREVER and self._is_complete and not progress.goal_after:
            progress.goal_after = (progress.messages, progress.sessions)
            return self._goal_reached(progress), ""
        return "", ""

    def _check_guided(self, progress: Progress) -> tuple[str, str]:
        is_stalled = progress.said - self._covered_at > MAX_MESSAGES_WITHOUT_GAIN
        if not self._is_complete and not self._guidance.is_done and not is_stalled:
            return "", ""
        if not self._is_complete and self._budget.until is Until.COVERAGE and self._retries < MAX_RETRIES:
            self._retries += 1
            self._covered_at = progress.said
            self._guidance.retry_given_up()
            return "", "nothing more was seen; retrying the paths that were given up, with twice the attempts"
        if not self._is_complete and self._budget.until is not Until.FOREVER:
            progress.phase = Phase.CHECKING
            self._guidance.random_walk.walks.most_messages = MAX_MESSAGES_OF_CHECK
            self._checked_from = self._gained_at = (progress.said, progress.sessions)
            return "", ""
        progress.goal_after = (progress.messages, progress.sessions)
        reason = self._goal_reached(progress) if self._is_complete else self._plateau(progress)
        if self._budget.until is Until.FOREVER:
            progress.phase = Phase.UNGUIDED
            self._guidance.random_walk.walks.most_messages = None
            return "", f"{reason}; continuing unguided"
        return reason, ""

    def _check_random(self, progress: Progress) -> tuple[str, str]:
        """Go on at random as long as that covers something; if it has, let plans follow once more."""
        here = (progress.said, progress.sessions)
        if self._is_complete:
            progress.goal_after = (progress.messages, progress.sessions)
            return self._goal_reached(progress), ""
        if self._covered_at > self._gained_at[0]:
            self._gained_at = here
        messages, sessions = here[0] - self._gained_at[0], here[1] - self._gained_at[1]
        if self._gained_at == self._checked_from:  # what guidance has tried in vain counts as well, in part
            tried = min(self._checked_from[0] - self._covered_at, MAX_TRIED_THAT_COUNTS)
            messages, sessions = messages + tried, sessions + tried * MIN_RANDOM_SESSIONS // MIN_RANDOM_MESSAGES
        is_much = sessions >= MAX_RANDOM_SESSIONS or messages >= MAX_RANDOM_MESSAGES
        if not is_much and (sessions < MIN_RANDOM_SESSIONS or messages < MIN_RANDOM_MESSAGES):
            return "", ""
        if self._gained_at != self._checked_from:
            progress.phase = Phase.GUIDED
            self._guidance.plan_again()
            return "", ""
        progress.goal_after = (progress.messages, progress.sessions)
        return self._plateau(progress), ""

    @property
    def _is_complete(self) -> bool:
        return self._guidance.is_complete

    def _goal_reached(self, progress: Progress) -> str:
        aim = self._guidance.goal_progress
        goals = self._guidance.further_goals
        more = "".join(f" and {total} {name}" for name, got, total in goals if got >= total)
        rest = "".join(f", and {got} of {total} {name}" for name, got, total in goals if got < total)
        return f"goal reached after {_so_far(progress)}: all {counted(aim.total, 'path')}{more} are covered{rest}"

    def _plateau(self, progress: Progress) -> str:
        aim = self._guidance.goal_progress
        more = "".join(f" and {got} of {total} {name}" for name, got, total in self._guidance.further_goals)
        seen = f"{aim.reached} of {counted(aim.total, 'path')}{more}"
        return f"plateau after {_so_far(progress)}: {seen} were seen, the others were not"


def _so_far(progress: Progress) -> str:
    return f"{counted(progress.messages, 'message')} in {counted(progress.sessions, 'session')}"
