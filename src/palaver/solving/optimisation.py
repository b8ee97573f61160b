"""Optimisation by bounds, as in branch and bound (Land & Doig 1960): a better tree satisfies one more constraint.

The objective of the best tree so far becomes a constraint: `maximizing int(<n>)`, with 17 as the best value, asks for
`int(<n>) > 17`. All that solving can do (domains, equations, climbing) then works for objectives too. This is the
classical way from a solver to an optimiser, without the proof that nothing is better: the search ends when a bound has
not been surpassed within a number of steps.

An objective that has several values counts by their mean. That each of them is better is more than is needed, and can
be solved for in the same way.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import field

from palaver.constraints.checks import CompiledObjective
from palaver.errors import ConversionError
from palaver.lean_dataclasses import dataclass, replace
from palaver.solving.solver import Solver
from palaver.solving.solving_limits import MAX_REPEATED_OPTIMA, MAX_UNBOUNDED_DRAWS
from palaver.spec.ast import Constraint, Objective, PythonCondition
from palaver.trees.tree import Tree

# The score of a tree by each objective: more is better.
Scores = tuple[float, ...]


@dataclass
class Optimizer:
    """Finds trees that are better than others by the objectives of a spec.

    `solver_for` makes a solver for the constraints of the spec and for further ones.
    """

    objectives: Sequence[CompiledObjective]
    solver_for: Callable[[Sequence[Constraint]], Solver]
    _unsurpassed: set[tuple[Scores, bool]] = field(default_factory=set, repr=False)

    def scores(self, tree: Tree) -> Scores:
        return tuple(objective.score(tree) for objective in self.objectives)

    def better(self, scores: Scores, is_new: Callable[[Tree], bool], *, strictly: bool) -> Tree | None:
        """A new tree with better scores, or at least equal ones; None if none is found, or none was found before."""
        if not all(map(math.isfinite, scores)) or (scores, strictly) in self._unsurpassed:
            return None
        least = sum(scores)

        def is_good(tree: Tree) -> bool:
            total = sum(self.scores(tree))
            return (total > least or (total == least and not strictly)) and is_new(tree)

        for gaining in range(len(scores)) if strictly else (None,):
            # One objective has to gain, and none to lose.
            bounds = [
                _bound(each.objective, score, strictly=at == gaining)
                for at, (each, score) in enumerate(zip(self.objectives, scores, strict=True))
            ]
            tree = _solution(self.solver_for(bounds), is_good, MAX_REPEATED_OPTIMA)
            if tree is not None:
                return tree
        # Bounds can make it harder to satisfy the constraints, and then it helps to ignore them.
        tree = _solution(self.solver_for(()), is_good, MAX_UNBOUNDED_DRAWS)
        if tree is None:
            self._unsurpassed.add((scores, strictly))
        return tree


def _solution(solver: Solver, is_good: Callable[[Tree], bool], attempts: int) -> Tree | None:
    """The first good one of some solutions; None if there is none."""
    while attempts and not solver.is_exhausted and solver.plan.proof is None:
        tree = solver.solve()
        if tree is None:
            continue
        attempts -= 1
        try:
            if is_good(tree):
                return tree
        except ConversionError:  # bits that fill no bytes
            continue
    return None


def _bound(objective: Objective, score: float, *, strictly: bool) -> Constraint:
    """The constraint that an objective is better than with this score, or as good."""
    number = score if objective.maximize else -score
    value: float = int(number) if number == int(number) else number
    operator: ast.cmpop
    match objective.maximize, strictly:
        case True, True:
            sign, operator = ">", ast.Gt()
        case True, False:
            sign, operator = ">=", ast.GtE()
        case False, True:
            sign, operator = "<", ast.Lt()
        case _:
            sign, operator = "<=", ast.LtE()
    expression = objective.expression
    comparison = ast.Compare(expression.python, [operator], [ast.Constant(value)])
    ast.fix_missing_locations(ast.copy_location(comparison, expression.python))
    text = f"({expression.text}) {sign} {value!r}"
    formula = PythonCondition(replace(expression, text=text, python=comparison))
    return Constraint(text, formula, expression.source, expression.span)
