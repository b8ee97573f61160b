"""Constraints, compiled to closures (Feeley & Lapalme 1987) that return the first failure in a tree, or None.

A formula is compiled once. Each leaf is a Python function of the nodes that its mentions select; it must hold for every
combination, and each textual mention is a variable of its own. Spec code that raises never counts as satisfied: it is
a failure with the exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import isnan
from typing import Any, NamedTuple, TypeAlias, assert_never

from palaver.constraints.constraints_limits import MAX_SHOWN_VALUE
from palaver.constraints.folds import first_breach
from palaver.constraints.node_selectors import Bindings, Select, compile_path
from palaver.errors import ConversionError, Diagnostic
from palaver.grammar.analysis import Analysis
from palaver.lean_dataclasses import dataclass
from palaver.spec.ast import (
    And,
    Constraint,
    Expression,
    Formula,
    Index,
    Mention,
    Not,
    Objective,
    Or,
    PythonCondition,
    Quantified,
    Selector,
)
from palaver.spec.python_code import (
    SPEC_CODE_RAISES,
    SpecFunction,
    compile_expression,
    crash_diagnostic,
    describe_error,
    raising_line_of,
)
from palaver.spec.traversal import first_expression, step_symbols
from palaver.trees.tree import Tree
from palaver.trees.values import value_of

_SYMBOL = re.compile(r"<[^<>]*>")

# The value of a mention in one evaluation: a node, a list of nodes, or their number.
Value: TypeAlias = "Tree | list[Tree] | int"


class Failure(NamedTuple):
    """A leaf that does not hold, the values it saw, and the exception if it raised one."""

    leaf: Expression
    values: tuple[tuple[Mention, Value], ...] = ()
    bound: Mapping[str, Tree] | None = None
    error: BaseException | None = None
    states: tuple[tuple[str, object], ...] = ()  # of folds, with the names of their steps

    def describe(self) -> str:
        """One sentence for people."""
        shown = [f"{_text_of(self.leaf, mention)} = {_brief(value)}" for mention, value in self.values]
        shown += [f"the state of {name} = {_both_ends(_line(state))}" for name, state in self.states]
        seen = ", ".join(dict.fromkeys(shown))
        if self.error is not None:
            what = f"{self.leaf.text} {describe_error(self.error)}"
        else:
            what = f"{self.leaf.text} does not hold"
        return f"{what} ({seen})" if seen else what

    def breach(self, names: dict[str, Any]) -> tuple[Failure, Tree] | None:
        """Of a condition on folds, the failure as it was when it last held no more, and the node that brought it."""
        if self.error is not None or self.bound:
            return None
        lists = {mention: value for mention, value in self.values if isinstance(value, list)}
        found = first_breach(self.leaf, names, lists)
        return None if found is None else (self._replace(values=(), states=found.states), found.node)

    def diagnose(self) -> Diagnostic:
        """The failure, shown at its place in the spec."""
        hint = "this is an error in the spec's Python code" if self.error is not None else ""
        return Diagnostic("error", self.describe(), self.leaf.source, self.leaf.span, hint)

    @property
    def cause(self) -> str:
        """The exception and the line of the spec that raised it; "" if there was none."""
        if self.error is None:
            return ""
        line, _ = self.leaf.source.place(self.leaf.span.start)
        raised_at = raising_line_of(self.leaf.source.name, self.error) or f"{self.leaf.source.name}:{line}"
        return f"{describe_error(self.error)}, at {raised_at}"

    def tell(self) -> str:
        """The failure in one line, for a report about an input; states that are long follow in lines of their own."""
        line, column = self.leaf.source.place(self.leaf.span.start)
        place = f"{self.leaf.source.name}:{line}:{column}"
        if self.error is not None:
            raised_at = raising_line_of(self.leaf.source.name, self.error)
            if raised_at and raised_at != f"{self.leaf.source.name}:{line}":
                place = f"{raised_at}, called at {place}"
            return f"{self.describe()}, at {place}: this is an error in the spec, not in the input"
        lines = [f"{self.describe()}, required by {place}"]
        whole = [(name, _line(state)) for name, state in self.states]
        lines += [f"  the state of {name} = {text}" for name, text in whole if len(text) > MAX_SHOWN_VALUE]
        return "\n".join(lines)


Evaluate: TypeAlias = Callable[[Tree, Bindings], Failure | None]


@dataclass(frozen=True, slots=True)
class Check:
    """A compiled constraint."""

    constraint: Constraint
    evaluate: Evaluate

    def failure(self, tree: Tree) -> Failure | None:
        """The first failure in `tree`; None if it satisfies the constraint."""
        return self.evaluate(tree, {})


def compile_check(
    constraint: Constraint, analysis: Analysis, names: dict[str, Any], *, early: bool = False, every: bool = False
) -> Check:
    """`constraint` as a check; `names` is the spec's Python namespace.

    With `early`, quantifiers bind nodes that are still open, as far as that is safe (`can_bind_open_nodes`). With
    `every`, open nodes are selected as if they were complete, safe or not.
    """
    compiler = FormulaCompiler(analysis, names, early=early, every=every)
    return Check(constraint, compiler.formula(constraint.formula, ()))


class CompiledObjective:
    """An objective as a function of trees. One that cannot be computed for a tree is worth nothing there."""

    def __init__(self, objective: Objective, analysis: Analysis, names: dict[str, Any]) -> None:
        self.objective = objective
        self._leaf = FormulaCompiler(analysis, names).leaf(objective.expression, ())
        self._sign = 1.0 if objective.maximize else -1.0
        self._was_computed = False
        self._error: BaseException | None = None

    def score(self, tree: Tree) -> float:
        """The mean value over all nodes that the objective selects; more is better."""
        try:
            values = [float(self._leaf.function(*each)) for each in self._leaf.combinations(tree, {})]
        except SPEC_CODE_RAISES as error:  # an objective never rejects
            self._error = error
            return float("-inf")
        self._was_computed = True
        score = self._sign * sum(values) / len(values) if values else 0.0
        return float("-inf") if isnan(score) else score

    @property
    def crash(self) -> Diagnostic | None:
        """The error that the objective raised, if it did so for every tree."""
        if self._error is None or self._was_computed:
            return None
        return crash_diagnostic(
            f"the objective {self.objective.expression.text}", self.objective.expression, self._error
        )


class FormulaCompiler:
    """Compiles parts of constraints; `variables` are the Python names bound around them. The flags as in a check."""

    def __init__(self, analysis: Analysis, names: dict[str, Any], *, early: bool = False, every: bool = False) -> None:
        self._analysis = analysis
        self._names = names
        self._early = early
        self._every = every

    def formula(self, formula: Formula, variables: tuple[str, ...]) -> Evaluate:
        match formula:
            case PythonCondition(expression):
                return self.leaf(expression, variables).evaluate
            case And(parts):
                return _combined(True, [self.formula(part, variables) for part in parts])
            case Or(parts):
                return _combined(False, [self.formula(part, variables) for part in parts])
            case Not(part):
                return _negated(self.formula(part, variables), first_expression(part))
            case Quantified(every, variable, path, body):
                if not variable.startswith("<"):
                    variables = (*variables, variable)
                open_too = self._early and can_bind_open_nodes(formula)
                select = self._path(path, open_too=open_too, early=self._early)
                inner = self.formula(body, variables)
                return _quantified(every, variable, select, inner, first_expression(body))
            case _:
                assert_never(formula)

    def leaf(self, expression: Expression, variables: tuple[str, ...]) -> CompiledLeaf:
        # The number of nodes in one that is still open is unknown, so lists do not look there.
        selects = tuple(
            self._path(mention.path, early=self._early and mention.kind == "each") for mention in expression.mentions
        )
        function = compile_expression(expression, self._names, variables)
        is_simple = not variables and all(mention.kind == "each" for mention in expression.mentions)
        return CompiledLeaf(expression, selects, function, variables, is_simple)

    def _path(self, path: Selector, *, open_too: bool = False, early: bool = False) -> Select:
        return compile_path(path, self._analysis, self._names, open_too=open_too, early=early, every=self._every)


def values_of(mention: Mention, trees: list[Tree]) -> Sequence[Value]:
    """The values that a mention takes in turn, given the nodes that it selects."""
    match mention.kind:
        case "each":
            return trees
        case "list":
            return [trees]
        case "count":
            return [len(trees)]
        case _:
            assert_never(mention.kind)


@dataclass(frozen=True, slots=True)
class CompiledLeaf:
    """A compiled condition, to be evaluated for every combination of the nodes that its mentions select."""

    expression: Expression
    selects: tuple[Select, ...]
    function: SpecFunction
    variables: tuple[str, ...]
    is_simple: bool  # it is about single nodes, and nothing else

    def combinations(self, root: Tree, bound: Bindings) -> Iterable[tuple[Value, ...]]:
        """Every combination of values of the mentions, followed by the Python variables in scope."""
        found = [select(root, bound) for select in self.selects]
        if self.is_simple:
            return product(*found)
        mentions = zip(self.expression.mentions, found, strict=True)
        options = (values_of(mention, trees) for mention, trees in mentions)
        return product(*options, *([bound[name]] for name in self.variables))

    def evaluate(self, root: Tree, bound: Bindings) -> Failure | None:
        values: tuple[Value, ...] = ()
        try:
            for values in self.combinations(root, bound):
                if not self.function(*values):
                    return self._failure(values, bound, None)
        except SPEC_CODE_RAISES as error:  # foreign code: whatever it raises is a failure, never a pass
            return self._failure(values, bound, error)
        return None

    def _failure(self, values: tuple[Value, ...], bound: Bindings, error: BaseException | None) -> Failure:
        seen = tuple(zip(self.expression.mentions, values, strict=False))
        return Failure(self.expression, seen, dict(bound), error)


def _combined(every: bool, parts: list[Evaluate]) -> Evaluate:
    """`and` if every part must hold, else `or`; the first failure of an `and` counts, and the last of an `or`."""

    def evaluate(root: Tree, bound: Bindings) -> Failure | None:
        failure = None
        for part in parts:
            failure = part(root, bound)
            if (failure is None) is not every:
                break
        return failure

    return evaluate


def _negated(part: Evaluate, expression: Expression) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings) -> Failure | None:
        failure = part(root, bound)
        if failure is None:
            return Failure(expression, bound=dict(bound))
        return failure if failure.error is not None else None

    return evaluate


def _quantified(every: bool, variable: str, select: Select, body: Evaluate, expression: Expression) -> Evaluate:
    def evaluate(root: Tree, bound: Bindings) -> Failure | None:
        try:
            found = select(root, bound)
        except SPEC_CODE_RAISES as error:  # a computed index in the path
            return Failure(expression, bound=dict(bound), error=error)
        failure = None if every else Failure(expression, bound=dict(bound))
        for tree in found:
            failure = body(root, {**bound, variable: tree})
            if (failure is None) is not every:
                break
        return failure

    return evaluate


def can_bind_open_nodes(formula: Quantified) -> bool:
    """True if a quantifier can be evaluated for a node that is still open.

    It can if it only compares parts of the node with each other: a part that is complete does not change. It cannot if
    it looks at the node as a whole, counts parts, or requires one to exist.
    """
    if not formula.every or not formula.variable.startswith("<"):
        return False
    todo: list[Formula] = [formula.body]
    while todo:
        match todo.pop():
            case PythonCondition(expression):
                if any(
                    each.kind != "each" or not _goes_on(each.path, formula.variable) for each in expression.mentions
                ):
                    return False
            case And(parts) | Or(parts):
                todo.extend(parts)
            case Quantified(True, inner, path, body) if inner[0] == "<" and _goes_on(path, formula.variable):
                todo.append(body)
            case Quantified() | Not():
                return False
            case _ as other:
                assert_never(other)
    return True


def _goes_on(path: Selector, variable: str) -> bool:
    return path.base != variable or (bool(path.steps) and not isinstance(path.steps[0], Index))


def _text_of(leaf: Expression, mention: Mention) -> str:
    """A mention as it stands in the spec, with its own symbols where that is a template."""
    span = mention.path.span
    symbols = iter((mention.path.base, *step_symbols(mention.path)))
    return _SYMBOL.sub(lambda found: next(symbols, found.group()), leaf.source.text[span.start : span.end])


def _brief_tree(tree: Tree) -> str:
    try:
        return repr(value_of(tree.node))
    except ConversionError:  # bits and text that have no common type
        return f"the bits {tree.to_bits()}"


def _brief(value: Value) -> str:
    if isinstance(value, Tree):
        text = _brief_tree(value)
    elif isinstance(value, list):
        text = f"[{', '.join(map(_brief, value[:5]))}{', …' if len(value) > 5 else ''}]"
    else:
        text = repr(value)
    return _shortened(text)


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_VALUE else f"{text[: MAX_SHOWN_VALUE - 1]}…"


def _both_ends(text: str) -> str:
    """A text without its middle, if it is long: what is wrong with a state often stands at its end."""
    half = (MAX_SHOWN_VALUE - 1) // 2
    return text if len(text) <= MAX_SHOWN_VALUE else f"{text[:half]}…{text[-half:]}"


def _line(state: object) -> str:
    """The state of a fold in one line, as its code shows it."""
    return " ".join(repr(state).splitlines())
