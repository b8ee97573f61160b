"""The missing paths at or below a coverage state.

Two questions are asked for every possible message. *Is anything missing?* For each state that was asked about, one
missing state below it is remembered as a witness; the answer is yes while the witness is missing, and "no" is final.
*What is missing?* The paths are collected once for each state, and removed when they are covered.
"""

from __future__ import annotations

from typing import NamedTuple

from palaver.navigation.goals import GoalProgress
from palaver.navigation.navigation_limits import MAX_PATHS_BELOW_MESSAGE


class MissingPath(NamedTuple):
    """A missing state, and the steps down to it: pairs of a symbol and its child."""

    state: int
    steps: tuple[tuple[str, str], ...]


class MissingPaths:
    """Searches below coverage states, for one goal."""

    def __init__(self, goal_progress: GoalProgress) -> None:
        self._goal = goal_progress
        self._coverage = goal_progress.coverage
        self._below = goal_progress.coverage.paths.below
        self._witness: dict[int, int] = {}
        self._closed: set[int] = set()
        self._found: dict[int, dict[int, MissingPath]] = {}  # by the state asked about, and the missing state
        self._askers: dict[int, list[int]] = {}
        goal_progress.coverage.watchers.append(self._remove)

    def _remove(self, state: int) -> None:
        for asker in self._askers.pop(state, ()):
            del self._found[asker][state]

    def has_missing(self, state: int) -> bool:
        """Return True if anything is missing at a state or below."""
        witness = self._witness.get(state)
        if witness is not None and not self._coverage.is_covered[witness]:
            return True
        if state in self._closed:
            return False
        seen = {state: None}
        stack = [state]
        while stack:
            here = stack.pop()
            target = self._goal.relevant(here)
            if not self._coverage.is_covered[target]:
                self._witness[state] = target
                return True
            for name in self._below.get(self._coverage.walks[here][-1], ()):
                following = self._coverage.step(here, name)
                if following not in seen and following not in self._closed:
                    seen[following] = None
                    stack.append(following)
        self._closed.update(seen)
        return False

    def missing(self, state: int) -> dict[int, MissingPath]:
        """The missing states below a state, in the order of the spec."""
        found = self._found.get(state)
        if found is None:
            found = self._found[state] = self._search(state)
            for target in found:
                self._askers.setdefault(target, []).append(state)
        return found

    def _search(self, state: int) -> dict[int, MissingPath]:
        walks, step, is_covered = self._coverage.walks, self._coverage.step, self._coverage.is_covered
        found: dict[int, MissingPath] = {}
        todo = [MissingPath(state, ())]
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
                missing = MissingPath(following, (*steps, (symbol, name)))
                todo.append(missing)
                target = self._goal.relevant(following)
                if not is_covered[target]:
                    found.setdefault(target, missing)
        return found
