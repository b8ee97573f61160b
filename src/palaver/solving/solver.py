"""The solver: construction where possible, else search, weighed against each other by a bandit (Sutton & Barto 1998).

How it works
============

The plan (`solving_plan`) classifies the constraints. Fields with a domain, or with conditions of their own, satisfy
these when they are made. A fresh tree then goes through some rounds of `construction`: equations are solved, and
alternatives made true. If a constraint still fails, `memetic_search` changes the tree step by step.

Fresh trees and climbs are the two arms of a bandit: successes per step are counted, and the arm with the better rate is
taken (greedy, with optimistic initial values). For a hash, say, no climb comes nearer. Messages that fail again and
again get copies of what was said before (`copied_values`).

Every result has passed the unmodified checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from palaver import interruption
from palaver.constraints.checks import Check, Failure
from palaver.generation.makers import Discarded
from palaver.lean_dataclasses import dataclass
from palaver.solving.clauses import Clause
from palaver.solving.construction import Constructor
from palaver.solving.copied_values import ValueCopier
from palaver.solving.memetic_search import MemeticSearch, NearMiss, StepBudget
from palaver.solving.solving_limits import ATTEMPTS_BEFORE_COPIES, MAX_CONSTRUCTION_ROUNDS, EvolutionRates
from palaver.solving.solving_plan import SolvingPlan
from palaver.trees.tree import Tree

# The cost of a further round in steps: equations are solved, checks evaluated, clauses repaired.
_STEPS_OF_A_ROUND = 2

# From this round on equations that still fail are repaired like any other clause.
_REPAIR_EQUATIONS_FROM = 2


# The duration of a step of a climb, in steps of construction.
_COST_OF_CLIMB_STEP = 3


@dataclass(slots=True)
class _SuccessRate:
    """The successes and costs of one way of solving so far."""

    wins: float = 1.0
    steps: float = 1.0

    @property
    def rate(self) -> float:
        return self.wins / self.steps


def _new_rates() -> tuple[_SuccessRate, _SuccessRate]:
    """The rates of fresh trees and of climbs before any was tried."""
    return _SuccessRate(), _SuccessRate(1.0, 50.0)


class SolverParts(NamedTuple):
    """The means to make a tree satisfy `checks`."""

    checks: Sequence[Check]
    constructor: Constructor
    search: MemeticSearch
    copier: ValueCopier | None = None


class Solver:
    """Makes trees that satisfy the checks among its parts; `make` makes fresh ones.

    Its parts are put together by the first search. Most messages need none: they satisfy everything as they are made.
    """

    def __init__(
        self,
        make: Callable[[], Tree],
        put_together: Callable[[], SolverParts],
        plan: SolvingPlan,
        budget: StepBudget,
        rates: EvolutionRates,
    ) -> None:
        self.plan = plan
        self.budget = budget
        self.nearest: NearMiss | None = None
        self.discarded = ""  # the reason why the latest tree could not even be made
        self.found_by_search = 0  # the number of trees that a climb has found
        self._make = make
        self._put_together = put_together
        self._max_generations = rates.max_generations
        self._fresh, self._climbs = _new_rates()
        self._has_learnt = False  # since it last forgot
        self._generations = 0
        self._failed = 0  # fresh trees in a row

    @cached_property
    def _parts(self) -> SolverParts:
        return self._put_together()

    @property
    def failure(self) -> Failure | None:
        """The failure in the latest tree that was given up."""
        return self.budget.failure

    @property
    def left_out(self) -> frozenset[int]:
        """The checks, by their positions, that need not hold yet."""
        return self._parts.search.left_out

    @left_out.setter
    def left_out(self, positions: frozenset[int]) -> None:
        self._parts.search.left_out = positions

    def begin(self) -> None:
        """Start on another tree, with a full budget."""
        self.budget.spent = 0
        self._generations = 0
        self._failed = 0

    def forget(self) -> None:
        """Drop what was learnt, which is of no use for a tree in another context."""
        if not self._has_learnt:
            return
        self._has_learnt = False
        self._parts.search.population.clear()
        self._fresh, self._climbs = _new_rates()
        self.nearest = None

    @property
    def is_exhausted(self) -> bool:
        """True if all steps, or all generations, have been spent on the current tree."""
        return self.budget.is_spent or self._generations >= self._max_generations

    def solve(self) -> Tree | None:
        """A tree that satisfies every check; None if this attempt failed."""
        interruption.check()
        self._has_learnt = True
        self.budget.spent += 1
        try:
            if not self._parts.checks:
                return self._make()
            if self._climbs.rate > self._fresh.rate:
                return self._climb()
            before = self.budget.spent
            copier = self._parts.copier
            tree, is_solved = self._construct(self._make() if copier is None else self._fresh_tree(copier))
        except Discarded as discarded:
            self.discarded = discarded.reason
            self._fresh.steps += 1
            self._failed += 1
            return None
        fresh = self._fresh
        fresh.steps += self.budget.spent - before + 1
        if not is_solved:
            self._failed += 1
            return None
        self._failed = 0
        fresh.wins += 1
        return tree

    def _fresh_tree(self, copier: ValueCopier) -> Tree:
        """A fresh tree, at times with copies in it. :raises Discarded: it could not be made this time"""
        tree = self._make()
        has_copies = self._failed >= ATTEMPTS_BEFORE_COPIES and self._failed % 2 == 0
        return copier.with_copies(tree) if has_copies else tree

    def _construct(self, tree: Tree) -> tuple[Tree, bool]:
        """The tree after some rounds of construction, and True if it satisfies every check."""
        for number in range(MAX_CONSTRUCTION_ROUNDS):
            derived = self._parts.constructor.derive(tree)
            failing = self._failing(derived)
            if not failing:
                return derived, True
            self.budget.spent += _STEPS_OF_A_ROUND if number else 0
            repaired = self._repaired(derived, failing, number >= _REPAIR_EQUATIONS_FROM)
            if repaired is derived and (derived is tree or number >= _REPAIR_EQUATIONS_FROM):
                return derived, False
            tree = repaired
        tree = self._parts.constructor.derive(tree)
        return tree, not self._failing(tree)

    def _failing(self, tree: Tree) -> list[int]:
        """The checks that fail, by their positions."""
        failing, left_out = [], self._parts.search.left_out
        for at, check in enumerate(self._parts.checks):
            if at in left_out:
                continue
            failure = check.failure(tree)
            if failure is not None:
                self.budget.failure = failure
                failing.append(at)
        return failing

    def _repaired(self, tree: Tree, failing: Sequence[int], equations_too: bool) -> Tree:
        for at in failing:
            for clause in self._repairable[at]:
                if equations_too or self.plan.uses[clause] != "equation":
                    tree = self._parts.constructor.repair(clause, tree)
        return tree

    @cached_property
    def _repairable(self) -> list[list[Clause]]:
        """The clauses of each check that construction can repair."""
        clauses = [clause for clause in self.plan.clauses if self._parts.constructor.can_repair(clause)]
        return [[clause for clause in clauses if clause.constraint == check.constraint] for check in self._parts.checks]

    def _climb(self) -> Tree | None:
        before = self.budget.spent
        self._generations += 1
        tree, is_solved = self._construct(self._parts.search.start(self._make))
        if not is_solved:
            near = self._parts.search.climb(tree)
            is_solved = near.distance == 0 and not self._failing(near.tree)
            tree = near.tree
            if not is_solved:
                self._parts.search.remember(near)
                if self.nearest is None or near.distance < self.nearest.distance:
                    self.nearest = near
            self.found_by_search += is_solved
        self._climbs.steps += (self.budget.spent - before + 1) * _COST_OF_CLIMB_STEP
        self._climbs.wins += is_solved
        return tree if is_solved else None
