"""Different trees, one after the other, each satisfying every constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from palaver.errors import ConversionError, Unsolvable
from palaver.solving.solver import Solver
from palaver.trees.tree import Tree

# With a soft constraint so many trees are made for each that is emitted. The best of those left over are kept.
_CANDIDATES = 8
_MOST_LEFT_OVER = 64

# How many trees in a row may be repetitions of earlier ones before we say that there are no others. A language with a
# hundred equally likely sentences is exhausted by then, but for one time in twenty thousand.
_MOST_REPETITIONS = 1_000

# If the spec's own code raised in so many attempts, and there was no other, then it always does.
_MOST_CRASHES = 100


class Fuzz(Iterator[Tree]):
    """An iterator over trees. `shortfall` says, once it has ended early, why there were not more."""

    def __init__(
        self,
        wanted: int | None,
        solver: Solver,
        goals: Sequence[Callable[[Tree], float]],
        first: Iterable[Tree],
        take_turn: Callable[[], None],
        explain: Callable[[Fuzz], str],
    ) -> None:
        self.shortfall: str | None = None
        self.made = 0
        self.wanted = wanted
        self.solver = solver
        self.discarded = ""  # why the latest tree could not be used
        self._take_turn = take_turn
        self._goals = goals
        self._explain = explain
        self._seen: set[str | bytes] = set()
        self._candidates: list[tuple[float, Tree]] = []
        self._crashes = 0
        self._can_do_without_crashing = False
        self.repeated = False  # whether the search ended because it found nothing but what it had found before
        self._trees = self._run(iter(first))

    def __iter__(self) -> Iterator[Tree]:
        return self

    def __next__(self) -> Tree:
        self._take_turn()  # others may be iterating over trees of the same spec
        return next(self._trees)

    def _run(self, first: Iterator[Tree]) -> Iterator[Tree]:
        wanted = self.wanted
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
            self.shortfall = self._explain(self)
            if not self.made:
                raise Unsolvable(self.shortfall)

    def _next_new(self) -> Tree | None:
        """A tree that was not made before; None if the budget did not suffice for one."""
        if self.solver.plan.proof is not None:
            return None
        if not self._goals:
            return self._found()
        candidates = self._candidates
        for _ in range(_CANDIDATES):
            tree = self._found()
            if tree is None:
                break
            self._seen.add(tree.serialised())
            candidates.append((sum(goal(tree) for goal in self._goals), tree))
        if not candidates:
            return None
        candidates.sort(key=lambda candidate: -candidate[0])
        for _, tree in candidates[_MOST_LEFT_OVER:]:
            self._seen.discard(tree.serialised())
        del candidates[_MOST_LEFT_OVER:]
        best = candidates.pop(0)[1]
        self._seen.discard(best.serialised())
        return best

    def _found(self) -> Tree | None:
        solver, repetitions = self.solver, 0
        solver.begin()
        while not solver.is_exhausted and repetitions < _MOST_REPETITIONS and not self.always_crashes:
            tree = solver.solve()
            self._count_crash(tree)
            if tree is None:
                continue
            try:
                is_known = tree.serialised() in self._seen
            except ConversionError as error:  # bits that fill no bytes; the next tree may have others
                self.discarded = str(error)
                continue
            if not is_known:
                return tree
            repetitions += 1
        self.repeated = repetitions > 0
        return None

    def _count_crash(self, tree: Tree | None) -> None:
        if self._can_do_without_crashing:
            return
        failure = self.solver.failure
        if tree is not None or (failure is not None and failure.error is None):
            self._can_do_without_crashing = True
        self._crashes += failure is not None

    @property
    def always_crashes(self) -> bool:
        """Whether the spec's own code raises whatever the tree is."""
        return self._crashes >= _MOST_CRASHES and not self._can_do_without_crashing
