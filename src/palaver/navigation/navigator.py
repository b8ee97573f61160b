"""The way to one target (the paper's navigator, section 3.1.2).

A* over the places of the atlas, which are made as they are looked at. How far it is at least: the number of messages
until the last symbol of the target can come, whatever stands around it. That is found backwards, once for each symbol,
on a map where places differ only in how they can go on. If a target cannot be reached from here, the way leads over the
end of the conversation and the beginning of another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from palaver.matching.dialogue import Future
from palaver.matching.forecaster import Forecaster
from palaver.navigation.atlas import Atlas, Edge, Place
from palaver.navigation.coverage import Coverage
from palaver.navigation.kpaths import KPath, KPaths
from palaver.navigation.planner import END, RESET, Back, Plan, Planner, Situation, steps_back
from palaver.navigation.targets import Target

_MOST_PLACES = 20_000


class Navigator:
    """Finds ways; asks the planner what messages cost."""

    def __init__(self, atlas: Atlas, planner: Planner, forecaster: Forecaster, paths: Callable[[int], KPaths]) -> None:
        self._atlas = atlas
        self._planner = planner
        self._forecaster = forecaster
        self._paths = paths
        self._distances: dict[str, dict[Future, int]] = {}
        self._map: list[tuple[Future, Edge | None, Future]] = []
        self._is_whole = True
        self.expanded = 0  # places looked at, in all

    def route(self, starts: Sequence[Place], target: Target, situation: Situation) -> Plan | None:
        """The shortest way to a target; None if there is none."""
        distances = self._distances_to(target.path[-1])
        unknown = None if self._is_whole else 0

        def at_least(place: Place) -> int | None:
            return distances.get(place.future, unknown)

        heap: list[tuple[float, int, float, int, Place, Back | None, str, bool]] = []
        for number, place in enumerate(starts):
            heap.append((at_least(place) or 0, number, 0.0, 0, place, None, situation.last, False))
        heap.sort()
        ticket = len(heap)
        done: set[tuple[int, Place]] = set()
        while heap and len(done) < _MOST_PLACES:
            _, _, cost, layer, place, back, last, is_reached = heappop(heap)
            if is_reached:
                self.expanded += len(done)
                steps = steps_back(back)
                (*_, goal) = steps
                assert isinstance(goal, Edge), "a target is a message, or above one"
                return Plan(steps, goal.state, 1.0, cost)
            if (layer, place) in done:
                continue
            done.add((layer, place))
            for edge, _, _, said in self._planner.ways_on(place, layer, last, situation):
                is_goal = self._is_goal(edge, target)
                far = 0 if is_goal else at_least(edge.to)
                if is_goal or (far is not None and (layer, edge.to) not in done):
                    further = (back, edge)
                    heappush(heap, (cost + 1 + (far or 0), ticket, cost + 1, layer, edge.to, further, said, is_goal))
                    ticket += 1
            beginning = self._atlas.beginning
            far = at_least(beginning)
            if layer == 0 and far is not None and self._atlas.ending(place) is not None:
                again = cost + RESET
                heappush(heap, (again + far, ticket, again, 1, beginning, (back, END), "", False))
                ticket += 1
        self.expanded += len(done)
        return None

    def _is_goal(self, edge: Edge, target: Target) -> bool:
        if target.is_message:
            return edge.move.symbol == target.path[0]
        walks, length = self._atlas.coverage.walks, len(target.path)
        return any(walks[state][-length:] == target.path for state in edge.states)

    # --- How far at least ---------------------------------------------------------------------------------------------

    def _distances_to(self, symbol: str) -> dict[Future, int]:
        if not self._map:
            self._draw_map()
        if symbol not in self._distances:
            self._distances[symbol] = self._spread(symbol)
        return self._distances[symbol]

    def _draw_map(self) -> None:
        """All places that differ in how they can go on."""
        coverage = Coverage(self._paths(1))
        atlas = Atlas(self._forecaster, coverage, self._atlas.ours)
        todo = [atlas.beginning]
        found = {atlas.beginning}
        for place in todo:
            for edge in atlas.edges(place):
                self._map.append((place.future, edge, edge.to.future))
                if edge.to not in found:
                    if len(found) == _MOST_PLACES:
                        self._is_whole = False
                    else:
                        found.add(edge.to)
                        todo.append(edge.to)
            if atlas.ending(place) is not None:
                self._map.append((place.future, None, atlas.beginning.future))
        self._names = coverage.walks

    def _spread(self, symbol: str) -> dict[Future, int]:
        distances: dict[Future, int] = {}
        before: dict[Future, list[tuple[Future, int]]] = {}
        todo: deque[Future] = deque()
        goal: KPath = (symbol,)
        for source, edge, to in self._map:
            before.setdefault(to, []).append((source, 0 if edge is None else 1))
            if edge is None or source in distances:
                continue
            if any(self._names[state] == goal for state in edge.states):
                distances[source] = 1
                todo.append(source)
        while todo:
            here = todo.popleft()
            for source, more in before.get(here, ()):
                if distances[here] + more < distances.get(source, 1 << 30):
                    distances[source] = distances[here] + more
                    (todo.append if more else todo.appendleft)(source)
        return distances
