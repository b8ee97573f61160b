"""Facts about a run: the versions that made it, the figures of its coverage, and the trace of its sessions."""

from __future__ import annotations

import gc
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from palaver.campaign.campaign_limits import GROWTH_THAT_IS_KEPT, LEAST_THAT_IS_KEPT
from palaver.campaign.events import ActionTaken, Event, InputHandled, TurnTaken
from palaver.lean_dataclasses import dataclass
from palaver.navigation.guidance import Guidance
from palaver.session.interface import Action, Input, Turn
from palaver.version import VERSION


@dataclass(frozen=True, slots=True)
class CoverageFigures:
    """The covered share of a spec."""

    covered: int  # k-paths of the goal
    total: int
    goals: tuple[tuple[str, int, int], ...]  # each goal, covered, total
    views: tuple[tuple[str, int, int], ...]  # messages, states, transitions, alternatives, constraints


def coverage_of(guidance: Guidance) -> CoverageFigures:
    """The figures of what a run has covered so far."""
    aim = guidance.goal_progress
    goals = tuple((goal.value, covered, total) for goal, covered, total in guidance.goal_counts)
    return CoverageFigures(aim.reached, aim.total, goals, tuple(guidance.views.summary()))


def versions() -> tuple[tuple[str, str], ...]:
    """The versions of palaver, of Python and of the platform."""
    return ("palaver", VERSION), ("Python", platform.python_version()), ("platform", platform.platform())


def traced(at: float, number: int, each: Input | Action | Turn) -> Event:
    """The event of something that happened between a session and its transport."""
    if isinstance(each, Turn):
        return TurnTaken(at, number, each)
    return InputHandled(at, number, each) if isinstance(each, Input) else ActionTaken(at, number, each)


@contextmanager
def spec_kept() -> Iterator[Callable[[int], None]]:
    """The spec stays. To look through it for garbage, again and again, would take a tenth of the time.

    So does what guidance learns of it. The function that is yielded is told its size; whenever that has grown enough,
    what is there then is looked through once more, and stays as well.
    """
    kept = 0

    def keep(size: int) -> None:
        nonlocal kept
        if size > kept * GROWTH_THAT_IS_KEPT + LEAST_THAT_IS_KEPT and gc.isenabled():
            kept = size
            gc.collect()
            gc.freeze()

    gc.freeze()
    try:
        yield keep
    finally:
        gc.unfreeze()
