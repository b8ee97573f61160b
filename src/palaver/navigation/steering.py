"""Our own messages are made so that they cover what was never covered: the paper's local optimisation.

How it works
============

Whoever makes a message asks at each choice what the options are worth (`generation.steered`). A name is worth the more,
the nearer the next missing state is: at the state that the name leads to, or so many steps below. Whether anything is
missing at all would not tell enough, because in a recursive rule every way leads everywhere, sooner or later. What the
message has in it already is not missing any more, so each part of it goes for something else.

How far the next missing state is away is found by looking around, level by level, and remembered together with that
state. As states are only ever covered, the answer stands while that one is missing.

Not everything that is missing can be had. A constraint may forbid it, or decide what the field is that it stands in.
So it is counted how often a state was taken in vain: the message was made, and the state is missing still. From then on
it is left out of every other message, because it may be the reason why the others were in vain; and after some times it
is given up, and left to chance. And if a message has been made some times and none was any good, all is left to chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palaver.chance import Chance
from palaver.navigation.coverage import NOTHING
from palaver.navigation.goals import Aim

# After so many times in vain a state is given up.
_MOST_IN_VAIN = 8

# How often one message is made with steering; if none was any good, chance decides.
_STEERED_ATTEMPTS = 4

_NOWHERE = 1_000


class PayloadSteering:
    """Steers towards what is missing for an aim. Set `state` before each message, to that of its parent."""

    def __init__(self, aim: Aim, chance: Chance) -> None:
        self._coverage = aim.coverage
        self._target = aim.target
        self._chance = chance
        self._distances = _Distances(aim)
        self._state = NOTHING
        self._attempts = 0  # to make the present message
        self._below = aim.coverage.paths.below
        self._visited: set[int] = set()  # in the present message
        self._offered: set[int] = set()
        self._claims: list[set[int]] = []
        self._taken: dict[int, None] = {}  # what was missing, and is in the present message
        self._in_vain: dict[int, int] = {}  # how often a state was taken, and is missing still
        self.given_up: dict[int, int] = {}  # those that are left to chance, with how often they were tried

    @property
    def state(self) -> int:
        """The state of the node that the message stands below."""
        return self._state

    @state.setter
    def state(self, state: int) -> None:
        self._state = state
        self._attempts = 0

    def leave_out(self, symbols: Iterable[str]) -> None:
        """What is below these symbols is not for those to decide who make messages."""
        self._distances.leave_out(symbols)

    def begin(self) -> None:
        """The message is made, or made again because the last one was no good."""
        is_covered = self._coverage.is_covered
        for target in self._taken:
            if is_covered[target]:
                self._in_vain.pop(target, None)
            else:
                self._in_vain[target] = self._in_vain.get(target, 0) + 1
        for target, times in list(self._in_vain.items()):
            if times >= _MOST_IN_VAIN:
                self.given_up[target] = self._in_vain.pop(target)
        self._taken.clear()
        self._visited.clear()
        self._offered.clear()
        self._claims.clear()
        left_out = [target for target in self._in_vain if self._chance.random() < 0.5]
        self._distances.begin([*self.given_up, *left_out])
        self._attempts += 1

    def enter(self, state: int, name: str) -> int | None:
        """The state of what is made below a node in `state`; None: nothing is missing below it."""
        following = self._coverage.step(state, name)
        self._visited.add(following)
        self._take(self._target(following))
        if self._attempts > _STEERED_ATTEMPTS or self._distances.of(following) is None:
            return None
        for child in self._below.get(name, ()):
            target = self._target(self._coverage.step(following, child))
            if self._distances.is_missing(target):
                self._distances.hide(target)
                self._offered.add(target)
        self._claims.append(set())
        return following

    def leave(self) -> None:
        """What was entered last, and not left, is finished."""
        self._claims.pop()

    def _take(self, target: int) -> None:
        if self._distances.is_missing(target):
            self._distances.hide(target)
        elif target in self._offered:
            self._offered.discard(target)
        elif self._claims and target in self._claims[-1]:
            self._claims[-1].discard(target)
        else:
            return
        self._taken[target] = None

    def worth(self, state: int, names: Sequence[str]) -> float:
        """The more, the nearer the nearest missing state is to one of these names."""
        step, nearest = self._coverage.step, _NOWHERE
        for name in names:
            nearest = min(nearest, self._distance(step(state, name)))
        return 0.0 if nearest == _NOWHERE else 0.5**nearest

    def _distance(self, state: int) -> int:
        target = self._target(state)
        if target in self._offered or target in self._claims[-1]:
            return 0
        distance = self._distances.of(state)
        return _NOWHERE if distance is None else distance

    def choose(self, state: int, names: Sequence[str]) -> None:
        """Things of these names are made below a node in `state`, as far as they are not repeated zero times."""
        for name in names:
            target = self._target(self._coverage.step(state, name))
            if target in self._offered:
                self._offered.discard(target)
                self._claims[-1].add(target)

    def invites(self, state: int, names: Sequence[str]) -> bool:
        """Whether something is missing at one of these names, or below where the message has not been yet."""
        for name in names:
            following = self._coverage.step(state, name)
            target = self._target(following)
            if target in self._offered or target in self._claims[-1]:
                return True
            if following not in self._visited and self._distances.of(following) is not None:
                return True
        return False


class _Near(NamedTuple):
    distance: int
    target: int  # what is missing there


class _Distances:
    """How many steps below a state the next missing one is."""

    def __init__(self, aim: Aim) -> None:
        self._coverage = aim.coverage
        self._target = aim.target
        self._below = dict(aim.coverage.paths.below)
        self._near: dict[int, _Near] = {}
        self._closed: set[int] = set()
        # What is not looked for now, though nobody has covered it; and what was found while it was not looked for.
        self._hidden: dict[int, None] = {}
        self._found: list[int] = []

    def leave_out(self, symbols: Iterable[str]) -> None:
        for symbol in symbols:
            self._below.pop(symbol, None)

    def begin(self, hidden: Iterable[int]) -> None:
        """Look for everything again, but for what is hidden."""
        if any(not self._coverage.is_covered[target] for target in self._hidden):
            for state in self._found:
                self._near.pop(state, None)
                self._closed.discard(state)
        self._found.clear()
        self._hidden = dict.fromkeys(hidden)

    def hide(self, target: int) -> None:
        self._hidden[target] = None

    def is_missing(self, target: int) -> bool:
        return not self._coverage.is_covered[target] and target not in self._hidden

    def of(self, state: int) -> int | None:
        """The distance to the next missing state, 0 if it is this one; None if nothing is missing here."""
        if state in self._closed:
            return None
        near = self._near.get(state)
        if near is None or not self.is_missing(near.target):
            near = self._look(state)
        return None if near is None else near.distance

    def _look(self, start: int) -> _Near | None:
        walks, step, closed = self._coverage.walks, self._coverage.step, self._closed
        above = {start: start}  # all that have been seen, each with the one it was seen from
        level, depth = [start], 0
        best: _Near | None = None
        end = start  # where the best way ends, as far as it was not known before
        while level and (best is None or depth < best.distance):
            following: list[int] = []
            for state in level:
                near = self._known(state)
                if near is not None:
                    if best is None or depth + near.distance < best.distance:
                        best, end = _Near(depth + near.distance, near.target), state
                    continue
                for name in self._below.get(walks[state][-1], ()):
                    child = step(state, name)
                    if child not in above and child not in closed:
                        above[child] = state
                        following.append(child)
            level, depth = following, depth + 1
        if best is None:
            closed.update(above)
            self._found.extend(above)
            return None
        # The same answer, a step nearer each, for all on the way.
        way = [end]
        while way[-1] != start:
            way.append(above[way[-1]])
        for steps, state in enumerate(reversed(way)):
            self._near[state] = _Near(best.distance - steps, best.target)
            self._found.append(state)
        return best

    def _known(self, state: int) -> _Near | None:
        """What is known about a state without looking around."""
        target = self._target(state)
        if self.is_missing(target):
            return _Near(0, target)
        near = self._near.get(state)
        return near if near is not None and self.is_missing(near.target) else None
