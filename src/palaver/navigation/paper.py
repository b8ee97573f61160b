"""Plans as the paper makes them: draw a target, go there. Kept to compare with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palaver.navigation.atlas import Edge, Place
from palaver.navigation.navigator import Navigator
from palaver.navigation.planner import Plan, Planner, Situation
from palaver.navigation.targets import Target, TargetSelector


class PaperScheme:
    """Algorithm 2 and A*, behind the same door as `Planner`."""

    def __init__(self, selector: TargetSelector, navigator: Navigator, planner: Planner) -> None:
        self._selector = selector
        self._navigator = navigator
        self._planner = planner

    def plan(self, starts: Sequence[Place], situation: Situation) -> Plan | None:
        """A way to a target; None if there is none that could be gone for."""
        unreachable: set[Target] = set()
        while (target := self._selector.select(unreachable)) is not None:
            plan = self._navigator.route(starts, target, situation)
            if plan is not None:
                return plan
            unreachable.add(target)
        return None

    def tried(self, edge: Edge, had_something_new: bool) -> None:
        self._planner.tried(edge, had_something_new)

    def missed(self, edge: Edge) -> None:
        self._planner.missed(edge)

    def lost(self, states: Iterable[int]) -> None:
        self._planner.lost(states)
