"""Steering of our messages towards uncovered paths (the paper's local optimisation).

At each choice, the generator asks for the worth of the options (`generation.steered`). A name is worth the more, the
nearer the next missing state is: the state of the name itself, or one below it. The mere existence of a missing state
would not tell enough, because in a recursive rule every option leads everywhere sooner or later. States that the
message contains already are not missing, so each part of it heads for something else.

A node that is begun *offers* the missing states right below it, and the choice of an option *claims* those that are in
the option. Neither is missing deeper down: in `<sum> "+" <figure>` the inner sums come before the plus, and each of
them would see a missing plus nearby and begin another sum.

The distance to the next missing state is found by breadth-first search, and remembered together with that state. States
are only ever covered, so the distance is valid while that state is missing.

Some missing states cannot be reached: a constraint may forbid them, or determine the field that contains them. So it is
counted how often a message contained a state that was still missing afterwards. Such a state is left out of half of the
messages, because it may be the reason why others fail; after some times it is given up, and left to chance. When some
attempts at a message have failed, the next ones are made at random.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from typing import NamedTuple

from palaver.navigation.coverage import NOTHING
from palaver.navigation.goals import GoalProgress
from palaver.navigation.navigation_limits import MAX_FRUITLESS_STEERING, MAX_STEERED_ATTEMPTS
from palaver.random_source import RandomSource

# The distance where nothing is missing.
_UNREACHABLE = 1_000_000


class PayloadSteering:
    """Steers towards the missing paths of a goal. Set `state`, the one of the parent, before each message."""

    def __init__(self, goal_progress: GoalProgress, chance: RandomSource) -> None:
        self._is_covered = goal_progress.coverage.is_covered
        self._step = goal_progress.coverage.step
        self._relevant = goal_progress.relevant
        self._below = goal_progress.coverage.paths.below
        self._chance = chance
        self._distances = _Distances(goal_progress)
        self._state = NOTHING
        self._fruitless: dict[int, int] = {}  # by state, the times that it was taken and stayed missing
        self.given_up: dict[int, int] = {}  # the states that are left to chance, with the number of attempts
        # Of the present message: the number of attempts, the states that occurred, those of them that were missing.
        self._attempts = 0
        self._met: set[int] = set()
        self._taken: dict[int, None] = {}
        # The states offered by nodes that were begun, and those claimed by each node that is not finished.
        self._offered: set[int] = set()
        self._claims: list[set[int]] = []

    @property
    def state(self) -> int:
        """The state of the parent of the message."""
        return self._state

    @state.setter
    def state(self, state: int) -> None:
        self._state = state
        self._attempts = 0

    def beside(self, chance: RandomSource) -> PayloadSteering:
        """The same for the messages of sessions that go on beside these: what was in vain is known to both."""
        other = copy(self)
        other._chance = chance
        other.state = NOTHING
        other._met, other._taken, other._offered, other._claims = set(), {}, set(), []
        return other

    def leave_out(self, symbols: Iterable[str]) -> None:
        """Ignore everything below these symbols, which the generator cannot choose."""
        self._distances.leave_out(symbols)

    def begin(self) -> None:
        """Begin a message, or another attempt at it."""
        for target in self._taken:
            if self._is_covered[target]:
                self._fruitless.pop(target, None)
            else:
                self._fruitless[target] = self._fruitless.get(target, 0) + 1
                if self._fruitless[target] == MAX_FRUITLESS_STEERING:
                    self.given_up[target] = self._fruitless.pop(target)
        left_out = [target for target in self._fruitless if self._chance.random() < 0.5]
        self._distances.begin(left_out, self.given_up)
        self._attempts += 1
        self._met.clear()
        self._taken.clear()
        self._offered.clear()
        self._claims.clear()

    def enter(self, state: int, name: str) -> int | None:
        """Enter a node below one in `state`. Return its state, or None if nothing is missing below it."""
        following = self._step(state, name)
        self._met.add(following)
        self._take(self._relevant(following))
        if self._attempts > MAX_STEERED_ATTEMPTS or self._distances.of(following) == _UNREACHABLE:
            return None
        for child in self._below.get(name, ()):
            target = self._relevant(self._step(following, child))
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
        """Finish the node that was entered last."""
        self._claims.pop()

    def worth(self, state: int, names: Sequence[str]) -> float:
        """Return a value that is the greater, the nearer a missing state is to one of these names."""
        nearest = _UNREACHABLE
        for name in names:
            following = self._step(state, name)
            nearest = min(nearest, 0 if self._is_offered(following) else self._distances.of(following))
        return 1 / (1 + nearest) if nearest < _UNREACHABLE else 0

    def choose(self, state: int, names: Sequence[str]) -> None:
        """Claim what is offered of these names, because they were chosen."""
        for name in names:
            target = self._relevant(self._step(state, name))
            if target in self._offered:
                self._offered.discard(target)
                self._claims[-1].add(target)

    def invites(self, state: int, names: Sequence[str]) -> bool:
        """Return True if one of these names is missing, or something below one that did not occur in the message."""
        for name in names:
            following = self._step(state, name)
            if self._is_offered(following):
                return True
            if following not in self._met and self._distances.of(following) < _UNREACHABLE:
                return True
        return False

    def _is_offered(self, state: int) -> bool:
        """Return True if a state is offered or claimed for the present node."""
        target = self._relevant(state)
        return target in self._offered or target in self._claims[-1]


class _NearestMissing(NamedTuple):
    """A missing state, and the number of steps down to it."""

    distance: int
    target: int


class _Distances:
    """The number of steps from a state down to the next missing one."""

    def __init__(self, goal_progress: GoalProgress) -> None:
        self._is_covered = goal_progress.coverage.is_covered
        self._step = goal_progress.coverage.step
        self._walks = goal_progress.coverage.walks
        self._relevant = goal_progress.relevant
        self._below = dict(goal_progress.coverage.paths.below)
        self._near: dict[int, _NearestMissing] = {}
        self._closed: set[int] = set()
        # The states that do not count in the present message, and those whose distance was found without them.
        self._hidden: set[int] = set()
        self._found_without_hidden: list[int] = []

    def leave_out(self, symbols: Iterable[str]) -> None:
        """Do not search below these symbols."""
        for symbol in symbols:
            self._below.pop(symbol, None)

    def begin(self, left_out: Iterable[int], given_up: Collection[int]) -> None:
        """Begin a message in which these states do not count."""
        # Distances that were found without hidden states are valid if those are covered or given up.
        if not all(self._is_covered[target] or target in given_up for target in self._hidden):
            for state in self._found_without_hidden:
                self._near.pop(state, None)
                self._closed.discard(state)
        self._found_without_hidden.clear()
        self._hidden = {*left_out, *given_up}

    def hide(self, target: int) -> None:
        self._hidden.add(target)

    def is_missing(self, target: int) -> bool:
        return not self._is_covered[target] and target not in self._hidden

    def of(self, state: int) -> int:
        """The distance to the next missing state, 0 if it is this one."""
        if state in self._closed:
            return _UNREACHABLE
        near = self._near.get(state)
        if near is None or not self.is_missing(near.target):
            near = self._search(state)
        return _UNREACHABLE if near is None else near.distance

    def _search(self, start: int) -> _NearestMissing | None:
        above = {start: start}  # all states that were found, with their parents
        level, depth = [start], 0
        best: _NearestMissing | None = None
        end = start  # the state from which on the best way was known
        while level and (best is None or depth < best.distance):
            following: list[int] = []
            for state in level:
                near = self._known(state)
                if near is None:
                    following += self._fresh_below(state, above)
                elif best is None or depth + near.distance < best.distance:
                    best, end = _NearestMissing(depth + near.distance, near.target), state
            level, depth = following, depth + 1
        if best is None:
            self._closed.update(above)
            self._found_without_hidden.extend(above)
        else:
            self._remember(best, end, above)
        return best

    def _known(self, state: int) -> _NearestMissing | None:
        """The next missing state, if it is known without a search."""
        target = self._relevant(state)
        if self.is_missing(target):
            return _NearestMissing(0, target)
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

    def _remember(self, best: _NearestMissing, end: int, above: dict[int, int]) -> None:
        """Remember the distances of all states on the way to the one that was found."""
        way = [end]
        while (state := above[way[-1]]) != way[-1]:
            way.append(state)
        for steps, state in enumerate(reversed(way)):
            self._near[state] = _NearestMissing(best.distance - steps, best.target)
        self._found_without_hidden.extend(way)
