"""Coverage goals: all k-paths, or only those in our own messages; and the paths of a goal that are missing.

*Inputs* are the paths inside of our messages. *States* are these, and the paths through states of the dialogue into
them. *All* are these and the paths in the answers of others. Prefixes and suffixes of a path of a goal are in the goal,
too; so every path has a longest suffix in the goal, and a path is relevant to the goal by that suffix.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from palaver.grammar.analysis import reachable
from palaver.matching.dialogue_grammar import DialogueGrammar
from palaver.navigation.coverage import NOTHING, Coverage, KPath, KPaths
from palaver.navigation.navigation_limits import MAX_PATHS_BELOW_MESSAGE


class CoverageGoal(Enum):
    """A set of k-paths that a run is to cover; each contains the ones before it."""

    INPUTS = "inputs"
    STATES = "states"
    ALL = "all"


class GoalMembership:
    """Tells which goals a path belongs to."""

    def __init__(self, paths: KPaths, dialogue: DialogueGrammar, ours: Collection[str]) -> None:
        self._paths = paths
        self._states = dialogue.states
        below = paths.below
        symbols = {name: [child for child in children if child in below] for name, children in below.items()}
        own = dict.fromkeys(move.symbol for move in dialogue.messages if move.sender in ours)
        everywhere = ""  # a node from which all our messages are reached
        sent = [name for name in reachable(everywhere, {**symbols, everywhere: list(own)}) if name != everywhere]
        others = {move.symbol for move in dialogue.messages} - own.keys()
        self._inputs: Mapping[str, None] = dict.fromkeys(
            (*sent, *(child for name in sent for child in below.get(name, ())))
        )
        # The children of a state that are not messages of others.
        self._onward = {
            name: tuple(child for child in below.get(name, ()) if child not in others) for name in dialogue.states
        }
        # Terminals beside messages, which are empty.
        self._beside = frozenset(
            child for children in self._onward.values() for child in children if child not in below
        )

    def of(self, path: KPath) -> CoverageGoal:
        """The smallest goal that a path belongs to."""
        if path[0] in self._inputs:
            return CoverageGoal.INPUTS
        onward: Collection[str] = path[:1]
        for name in path:
            if name not in onward:
                return CoverageGoal.ALL
            if name not in self._states:
                return CoverageGoal.STATES if name in self._inputs or name in self._beside else CoverageGoal.ALL
            onward = self._onward[name]
        return CoverageGoal.STATES

    def contains(self, goal: CoverageGoal, path: KPath) -> bool:
        order = list(CoverageGoal)
        return order.index(self.of(path)) <= order.index(goal)

    def count(self, goal: CoverageGoal) -> int:
        """The number of paths of a goal, without making them."""
        if goal is CoverageGoal.ALL:
            return self._paths.count()
        below = self._paths.below
        names = self._paths.names
        # By first name: all walks of some length, and those that lead through states into our messages.
        walks = dict.fromkeys(names, 1)
        through = {name: int(self.of((name,)) is not CoverageGoal.ALL) for name in names}
        total = 0
        for _ in range(self._paths.k):
            for name in names:
                if name in self._inputs:
                    total += walks[name]
                elif goal is CoverageGoal.STATES:
                    total += through[name]
            walks = {name: sum(walks[child] for child in below.get(name, ())) for name in names}
            through = {
                name: sum(through[child] for child in self._onward[name])
                if name in self._states
                else walks[name] * (name in self._inputs)
                for name in names
            }
        return total


class GoalProgress:
    """The relevant coverage states of one goal, and the number of its paths that were covered."""

    def __init__(self, coverage: Coverage, goals: GoalMembership, goal: CoverageGoal) -> None:
        self.coverage = coverage
        self.goal = goal
        self._goals = goals
        self._relevant: dict[int, int] = {}
        self.total = goals.count(goal)
        self._counted = self._reached = 0

    @property
    def reached(self) -> int:
        """The number of covered paths of the goal. New paths are counted on demand."""
        if self.goal is CoverageGoal.ALL:
            return len(self.coverage)
        new = self.coverage.covered(self._counted)
        self._reached += sum(self._goals.contains(self.goal, path) for path in new)
        self._counted = len(self.coverage)
        return self._reached

    def relevant(self, state: int) -> int:
        """The state of the longest suffix in the goal; `NOTHING`, which is always covered, if there is none."""
        if self.goal is CoverageGoal.ALL:
            return state
        suffix = self._relevant.get(state)
        if suffix is None:
            suffix = state
            while suffix != NOTHING and not self._goals.contains(self.goal, self.coverage.walks[suffix]):
                suffix = self.coverage.suffix_of(suffix)
            self._relevant[state] = suffix
        return suffix

    def is_missing(self, state: int) -> bool:
        """Return True if a node in this state would cover a path of the goal."""
        return not self.coverage.is_covered[self.relevant(state)]

    def missing(self) -> Iterator[KPath]:
        """The uncovered paths of the goal."""
        return (path for path in self.coverage.missing() if self._goals.contains(self.goal, path))


class GoalCounts:
    """The number of covered paths of each goal. New paths are counted on demand."""

    def __init__(self, coverage: Coverage, goals: GoalMembership) -> None:
        self._coverage = coverage
        self._goals = goals
        self._reached = dict.fromkeys(CoverageGoal, 0)  # by the smallest goal of each path
        self._counted = 0

    @cached_property
    def _totals(self) -> Mapping[CoverageGoal, int]:
        return {goal: self._goals.count(goal) for goal in CoverageGoal}

    def __iter__(self) -> Iterator[tuple[CoverageGoal, int, int]]:
        """Each goal, the number of its covered paths, and the number of its paths."""
        for path in self._coverage.covered(self._counted):
            self._reached[self._goals.of(path)] += 1
        self._counted = len(self._coverage)
        reached = 0
        for goal in CoverageGoal:
            reached += self._reached[goal]
            yield goal, reached, self._totals[goal]


# The steps down to a missing state: pairs of a symbol and its child.
StepsDown: TypeAlias = tuple[tuple[str, str], ...]


class MissingPaths:
    """The missing paths of one goal at or below a coverage state.

    Two questions are asked for every possible message. *Is anything missing?* For each state that was asked about, one
    missing state below it is remembered as a witness; the answer is yes while the witness is missing, and "no" is
    final. *What is missing?* The paths are collected once for each state, and removed when they are covered.

    What is below a path of k symbols does not depend on the first of them. So both are remembered by the path without
    it, which all its contexts share: with twenty ways in each state of a dialogue, there are twenty times fewer.
    """

    def __init__(self, goal_progress: GoalProgress) -> None:
        self._goal = goal_progress
        self._coverage = goal_progress.coverage
        self._below = goal_progress.coverage.paths.below
        self._k = goal_progress.coverage.paths.k
        self._witness: dict[int, int] = {}  # by context
        self._closed_contexts: set[int] = set()  # with nothing missing below them
        self.closed: set[int] = set()  # states that are known to have nothing missing at or below them
        self._found: dict[int, dict[int, StepsDown]] = {}  # by context, and the missing state
        self._askers: dict[int, list[int]] = {}
        goal_progress.coverage.watchers.append(self._remove)

    def _remove(self, state: int) -> None:
        for asker in self._askers.pop(state, ()):
            del self._found[asker][state]

    def context(self, state: int) -> int:
        """The state that decides what is below this one."""
        return self._coverage.suffix_of(state) if len(self._coverage.walks[state]) == self._k > 1 else state

    def has_missing(self, state: int) -> bool:
        """Return True if anything is missing at a state or below."""
        if not self._coverage.is_covered[self._goal.relevant(state)]:
            return True
        context = self.context(state)
        witness = self._witness.get(context)
        if witness is not None and not self._coverage.is_covered[witness]:
            return True
        if context not in self._closed_contexts and self._finds_witness(context):
            return True
        self.closed.add(state)
        return False

    def _finds_witness(self, start: int) -> bool:
        contexts = {start: None}
        stack = [start]
        while stack:
            here = stack.pop()
            for name in self._below.get(self._coverage.walks[here][-1], ()):
                following = self._coverage.step(here, name)
                target = self._goal.relevant(following)
                if not self._coverage.is_covered[target]:
                    self._witness[start] = target
                    return True
                context = self.context(following)
                if context not in contexts and context not in self._closed_contexts:
                    contexts[context] = None
                    stack.append(context)
        self._closed_contexts.update(contexts)
        return False

    def missing(self, state: int) -> dict[int, StepsDown]:
        """The missing states below a state, each with the steps down to it, in the order of the spec."""
        context = self.context(state)
        found = self._found.get(context)
        if found is None:
            found = self._found[context] = self._search(context)
            for target in found:
                self._askers.setdefault(target, []).append(context)
        return found

    def _search(self, state: int) -> dict[int, StepsDown]:
        walks, step, is_covered = self._coverage.walks, self._coverage.step, self._coverage.is_covered
        found: dict[int, StepsDown] = {}
        todo: list[tuple[int, StepsDown]] = [(state, ())]
        seen = {state}
        for here, steps in todo:
            symbol = walks[here][-1]
            for name in self._below.get(symbol, ()):
                following = step(here, name)
                if following in seen:
                    continue
                if len(seen) > MAX_PATHS_BELOW_MESSAGE:
                    MAX_PATHS_BELOW_MESSAGE.reached()
                    return found
                seen.add(following)
                further = (*steps, (symbol, name))
                todo.append((following, further))
                target = self._goal.relevant(following)
                if not is_covered[target]:
                    found.setdefault(target, further)
        return found
