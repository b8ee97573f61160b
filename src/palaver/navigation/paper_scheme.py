"""Plans as the paper makes them: draw a target, then navigate to it. Kept for comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palaver.navigation.atlas import Edge, MapNode
from palaver.navigation.coverage_targets import CoverageTarget, TargetSelector
from palaver.navigation.navigator import TargetNavigator
from palaver.navigation.route_planner import PlanningContext, RoutePlan, RoutePlanner


class PaperScheme:
    """Algorithm 2 and A*, with the interface of `RoutePlanner`."""

    def __init__(self, selector: TargetSelector, navigator: TargetNavigator, planner: RoutePlanner) -> None:
        self._selector = selector
        self._navigator = navigator
        self._planner = planner

    def plan(self, starts: Sequence[MapNode], context: PlanningContext) -> RoutePlan | None:
        """Return a way to a target; None if no target is left that can be reached."""
        unreachable: set[CoverageTarget] = set()
        while (target := self._selector.select(unreachable)) is not None:
            plan = self._navigator.route(starts, target, context)
            if plan is not None:
                return plan
            unreachable.add(target)
        return None

    def note_result(self, edge: Edge, had_something_new: bool) -> None:
        self._planner.note_result(edge, had_something_new)

    def note_missed(self, edge: Edge) -> None:
        self._planner.note_missed(edge)

    def note_lost(self, states: Iterable[int]) -> None:
        self._planner.note_lost(states)
