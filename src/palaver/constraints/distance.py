"""Branch distance of formulas (Korel 1990; Tracey et al. 1998), and the nodes to blame: guidance for search.

The distance is 0.0 where the constraint seems satisfied, and smaller where less has to change: the distances of
conditions that must all hold add up, of alternatives the least counts. `Check.failure` alone decides; here only so many
combinations of nodes are measured, and functions of the spec run in a rewritten form.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import is_
from typing import Any, NamedTuple, TypeAlias, assert_never

from palaver.constraints.distance_compiler import DistanceCompiler
from palaver.constraints.leaf_distance import NOTHING_TO_CHOOSE, RAISED, LeafDistance, Raised, scope, without_repetition
from palaver.constraints.node_selectors import Bindings, Select, compile_path
from palaver.grammar.analysis import Analysis
from palaver.spec.ast import And, Constraint, Expression, Formula, Not, Or, PythonCondition, Quantified, Selector
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.spec.traversal import expressions_of, selectors_of
from palaver.trees.node import Part
from palaver.trees.tree import Tree


class Fitness(NamedTuple):
    """The distance of a tree from satisfying a constraint, and the nodes that failing conditions looked at.

    The nodes come without repetition, condition by condition; of alternatives, those of the nearest come first.
    """

    distance: float  # 0.0: seems satisfied
    blamed: tuple[Tree, ...]


_SATISFIED = Fitness(0.0, ())

# The distance of a part of a formula; adds the nodes to blame to the list.
FormulaDistance: TypeAlias = Callable[[Tree, Bindings, list[Tree]], float]
# Several parts, each with its bindings, and the function that combines their distances.
BoundParts: TypeAlias = Iterable[tuple[FormulaDistance, Bindings]]
Combination: TypeAlias = Callable[[BoundParts, Tree, Bindings, list[Tree]], float]


def compile_distance(
    constraint: Constraint, analysis: Analysis, names: dict[str, Any], functions: Mapping[str, ast.FunctionDef] = {}
) -> Callable[[Tree], Fitness]:
    """A function that measures trees by `constraint`; compiled when it is first called.

    `names` is the spec's Python namespace, `functions` the spec's own definitions in it (`functions_defined_in`).
    Once a tree satisfies the constraint, trees with the same nodes where it looks are not measured again.
    """
    satisfying = _SatisfyingNodes(constraint.formula, analysis, names)

    @cache
    def compiled() -> FormulaDistance:
        return _FormulaDistanceCompiler(analysis, names, functions).holding(constraint.formula, ())

    def measure(tree: Tree) -> Fitness:
        if satisfying.has_nodes_of(tree):
            return _SATISFIED
        blamed: list[Tree] = []
        distance = compiled()(tree, {}, blamed)
        if distance:
            return Fitness(distance, without_repetition(blamed))
        satisfying.keep()
        return _SATISFIED

    return measure


class _SatisfyingNodes:
    """The nodes with which a formula was last satisfied.

    The code of a spec may be slow. Trees never change, so a node that was not exchanged since is the very same object.
    """

    def __init__(self, formula: Formula, analysis: Analysis, names: Mapping[str, Any]) -> None:
        named = dict.fromkeys(path.base for path in selectors_of(formula))
        bases = [base for base in named if base in analysis.grammar.rules]
        # Every exchange makes a new root. And plain builtins are as fast as this comparison.
        self._is_of_use = analysis.grammar.start not in bases and _calls_code(formula, names)
        self._selects = [compile_path(Selector(base), analysis, {}) for base in bases]
        self._held: list[Part] | None = None
        self._seen: list[Part] = []

    def has_nodes_of(self, tree: Tree) -> bool:
        """True if the formula was satisfied with the nodes of this tree."""
        if not self._is_of_use:
            return False
        self._seen = [found.node for select in self._selects for found in select(tree, {})]
        held = self._held
        return held is not None and len(held) == len(self._seen) and all(map(is_, held, self._seen))

    def keep(self) -> None:
        """Keep the nodes of the last tree, which satisfies the formula."""
        self._held = self._seen if self._is_of_use else None


def _calls_code(formula: Formula, names: Mapping[str, Any]) -> bool:
    """True if a formula calls anything but plain builtins."""
    nodes = (node for expression in expressions_of(formula) for node in ast.walk(expression.python))
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    return any(not isinstance(each, ast.Name) or each.id in names or not hasattr(builtins, each.id) for each in called)


class _FormulaDistanceCompiler:
    def __init__(self, analysis: Analysis, names: dict[str, Any], functions: Mapping[str, ast.FunctionDef]) -> None:
        self._analysis = analysis
        self._names = names
        self._compiler = DistanceCompiler(names, functions)

    def holding(self, formula: Formula, variables: tuple[str, ...]) -> FormulaDistance:
        """The distance of a formula from holding."""
        match formula:
            case PythonCondition(expression):
                return self._leaf(expression, variables, wanted=True).holding
            case And(parts):
                return _combined(_total, [self.holding(part, variables) for part in parts])
            case Or(parts):
                return _combined(_nearest, [self.holding(part, variables) for part in parts])
            case Not(part):
                return _settled(self.failing(part, variables))
            case Quantified(every, variable, path, body):
                inner = self.holding(body, _with(variables, variable))
                return _settled(_over_bindings(_total if every else _nearest, variable, self._select(path), inner))
            case _:
                assert_never(formula)

    def failing(self, formula: Formula, variables: tuple[str, ...]) -> FormulaDistance:
        """The distance of a formula from failing without an exception; raises `Raised` if it fails by one."""
        match formula:
            case PythonCondition(expression):
                return self._leaf(expression, variables, wanted=False).failing
            case And(parts):
                return _combined(_nearest, [self.failing(part, variables) for part in parts])
            case Or(parts):
                return _combined(_total_of_failures, [self.failing(part, variables) for part in parts])
            case Not(part):
                return _negation_fails(self.failing(part, variables), self.holding(part, variables))
            case Quantified(every, variable, path, body):
                inner = self.failing(body, _with(variables, variable))
                return _over_bindings(_nearest if every else _total_of_failures, variable, self._select(path), inner)
            case _:
                assert_never(formula)

    def _leaf(self, expression: Expression, variables: tuple[str, ...], *, wanted: bool) -> LeafDistance:
        selects = tuple(self._select(mention.path) for mention in expression.mentions)
        condition = self._compiler.condition(expression, variables, wanted=wanted)
        return LeafDistance(expression, selects, variables, condition)

    def _select(self, path: Selector) -> Select:
        return compile_path(path, self._analysis, self._names)


def _with(variables: tuple[str, ...], variable: str) -> tuple[str, ...]:
    return variables if variable.startswith("<") else (*variables, variable)


# --- several parts as one ---------------------------------------------------------------------------------------------


def _combined(combine: Combination, parts: Sequence[FormulaDistance]) -> FormulaDistance:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        return combine(((part, bound) for part in parts), root, bound, blamed)

    return evaluate


def _over_bindings(combine: Combination, variable: str, select: Select, body: FormulaDistance) -> FormulaDistance:
    """One part, combined over all nodes that are selected."""

    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            found = select(root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += scope(root, bound)
            raise Raised from None
        return combine(((body, {**bound, variable: tree}) for tree in found), root, bound, blamed)

    return evaluate


def _total(parts: BoundParts, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
    total = 0.0
    for part, inner in parts:
        total += part(root, inner, blamed)
    return total


def _nearest(parts: BoundParts, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
    """The distance of the nearest part, whose nodes are blamed first. If a part raises, the first that does decides."""
    branches: list[tuple[float, list[Tree]]] = []
    for part, inner in parts:
        of_branch: list[Tree] = []
        try:
            distance = part(root, inner, of_branch)
        except Raised:
            blamed += of_branch
            raise
        if not distance:
            return 0.0
        branches.append((distance, of_branch))
    if not branches:
        blamed += scope(root, bound)
        return NOTHING_TO_CHOOSE
    branches.sort(key=lambda branch: branch[0])
    for _, of_branch in branches:
        blamed += of_branch
    return branches[0][0]


def _total_of_failures(parts: BoundParts, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
    """The sum of the distances. As in a check, the last of alternatives that fail decides how all of them fail."""
    total, has_raised = 0.0, False
    for part, inner in parts:
        try:
            total += part(root, inner, blamed)
            has_raised = False
        except Raised:
            has_raised = True
    if has_raised and not total:
        raise Raised
    return total


# --- negations --------------------------------------------------------------------------------------------------------


def _settled(inner: FormulaDistance) -> FormulaDistance:
    """The distance as a number also where it raises: neither a condition that raises nor its negation is satisfied."""

    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            return inner(root, bound, blamed)
        except Raised:
            return RAISED

    return evaluate


def _negation_fails(failing: FormulaDistance, holding: FormulaDistance) -> FormulaDistance:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        of_part: list[Tree] = []
        try:
            holds = failing(root, bound, of_part) > 0
        except Raised:
            blamed += of_part
            raise
        return 0.0 if holds else holding(root, bound, blamed)

    return evaluate
