"""Reasons for uncovered paths, found breadth first (Moore 1959): what they need, and what came instead.

A breadth-first search visits the whole dialogue map, also edges that are given up. Paths behind an answer that never
comes need that answer; paths in messages that do come need the part that was never in them.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from palaver.lean_dataclasses import dataclass
from palaver.navigation.dialogue_map import HANG_UP, SILENCE, Edge, MapNode
from palaver.navigation.navigation_limits import (
    MAX_EXAMPLES_OF_REASON,
    MAX_NAMES_IN_REASON,
    MAX_NODES_EXPLAINED,
    MAX_PATHS_EXPLAINED,
)
from palaver.navigation.plan_search import PlanningContext
from palaver.navigation.route_planner import RoutePlanner
from palaver.printable import counted


class Need(NamedTuple):
    """Something that paths lack in order to be covered."""

    what: str
    attempts: int = 0
    got: tuple[str, ...] = ()
    histories: int = 0  # the number of different histories before the attempts, where it is known


_UNREACHABLE = Need("no way to them was found")
_TOO_MANY = Need("not looked at one by one")


@dataclass(frozen=True, slots=True)
class Reason:
    """A number of paths with the same need."""

    paths: int
    need: Need
    examples: tuple[tuple[str, ...], ...] = ()  # some of the paths

    def __str__(self) -> str:
        what, attempts, got, histories = self.need
        details = [f"not seen in {counted(attempts, 'attempt')}"] if attempts else []
        if histories > 1:
            details[0] += f" after {histories} different histories"
        if got:
            more = f" and {len(got) - MAX_NAMES_IN_REASON} more" if len(got) > MAX_NAMES_IN_REASON else ""
            details.append(f"got {', '.join(got[:MAX_NAMES_IN_REASON])}{more}")
        shown = f" ({'; '.join(details)})" if details else ""
        return f"{counted(self.paths, 'path')}; {what}{shown}"


class ReasonFinder:
    """Finds the need of every missing path."""

    def __init__(self, planner: RoutePlanner) -> None:
        self._planner = planner
        self._map = planner.dialogue_map
        self._goal = planner.goal_progress
        self._missing_paths = planner.missing_paths
        self._peer = planner.peer
        self._needs: dict[int, Need] = {}

    def all(self) -> list[Reason]:
        """The reasons, the one of most paths first."""
        self._needs = {}
        self._search()
        counts: dict[Need, int] = {}
        examples: dict[Need, list[tuple[str, ...]]] = {}
        missing = self._goal.total - self._goal.reached
        if missing > MAX_PATHS_EXPLAINED:
            MAX_PATHS_EXPLAINED.reached()
            for need in self._needs.values():
                counts[need] = counts.get(need, 0) + 1
            if missing > len(self._needs):
                counts[_TOO_MANY] = missing - len(self._needs)
        else:
            for path in self._goal.missing():
                need = self._needs.get(self._goal.coverage.state(path), _UNREACHABLE)
                counts[need] = counts.get(need, 0) + 1
                if counts[need] <= MAX_EXAMPLES_OF_REASON:
                    examples.setdefault(need, []).append(path)
        reasons = [Reason(count, need, tuple(examples.get(need, ()))) for need, count in counts.items()]
        return sorted(reasons, key=lambda reason: (-reason.paths, reason.need.what))

    def _search(self) -> None:
        """Note the needs of all edges: first of those that are possible, then of those behind others."""
        beginning = self._map.beginning
        found: dict[MapNode, tuple[str, Need | None]] = {beginning: ("", None)}
        near: deque[MapNode] = deque([beginning])
        far: deque[MapNode] = deque()
        while near or far:
            node = near.popleft() if near else far.popleft()
            last, need = found[node]
            possible = {
                edge: then_last
                for edge, _, _, then_last in self._planner.possible_edges(node, 1, last, PlanningContext())
            }
            for edge in self._map.edges(node):
                here = need or (None if edge in possible else self._need_of(edge, last))
                self._note(edge, here)
                if edge.to in found:
                    continue
                if len(found) >= MAX_NODES_EXPLAINED:
                    MAX_NODES_EXPLAINED.reached()
                else:
                    found[edge.to] = (possible.get(edge, edge.move.symbol if edge.is_ours else last), here)
                    (near if here is None else far).append(edge.to)

    def _need_of(self, edge: Edge, last: str) -> Need:
        """The need of an edge that is given up."""
        name = edge.move.symbol
        if self._planner.dead_ends.is_dead(edge):
            times = self._planner.dead_ends.deaths(edge)
            return Need(f"a known finding has always followed {name} in that state", times)
        if edge.is_ours:
            return Need(f"no valid {name} was found in that state", self._planner.times_missed(edge))
        situations = [each for each in self._peer.situations if name in each[1] and each[0] == last]
        if not situations or any(self._peer.answers[each, name] for each in situations):
            return Need(_never_sent(edge), self._planner.times_missed(edge))
        attempts = sum(self._peer.situations[each] for each in situations)
        came = (other for each in situations for other in each[1] if self._peer.answers[each, other])
        what = f"the peer never answered {last} with {name}" if last else f"the peer never began with {name}"
        histories = sum(map(self._peer.histories, situations))
        return Need(what, attempts, tuple(dict.fromkeys(map(_named, came))), histories)

    def _note(self, edge: Edge, need: Need | None) -> None:
        for state in edge.states:
            if self._goal.is_missing(state):
                self._set(state, need or Need(_never_sent(edge)))
        if not self._missing_paths.has_missing(edge.state):
            return
        for target, steps in self._missing_paths.missing(edge.state).items():
            self._set(target, need or self._need_inside(edge, steps))

    def _need_inside(self, edge: Edge, steps: tuple[tuple[str, str], ...]) -> Need:
        """The need of a path inside of a message that does come."""
        model, who = (self._planner.ours, "we") if edge.is_ours else (self._peer, "the peer")
        for above, below in steps:
            count = model.symbols[above]
            if count and not model.pairs[above, below]:
                got = tuple(name for symbol, name in model.pairs if symbol == above)
                return Need(f"{who} never sent {below} in {above}", count, got)
        return Need(_never_sent(edge))

    def _set(self, state: int, need: Need) -> None:
        """Note the need of a path and its suffixes, unless it is known."""
        while self._goal.is_missing(state):
            self._needs.setdefault(state, need)
            state = self._goal.coverage.suffix_of(state)


def _named(name: str) -> str:
    return {SILENCE: "no answer", HANG_UP: "end of session"}.get(name, name)


def _never_sent(edge: Edge) -> str:
    return f"{'we' if edge.is_ours else 'the peer'} never sent {edge.move.symbol} in that state"
