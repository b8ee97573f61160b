"""How far a tree is from satisfying a constraint, and which nodes are to blame: advice for search.

The distance is 0.0 where the constraint seems satisfied, and smaller where less has to change: conditions that fail add
up, of alternatives the nearest counts. `Check.failure` alone decides; here, only so many combinations of nodes are
looked at, and functions of the spec are asked in a rewritten form.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import is_
from typing import Any, NamedTuple, TypeAlias

from palaver.constraints.blame import scope, without_repetition
from palaver.constraints.graded import NOTHING_TO_CHOOSE, RAISED, GradedLeaf, Raised
from palaver.constraints.guided import Guide
from palaver.constraints.select import Bindings, Select, compile_path
from palaver.grammar.analyse import Analysis
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.grammar.ir import expressions_of, paths_of
from palaver.spec.ast import And, Constraint, Expression, Formula, Leaf, Not, Or, Path, Quantified
from palaver.trees.node import Part
from palaver.trees.tree import Tree


class Judgement(NamedTuple):
    """How far a tree is from satisfying a constraint, and the nodes that failing conditions looked at.

    They come without repetition, condition by condition; of alternatives, those of the nearest come first.
    """

    distance: float  # 0.0: seems satisfied
    blamed: tuple[Tree, ...]


_SATISFIED = Judgement(0.0, ())

# A part of a formula: adds the nodes to blame to the list.
Evaluate: TypeAlias = Callable[[Tree, Bindings, list[Tree]], float]
# Several parts, each with what is bound for it, and how they are made into one.
Parts: TypeAlias = Iterable[tuple[Evaluate, Bindings]]
Combine: TypeAlias = Callable[[Parts, Tree, Bindings, list[Tree]], float]


def compile_distance(
    constraint: Constraint,
    analysis: Analysis,
    names: dict[str, Any],
    functions: Mapping[str, ast.FunctionDef] = {},
) -> Callable[[Tree], Judgement]:
    """A function that judges trees by `constraint`; compiled when it is first asked.

    `names` is the spec's Python namespace, `functions` what the spec itself defines in it (`guided.own_functions`).
    Trees that differ in nothing that the constraint looks at are not judged again once it is satisfied.
    """
    memory = _Memory(constraint.formula, analysis, names)

    @cache
    def compiled() -> Evaluate:
        return _Compiler(analysis, names, functions).holding(constraint.formula, ())

    def judge(tree: Tree) -> Judgement:
        if memory.knows(tree):
            return _SATISFIED
        blamed: list[Tree] = []
        distance = compiled()(tree, {}, blamed)
        if distance:
            return Judgement(distance, without_repetition(blamed))
        memory.keep()
        return _SATISFIED

    return judge


class _Memory:
    """The nodes with which a formula was satisfied the last time.

    The code of a spec may be slow. Trees never change, so what was not exchanged since is the very same node.
    """

    def __init__(self, formula: Formula, analysis: Analysis, names: Mapping[str, Any]) -> None:
        named = dict.fromkeys(path.base for path in paths_of(formula))
        bases = [base for base in named if base in analysis.grammar.rules]
        # Whatever is exchanged, the root is another one. And to look at the nodes takes as long as what is builtin.
        self._is_of_use = analysis.grammar.start not in bases and _calls_code(formula, names)
        self._selects = [compile_path(Path(base), analysis, {}) for base in bases]
        self._held: list[Part] | None = None
        self._seen: list[Part] = []

    def knows(self, tree: Tree) -> bool:
        """Whether the formula was satisfied with the nodes of this tree."""
        if not self._is_of_use:
            return False
        self._seen = [found.node for select in self._selects for found in select(tree, {})]
        held = self._held
        return held is not None and len(held) == len(self._seen) and all(map(is_, held, self._seen))

    def keep(self) -> None:
        """The formula is satisfied with the nodes that were looked at last."""
        self._held = self._seen if self._is_of_use else None


def _calls_code(formula: Formula, names: Mapping[str, Any]) -> bool:
    """Whether a formula calls anything but plain builtins."""
    nodes = (node for expression in expressions_of(formula) for node in ast.walk(expression.python))
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    return any(not isinstance(each, ast.Name) or each.id in names or not hasattr(builtins, each.id) for each in called)


class _Compiler:
    def __init__(self, analysis: Analysis, names: dict[str, Any], functions: Mapping[str, ast.FunctionDef]) -> None:
        self._analysis = analysis
        self._names = names
        self._guide = Guide(names, functions)

    def holding(self, formula: Formula, variables: tuple[str, ...]) -> Evaluate:
        """The distance of a formula from holding."""
        match formula:
            case Leaf(expression):
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

    def failing(self, formula: Formula, variables: tuple[str, ...]) -> Evaluate:
        """The distance of a formula from failing, and that without raising.

        These raise `Raised` where it fails because something raised.
        """
        match formula:
            case Leaf(expression):
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

    def _leaf(self, expression: Expression, variables: tuple[str, ...], *, wanted: bool) -> GradedLeaf:
        selects = tuple(self._select(mention.path) for mention in expression.mentions)
        return GradedLeaf(expression, selects, variables, self._guide.condition(expression, variables, wanted=wanted))

    def _select(self, path: Path) -> Select:
        return compile_path(path, self._analysis, self._names)


def _with(variables: tuple[str, ...], variable: str) -> tuple[str, ...]:
    return variables if variable.startswith("<") else (*variables, variable)


# --- several parts as one ---------------------------------------------------------------------------------------------


def _combined(combine: Combine, parts: Sequence[Evaluate]) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        return combine(((part, bound) for part in parts), root, bound, blamed)

    return evaluate


def _over_bindings(combine: Combine, variable: str, select: Select, body: Evaluate) -> Evaluate:
    """The same part for everything that is selected, whatever that is."""

    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            found = select(root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += scope(root, bound)
            raise Raised from None
        return combine(((body, {**bound, variable: tree}) for tree in found), root, bound, blamed)

    return evaluate


def _total(parts: Parts, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
    total = 0.0
    for part, inner in parts:
        total += part(root, inner, blamed)
    return total


def _nearest(parts: Parts, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
    """The distance of the nearest part, whose nodes are blamed first. The first that raises decides, if any does."""
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


def _total_of_failures(parts: Parts, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
    """The same as a total. As in a check, the last of alternatives that do not hold decides how all of them fail."""
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


def _settled(inner: Evaluate) -> Evaluate:
    """The same as a number, also where it raises: what raises is not satisfied, and a negation of it neither."""

    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            return inner(root, bound, blamed)
        except Raised:
            return RAISED

    return evaluate


def _negation_fails(failing: Evaluate, holding: Evaluate) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        of_part: list[Tree] = []
        try:
            holds = failing(root, bound, of_part) > 0
        except Raised:
            blamed += of_part
            raise
        return 0.0 if holds else holding(root, bound, blamed)

    return evaluate
