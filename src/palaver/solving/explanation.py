"""Explanation of a missing tree: a minimal conflict, found by the deletion filter (Chinneck & Dravnieks 1991).

An explanation says "proved" only of a proof; otherwise it says that no tree was found, and within how many steps.
Constraints are left out one at a time: one that can be left out without making trees possible is not part of the
conflict, and those that remain exclude each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from palaver.constraints.checks import Failure
from palaver.errors import ConversionError
from palaver.lean_dataclasses import dataclass, replace
from palaver.printable import counted
from palaver.random_source import RandomSource
from palaver.solving.memetic_search import NearMiss
from palaver.solving.solutions import Solutions
from palaver.solving.solver import Solver
from palaver.solving.solver_factory import SolverFactory
from palaver.solving.solving_limits import MAX_RELAXATION_STEPS, MAX_RELAXATIONS, MAX_SHOWN_TREE, SolvingLimits
from palaver.solving.solving_plan import Proof
from palaver.spec.ast import Constraint
from palaver.trees.tree import Tree

# From here on gaps are not measured exactly, and the sum of several says nothing.
_FAR = 1_000


@dataclass(frozen=True)
class Explainer:
    """Explains why a run of one spec ended."""

    factory: SolverFactory
    constraints: Sequence[Constraint]
    limits: SolvingLimits

    def explain(self, fuzz: Solutions) -> str:
        """The reason why a run ended before it had as many trees as were wanted."""
        solver = fuzz.solver
        inputs = counted(fuzz.made, "input") if fuzz.wanted is None else f"{fuzz.made} of {fuzz.wanted} inputs"
        found = f"found only {inputs}" if fuzz.made else "no input found"
        proof = contradiction(self.factory, self.constraints)
        if proof is not None:
            return f"{found}: {_proved(proof)}"
        within = f"{found} within {self.limits.budget} steps (--budget)"
        if fuzz.always_crashes and solver.failure is not None:
            last = solver.failure.diagnose()
            return f"{found}: the spec's Python code raised an error each time; the last one was:\n{last}"
        if fuzz.made and fuzz.repeated:
            return f"{found}: {self._none_left} no more"
        conflict = "" if fuzz.made else self._conflict(solver)
        if solver.failure is not None:
            return f"{within}{self._near(solver)}{conflict}"
        discarded = fuzz.discarded or solver.discarded
        return f"{within}: {discarded}{conflict}" if discarded else f"{found}: {self._none_left} none"

    @property
    def _none_left(self) -> str:
        return f"{'with these constraints ' if self.constraints else ''}the grammar seems to have"

    def _near(self, solver: Solver) -> str:
        """The nearest miss, and the conditions that fail in it."""
        if solver.nearest is None:
            assert solver.failure is not None, "somebody has looked"
            return f"; the last attempt failed here:\n{solver.failure.diagnose()}"
        shown = "\n".join(str(failure.diagnose()) for _, failure in self._failing(solver.nearest.tree))
        near = f"{_brief(solver.nearest)}, {_off(solver.nearest.distance)}"
        return f"; the closest attempt was {near}, which violates:\n{shown}"

    def _failing(self, tree: Tree) -> list[tuple[Constraint, Failure]]:
        outcomes = [(each, self.factory.check(each).failure(tree)) for each in self.constraints]
        return [(constraint, failure) for constraint, failure in outcomes if failure is not None]

    def _conflict(self, solver: Solver) -> str:
        """The constraints that could not be satisfied together."""
        if len(self.constraints) < 2:
            return ""
        if len(self.constraints) > MAX_RELAXATIONS:
            MAX_RELAXATIONS.reached()
        failing = [] if solver.nearest is None else [each for each, _ in self._failing(solver.nearest.tree)]
        # Those that the nearest miss satisfies are less likely to be in conflict, and left out first.
        order = sorted(self.constraints, key=lambda constraint: constraint in failing)
        core = _minimal_conflict(order, self._is_solvable, MAX_RELAXATIONS)
        if len(core) == 1:
            return f"\nthis constraint was not satisfied even without the others:\n{_listed(core)}"
        core = [constraint for constraint in self.constraints if constraint in core]  # in the order of the spec
        return f"\nthese constraints conflict; without any one of them, the others were satisfied:\n{_listed(core)}"

    def _is_solvable(self, constraints: Sequence[Constraint]) -> bool:
        if self.factory.plan(constraints).proof is not None:
            return False
        chance = RandomSource(b"explain")
        limits = replace(self.limits, budget=min(MAX_RELAXATION_STEPS, self.limits.budget))
        solver = self.factory.solver(constraints, chance, chance / "fuzz", limits)
        while not solver.is_exhausted:
            if solver.solve() is not None:
                return True
        return False


def contradiction(factory: SolverFactory, constraints: Sequence[Constraint]) -> Proof | None:
    """A proof that no tree satisfies all of the constraints, and those that it needs; None if none is found.

    It takes no search, so not every contradiction is found.
    """
    first = factory.plan(constraints).proof
    if first is None:
        return None
    core = _minimal_conflict(first.constraints, lambda rest: factory.plan(rest).proof is None, len(first.constraints))
    proof = factory.plan(core).proof
    assert proof is not None, "the constraints left out do not matter to the proof"
    return replace(proof, constraints=tuple(core))


def _proved(proof: Proof) -> str:
    if len(proof.constraints) == 1:
        what = "this constraint cannot be satisfied"
    else:
        what = "these constraints contradict each other"
    return f"it is proved that {what}: {proof.why}\n{_listed(proof.constraints)}"


def _minimal_conflict(
    constraints: Sequence[Constraint], is_solvable: Callable[[Sequence[Constraint]], bool], attempts: int
) -> list[Constraint]:
    """The deletion filter: leave out one constraint after the other, while there is still no solution."""
    core = list(constraints)
    for constraint in constraints[:attempts]:
        rest = [each for each in core if each is not constraint]
        if rest and not is_solvable(rest):
            core = rest
    return core


def _listed(constraints: Iterable[Constraint]) -> str:
    lines = []
    for constraint in constraints:
        line, column = constraint.source.place(constraint.span.start)
        lines.append(f"  {constraint.source.name}:{line}:{column}: {constraint.text}")
    return "\n".join(lines)


def _off(distance: float) -> str:
    """A distance before it was normalised: the gap of a number or a text."""
    gap = distance / (1 - distance) if distance < 1 else _FAR
    return f"off by {gap:.4g}" if gap < _FAR else "far off"


def _brief(near: NearMiss) -> str:
    try:
        text = repr(near.tree.serialised())
    except ConversionError:
        text = near.tree.to_bits()
    return text if len(text) <= MAX_SHOWN_TREE else f"{text[: MAX_SHOWN_TREE - 1]}…"
