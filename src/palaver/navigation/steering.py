"""Our own messages are made so that they cover what was never covered: the paper's local optimisation.

How it works
============

Whoever makes a message asks at each choice what the options are worth (`generation.steered`). A name is worth the more,
the nearer the next missing state is: at the state that the name leads to, or so many steps below. Whether anything is
missing at all would not tell enough, because in a recursive rule every way leads everywhere, sooner or later. What the
message has in it already is not missing any more, so each part of it goes for something else.

A node that is begun *offers* what is missing right below it, and whoever chooses an option, *claims* what of that is in
it. Neither is missing for anyone deeper down: in `<sum> "+" <figure>` the inner sums come before the plus, and each of
them would see that a plus is missing, and how near that is, and begin another sum.

How far the next missing state is away is found by looking around, level by level, and remembered together with that
state. As states are only ever covered, the answer stands while that one is missing.

Not everything that is missing can be had. A constraint may forbid it, or decide what the field is that it stands in.
So it is counted how often a state was taken in vain: the message was made, and the state is missing still. From then on
it is left out of every other message, because it may be the reason why the others were in vain; and after some times it
is given up, and left to chance. And if a message has been made some times and none was any good, all is left to chance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from palaver.chance import Chance
from palaver.navigation.coverage import NOTHING
from palaver.navigation.goals import Aim

# After so many times in vain a state is given up.
_MOST_IN_VAIN = 8

# How often one message is made with steering; if none was any good, chance decides.
_STEERED_ATTEMPTS = 4

# Further than anything: nothing is missing there.
_NOWHERE = 1_000_000


class PayloadSteering:
    """Steers towards what is missing for an aim. Set `state` before each message, to that of its parent."""

    def __init__(self, aim: Aim, chance: Chance) -> None:
        self._is_covered = aim.coverage.is_covered
        self._step = aim.coverage.step
        self._target = aim.target
        self._below = aim.coverage.paths.below
        self._chance = chance
        self._distances = _Distances(aim)
        self._state = NOTHING
        self._in_vain: dict[int, int] = {}  # how often a state was taken, and is missing still
        self.given_up: dict[int, int] = {}  # those that are left to chance, with how often they were tried
        # Of the present message: how often it was begun, which states were met, which of them were missing.
        self._attempts = 0
        self._met: set[int] = set()
        self._taken: dict[int, None] = {}
        # What is offered by nodes that were begun, and what each of those that are not finished has claimed.
        self._offered: set[int] = set()
        self._claims: list[set[int]] = []

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
        for target in self._taken:
            if self._is_covered[target]:
                self._in_vain.pop(target, None)
            else:
                self._in_vain[target] = self._in_vain.get(target, 0) + 1
                if self._in_vain[target] == _MOST_IN_VAIN:
                    self.given_up[target] = self._in_vain.pop(target)
        left_out = [target for target in self._in_vain if self._chance.random() < 0.5]
        self._distances.begin(left_out, self.given_up)
        self._attempts += 1
        self._met.clear()
        self._taken.clear()
        self._offered.clear()
        self._claims.clear()

    def enter(self, state: int, name: str) -> int | None:
        """The state of what is made below a node in `state`; None: nothing is missing below it."""
        following = self._step(state, name)
        self._met.add(following)
        self._take(self._target(following))
        if self._attempts > _STEERED_ATTEMPTS or self._distances.of(following) == _NOWHERE:
            return None
        for child in self._below.get(name, ()):
            target = self._target(self._step(following, child))
            if self._distances.is_missing(target):
                self._distances.hide(target)
                self._offered.add(target)
        self._claims.append(set())
        return following

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

    def leave(self) -> None:
        """The node that was entered last is finished."""
        self._claims.pop()

    def worth(self, state: int, names: Sequence[str]) -> float:
        """The more, the nearer a missing state is to one of these names."""
        nearest = _NOWHERE
        for name in names:
            following = self._step(state, name)
            nearest = min(nearest, 0 if self._is_offered(following) else self._distances.of(following))
        return 1 / (1 + nearest) if nearest < _NOWHERE else 0

    def choose(self, state: int, names: Sequence[str]) -> None:
        """Things of these names are made, or may be."""
        for name in names:
            target = self._target(self._step(state, name))
            if target in self._offered:
                self._offered.discard(target)
                self._claims[-1].add(target)

    def invites(self, state: int, names: Sequence[str]) -> bool:
        """Whether one of these names is missing, or something below it where the message has not been yet."""
        for name in names:
            following = self._step(state, name)
            if self._is_offered(following):
                return True
            if following not in self._met and self._distances.of(following) < _NOWHERE:
                return True
        return False

    def _is_offered(self, state: int) -> bool:
        """Whether a state is for the node that is made now to take."""
        target = self._target(state)
        return target in self._offered or target in self._claims[-1]


class _Near(NamedTuple):
    """A missing state, and how many steps below it is."""

    distance: int
    target: int


class _Distances:
    """How many steps below a state the next missing one is."""

    def __init__(self, aim: Aim) -> None:
        self._is_covered = aim.coverage.is_covered
        self._step = aim.coverage.step
        self._walks = aim.coverage.walks
        self._target = aim.target
        self._below = dict(aim.coverage.paths.below)
        self._near: dict[int, _Near] = {}
        self._closed: set[int] = set()
        # What is not looked for in the present message, and of which states something was learnt without it.
        self._hidden: set[int] = set()
        self._learnt: list[int] = []

    def leave_out(self, symbols: Iterable[str]) -> None:
        """Do not look below these symbols."""
        for symbol in symbols:
            self._below.pop(symbol, None)

    def begin(self, left_out: Iterable[int], given_up: Collection[int]) -> None:
        """From now on look for everything but these, of which some are given up for ever."""
        # If nobody looks for what was hidden any more, what was learnt stands.
        if not all(self._is_covered[target] or target in given_up for target in self._hidden):
            for state in self._learnt:
                self._near.pop(state, None)
                self._closed.discard(state)
        self._learnt.clear()
        self._hidden = {*left_out, *given_up}

    def hide(self, target: int) -> None:
        self._hidden.add(target)

    def is_missing(self, target: int) -> bool:
        return not self._is_covered[target] and target not in self._hidden

    def of(self, state: int) -> int:
        """The distance to the next missing state, 0 if it is this one."""
        if state in self._closed:
            return _NOWHERE
        near = self._near.get(state)
        if near is None or not self.is_missing(near.target):
            near = self._look(state)
        return _NOWHERE if near is None else near.distance

    def _look(self, start: int) -> _Near | None:
        above = {start: start}  # all states that were seen, with the one that each was seen from
        level, depth = [start], 0
        best: _Near | None = None
        end = start  # the state on the best way from which on it was known
        while level and (best is None or depth < best.distance):
            following: list[int] = []
            for state in level:
                near = self._known(state)
                if near is None:
                    following += self._fresh_below(state, above)
                elif best is None or depth + near.distance < best.distance:
                    best, end = _Near(depth + near.distance, near.target), state
            level, depth = following, depth + 1
        if best is None:
            self._closed.update(above)
            self._learnt.extend(above)
        else:
            self._learn(best, end, above)
        return best

    def _known(self, state: int) -> _Near | None:
        """What is known about a state without looking around."""
        target = self._target(state)
        if self.is_missing(target):
            return _Near(0, target)
        near = self._near.get(state)
        return near if near is not None and self.is_missing(near.target) else None

    def _fresh_below(self, state: int, above: dict[int, int]) -> list[int]:
        fresh = []
        for name in self._below.get(self._walks[state][-1], ()):
            child = self._step(state, name)
            if child not in above and child not in self._closed:
                above[child] = state
                fresh.append(child)
        return fresh

    def _learn(self, best: _Near, end: int, above: dict[int, int]) -> None:
        """Remember the way to what was found: the same answer, a step nearer each."""
        way = [end]
        while (state := above[way[-1]]) != way[-1]:
            way.append(state)
        for steps, state in enumerate(reversed(way)):
            self._near[state] = _Near(best.distance - steps, best.target)
        self._learnt.extend(way)
