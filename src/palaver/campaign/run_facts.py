"""Facts about a run: the versions that made it, and the figures of its coverage."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from palaver.navigation.guidance import Guidance


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
    try:
        own = version("palaver")
    except PackageNotFoundError:  # used from its source, not installed
        own = "unknown"
    return ("palaver", own), ("Python", platform.python_version()), ("platform", platform.platform())
