"""Navigation to coverage targets by A* (Hart, Nilsson & Raphael 1968): the paper's scheme, kept for comparison.

A target is drawn, and the shortest way to it is the plan (section 3.1.2 of the paper). The lower bound of the distance
is the number of messages until the last symbol of the target can come, in any context. It is found by a backward
breadth-first search, once for each symbol, on a map of k = 1, whose nodes differ only in their futures. A target that
cannot be reached in this session is reached through its end, in the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from palaver.grammar.ir import Grammar
from palaver.matching.dialogue_automaton import DialogueState
from palaver.matching.forecaster import Forecaster
from palaver.navigation.a_star import AStar, PlanningContext
from palaver.navigation.coverage import Coverage, KPath, KPaths
from palaver.navigation.coverage_targets import CoverageTarget, TargetSelector
from palaver.navigation.dialogue_map import DialogueMap, Edge, MapNode
from palaver.navigation.navigation_limits import MAX_NODES_OF_TARGET_SEARCH, MAX_NODES_WITH_TARGET_DISTANCE
from palaver.navigation.route_planner import RoutePlan, RoutePlanner


class TargetNavigator:
    """Plans ways to targets; the planner says which edges are possible."""

    def __init__(
        self, selector: TargetSelector, planner: RoutePlanner, forecaster: Forecaster, grammar: Grammar
    ) -> None:
        self._selector = selector
        self._map = planner.dialogue_map
        self._forecaster = forecaster
        self._grammar = grammar
        self._distances: dict[str, dict[DialogueState, int]] = {}
        self._edges: list[
            tuple[DialogueState, Edge | None, DialogueState]
        ] = []  # of the map of k = 1; None: the session ends
        self._is_complete = True
        self.a_star = AStar(self._map, planner.possible_edges, MAX_NODES_OF_TARGET_SEARCH, counts_messages=True)

    def plan(self, starts: Sequence[MapNode], context: PlanningContext) -> RoutePlan | None:
        """Return a way to a target; None if no target is left that can be reached."""
        unreachable: set[CoverageTarget] = set()
        while (target := self._selector.select(unreachable)) is not None:
            plan = self.route(starts, target, context)
            if plan is not None:
                return plan
            unreachable.add(target)
        return None

    def route(self, starts: Sequence[MapNode], target: CoverageTarget, context: PlanningContext) -> RoutePlan | None:
        """Return the shortest way to a target; None if there is none."""
        distances = self._distances_to(target.path[-1])
        unknown = None if self._is_complete else 0
        found = self.a_star.search(
            starts,
            context,
            lambda edge: self._is_goal(edge, target),
            lambda node: distances.get(node.future, unknown),
        )
        if found is None:
            return None
        steps, goal, cost = found
        return RoutePlan(steps, goal.state, 1.0, cost)

    def _is_goal(self, edge: Edge, target: CoverageTarget) -> bool:
        if target.is_message:
            return edge.move.symbol == target.path[0]
        walks, length = self._map.coverage.walks, len(target.path)
        return any(walks[state][-length:] == target.path for state in edge.states)

    def _distances_to(self, symbol: str) -> dict[DialogueState, int]:
        if not self._edges:
            self._explore()
        if symbol not in self._distances:
            self._distances[symbol] = self._search_backwards(symbol)
        return self._distances[symbol]

    def _explore(self) -> None:
        """Find all edges between nodes that differ in their futures."""
        coverage = Coverage(KPaths(self._grammar, 1))
        small_map = DialogueMap(self._forecaster, coverage, self._map.ours)
        nodes = dict.fromkeys(small_map.nodes(MAX_NODES_WITH_TARGET_DISTANCE))
        for node in nodes:
            for edge in small_map.edges(node):
                self._edges.append((node.future, edge, edge.to.future))
                self._is_complete = self._is_complete and edge.to in nodes
            if small_map.ending(node) is not None:
                self._edges.append((node.future, None, small_map.beginning.future))
        self._symbols = coverage.walks

    def _search_backwards(self, symbol: str) -> dict[DialogueState, int]:
        distances: dict[DialogueState, int] = {}
        before: dict[DialogueState, list[tuple[DialogueState, int]]] = {}
        todo: deque[DialogueState] = deque()
        goal: KPath = (symbol,)
        for source, edge, to in self._edges:
            before.setdefault(to, []).append((source, 0 if edge is None else 1))
            if edge is None or source in distances:
                continue
            if any(self._symbols[state] == goal for state in edge.states):
                distances[source] = 1
                todo.append(source)
        while todo:
            here = todo.popleft()
            for source, more in before.get(here, ()):
                if distances[here] + more < distances.get(source, 1 << 30):
                    distances[source] = distances[here] + more
                    (todo.append if more else todo.appendleft)(source)
        return distances
