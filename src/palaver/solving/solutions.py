"""The stream of distinct trees that satisfy every constraint."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from palaver.errors import ConversionError, Diagnostic, Unsolvable
from palaver.solving.optimisation import Optimizer, Scores
from palaver.solving.solver import Solver
from palaver.solving.solving_limits import MAX_CRASHES, MAX_IMPROVEMENTS, MAX_REPEATED_TREES, MAX_SPARE_CANDIDATES
from palaver.trees.tree import Tree

# With an objective, so many random trees are made for each that is emitted. The best of the others are kept.
_CANDIDATES = 8


class _Candidate(NamedTuple):
    """A tree that may be emitted later."""

    scores: Scores
    tree: Tree


class Solutions(Iterator[Tree]):
    """An iterator over trees. If it ends early, `shortfall` tells why."""

    def __init__(
        self,
        wanted: int | None,
        solver: Solver,
        optimizer: Optimizer,
        first: Iterable[Tree],
        take_turn: Callable[[], None],
        explain: Callable[[Solutions], str],
    ) -> None:
        self.shortfall: str | None = None
        self.made = 0
        self.wanted = wanted
        self.solver = solver
        self.discarded = ""  # the reason why the latest tree could not be used
        self._take_turn = take_turn
        self._optimizer = optimizer
        self._explain = explain
        self._seen: set[str | bytes] = set()
        self._candidates: list[_Candidate] = []
        self._latest: Scores = ()  # of the latest tree, if there are objectives
        self._crashes = 0
        self._can_do_without_crashing = False
        self.repeated = False  # the search ended because it only found trees that it had found before
        self._trees = self._run(iter(first))

    @property
    def objective_errors(self) -> list[Diagnostic]:
        """The errors of objectives that could not be computed for any tree: nothing was optimised by these."""
        return [crash for objective in self._optimizer.objectives if (crash := objective.crash) is not None]

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
        """A new tree; None if the budget did not suffice for one."""
        if self.solver.plan.proof is not None:
            return None
        return self._found_best() if self._optimizer.objectives else self._found()

    def _found_best(self) -> Tree | None:
        """The best new tree that is known: made now, made before and kept, or found by improving on these."""
        for _ in range(_CANDIDATES):
            tree = self._found()
            if tree is None:
                break
            self._keep(tree)
        if not self._candidates:
            return None
        for _ in range(MAX_IMPROVEMENTS):
            better = self._optimizer.better(self._candidates[0].scores, self._is_new, strictly=True)
            if better is None:
                break
            self._keep(better)
        if self._latest and sum(self._candidates[0].scores) < sum(self._latest):
            as_good = self._optimizer.better(self._latest, self._is_new, strictly=False)
            if as_good is not None:
                self._keep(as_good)
        best = self._candidates.pop(0)
        self._latest = best.scores
        self._seen.discard(best.tree.serialised())
        return best.tree

    def _keep(self, tree: Tree) -> None:
        """Add a new tree to the candidates, the best first; if there are too many, the worst is dropped."""
        self._seen.add(tree.serialised())
        insort(self._candidates, _Candidate(self._optimizer.scores(tree), tree), key=lambda each: -sum(each.scores))
        if len(self._candidates) > MAX_SPARE_CANDIDATES:
            self._seen.discard(self._candidates.pop().tree.serialised())

    def _is_new(self, tree: Tree) -> bool:
        return tree.serialised() not in self._seen

    def _found(self) -> Tree | None:
        solver, repetitions = self.solver, 0
        solver.begin()
        while not solver.is_exhausted and repetitions < MAX_REPEATED_TREES and not self.always_crashes:
            tree = solver.solve()
            self._count_crash(tree)
            if tree is None:
                continue
            try:
                is_new = self._is_new(tree)
            except ConversionError as error:  # bits that fill no bytes; the next tree may have others
                self.discarded = str(error)
                continue
            if is_new:
                return tree
            repetitions += 1
        if repetitions >= MAX_REPEATED_TREES:
            MAX_REPEATED_TREES.reached()
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
        """True if the spec's own code raised in every attempt so far, and there were many."""
        return self._crashes >= MAX_CRASHES and not self._can_do_without_crashing
