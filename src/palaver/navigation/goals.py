"""What is to be covered: all k-paths, or only those in what we say.

*Inputs* are the paths inside of messages that we say. *States* are these, and the paths through states of the dialogue
into them. *All* are these and the answers of the others. What a path of a goal begins or ends with is in the goal too;
so of any path there is a longest end that is, and that one tells whether the path matters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from functools import cached_property

from palaver.grammar.analyse import reachable
from palaver.matching.cut import Dialogue
from palaver.navigation.coverage import NOTHING, Coverage
from palaver.navigation.kpaths import KPath, KPaths


class Goal(Enum):
    INPUTS = "inputs"
    STATES = "states"
    ALL = "all"


class Goals:
    """Tells of each path which goals it belongs to."""

    def __init__(self, paths: KPaths, dialogue: Dialogue, ours: Collection[str]) -> None:
        self._paths = paths
        self._states = dialogue.states
        below = paths.below
        symbols = {name: [child for child in children if child in below] for name, children in below.items()}
        own = dict.fromkeys(move.symbol for move in dialogue.messages if move.sender in ours)
        everywhere = ""  # a node of its own, from which all our messages are reached at once
        said = [name for name in reachable(everywhere, {**symbols, everywhere: list(own)}) if name != everywhere]
        others = {move.symbol for move in dialogue.messages} - own.keys()
        self._inputs: Mapping[str, None] = dict.fromkeys(
            (*said, *(child for name in said for child in below.get(name, ())))
        )
        # What a state can lead to without an answer.
        self._onward = {
            name: tuple(child for child in below.get(name, ()) if child not in others) for name in dialogue.states
        }
        # Terminals that stand beside messages: the empty ones.
        self._beside = frozenset(
            child for children in self._onward.values() for child in children if child not in below
        )

    def of(self, path: KPath) -> Goal:
        """The smallest goal that a path belongs to."""
        if path[0] in self._inputs:
            return Goal.INPUTS
        onward: Collection[str] = path[:1]
        for name in path:
            if name not in onward:
                return Goal.ALL
            if name not in self._states:
                return Goal.STATES if name in self._inputs or name in self._beside else Goal.ALL
            onward = self._onward[name]
        return Goal.STATES

    def contains(self, goal: Goal, path: KPath) -> bool:
        order = list(Goal)
        return order.index(self.of(path)) <= order.index(goal)

    def count(self, goal: Goal) -> int:
        """How many paths a goal has, without making them."""
        if goal is Goal.ALL:
            return self._paths.count()
        below = self._paths.below
        names = dict.fromkeys((*below, *(child for found in below.values() for child in found)))
        # By the name they begin with: all walks of some length, and those that lead through states into what we say.
        walks = dict.fromkeys(names, 1)
        through = {name: int(self.of((name,)) is not Goal.ALL) for name in names}
        total = 0
        for _ in range(self._paths.k):
            for name in names:
                if name in self._inputs:
                    total += walks[name]
                elif goal is Goal.STATES:
                    total += through[name]
            walks = {name: sum(walks[child] for child in below.get(name, ())) for name in names}
            through = {
                name: sum(through[child] for child in self._onward[name])
                if name in self._states
                else walks[name] * (name in self._inputs)
                for name in names
            }
        return total


class Aim:
    """Which states of a coverage matter for a goal, and how far that has come."""

    def __init__(self, coverage: Coverage, goals: Goals, goal: Goal) -> None:
        self.coverage = coverage
        self.goal = goal
        self._goals = goals
        self._targets: dict[int, int] = {}
        self.total = goals.count(goal)
        self._counted = self._reached = 0

    @property
    def reached(self) -> int:
        """How many paths of the goal have been covered. What is new is counted when somebody asks."""
        if self.goal is Goal.ALL:
            return len(self.coverage)
        new = self.coverage.covered(self._counted)
        self._reached += sum(self._goals.contains(self.goal, path) for path in new)
        self._counted = len(self.coverage)
        return self._reached

    def target(self, state: int) -> int:
        """The state of the longest end of a path that matters; `NOTHING`, which is always covered, if none does."""
        if self.goal is Goal.ALL:
            return state
        target = self._targets.get(state)
        if target is None:
            target = state
            while target != NOTHING and not self._goals.contains(self.goal, self.coverage.walks[target]):
                target = self.coverage.end_of(target)
            self._targets[state] = target
        return target

    def is_missing(self, state: int) -> bool:
        """Whether to meet a node in this state would cover anything that matters."""
        return not self.coverage.is_covered[self.target(state)]

    def missing(self) -> Iterator[KPath]:
        return (path for path in self.coverage.missing() if self._goals.contains(self.goal, path))


class Standing:
    """How many paths of each goal have been covered. What is new is counted when somebody asks."""

    def __init__(self, coverage: Coverage, goals: Goals) -> None:
        self._coverage = coverage
        self._goals = goals
        # By the smallest goal that each belongs to.
        self._reached = dict.fromkeys(Goal, 0)
        self._counted = 0

    @cached_property
    def _totals(self) -> Mapping[Goal, int]:
        return {goal: self._goals.count(goal) for goal in Goal}

    def __iter__(self) -> Iterator[tuple[Goal, int, int]]:
        """Each goal, how many of its paths were covered, and how many there are."""
        for path in self._coverage.covered(self._counted):
            self._reached[self._goals.of(path)] += 1
        self._counted = len(self._coverage)
        reached = 0
        for goal in Goal:
            reached += self._reached[goal]
            yield goal, reached, self._totals[goal]
