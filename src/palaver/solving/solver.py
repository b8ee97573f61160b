"""One tree after the other that satisfies every constraint, by construction where possible, else by search.

How it works
============

The plan (`plan`) says what each constraint is good for. Fields with a domain, or with conditions of their own, are made
to satisfy these when they are made. A fresh tree then goes through `construct`: equations are solved, alternatives made
true, for some rounds. If a constraint still does not hold, `search` changes the tree step by step.

How often a fresh tree succeeds, and how often a climb does, is counted, and the better is done more often: of a hash no
climb comes nearer, and to draw again is cheaper.

Whatever comes out, by whichever way, has passed the unmodified checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from palaver.constraints.check import Check, Failure
from palaver.generation.makers import Discarded
from palaver.solving.clauses import Clause
from palaver.solving.construct import Constructor
from palaver.solving.meter import Meter
from palaver.solving.plan import Plan
from palaver.solving.search import Near, Search
from palaver.trees.tree import Tree

# Rounds of construction before a tree is searched or given up; equations in a cycle need several.
_ROUNDS = 8

# What a further round is worth in steps: equations are solved, checks asked, clauses repaired.
_STEPS_OF_A_ROUND = 2

# From this round on equations that still do not hold are repaired like any other clause.
_REPAIR_EQUATIONS_FROM = 2


# A step of a climb takes about as long as so many of construction.
_COST_OF_A_CLIMBS_STEP = 3


@dataclass(slots=True)
class _Tally:
    """How a way of solving has done so far. At first both are believed to do well."""

    wins: float = 1.0
    steps: float = 1.0

    @property
    def rate(self) -> float:
        return self.wins / self.steps


class Solver:
    """Makes trees that satisfy `checks`; `make` makes fresh ones."""

    def __init__(
        self,
        make: Callable[[], Tree],
        checks: Sequence[Check],
        plan: Plan,
        constructor: Constructor,
        search: Search,
        meter: Meter,
    ) -> None:
        self.plan = plan
        self.meter = meter
        self.nearest: Near | None = None
        self.discarded = ""  # why the latest tree could not even be made
        self.by_search = 0  # how many trees a climb has found
        self.left_out: frozenset[int] = frozenset()  # checks, by their positions, that need not hold yet
        self._make = make
        self._checks = checks
        self._constructor = constructor
        self._search = search
        self._fresh, self._climbs = _Tally(), _Tally(1.0, 50.0)
        self._generations = 0

    @property
    def failure(self) -> Failure | None:
        """What did not hold in the latest tree that was given up."""
        return self.meter.failure

    def begin(self) -> None:
        """Another tree is wanted; all steps may be spent on it."""
        self.meter.spent = 0
        self._generations = 0

    def forget(self) -> None:
        """The next tree is to stand in another scene: what was tried so far is of no use for it."""
        self._search.population.clear()
        self.nearest = None

    @property
    def is_exhausted(self) -> bool:
        """Whether all steps, or all generations, have been spent on the wanted tree."""
        return self.meter.is_empty or self._generations >= self._search.rates.max_generations

    def solve(self) -> Tree | None:
        """A tree that satisfies everything; None if this attempt failed, or the meter is empty."""
        self.meter.spent += 1
        try:
            if not self._checks:
                return self._make()
            if self._climbs.rate > self._fresh.rate:
                return self._climb()
            before = self.meter.spent
            tree, is_solved = self._construct(self._make())
            self._fresh.steps += self.meter.spent - before
        except Discarded as discarded:
            self.discarded = discarded.reason
            self._fresh.steps += 1
            return None
        self._fresh.steps += 1
        self._fresh.wins += is_solved
        return tree if is_solved else None

    def _construct(self, tree: Tree) -> tuple[Tree, bool]:
        """The tree after some rounds of construction, and whether it satisfies everything."""
        for number in range(_ROUNDS):
            derived = self._constructor.derive(tree)
            failing = self._failing(derived)
            if not failing:
                return derived, True
            self.meter.spent += _STEPS_OF_A_ROUND if number else 0
            repaired = self._repaired(derived, failing, number >= _REPAIR_EQUATIONS_FROM)
            if repaired is derived and (derived is tree or number >= _REPAIR_EQUATIONS_FROM):
                return derived, False
            tree = repaired
        tree = self._constructor.derive(tree)
        return tree, not self._failing(tree)

    def _failing(self, tree: Tree) -> list[int]:
        """The checks that fail, by their positions."""
        failing = []
        for at, check in enumerate(self._checks):
            if at in self.left_out:
                continue
            failure = check.failure(tree)
            if failure is not None:
                self.meter.failure = failure
                failing.append(at)
        return failing

    def _repaired(self, tree: Tree, failing: Sequence[int], equations_too: bool) -> Tree:
        for at in failing:
            for clause in self._repairable[at]:
                if equations_too or self.plan.uses[clause] != "equation":
                    tree = self._constructor.repair(clause, tree)
        return tree

    @cached_property
    def _repairable(self) -> list[list[Clause]]:
        """The clauses of each check that we know something about."""
        clauses = [clause for clause in self.plan.clauses if self._constructor.can_repair(clause)]
        return [[clause for clause in clauses if clause.constraint == check.constraint] for check in self._checks]

    def _climb(self) -> Tree | None:
        before = self.meter.spent
        self._generations += 1
        tree, is_solved = self._construct(self._search.start(self._make))
        if not is_solved:
            near = self._search.climb(tree)
            is_solved = near.distance == 0 and not self._failing(near.tree)
            tree = near.tree
            if not is_solved:
                self._search.remember(near)
                self._note(near)
            self.by_search += is_solved
        self._climbs.steps += (self.meter.spent - before + 1) * _COST_OF_A_CLIMBS_STEP
        self._climbs.wins += is_solved
        return tree if is_solved else None

    def _note(self, near: Near) -> None:
        if self.nearest is None or near.distance < self.nearest.distance:
            self.nearest = near
