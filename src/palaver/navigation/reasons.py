"""Why paths were not covered: what they need that did not come, how often it was tried, and what came instead.

The map is walked from the beginning, also where no plan would go any more. What lies behind an answer that never comes
needs that answer; what is missing in messages that do come needs what was never in them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from palaver.navigation.atlas import LEAVING, SILENCE, Atlas, Edge, Place
from palaver.navigation.goals import Aim
from palaver.navigation.peer import Peer
from palaver.navigation.planner import Planner, Situation
from palaver.navigation.potential import Potential

# So many of the things that came instead are named.
_MOST_NAMED = 4
# So many places are looked at.
_MOST_PLACES = 20_000


class Need(NamedTuple):
    """What paths lack."""

    what: str
    attempts: int = 0
    got: tuple[str, ...] = ()


_UNREACHABLE = Need("what the dialogue never leads to")


@dataclass(frozen=True, slots=True)
class Reason:
    """What a number of paths need."""

    paths: int
    need: Need

    def __str__(self) -> str:
        what, attempts, got = self.need
        text = f"{self.paths} path{'s' * (self.paths != 1)} need{'s' * (self.paths == 1)} {what}"
        if attempts:
            text += f"; {attempts} attempt{'s' * (attempts != 1)}"
        if got:
            more = f" and {len(got) - _MOST_NAMED} more" if len(got) > _MOST_NAMED else ""
            text += f"; got {', '.join(got[:_MOST_NAMED])}{more}"
        return text


class Reasons:
    """Explains what is missing."""

    def __init__(self, atlas: Atlas, aim: Aim, potential: Potential, planner: Planner, ours: Peer, peer: Peer) -> None:
        self._atlas = atlas
        self._aim = aim
        self._coverage = aim.coverage
        self._potential = potential
        self._planner = planner
        self._ours = ours
        self._peer = peer
        self._needs: dict[int, Need] = {}

    def all(self) -> list[Reason]:
        """The reasons, that of most paths first."""
        self._needs = {}
        self._walk()
        counts: dict[Need, int] = {}
        for path in self._aim.missing():
            need = self._needs.get(self._coverage.state(path), _UNREACHABLE)
            counts[need] = counts.get(need, 0) + 1
        reasons = [Reason(count, need) for need, count in counts.items()]
        return sorted(reasons, key=lambda reason: (-reason.paths, reason.need.what))

    def _walk(self) -> None:
        """Note what every edge needs; first those that can be had, then those behind others."""
        beginning = self._atlas.beginning
        found: dict[Place, tuple[str, Need | None]] = {beginning: ("", None)}
        near: deque[Place] = deque([beginning])
        far: deque[Place] = deque()
        while near or far:
            place = near.popleft() if near else far.popleft()
            last, need = found[place]
            possible = {edge: said for edge, _, _, said in self._planner.ways_on(place, 1, last, Situation())}
            for edge in self._atlas.edges(place):
                here = need or (None if edge in possible else self._need_of(edge, last))
                self._note(edge, here)
                if edge.to not in found and len(found) < _MOST_PLACES:
                    found[edge.to] = (possible.get(edge, edge.move.symbol if edge.is_ours else last), here)
                    (near if here is None else far).append(edge.to)

    def _need_of(self, edge: Edge, last: str) -> Need:
        """What it takes to come to an edge that is given up."""
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
            if self._aim.is_missing(state):
                self._set(state, need or Need(f"{edge.move.symbol} in a place where it did not come"))
        if not self._potential.is_open(edge.state):
            return
        for target, (_, steps) in self._potential.missing(edge.state).items():
            self._set(target, need or self._need_inside(edge, steps))

    def _need_inside(self, edge: Edge, steps: tuple[tuple[str, str], ...]) -> Need:
        """What a message that does come never had."""
        speaker, whose = (self._ours, "of ours") if edge.is_ours else (self._peer, "of the peer")
        for above, below in steps:
            count = speaker.symbols[above]
            if count and not speaker.pairs[above, below]:
                got = tuple(name for symbol, name in speaker.pairs if symbol == above)
                return Need(f"{below} in {above} {whose}", count, got)
        return Need(f"{edge.move.symbol} in a place where it did not come")

    def _set(self, state: int, need: Need) -> None:
        """Note what a path needs, and what it ends with, unless that is known."""
        while self._aim.is_missing(state):
            self._needs.setdefault(state, need)
            state = self._coverage.end_of(state)


def _named(name: str) -> str:
    return {SILENCE: "nothing", LEAVING: "the end"}.get(name, name)


def _article(name: str) -> str:
    return "an" if name[1:2].lower() in "aeiou" else "a"
