"""Equations between a field and the length, or the number, of what comes behind it, found in the constraints of a spec.

`forall <r> in <rec>: int(<r>.<len>) == len(bytes(<r>.<data>)) + 2` says how long each `<data>` is as soon as the
`<len>` before it has been read. One side *measures*: lengths or counts, multiplied and added up, or an encoding of
that. The other is any Python over a few fields: it is not analysed, only called. Small functions of the spec are looked
into, so the equation may be inside of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from palaver.compiled.compiled_limits import MAX_LENGTH_FIELDS
from palaver.compiled.encoded_lengths import decoded
from palaver.compiled.inlined_helpers import with_helpers_inlined
from palaver.compiled.part_paths import PartMentions, by_children
from palaver.constraints.code_uses import sees_surroundings
from palaver.grammar.analysis import Analysis
from palaver.solving.clauses import Clause, clauses_of
from palaver.spec.ast import Child, Constraint, Descendant, Expression, Index, Mention, Selector

CHILDREN = "children"


@dataclass(frozen=True, slots=True)
class Measured:
    """A path whose length or number of nodes is measured."""

    path: Selector
    is_count: bool
    reads_as: str = ""  # "bytes" or "str", of a length; "children" if it is the number of a node's children


@dataclass(frozen=True, slots=True)
class LengthEquation:
    """`value(fields) == times * (sum of the measured) + plus`.

    If both sides are about the same node of a quantifier, `holder` is its symbol, and paths begin there; otherwise
    all fields belong to every measured node, and `holder` is None.
    """

    holder: str | None
    fields: tuple[Selector, ...]
    value: Expression
    measured: tuple[Measured, ...]
    times: int
    plus: int


def length_equations(
    constraints: Sequence[Constraint],
    analysis: Analysis,
    names: dict[str, Any],
    functions: Mapping[str, ast.FunctionDef],
) -> Iterator[LengthEquation]:
    """The equations that must hold in every tree, in the order of the spec; `functions` are those that it defines."""
    for constraint in constraints:
        for clause in clauses_of(constraint, analysis, names):
            if clause.expression is not None:
                yield from _Condition(clause, clause.expression, functions).equations()


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
        todo = [self._python]
        while todo:
            match todo.pop(0):
                case ast.BoolOp(ast.And(), parts):
                    todo += parts
                case ast.Compare(left, [ast.Eq()], [right]):
                    yield from self._of_sides(left, right)
                    yield from self._of_sides(right, left)

    def _of_sides(self, measuring: ast.expr, value: ast.expr) -> Iterator[LengthEquation]:
        clause, mentions = self._clause, self._mentions
        if not clause.names.keys() & {"int", "str", "bytes", "format"}:
            measuring, value = decoded(measuring, value)
        sum_ = _Linear.of(measuring, mentions, clause.names)
        fields = [mention for name, mention in mentions.items() if name in _names_in(value)]
        if sum_ is None or not 0 < len(fields) <= MAX_LENGTH_FIELDS:
            return
        if all(each.kind == "each" and _is_plain(each.path) for each in fields):
            yield from _equation(clause, self._expression, sum_, fields, value)


def _equation(
    clause: Clause, expression: Expression, sum_: _Linear, of_fields: Sequence[Mention], value: ast.expr
) -> Iterator[LengthEquation]:
    bases = {each.path.base for each in of_fields} | {each.path.base for each in sum_.measured}
    bound = {each.variable: each for each in clause.quantifiers}
    if len(bases) == 1 and (quantifier := bound.get(of_fields[0].path.base)) is not None:
        if not clause.is_everywhere(quantifier.path):
            return
        (holder,) = clause.symbols_of(quantifier.path)
        fields = tuple(Selector(holder, each.path.steps) for each in of_fields)
        measured = tuple(Measured(Selector(holder, each.path.steps), *each[1:]) for each in sum_.measured)
    elif bases.isdisjoint(bound) and not bound:
        holder, fields = None, tuple(each.path for each in of_fields)
        measured = tuple(Measured(*each) for each in sum_.measured)
    else:
        return
    mentions = tuple(Mention(each.name, path) for each, path in zip(of_fields, fields, strict=True))
    # A text of its own: compiled expressions are found again by their text.
    value = ast.fix_missing_locations(value)
    known = Expression(f"{ast.unparse(value)} as a length", mentions, value, expression.source, expression.span)
    if not sees_surroundings(known, clause.names):
        yield LengthEquation(holder, fields, known, measured, sum_.times, sum_.plus)


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
    """`times * (sum of the measured) + plus`."""

    measured: tuple[_MeasuredPath, ...]
    times: int
    plus: int

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
            case ast.Name(name) if name in mentions and mentions[name].kind == "count":
                return _Linear((_MeasuredPath(mentions[name].path, True, ""),), 1, 0)
            case ast.Call(ast.Name("len"), [ast.Name(name)], []) if name in mentions and "len" not in names:
                mention = mentions[name]
                reads_as = CHILDREN if mention.kind == "each" else ""
                return _Linear((_MeasuredPath(mention.path, True, reads_as),), 1, 0)
            case ast.Call(ast.Name("len"), [ast.Call(ast.Name("bytes" | "str" as kind), [ast.Name(name)], [])], []):
                if names.keys() & {"len", kind} or name not in mentions or mentions[name].kind != "each":
                    return None
                return _Linear((_MeasuredPath(mentions[name].path, False, kind),), 1, 0)
        return None

    def _with(self, operator: ast.operator, other: _Linear) -> _Linear | None:
        if isinstance(operator, ast.Mult):
            one, factor = (self, other) if self.measured else (other, self)
            return None if factor.measured else _Linear(one.measured, one.times * factor.plus, one.plus * factor.plus)
        if isinstance(operator, ast.Sub):
            return None if other.measured else _Linear(self.measured, self.times, self.plus - other.plus)
        if self.measured and other.measured and self.times != other.times:
            return None
        times = self.times if self.measured else other.times
        return _Linear(self.measured + other.measured, times, self.plus + other.plus)
