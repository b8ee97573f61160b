"""Navigation to coverage targets: the paper's scheme (its section 3.1.2 and Algorithm 2), kept for comparison.

A target is drawn by a weighted random choice. In the first phase it is a path through states of the dialogue: each
missing path is cut down to its symbols that are states or messages, and one of these is drawn with weight
length / (draws + 1). When no path with a state is missing, the target is a message, drawn with the missing share of its
paths / (draws + 1). The paper prints the covered share, which would prefer messages that have nothing left to cover.

The shortest way to the target, found by A*, is the plan. The lower bound of the distance
is the number of messages until the last symbol of the target can come, in any context. It is found by a backward
breadth-first search, once for each symbol, on a map of k = 1, whose nodes differ only in their futures. A target that
cannot be reached in this session is reached through its end, in the next one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from palaver.grammar.analysis import reachable
from palaver.grammar.ir import Grammar
from palaver.matching.dialogue_automaton import DialogueState
from palaver.matching.dialogue_grammar import DialogueGrammar
from palaver.matching.forecaster import Forecaster
from palaver.navigation.coverage import Coverage, KPath, KPaths
from palaver.navigation.dialogue_map import DialogueMap, Edge, MapNode
from palaver.navigation.goals import GoalProgress
from palaver.navigation.navigation_limits import (
    MAX_DRAWS_OF_TARGET,
    MAX_NODES_OF_TARGET_SEARCH,
    MAX_NODES_WITH_TARGET_DISTANCE,
)
from palaver.navigation.plan_search import AStar, PlanningContext, RoutePlan
from palaver.navigation.route_planner import RoutePlanner
from palaver.random_source import RandomSource


class CoverageTarget(NamedTuple):
    """A path that a session should lead along, or a message that it should contain."""

    path: KPath
    is_message: bool = False


class TargetSelector:
    """Draws targets. Missing paths are counted once, and counted down as they are covered."""

    def __init__(self, goal_progress: GoalProgress, dialogue: DialogueGrammar, chance: RandomSource) -> None:
        self._goal = goal_progress
        self._chance = chance
        self._messages = tuple(dict.fromkeys(move.symbol for move in dialogue.messages))
        self._dialogue = frozenset((*dialogue.states, *self._messages))
        below = goal_progress.coverage.paths.below
        children = {name: [child for child in found if child in below] for name, found in below.items()}
        self._inside: Mapping[str, Sequence[str]] = {
            message: tuple(reachable(message, children)) for message in self._messages
        }
        self.draws: Counter[CoverageTarget] = Counter()
        self._states: Counter[KPath] = Counter()  # by path through states, how many missing paths begin with it
        self._payload: Counter[str] = Counter()  # by first symbol, the number of missing paths without a state
        for path in goal_progress.missing():
            self._count(path, 1)
        self._all_payload = Counter(self._payload)
        goal_progress.coverage.watchers.append(self._count_down)

    def _count_down(self, state: int) -> None:
        if self._goal.relevant(state) == state:
            self._count(self._goal.coverage.walks[state], -1)

    def _count(self, path: KPath, by: int) -> None:
        projection = self.project(path)
        if projection:
            self._states[projection] += by
            if not self._states[projection]:
                del self._states[projection]
        else:
            self._payload[path[0]] += by

    def project(self, path: KPath) -> KPath:
        """The symbols of a path, from its beginning, that are states or messages."""
        end = 0
        while end < len(path) and path[end] in self._dialogue:
            end += 1
        return path[:end]

    def select(self, excluded: Collection[CoverageTarget] = ()) -> CoverageTarget | None:
        """Draw a target that is not given up; None if there is none."""
        states = [CoverageTarget(path) for path in self._states]
        drawn = self._draw([(target, float(len(target.path))) for target in states], excluded)
        if drawn is None:
            messages = [
                (CoverageTarget((name,), is_message=True), self._missing_share(name)) for name in self._messages
            ]
            drawn = self._draw(messages, excluded)
        return drawn

    def as_data(self) -> list[Any]:
        """The number of draws of each target, as JSON can hold it."""
        return [[list(target.path), target.is_message, count] for target, count in self.draws.items()]

    def add_data(self, data: list[Any]) -> None:
        """Add the draws of another run."""
        for path, is_message, count in data:
            self.draws[CoverageTarget(tuple(path), is_message)] += count

    def _missing_share(self, message: str) -> float:
        everything = sum(self._all_payload[name] for name in self._inside[message])
        return sum(self._payload[name] for name in self._inside[message]) / everything if everything else 0.0

    def _draw(
        self, targets: list[tuple[CoverageTarget, float]], excluded: Collection[CoverageTarget]
    ) -> CoverageTarget | None:
        options: list[CoverageTarget] = []
        weights: list[float] = []
        for target, weight in targets:
            if weight and target not in excluded and self.draws[target] < MAX_DRAWS_OF_TARGET:
                options.append(target)
                weights.append(weight / (self.draws[target] + 1))
        if not options:
            return None
        (drawn,) = self._chance.stream.choices(options, weights)
        self.draws[drawn] += 1
        return drawn


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
        # The edges of the map of k = 1, between futures; None: the session ends.
        self._edges: list[tuple[DialogueState, Edge | None, DialogueState]] = []
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
