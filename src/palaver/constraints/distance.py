"""How far a tree is from satisfying a constraint, and which nodes are to blame: advice for search.

The distance is 0.0 where the constraint seems satisfied, and smaller where less has to change: conditions that fail add
up, of alternatives the nearest counts. `Check.failure` alone decides; here, only so many combinations of nodes are
looked at, and functions of the spec are asked in a rewritten form.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from math import gcd, prod
from operator import is_
from typing import Any, NamedTuple, TypeAlias

from palaver.constraints.guided import Graded, Guide
from palaver.constraints.select import Bindings, Select, compile_path
from palaver.grammar.analyse import Analysis
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.grammar.ir import expressions_of
from palaver.spec.ast import And, Constraint, Expression, Formula, Leaf, Not, Or, Path, Quantified
from palaver.trees.node import Node, Part
from palaver.trees.tree import SliceTree, Tree

# A condition that raises is farther than any that fails.
RAISED = 2.0
NOTHING_TO_CHOOSE = 1.0

# A leaf with many mentions of many nodes has more combinations than anyone can wait for.
_MOST_COMBINATIONS = 2000


class Judgement(NamedTuple):
    """How far a tree is from satisfying a constraint, and the nodes that failing conditions looked at.

    They come without repetition, condition by condition; of alternatives, those of the nearest come first.
    """

    distance: float  # 0.0: seems satisfied
    blamed: tuple[Tree, ...]


_SATISFIED = Judgement(0.0, ())

# Adds the nodes to blame to the list.
Evaluate: TypeAlias = Callable[[Tree, Bindings, list[Tree]], float]


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
            return Judgement(distance, _without_repetition(blamed))
        memory.keep()
        return _SATISFIED

    return judge


class _Memory:
    """The nodes with which a formula was satisfied the last time.

    The code of a spec may be slow. Trees never change, so what was not exchanged since is the very same node.
    """

    def __init__(self, formula: Formula, analysis: Analysis, names: Mapping[str, Any]) -> None:
        bases = [base for base in dict.fromkeys(_bases(formula)) if base in analysis.grammar.rules]
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


def _bases(formula: Formula) -> Iterator[str]:
    """The symbols that the paths in a formula start from, and names that are bound."""
    match formula:
        case Leaf(expression):
            yield from (mention.path.base for mention in expression.mentions)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _bases(part)
        case Not(part):
            yield from _bases(part)
        case Quantified(path=path, body=body):
            yield path.base
            yield from _bases(body)


def _calls_code(formula: Formula, names: Mapping[str, Any]) -> bool:
    """Whether a formula calls anything but plain builtins."""
    nodes = (node for expression in expressions_of(formula) for node in ast.walk(expression.python))
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    return any(not isinstance(each, ast.Name) or each.id in names or not hasattr(builtins, each.id) for each in called)


class _Raised(Exception):
    """What decides whether a formula fails has raised, and so its negation does not hold either."""


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
                return _sum([self.holding(part, variables) for part in parts])
            case Or(parts):
                return _least([self.holding(part, variables) for part in parts])
            case Not(part):
                return _settled(self.failing(part, variables))
            case Quantified(every, variable, path, body):
                select = compile_path(path, self._analysis, self._names)
                inner = self.holding(body, _with(variables, variable))
                return (_for_every if every else _for_some)(variable, select, inner)

    def failing(self, formula: Formula, variables: tuple[str, ...]) -> Evaluate:
        """The distance of a formula from failing, and that without raising.

        These raise `_Raised` where it fails because something raised.
        """
        match formula:
            case Leaf(expression):
                return self._leaf(expression, variables, wanted=False).failing
            case And(parts):
                return _one_fails([self.failing(part, variables) for part in parts])
            case Or(parts):
                return _all_fail([self.failing(part, variables) for part in parts])
            case Not(part):
                return _negation_fails(self.failing(part, variables), self.holding(part, variables))
            case Quantified(every, variable, path, body):
                select = compile_path(path, self._analysis, self._names)
                inner = self.failing(body, _with(variables, variable))
                return _over_bindings(_one_fails if every else _all_fail, variable, select, inner)

    def _leaf(self, expression: Expression, variables: tuple[str, ...], *, wanted: bool) -> _GradedLeaf:
        selects = tuple(compile_path(mention.path, self._analysis, self._names) for mention in expression.mentions)
        return _GradedLeaf(expression, selects, variables, self._guide.condition(expression, variables, wanted=wanted))


def _with(variables: tuple[str, ...], variable: str) -> tuple[str, ...]:
    return variables if variable.startswith("<") else (*variables, variable)


# --- conditions -------------------------------------------------------------------------------------------------------


class _GradedLeaf:
    """One Python condition, for every combination of what its mentions select."""

    def __init__(
        self, expression: Expression, selects: Sequence[Select], variables: tuple[str, ...], condition: Graded
    ) -> None:
        used = {node.id for node in ast.walk(expression.python) if isinstance(node, ast.Name)}
        self._kinds = tuple(mention.kind for mention in expression.mentions)
        self._selects = selects
        self._variables = variables
        # Which values of a combination are looked at: not every variable in scope is used.
        self._looked_at = [at for at, name in enumerate(variables, len(selects)) if name in used]
        self._distance, self._plain = condition
        self.holding = self._each if self._kinds == ("each",) and not variables else self._sum
        self.failing = self._first

    def _each(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from holding for a condition with one mention, which most have."""
        total = 0.0
        try:
            found = self._selects[0](root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += _scope(root, bound)
            return RAISED
        for tree in found:
            try:
                distance = self._distance(tree)
            except SPEC_CODE_RAISES:
                distance = self._again((tree,))
            if distance:
                total += distance
                blamed += _nodes(tree)
        return total

    def _sum(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from holding for every combination."""
        try:
            found = self._found(root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += _scope(root, bound)
            return RAISED
        total = 0.0
        for values in _combinations(self._options(found, bound)):
            try:
                distance = self._distance(*values)
            except SPEC_CODE_RAISES:
                distance = self._again(values)
            if distance:
                total += distance
                blamed += self._blame(values, found) or _scope(root, bound)
        return total

    def _first(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from failing for some combination."""
        try:
            found = self._found(root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += _scope(root, bound)
            raise _Raised from None
        nearest, seen = NOTHING_TO_CHOOSE, len(blamed)
        for values in _combinations(self._options(found, bound)):
            try:
                distance = self._distance(*values)
            except SPEC_CODE_RAISES:
                distance = self._again(values)
            if not distance:
                del blamed[seen:]
                return 0.0
            blamed += self._blame(values, found)
            if distance == RAISED:
                raise _Raised
            nearest = min(nearest, distance)
        if len(blamed) == seen:
            blamed += _scope(root, bound)
        return nearest

    def _again(self, values: Sequence[Any]) -> float:
        """The condition has raised as a distance. As it is, it need not."""
        if self._plain is None:
            return RAISED
        try:
            return float(self._plain(*values))
        except SPEC_CODE_RAISES:
            return RAISED

    def _found(self, root: Tree, bound: Bindings) -> list[list[Tree]]:
        return [select(root, bound) for select in self._selects]

    def _options(self, found: Sequence[list[Tree]], bound: Bindings) -> list[Sequence[Any]]:
        """What each parameter of the condition may be, the Python variables in scope last."""
        options: list[Sequence[Any]] = []
        for kind, trees in zip(self._kinds, found, strict=True):
            match kind:
                case "each":
                    options.append(trees)
                case "list":
                    options.append([trees])
                case "count":
                    options.append([len(trees)])
        options += [[bound[name]] for name in self._variables]
        return options

    def _blame(self, values: Sequence[Any], found: Sequence[list[Tree]]) -> list[Tree]:
        blamed: list[Tree] = []
        for kind, value, trees in zip(self._kinds, values, found, strict=False):
            match kind:
                case "each":
                    blamed += _nodes(value)
                case "list":
                    for tree in trees:
                        blamed += _nodes(tree)
                case "count":  # there are more or fewer only if what is above them changes
                    blamed += [tree.parent for tree in trees if tree.parent is not None]
        for at in self._looked_at:
            blamed += _nodes(values[at])
        return blamed


def _combinations(options: Sequence[Sequence[Any]]) -> Iterable[Sequence[Any]]:
    """Every combination, or some from all over if there are too many."""
    count = prod(map(len, options))
    return product(*options) if count <= _MOST_COMBINATIONS else _some_combinations(options, count)


def _some_combinations(options: Sequence[Sequence[Any]], count: int) -> Iterator[Sequence[Any]]:
    # By the golden ratio: the steps never line up with the lengths of the options. Without a common divisor, no
    # combination comes twice.
    step = count * 618 // 1000
    while gcd(step, count) != 1:
        step += 1
    at = 0
    for _ in range(_MOST_COMBINATIONS):
        values, rest = [], at
        for choices in options:
            rest, position = divmod(rest, len(choices))
            values.append(choices[position])
        yield values
        at = (at + step) % count


# --- blame ------------------------------------------------------------------------------------------------------------


def _nodes(tree: Tree) -> list[Tree]:
    """The nodes to blame for `tree`: of a slice what is in it and what it was cut from, of a leaf what it is in."""
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
    """What to blame if no node was looked at: what is bound, else everything."""
    return list(bound.values()) or [root]


def _without_repetition(trees: Iterable[Tree]) -> tuple[Tree, ...]:
    # By identity: equal trees in different places are different to blame, and each place has one view.
    return tuple({id(tree): tree for tree in trees}.values())


# --- formulas that should hold ----------------------------------------------------------------------------------------


def _sum(parts: Sequence[Evaluate]) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        total = 0.0
        for part in parts:
            total += part(root, bound, blamed)
        return total

    return evaluate


def _least(parts: Sequence[Evaluate]) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        branches: list[tuple[float, list[Tree]]] = []
        for part in parts:
            of_branch: list[Tree] = []
            distance = part(root, bound, of_branch)
            if not distance:
                return 0.0
            branches.append((distance, of_branch))
        return _nearest_first(branches, blamed)

    return evaluate


def _for_every(variable: str, select: Select, body: Evaluate) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            found = select(root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += _scope(root, bound)
            return RAISED
        total = 0.0
        for tree in found:
            total += body(root, {**bound, variable: tree}, blamed)
        return total

    return evaluate


def _for_some(variable: str, select: Select, body: Evaluate) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            found = select(root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += _scope(root, bound)
            return RAISED
        branches: list[tuple[float, list[Tree]]] = []
        for tree in found:
            of_branch: list[Tree] = []
            distance = body(root, {**bound, variable: tree}, of_branch)
            if not distance:
                return 0.0
            branches.append((distance, of_branch))
        if not branches:
            blamed += _scope(root, bound)
            return NOTHING_TO_CHOOSE
        return _nearest_first(branches, blamed)

    return evaluate


def _nearest_first(branches: list[tuple[float, list[Tree]]], blamed: list[Tree]) -> float:
    branches.sort(key=lambda branch: branch[0])
    for _, of_branch in branches:
        blamed += of_branch
    return branches[0][0]


def _settled(failing: Evaluate) -> Evaluate:
    """A negation: what it negates should fail, but not by raising."""

    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            return failing(root, bound, blamed)
        except _Raised:
            return RAISED

    return evaluate


# --- formulas that should fail ----------------------------------------------------------------------------------------
# As in a check, the first part of a conjunction that does not hold decides how it fails, and the last of alternatives.


def _one_fails(parts: Sequence[Evaluate]) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        branches: list[tuple[float, list[Tree]]] = []
        for part in parts:
            of_branch: list[Tree] = []
            try:
                distance = part(root, bound, of_branch)
            except _Raised:
                blamed += of_branch
                raise
            if not distance:
                return 0.0
            branches.append((distance, of_branch))
        if not branches:
            blamed += _scope(root, bound)
            return NOTHING_TO_CHOOSE
        return _nearest_first(branches, blamed)

    return evaluate


def _all_fail(parts: Sequence[Evaluate]) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        total, has_raised = 0.0, False
        for part in parts:
            try:
                total += part(root, bound, blamed)
                has_raised = False
            except _Raised:
                has_raised = True
        if has_raised and not total:
            raise _Raised
        return total

    return evaluate


def _over_bindings(
    combine: Callable[[Sequence[Evaluate]], Evaluate], variable: str, select: Select, body: Evaluate
) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        try:
            found = select(root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += _scope(root, bound)
            raise _Raised from None
        return combine([_bound_to(variable, tree, body) for tree in found])(root, bound, blamed)

    return evaluate


def _bound_to(variable: str, tree: Tree, body: Evaluate) -> Evaluate:
    return lambda root, bound, blamed: body(root, {**bound, variable: tree}, blamed)


def _negation_fails(failing: Evaluate, holding: Evaluate) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        of_part: list[Tree] = []
        try:
            holds = failing(root, bound, of_part) > 0
        except _Raised:
            blamed += of_part
            raise
        return 0.0 if holds else holding(root, bound, blamed)

    return evaluate
