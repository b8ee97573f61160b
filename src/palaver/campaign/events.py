"""The events of a campaign: frozen records of what happens, in the order in which it happens.

Everything that is shown, stored or checked about a campaign is made from these. `at` is the time in seconds on the
clock of the campaign's transport; `session` counts from 1 and is 0 for what belongs to no session.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from palaver.session.events import Action, Input
from palaver.session.findings import Finding, SessionMessage, Verdict


@dataclass(frozen=True, slots=True)
class CampaignStarted:
    """The first event: everything that is needed to repeat the campaign."""

    at: float
    seed: int
    files: tuple[str, ...]  # the spec's
    parties: tuple[str, ...]  # those that palaver plays
    versions: tuple[tuple[str, str], ...]  # of palaver, Python and the platform
    session: int = 0


@dataclass(frozen=True, slots=True)
class SessionStarted:
    at: float
    session: int
    is_guided: bool


@dataclass(frozen=True, slots=True)
class PortBound:
    """A party listens at a port that was left to the system."""

    at: float
    session: int
    party: str
    port: int


@dataclass(frozen=True, slots=True)
class MessageSent:
    at: float
    session: int
    message: SessionMessage


@dataclass(frozen=True, slots=True)
class MessageReceived:
    at: float
    session: int
    message: SessionMessage


@dataclass(frozen=True, slots=True)
class PlanMade:
    """A step of the guidance: a plan, its next message, or the reason for a new plan. Only if plans are asked for."""

    at: float
    session: int
    text: str


@dataclass(frozen=True, slots=True)
class CoverageChanged:
    """More k-paths of the goal are covered."""

    at: float
    session: int
    covered: int
    total: int


@dataclass(frozen=True, slots=True)
class InputHandled:
    """The transport reported something to the session. Only if the campaign is traced."""

    at: float
    session: int
    input: Input


@dataclass(frozen=True, slots=True)
class ActionTaken:
    """The session asked the transport for something. Only if the campaign is traced."""

    at: float
    session: int
    action: Action


@dataclass(frozen=True, slots=True)
class FindingReported:
    """Something was wrong; `finding` has its number and the number of its session."""

    at: float
    session: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class SessionEnded:
    at: float
    session: int
    verdict: Verdict
    messages: tuple[SessionMessage, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class TargetStarted:
    """The system under test was started, for the first time or again."""

    at: float
    session: int
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetOutput:
    """The system under test wrote to its standard output or standard error."""

    at: float
    session: int
    data: bytes


@dataclass(frozen=True, slots=True)
class TargetEnded:
    """The system under test ended by itself; a negative exit code is the number of a signal."""

    at: float
    session: int
    exit_code: int


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """The campaign goes on in another way: with more patience, or unguided."""

    at: float
    text: str
    session: int = 0


@dataclass(frozen=True, slots=True)
class StillWaiting:
    """Nothing has happened for a while."""

    at: float
    session: int


@dataclass(frozen=True, slots=True)
class CampaignEnded:
    """The last event."""

    at: float
    reason: str
    verdict: Verdict
    sessions: int
    session: int = 0


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
    | FindingReported
    | SessionEnded
    | TargetStarted
    | TargetOutput
    | TargetEnded
    | PhaseChanged
    | StillWaiting
    | CampaignEnded
)
