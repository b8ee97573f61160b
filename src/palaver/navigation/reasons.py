"""Reasons for uncovered paths: what they need, the number of attempts, and the answers that came instead.

A breadth-first search visits the whole dialogue map, also edges that are given up. Paths behind an answer that never
comes need that answer; paths in messages that do come need the part that was never in them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from palaver.navigation.a_star import PlanningContext
from palaver.navigation.dialogue_map import HANG_UP, SILENCE, Edge, MapNode
from palaver.navigation.navigation_limits import MAX_NAMES_IN_REASON, MAX_NODES_EXPLAINED
from palaver.navigation.route_planner import RoutePlanner


class Need(NamedTuple):
    """Something that paths need in order to be covered."""

    what: str
    attempts: int = 0
    got: tuple[str, ...] = ()


_UNREACHABLE = Need("what the dialogue never leads to")


@dataclass(frozen=True, slots=True)
class Reason:
    """A number of paths with the same need."""

    paths: int
    need: Need

    def __str__(self) -> str:
        what, attempts, got = self.need
        text = f"{self.paths} path{'s' * (self.paths != 1)} need{'s' * (self.paths == 1)} {what}"
        if attempts:
            text += f"; {attempts} attempt{'s' * (attempts != 1)}"
        if got:
            more = f" and {len(got) - MAX_NAMES_IN_REASON} more" if len(got) > MAX_NAMES_IN_REASON else ""
            text += f"; got {', '.join(got[:MAX_NAMES_IN_REASON])}{more}"
        return text


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
        for path in self._goal.missing():
            need = self._needs.get(self._goal.coverage.state(path), _UNREACHABLE)
            counts[need] = counts.get(need, 0) + 1
        reasons = [Reason(count, need) for need, count in counts.items()]
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
        if edge.is_ours:
            return Need(f"{name} where the constraints allow none")
        situations = [each for each in self._peer.situations if name in each[1] and each[0] == last]
        if not situations or any(self._peer.answers[each, name] for each in situations):
            return Need(f"{name} in a place where it did not come", self._planner.times_missed(edge))
        attempts = sum(self._peer.situations[each] for each in situations)
        came = (other for each in situations for other in each[1] if self._peer.answers[each, other])
        after = f" after {last}" if last else ""
        return Need(f"{_article(name)} {name} answer{after}", attempts, tuple(dict.fromkeys(map(_named, came))))

    def _note(self, edge: Edge, need: Need | None) -> None:
        for state in edge.states:
            if self._goal.is_missing(state):
                self._set(state, need or Need(f"{edge.move.symbol} in a place where it did not come"))
        if not self._missing_paths.has_missing(edge.state):
            return
        for target, (_, steps) in self._missing_paths.missing(edge.state).items():
            self._set(target, need or self._need_inside(edge, steps))

    def _need_inside(self, edge: Edge, steps: tuple[tuple[str, str], ...]) -> Need:
        """The need of a path inside of a message that does come."""
        model, whose = (self._planner.ours, "of ours") if edge.is_ours else (self._peer, "of the peer")
        for above, below in steps:
            count = model.symbols[above]
            if count and not model.pairs[above, below]:
                got = tuple(name for symbol, name in model.pairs if symbol == above)
                return Need(f"{below} in {above} {whose}", count, got)
        return Need(f"{edge.move.symbol} in a place where it did not come")

    def _set(self, state: int, need: Need) -> None:
        """Note the need of a path and its suffixes, unless it is known."""
        while self._goal.is_missing(state):
            self._needs.setdefault(state, need)
            state = self._goal.coverage.suffix_of(state)


def _named(name: str) -> str:
    return {SILENCE: "nothing", HANG_UP: "the end"}.get(name, name)


def _article(name: str) -> str:
    return "an" if name[1:2].lower() in "aeiou" else "a"
