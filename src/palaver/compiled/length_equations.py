"""Equations between a field and the length, or the number, of what comes behind it, found in the constraints of a spec.

`forall <r> in <rec>: int(<r>.<len>) == len(bytes(<r>.<data>)) + 2` says how long each `<data>` is as soon as the
`<len>` before it has been read. One side *measures*: lengths or counts, multiplied and added up, or an encoding of
that. The other is any Python over a few fields: it is not analysed, only called. Small functions of the spec are looked
into, so the equation may be inside of them. Of alternatives (`or`, `->`, `if`), an equation holds if none of the others
does: these are conditions on fields, which are called as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from palaver.compiled.alternative_conditions import as_one_condition, in_turn, possible_conditions, under
from palaver.compiled.compiled_limits import MAX_LENGTH_FIELDS, MAX_LENGTH_SHIFT
from palaver.compiled.encoded_lengths import decoded
from palaver.compiled.inlined_helpers import with_helpers_inlined
from palaver.compiled.part_paths import PartMentions, by_children
from palaver.constraints.code_uses import sees_surroundings
from palaver.grammar.analysis import Analysis
from palaver.lean_dataclasses import dataclass, replace
from palaver.solving.clauses import Clause, clauses_of
from palaver.spec.ast import Child, Constraint, Descendant, Expression, Index, Mention, Quantified, Selector

CHILDREN = "children"
ENCODED = "encoded"
_UTF_8 = ("utf-8", "utf8", "UTF-8", "UTF8", "utf_8")


@dataclass(frozen=True, slots=True)
class Measured:
    """A path whose length or number of nodes is measured."""

    path: Selector
    is_count: bool
    # "bytes", "str" or "encoded" (text as UTF-8), of a length; "children" if it is the number of a node's children.
    reads_as: str = ""


@dataclass(frozen=True, slots=True)
class LengthEquation:
    """`value(fields) == (times * (sum of the measured) + plus) // rounding`, or the value is None.

    If both sides are about the same node of a quantifier, `holder` is its symbol, and paths begin there; otherwise
    all fields belong to every measured node, and `holder` is None.
    """

    holder: str | None
    fields: tuple[Selector, ...]
    value: Expression
    measured: tuple[Measured, ...]
    times: int
    plus: int
    rounding: int = 1
    is_conditional: bool = False


def length_equations(
    constraints: Sequence[Constraint],
    analysis: Analysis,
    names: dict[str, Any],
    functions: Mapping[str, ast.FunctionDef],
) -> Iterator[LengthEquation]:
    """The equations that must hold in every tree, in the order of the spec; `functions` are those that it defines."""
    found = [
        equation
        for constraint in constraints
        for clause in map(_with_exists, clauses_of(constraint, analysis, names))
        if (condition := as_one_condition(clause.body)) is not None
        for equation in _Condition(clause, condition, functions).equations()
    ]
    yield from (equation for equation in found if not equation.is_conditional)
    conditional = [equation for equation in found if equation.is_conditional]
    yield from _merged(conditional)
    yield from conditional


def _with_exists(clause: Clause) -> Clause:
    """A clause with `exists` among its quantifiers: where there is one such node, it says something about all."""
    while isinstance(clause.body, Quantified):
        clause = replace(clause, quantifiers=(*clause.quantifiers, clause.body), body=clause.body.body)
    return clause


def _merged(equations: Sequence[LengthEquation]) -> Iterator[LengthEquation]:
    """Equations that are about the same thing under several conditions, as one."""
    alike: dict[tuple[object, ...], list[LengthEquation]] = {}
    for each in equations:
        alike.setdefault((each.holder, each.measured, each.times, each.plus, each.rounding), []).append(each)
    for first, *others in alike.values():
        fields = {path: None for each in (first, *others) for path in each.fields}
        if others and len(fields) <= MAX_LENGTH_FIELDS:
            value = in_turn([each.value for each in (first, *others)])
            paths = tuple(mention.path for mention in value.mentions)
            yield replace(first, fields=paths, value=value)


class _Condition:
    """A condition in the form in which equations are looked for."""

    def __init__(self, clause: Clause, expression: Expression, functions: Mapping[str, ast.FunctionDef]) -> None:
        self._clause = clause
        self._expression = expression
        variables = [Mention(name, Selector(name)) for name in clause.variables]
        mentions = {each.name: self._mention_by_children(each) for each in (*variables, *expression.mentions)}
        symbols = {
            name: next(iter(found))
            for name, mention in mentions.items()
            if mention.kind == "each" and len(found := clause.symbols_of(mention.path)) == 1
        }
        parts = PartMentions(mentions, symbols, clause.analysis.grammar.bodies)
        self._python = parts.visit(with_helpers_inlined(expression.python, functions, clause.names))
        self._mentions = parts.mentions

    def _mention_by_children(self, mention: Mention) -> Mention:
        holders = self._clause.symbols_of(Selector(mention.path.base))
        if len(holders) != 1:
            return mention
        return replace(mention, path=by_children(mention.path, next(iter(holders)), self._clause.analysis))

    def equations(self) -> Iterator[LengthEquation]:
        for python, premises in possible_conditions(self._python, self._is_measuring):
            match python:
                case ast.Compare(left, [ast.Eq()], [right]):
                    yield from self._of_sides(left, right, premises)
                    yield from self._of_sides(right, left, premises)

    def _is_measuring(self, python: ast.expr) -> bool:
        """Return True for an equation with a length or a number."""
        match python:
            case ast.Compare(left, [ast.Eq()], [right]):
                return any(_Linear.of(side, self._mentions, self._clause.names) for side in (left, right))
        return False

    def _of_sides(self, measuring: ast.expr, value: ast.expr, premises: Sequence[ast.expr]) -> Iterator[LengthEquation]:
        clause, mentions = self._clause, self._mentions
        if not clause.names.keys() & {"int", "str", "bytes", "format"}:
            measuring, value = decoded(measuring, value, clause.names)
        sum_ = _Linear.of(measuring, mentions, clause.names)
        value = under(premises, value)
        fields = [mention for name, mention in mentions.items() if name in _names_in(value)]
        if sum_ is None or not 0 < len(fields) <= MAX_LENGTH_FIELDS:
            return
        if all(each.kind == "each" and _is_plain(each.path) for each in fields):
            for equation in _equation(clause, self._expression, sum_, fields, value):
                yield replace(equation, is_conditional=bool(premises))


def _equation(
    clause: Clause, expression: Expression, sum_: _Linear, of_fields: Sequence[Mention], value: ast.expr
) -> Iterator[LengthEquation]:
    bound = {each.variable: each for each in clause.quantifiers}
    paths = [*(each.path for each in of_fields), *(each.path for each in sum_.measured)]
    binders = {name for each in sum_.measured for name in clause.binders_of(each.path)}
    used = binders.union(*(clause.binders_of(path) for path in paths))
    # Over no nodes `forall` says nothing, and `exists` says nothing of most nodes.
    if any(each.variable not in used if each.every else each.variable in binders for each in clause.quantifiers):
        return
    # A variable of an inner quantifier stands for its path, unless all is about the same node of it.
    while (inner := _innermost(clause, paths)) is not None and (
        not inner.every or len({path.base for path in paths}) > 1
    ):
        paths = [
            Selector(inner.path.base, (*inner.path.steps, *path.steps)) if path.base == inner.variable else path
            for path in paths
        ]
    bases = {path.base for path in paths}
    fields, measured_paths = tuple(paths[: len(of_fields)]), paths[len(of_fields) :]
    if len(bases) == 1 and (quantifier := bound.get(fields[0].base)) is not None:
        if not clause.is_everywhere(quantifier.path):
            return
        (holder,) = clause.symbols_of(quantifier.path)
        fields = tuple(Selector(holder, path.steps) for path in fields)
        measured_paths = [Selector(holder, path.steps) for path in measured_paths]
    elif bases.isdisjoint(bound) and not bound:
        holder = None
    else:
        return
    measured = tuple(Measured(path, *each[1:]) for path, each in zip(measured_paths, sum_.measured, strict=True))
    mentions = tuple(Mention(each.name, path) for each, path in zip(of_fields, fields, strict=True))
    # A text of its own: compiled expressions are found again by their text.
    value = ast.fix_missing_locations(value)
    known = Expression(f"{ast.unparse(value)} as a length", mentions, value, expression.source, expression.span)
    if not sees_surroundings(known, clause.names):
        yield LengthEquation(holder, fields, known, measured, sum_.times, sum_.plus, sum_.rounding)


def _innermost(clause: Clause, paths: Sequence[Selector]) -> Quantified | None:
    """The innermost quantifier that binds the beginning of a path to another node; None if there is none."""
    used = {path.base for path in paths}
    symbols = {each.variable for each in clause.quantifiers}
    inner = next((each for each in reversed(clause.quantifiers) if each.variable in used), None)
    return None if inner is None or inner.path.base not in symbols else inner


def _names_in(python: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(python) if isinstance(node, ast.Name)}


def _is_plain(path: Selector) -> bool:
    """Return True if a path has no index but at its end; there, one of a few children or bytes is meant."""
    steps = list(path.steps)
    while steps and isinstance(steps[-1], Index) and not isinstance(steps[-1].value, Expression):
        steps.pop()
    return all(isinstance(step, Child | Descendant) for step in steps)


class _MeasuredPath(NamedTuple):
    path: Selector
    is_count: bool
    reads_as: str


class _Linear(NamedTuple):
    """`(times * (sum of the measured) + plus) // rounding`."""

    measured: tuple[_MeasuredPath, ...]
    times: int
    plus: int
    rounding: int = 1

    @staticmethod
    def of(python: ast.expr, mentions: Mapping[str, Mention], names: Mapping[str, Any]) -> _Linear | None:
        """A side as such a sum; None if it is none, or measures nothing."""
        found = _Linear._of(python, mentions, names)
        return found if found is not None and found.measured and found.times > 0 else None

    @staticmethod
    def _of(python: ast.expr, mentions: Mapping[str, Mention], names: Mapping[str, Any]) -> _Linear | None:
        match python:
            case ast.Constant(int(number)) if not isinstance(number, bool):
                return _Linear((), 1, number)
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as operator, right):
                one, other = _Linear._of(left, mentions, names), _Linear._of(right, mentions, names)
                return None if one is None or other is None else one._with(operator, other)
            case ast.BinOp(left, ast.FloorDiv(), ast.Constant(int(divisor))) if divisor > 0:
                inner = _Linear._of(left, mentions, names)
                return None if inner is None else inner._rounded(divisor)
            case ast.BinOp(left, ast.RShift(), ast.Constant(int(bits))) if 0 <= bits <= MAX_LENGTH_SHIFT:
                inner = _Linear._of(left, mentions, names)
                return None if inner is None else inner._rounded(1 << bits)
            case ast.Name(name) if name in mentions and mentions[name].kind == "count":
                return _Linear((_MeasuredPath(mentions[name].path, True, ""),), 1, 0)
            case ast.Call(ast.Name("len"), [measured], []) if "len" not in names:
                return _Linear._length(measured, mentions, names)
        return None

    @staticmethod
    def _length(python: ast.expr, mentions: Mapping[str, Mention], names: Mapping[str, Any]) -> _Linear | None:
        """The length of an expression; None if it is not that of a node."""
        match python:
            case ast.Name(name) if name in mentions:
                reads_as = CHILDREN if mentions[name].kind == "each" else ""
                return _Linear((_MeasuredPath(mentions[name].path, True, reads_as),), 1, 0)
            case ast.Call(ast.Name("bytes" | "str" as kind), [ast.Name(name)], []):
                reads_as = kind
            case ast.Call(ast.Attribute(ast.Call(ast.Name("str" as kind), [ast.Name(name)], []), "encode"), words, []):
                is_utf8 = all(isinstance(word, ast.Constant) and word.value in _UTF_8 for word in words)
                reads_as = ENCODED if is_utf8 and len(words) <= 1 else ""
            case _:
                return None
        if not reads_as or kind in names or name not in mentions or mentions[name].kind != "each":
            return None
        return _Linear((_MeasuredPath(mentions[name].path, False, reads_as),), 1, 0)

    def _rounded(self, divisor: int) -> _Linear | None:
        return self._replace(rounding=self.rounding * divisor) if self.measured else None

    def _with(self, operator: ast.operator, other: _Linear) -> _Linear | None:
        if isinstance(operator, ast.Mult):
            one, factor = (self, other) if self.measured else (other, self)
            if factor.measured or one.rounding != 1:
                return None
            return _Linear(one.measured, one.times * factor.plus, one.plus * factor.plus)
        if isinstance(operator, ast.Sub):
            return None if other.measured else self._replace(plus=self.plus - other.plus * self.rounding)
        if not self.measured or not other.measured:
            # What is added behind the rounding is added so many times before it.
            one, added = (self, other.plus) if self.measured else (other, self.plus)
            return one._replace(plus=one.plus + added * one.rounding)
        if self.times != other.times or self.rounding != 1 or other.rounding != 1:
            return None
        return _Linear(self.measured + other.measured, self.times, self.plus + other.plus)
