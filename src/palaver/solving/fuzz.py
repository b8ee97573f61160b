"""Different trees, one after the other, each satisfying every constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from palaver.chance import Chance
from palaver.constraints.check import Failure
from palaver.errors import ConversionError, Unsolvable
from palaver.generation.makers import Discarded
from palaver.solving.repair import Mender
from palaver.trees.tree import Tree

# With a soft constraint, the best of so many candidates is emitted.
_CANDIDATES = 8

# How many trees in a row may be repetitions of earlier ones before we say that there are no others. A language with a
# hundred equally likely sentences is exhausted by then, but for one time in twenty thousand.
_MOST_REPETITIONS = 1_000

# If the spec's own code raised in so many attempts, and there was no other, then it always does. Each attempt is some
# forty different trees.
_MOST_CRASHES = 25

MAX_NODES = 200  # how large a tree may grow before every choice takes its shortest way out
MAX_REPETITIONS = 20  # how far `*` and `+` go beyond their least count
BUDGET = 10_000  # steps per tree: fresh attempts and mends


class Fuzz(Iterator[Tree]):
    """An iterator over trees. `shortfall` says, once it has ended early, why there were not more."""

    def __init__(
        self,
        wanted: int | None,
        make: Callable[[], Tree],
        mender: Mender,
        chance: Chance,
        goals: Sequence[Callable[[Tree], float]],
        first: Iterable[Tree],
        take_turn: Callable[[], None],
        *,
        budget: int,
    ) -> None:
        self.shortfall: str | None = None
        self.made = 0
        self._wanted = wanted
        self._make = make
        self._mender = mender
        self._take_turn = take_turn
        self._chance = chance
        self._budget = budget
        self._goals = goals
        self._seen: set[str | bytes] = set()
        self._failure: Failure | None = None
        self._crashes = 0
        self._only_crashes = True
        self._discarded = ""
        self._trees = self._run(iter(first))

    def __iter__(self) -> Iterator[Tree]:
        return self

    def __next__(self) -> Tree:
        self._take_turn()  # others may be iterating over trees of the same spec
        return next(self._trees)

    def _run(self, first: Iterator[Tree]) -> Iterator[Tree]:
        wanted = self._wanted
        while wanted is None or self.made < wanted:
            tree = next(first, None)
            if tree is None:  # not `or`: the empty text is a tree like any other, and false
                tree = self._next_new()
            if tree is None:
                break
            if tree.serialised() not in self._seen:
                self._seen.add(tree.serialised())
                self.made += 1
                yield tree
        if wanted is None or self.made < wanted:
            self.shortfall = self._explain()
            if not self.made:
                raise Unsolvable(self.shortfall)

    def _next_new(self) -> Tree | None:
        """A tree that was not made before; None if the budget did not suffice for one."""
        steps, repetitions = 0, 0
        best: tuple[float, Tree] | None = None
        candidates = 0
        while steps < self._budget and repetitions < _MOST_REPETITIONS and not self._always_crashes:
            tree, spent = self._attempt()
            steps += spent
            if tree is None:
                continue
            try:
                is_known = tree.serialised() in self._seen
            except ConversionError as error:  # bits that fill no bytes; the next tree may have others
                self._discarded = str(error)
                continue
            if is_known:
                repetitions += 1
                continue
            if not self._goals:
                return tree
            score = sum(goal(tree) for goal in self._goals)
            if best is None or score > best[0]:
                best = (score, tree)
            candidates += 1
            if candidates == _CANDIDATES:
                break
        return None if best is None else best[1]

    def _attempt(self) -> tuple[Tree | None, int]:
        """A tree that satisfies everything, or None, and the steps that took."""
        try:
            tree = self._make()
            if not self._mender.checks:
                return tree, 1
            mended, failure, steps = self._mender.mend(tree, self._chance)
        except Discarded as discarded:
            self._discarded = discarded.reason
            return None, 1
        self._failure = failure or self._failure
        self._count_crashes(failure)
        return mended, steps + 1

    def _count_crashes(self, failure: Failure | None) -> None:
        self._only_crashes = self._only_crashes and failure is not None and failure.error is not None
        self._crashes += self._only_crashes

    @property
    def _always_crashes(self) -> bool:
        return self._only_crashes and self._crashes >= _MOST_CRASHES

    def _explain(self) -> str:
        of_all = "" if self._wanted is None else f" of {self._wanted}"
        found = f"only {self.made}{of_all} found" if self.made else "no tree found"
        if self._failure is not None:
            last = self._failure.diagnose()
            if self._always_crashes:
                return f"{found}: the spec's own code raised each time, at last here:\n{last}"
            return f"{found} within {self._budget} steps; the last attempt failed here:\n{last}"
        if self._discarded:
            return f"{found} within {self._budget} steps: {self._discarded}"
        return f"{found}: the grammar seems to have no others"
