"""The events of a campaign: frozen records of what happens, in the order in which it happens.

Everything that is shown, stored or checked about a campaign is made from these. `at` is the time in seconds on the
clock of the campaign's transport; `session` counts from 1 and is 0 for what belongs to no session.
"""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from palaver.lean_dataclasses import dataclass
from palaver.session.engine import CutOff
from palaver.session.findings import Finding, SessionMessage, Verdict
from palaver.session.interface import Action, Input, Turn


@dataclass(frozen=True, slots=True)
class _Event:
    at: float
    session: int


@dataclass(frozen=True, slots=True)
class CampaignStarted(_Event):
    """The first event: everything that is needed to repeat the campaign."""

    seed: int
    files: tuple[str, ...]  # the spec's
    parties: tuple[str, ...]  # those that palaver plays
    versions: tuple[tuple[str, str], ...]  # of palaver, Python and the platform


@dataclass(frozen=True, slots=True)
class SessionStarted(_Event):
    """A session begins."""

    is_guided: bool
    ends_at: float | None = None  # when the run is over, and the session is cut
    is_repeated: bool = False  # it repeats a session of another run, and so do all others


@dataclass(frozen=True, slots=True)
class PortBound(_Event):
    """A party listens at a port that was left to the system."""

    party: str
    port: int


@dataclass(frozen=True, slots=True)
class MessageSent(_Event):
    """A message of a party that palaver plays."""

    message: SessionMessage


@dataclass(frozen=True, slots=True)
class MessageReceived(_Event):
    """A message of the peer."""

    message: SessionMessage


@dataclass(frozen=True, slots=True)
class PlanMade(_Event):
    """A step of the guidance: a plan, its next message, or the reason for a new plan. Only if plans are asked for."""

    text: str


@dataclass(frozen=True, slots=True)
class CoverageChanged(_Event):
    """More k-paths of the goal are covered."""

    covered: int
    total: int


@dataclass(frozen=True, slots=True)
class InputHandled(_Event):
    """The transport reported something to the session. Only if the campaign is traced."""

    input: Input


@dataclass(frozen=True, slots=True)
class ActionTaken(_Event):
    """The session asked the transport for something. Only if the campaign is traced."""

    action: Action


@dataclass(frozen=True, slots=True)
class TurnTaken(_Event):
    """It was our turn, and we sent a message, or did not. Only if the campaign is traced."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class SilenceRetried(_Event):
    """The peer was silent, so our messages were sent once more on a fresh connection."""

    is_confirmed: bool  # it was silent again


@dataclass(frozen=True, slots=True)
class FindingReported(_Event):
    """Something was wrong; `finding` has its number and the number of its session."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class SessionEnded(_Event):
    """A session has ended."""

    verdict: Verdict
    messages: tuple[SessionMessage, ...] = field(repr=False)
    cut_off: CutOff | None = None  # the limit that has ended it
    watched: float = 0.0  # seconds for which its end was watched


@dataclass(frozen=True, slots=True)
class TargetStarted(_Event):
    """The system under test was started, for the first time or again."""

    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetOutput(_Event):
    """The system under test wrote to its standard output or standard error."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TargetEnded(_Event):
    """The system under test ended; a negative exit code is the number of a signal. None: palaver has ended it."""

    exit_code: int | None


@dataclass(frozen=True, slots=True)
class PhaseChanged(_Event):
    """The campaign goes on in another way: with more patience, or unguided."""

    text: str


@dataclass(frozen=True, slots=True)
class StillWaiting(_Event):
    """Nothing has happened for a while."""


@dataclass(frozen=True, slots=True)
class CampaignEnded(_Event):
    """The last event."""

    reason: str
    verdict: Verdict
    sessions: int


Event: TypeAlias = (
    CampaignStarted
    | SessionStarted
    | PortBound
    | MessageSent
    | MessageReceived
    | PlanMade
    | CoverageChanged
    | InputHandled
    | ActionTaken
    | TurnTaken
    | SilenceRetried
    | FindingReported
    | SessionEnded
    | TargetStarted
    | TargetOutput
    | TargetEnded
    | PhaseChanged
    | StillWaiting
    | CampaignEnded
)
