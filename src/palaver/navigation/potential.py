"""What is still missing at or below a node in some state.

Two questions, asked for every message that may be said. *Is there anything?* One missing state is remembered for each
state that was asked about; while it is missing, the answer takes one look, and once nothing is found, never changes.
*How much is there?* Counted once for each state, and counted down when what is missing is covered.
"""

from __future__ import annotations

from typing import NamedTuple

from palaver.navigation.goals import Aim

# More than this below one message is not counted; nobody has to know whether it is four thousand or five.
_MOST_STATES = 4_000


class Missing(NamedTuple):
    """A missing state, and the steps down to it from the node that was asked about: symbols with their children."""

    state: int
    steps: tuple[tuple[str, str], ...]


class Potential:
    """Looks below states, in one grammar, for one aim."""

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self._coverage = aim.coverage
        self._below = aim.coverage.paths.below
        self._witness: dict[int, int] = {}
        self._closed: set[int] = set()
        self._found: dict[int, dict[int, Missing]] = {}  # by the state asked about, and the target that is missing
        self._askers: dict[int, list[int]] = {}
        aim.coverage.watchers.append(self._see)

    def _see(self, state: int) -> None:
        for asker in self._askers.pop(state, ()):
            del self._found[asker][state]

    def is_open(self, state: int) -> bool:
        """Whether anything is missing at a state or below."""
        witness = self._witness.get(state)
        if witness is not None and not self._coverage.is_covered[witness]:
            return True
        if state in self._closed:
            return False
        seen = {state: None}
        stack = [state]
        while stack:
            here = stack.pop()
            target = self._aim.target(here)
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

    def amount(self, state: int) -> int:
        """How many states are missing below a state."""
        return len(self.missing(state)) if self.is_open(state) else 0

    def missing(self, state: int) -> dict[int, Missing]:
        """The states that are missing below a state, in the order of the spec."""
        found = self._found.get(state)
        if found is None:
            found = self._found[state] = self._look(state)
            for target in found:
                self._askers.setdefault(target, []).append(state)
        return found

    def _look(self, state: int) -> dict[int, Missing]:
        walks, step, is_covered = self._coverage.walks, self._coverage.step, self._coverage.is_covered
        found: dict[int, Missing] = {}
        todo = [Missing(state, ())]
        seen = {state}
        for here, steps in todo:
            symbol = walks[here][-1]
            for name in self._below.get(symbol, ()):
                following = step(here, name)
                if following in seen or len(seen) > _MOST_STATES:
                    continue
                seen.add(following)
                missing = Missing(following, (*steps, (symbol, name)))
                todo.append(missing)
                target = self._aim.target(following)
                if not is_covered[target]:
                    found.setdefault(target, missing)
        return found
