"""Why there are no more trees, in words that name what is to blame.

What was proved is called proved; what was only not found is called that, with the steps it was sought for. In both
cases constraints are left out one at a time: what can be left out without making trees possible is not to blame, and
what remains is a set of constraints that exclude each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from palaver.chance import Chance
from palaver.constraints.check import Failure
from palaver.errors import ConversionError
from palaver.solving.fuzz import Fuzz
from palaver.solving.plan import Proof
from palaver.solving.search import Near
from palaver.solving.solver import Solver
from palaver.solving.workshop import Limits, Workshop
from palaver.spec.ast import Constraint
from palaver.trees.tree import Tree

# How long a tree is sought for without one of the constraints, and how often that is tried.
_STEPS = 1_000
_MOST_ATTEMPTS = 12

_LONGEST_TREE = 120

# From here on gaps are not told apart exactly, and the sum of several says nothing.
_FAR = 1_000


@dataclass(frozen=True)
class Explainer:
    """Explains why a run of one spec ended."""

    workshop: Workshop
    constraints: Sequence[Constraint]
    limits: Limits

    def explain(self, fuzz: Fuzz) -> str:
        """Why a run ended before it had as many trees as were wanted."""
        solver = fuzz.solver
        of_all = "" if fuzz.wanted is None else f" of {fuzz.wanted}"
        found = f"only {fuzz.made}{of_all} found" if fuzz.made else "no tree found"
        proof = contradiction(self.workshop, self.constraints)
        if proof is not None:
            return f"{found}: {_proved(proof)}"
        within = f"{found} within {self.limits.budget} steps"
        if fuzz.always_crashes and solver.failure is not None:
            last = solver.failure.diagnose()
            return f"{found}: the spec's own code raised each time, at last here:\n{last}"
        if fuzz.made and fuzz.repeated:
            return f"{found}: {self._no_others}"
        conflict = "" if fuzz.made else self._conflict(solver)
        if solver.failure is not None:
            return f"{within}{self._near(solver)}{conflict}"
        discarded = fuzz.discarded or solver.discarded
        return f"{within}: {discarded}{conflict}" if discarded else f"{found}: {self._no_others}"

    @property
    def _no_others(self) -> str:
        return f"{'with these constraints ' if self.constraints else ''}the grammar seems to have no others"

    # --- what was not found -------------------------------------------------------------------------------------------

    def _near(self, solver: Solver) -> str:
        """The nearest miss, and what does not hold in it."""
        if solver.nearest is None:
            assert solver.failure is not None, "somebody has looked"
            return f"; the last attempt failed here:\n{solver.failure.diagnose()}"
        failures = self._failures(solver.nearest.tree)
        shown = "\n".join(str(failure.diagnose()) for failure in failures)
        near = f"{_brief(solver.nearest)}, {_off(solver.nearest.distance)}"
        return f"; the nearest was {near}, where this does not hold:\n{shown}"

    def _failures(self, tree: Tree) -> list[Failure]:
        checks = map(self.workshop.check, self.constraints)
        return [failure for check in checks if (failure := check.failure(tree)) is not None]

    def _conflict(self, solver: Solver) -> str:
        """The constraints that could not be satisfied together."""
        if len(self.constraints) < 2:
            return ""
        failing = [] if solver.nearest is None else self._failing(solver.nearest.tree)
        # Those that the nearest miss satisfies are the likelier innocents, and left out first.
        order = sorted(self.constraints, key=lambda constraint: constraint in failing)
        core = _without_innocent(order, self._is_solvable, _MOST_ATTEMPTS)
        if len(core) == 1:
            return f"\nwithout the other constraints this one was not satisfied either:\n{_listed(core)}"
        core = [constraint for constraint in self.constraints if constraint in core]  # in the order of the spec
        return f"\nthese could not be satisfied together, but without any one of them they could:\n{_listed(core)}"

    def _failing(self, tree: Tree) -> list[Constraint]:
        return [each for each in self.constraints if self.workshop.check(each).failure(tree) is not None]

    def _is_solvable(self, constraints: Sequence[Constraint]) -> bool:
        if self.workshop.plan(constraints).proof is not None:
            return False
        chance = Chance(b"explain")
        limits = replace(self.limits, budget=min(_STEPS, self.limits.budget))
        solver = self.workshop.solver(constraints, chance, chance / "fuzz", limits)
        while not solver.is_exhausted:
            if solver.solve() is not None:
                return True
        return False


def contradiction(workshop: Workshop, constraints: Sequence[Constraint]) -> Proof | None:
    """A proof that no tree satisfies all of the constraints, and those that it needs; None if there is none.

    It costs no search, so it is not found for everything that cannot be.
    """
    first = workshop.plan(constraints).proof
    if first is None:
        return None
    core = _without_innocent(first.constraints, lambda rest: workshop.plan(rest).proof is None, len(first.constraints))
    proof = workshop.plan(core).proof
    assert proof is not None, "what is left out does not matter to the proof"
    return replace(proof, constraints=tuple(core))


def _proved(proof: Proof) -> str:
    if len(proof.constraints) == 1:
        what = "this constraint cannot be satisfied"
    else:
        what = "these constraints exclude each other"
    return f"it is proved that {what}, {proof.why}\n{_listed(proof.constraints)}"


def _without_innocent(
    constraints: Sequence[Constraint], is_solvable: Callable[[Sequence[Constraint]], bool], attempts: int
) -> list[Constraint]:
    """The constraints without those that can be left out, one after the other, while there is still no solution."""
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
    """A distance as what it was before it was made comparable: how much a number or a text is off."""
    gap = distance / (1 - distance) if distance < 1 else _FAR
    return f"off by {gap:.4g}" if gap < _FAR else "far off"


def _brief(near: Near) -> str:
    try:
        text = repr(near.tree.serialised())
    except ConversionError:
        text = near.tree.to_bits()
    return text if len(text) <= _LONGEST_TREE else f"{text[: _LONGEST_TREE - 1]}…"
