"""Branch distance of formulas (Korel 1990; Tracey et al. 1998), and the nodes to blame: guidance for search.

The distance is 0.0 where the constraint seems satisfied, and smaller where less has to change: the distances of
conditions that must all hold add up, of alternatives the least counts. `Check.failure` alone decides; here only so many
combinations of nodes are measured, and functions of the spec run in a rewritten form.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from math import gcd, prod
from operator import is_
from typing import Any, NamedTuple, TypeAlias, assert_never

from palaver.constraints.checks import values_of
from palaver.constraints.constraints_limits import MAX_COMBINATIONS
from palaver.constraints.distance_compiler import ConditionDistance, DistanceCompiler
from palaver.constraints.node_selectors import Bindings, Select, compile_path
from palaver.grammar.analysis import Analysis
from palaver.spec.ast import And, Constraint, Expression, Formula, Not, Or, PythonCondition, Quantified, Selector
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.spec.traversal import expressions_of, selectors_of
from palaver.trees.node import Node, Part
from palaver.trees.tree import SliceTree, Tree


class Fitness(NamedTuple):
    """The distance of a tree from satisfying a constraint, and the nodes that failing conditions looked at.

    The nodes come without repetition, condition by condition; of alternatives, those of the nearest come first.
    """

    distance: float  # 0.0: seems satisfied
    blamed: tuple[Tree, ...]


_SATISFIED = Fitness(0.0, ())

# A condition that raises is farther than any that fails.
_RAISED = 2.0
_NOTHING_TO_CHOOSE = 1.0


class _Raised(Exception):
    """The formula failed by an exception, and so its negation does not hold either."""


# The distance of a part of a formula; adds the nodes to blame to the list.
FormulaDistance: TypeAlias = Callable[[Tree, Bindings, list[Tree]], float]
# Several parts, each with its bindings, and the function that combines their distances.
BoundParts: TypeAlias = Iterable[tuple[FormulaDistance, Bindings]]
Combination: TypeAlias = Callable[[BoundParts, Tree, Bindings, list[Tree]], float]


def compile_distance(
    constraint: Constraint,
    analysis: Analysis,
    names: dict[str, Any],
    functions: Mapping[str, ast.FunctionDef] = {},
    *,
    every: bool = False,
) -> Callable[[Tree], Fitness]:
    """A function that measures trees by `constraint`; compiled when it is first called.

    `names` is the spec's Python namespace, `functions` the spec's own definitions in it (`functions_defined_in`). With
    `every`, open nodes are selected as if they were complete.
    Once a tree satisfies the constraint, trees with the same nodes where it looks are not measured again.
    """
    satisfying = _SatisfyingNodes(constraint.formula, analysis, names, every=every)

    @cache
    def compiled() -> FormulaDistance:
        return _FormulaDistanceCompiler(analysis, names, functions, every=every).holding(constraint.formula, ())

    def measure(tree: Tree) -> Fitness:
        if satisfying.has_nodes_of(tree):
            return _SATISFIED
        blamed: list[Tree] = []
        distance = compiled()(tree, {}, blamed)
        if distance:
            return Fitness(distance, _without_repetition(blamed))
        satisfying.keep()
        return _SATISFIED

    return measure


class _SatisfyingNodes:
    """The nodes with which a formula was last satisfied.

    The code of a spec may be slow. Trees never change, so a node that was not exchanged since is the very same object.
    """

    def __init__(self, formula: Formula, analysis: Analysis, names: Mapping[str, Any], *, every: bool) -> None:
        named = dict.fromkeys(path.base for path in selectors_of(formula))
        bases = [base for base in named if base in analysis.grammar.rules]
        # Every exchange makes a new root. And plain builtins are as fast as this comparison.
        self._is_of_use = analysis.grammar.start not in bases and _calls_code(formula, names)
        self._selects = [compile_path(Selector(base), analysis, {}, every=every) for base in bases]
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
    def __init__(
        self, analysis: Analysis, names: dict[str, Any], functions: Mapping[str, ast.FunctionDef], *, every: bool
    ) -> None:
        self._analysis = analysis
        self._names = names
        self._every = every
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
        """The distance of a formula from failing without an exception; raises `_Raised` if it fails by one."""
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

    def _leaf(self, expression: Expression, variables: tuple[str, ...], *, wanted: bool) -> _LeafDistance:
        selects = tuple(self._select(mention.path) for mention in expression.mentions)
        condition = self._compiler.condition(expression, variables, wanted=wanted)
        return _LeafDistance(expression, selects, variables, condition)

    def _select(self, path: Selector) -> Select:
        return compile_path(path, self._analysis, self._names, every=self._every)


def _with(variables: tuple[str, ...], variable: str) -> tuple[str, ...]:
    return variables if variable.startswith("<") else (*variables, variable)


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
            blamed += _scope(root, bound)
            raise _Raised from None
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
        except _Raised:
            blamed += of_branch
            raise
        if not distance:
            return 0.0
        branches.append((distance, of_branch))
    if not branches:
        blamed += _scope(root, bound)
        return _NOTHING_TO_CHOOSE
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
        except _Raised:
            has_raised = True
    if has_raised and not total:
        raise _Raised
    return total


def _settled(inner: FormulaDistance) -> FormulaDistance:
    """The distance as a number also where it raises: neither a condition that raises nor its negation is satisfied."""

    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            return inner(root, bound, blamed)
        except _Raised:
            return _RAISED

    return evaluate


def _negation_fails(failing: FormulaDistance, holding: FormulaDistance) -> FormulaDistance:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        of_part: list[Tree] = []
        try:
            holds = failing(root, bound, of_part) > 0
        except _Raised:
            blamed += of_part
            raise
        return 0.0 if holds else holding(root, bound, blamed)

    return evaluate


class _LeafDistance:
    """One condition, over all combinations of the nodes it mentions.

    `holding` and `failing` return its distance from that, and add the nodes to blame.
    """

    def __init__(
        self,
        expression: Expression,
        selects: Sequence[Select],
        variables: tuple[str, ...],
        condition: ConditionDistance,
    ) -> None:
        used = {node.id for node in ast.walk(expression.python) if isinstance(node, ast.Name)}
        self._mentions = expression.mentions
        self._selects = selects
        self._variables = variables
        # The positions of the variables that the condition uses.
        self._looked_at = [at for at, name in enumerate(variables, len(selects)) if name in used]
        self._distance, self._plain = condition
        is_simple = [mention.kind for mention in expression.mentions] == ["each"] and not variables
        self.holding = self._each if is_simple else self._sum
        self.failing = self._first

    def _each(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from holding for a condition with one mention, as most have."""
        total = 0.0
        try:
            found = self._selects[0](root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += _scope(root, bound)
            return _RAISED
        for tree in found:
            try:
                distance = self._distance(tree)
            except SPEC_CODE_RAISES:
                distance = self._zero_or_one((tree,))
            if distance:
                total += distance
                blamed += _nodes_of(tree)
        return total

    def _sum(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from holding for every combination."""
        try:
            found = self._found(root, bound, blamed)
        except _Raised:
            return _RAISED
        total = 0.0
        for values, distance in self._measured(found, bound):
            if distance:
                total += distance
                blamed += self._blame(values, found) or _scope(root, bound)
        return total

    def _first(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from failing for some combination. :raises _Raised: it fails because something raised"""
        found = self._found(root, bound, blamed)
        nearest, seen = _NOTHING_TO_CHOOSE, len(blamed)
        for values, distance in self._measured(found, bound):
            if not distance:
                del blamed[seen:]
                return 0.0
            blamed += self._blame(values, found)
            if distance == _RAISED:
                raise _Raised
            nearest = min(nearest, distance)
        if len(blamed) == seen:
            blamed += _scope(root, bound)
        return nearest

    def _found(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> list[list[Tree]]:
        try:
            return [select(root, bound) for select in self._selects]
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += _scope(root, bound)
            raise _Raised from None

    def _measured(self, found: Sequence[list[Tree]], bound: Bindings) -> Iterator[tuple[Sequence[Any], float]]:
        """Every combination, with its distance."""
        for values in _combinations(self._options(found, bound)):
            try:
                distance = self._distance(*values)
            except SPEC_CODE_RAISES:
                distance = self._zero_or_one(values)
            yield values, distance

    def _zero_or_one(self, values: Sequence[Any]) -> float:
        """The distance by the original condition, which need not raise where the rewritten one does."""
        if self._plain is None:
            return _RAISED
        try:
            return float(self._plain(*values))
        except SPEC_CODE_RAISES:
            return _RAISED

    def _options(self, found: Sequence[list[Tree]], bound: Bindings) -> list[Sequence[Any]]:
        """The values of each parameter of the condition, the Python variables in scope last."""
        options = [values_of(mention, trees) for mention, trees in zip(self._mentions, found, strict=True)]
        return [*options, *([bound[name]] for name in self._variables)]

    def _blame(self, values: Sequence[Any], found: Sequence[list[Tree]]) -> list[Tree]:
        blamed: list[Tree] = []
        for mention, value, trees in zip(self._mentions, values, found, strict=False):
            match mention.kind:
                case "each":
                    blamed += _nodes_of(value)
                case "list":
                    for tree in trees:
                        blamed += _nodes_of(tree)
                case "count":  # their number changes only with the nodes above them
                    blamed += [tree.parent for tree in trees if tree.parent is not None]
                case _:
                    assert_never(mention.kind)
        for at in self._looked_at:
            blamed += _nodes_of(values[at])
        return blamed


def _combinations(options: Sequence[Sequence[Any]]) -> Iterable[Sequence[Any]]:
    """Every combination, or a sample from all over if there are too many."""
    count = prod(map(len, options))
    return product(*options) if count <= MAX_COMBINATIONS else _some_combinations(options, count)


def _some_combinations(options: Sequence[Sequence[Any]], count: int) -> Iterator[Sequence[Any]]:
    # An additive recurrence by the golden ratio: steps never line up with the lengths of the options. Without a common
    # divisor, no combination comes twice.
    step = count * 618 // 1000
    while gcd(step, count) != 1:
        step += 1
    at = 0
    for _ in range(MAX_COMBINATIONS):
        values, rest = [], at
        for choices in options:
            rest, position = divmod(rest, len(choices))
            values.append(choices[position])
        yield values
        at = (at + step) % count


def _nodes_of(tree: Tree) -> list[Tree]:
    """The nodes to blame for `tree`: of a slice its parts and what it was cut from, of a leaf the node around it."""
    if isinstance(tree.node, Node) and not isinstance(tree, SliceTree):
        return [tree]
    found: list[Tree] = []
    stack = [tree]
    while stack:
        top = stack.pop()
        if isinstance(top, SliceTree):
            stack += [top.whole, *reversed(top.children)]
        elif isinstance(top.node, Node):
            found.append(top)
        elif top.parent is not None:
            stack.append(top.parent)
    return found


def _scope(root: Tree, bound: Bindings) -> list[Tree]:
    """The nodes to blame if the condition looked at none: those that are bound, else the root."""
    return list(bound.values()) or [root]


def _without_repetition(trees: Iterable[Tree]) -> tuple[Tree, ...]:
    """Each place once. By identity: equal trees in different places differ, and each place has one view."""
    return tuple({id(tree): tree for tree in trees}.values())
