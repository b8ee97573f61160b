"""Conditions with alternatives, for looking at each: `A or B` says B if A does not hold, and `A -> B` is `not A or B`.

The parts of an `or` are conditions with mentions of their own. They are put together to one, as if each mention
selected one node; whoever reads an equation there has to see to that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import assert_never

from palaver.compiled.compiled_limits import MAX_ALTERNATIVES
from palaver.lean_dataclasses import replace
from palaver.spec.ast import And, Expression, Formula, Mention, Not, Or, PythonCondition, Quantified


def as_one_condition(formula: Formula) -> Expression | None:
    """A formula as one condition; None if quantifiers are in it."""
    leaves = list(_leaves(formula))
    first = next((leaf for leaf in leaves if leaf is not None), None)
    if first is None or None in leaves or len(leaves) > MAX_ALTERNATIVES:
        return None
    if isinstance(formula, PythonCondition):
        return formula.expression
    mentions: list[Mention] = []
    python = _joined(formula, mentions)
    return replace(first, text=f"{first.text} among others", mentions=tuple(mentions), python=python)


def _leaves(formula: Formula) -> Iterator[Expression | None]:
    match formula:
        case PythonCondition(expression):
            yield expression
        case And(parts) | Or(parts):
            for part in parts:
                yield from _leaves(part)
        case Not() | Quantified():
            yield None
        case _:
            assert_never(formula)


def _joined(formula: Formula, mentions: list[Mention]) -> ast.expr:
    match formula:
        case PythonCondition(expression):
            return _with_own_names(expression, mentions)
        case And(parts) | Or(parts):
            operator = ast.And() if isinstance(formula, And) else ast.Or()
            return ast.BoolOp(operator, [_joined(part, mentions) for part in parts])
        case Not() | Quantified():
            raise AssertionError("the caller has looked at the leaves")
        case _:
            assert_never(formula)


def _with_own_names(expression: Expression, mentions: list[Mention]) -> ast.expr:
    """The Python of an expression with names for its mentions that no other has; these are added to `mentions`."""
    names = {mention.name: f"{mention.name}_{len(mentions) + at}" for at, mention in enumerate(expression.mentions)}
    mentions += [replace(mention, name=names[mention.name]) for mention in expression.mentions]
    renamed: ast.expr = _Renaming(names).visit(deepcopy(expression.python))
    return renamed


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, name: ast.Name) -> ast.Name:
        return ast.Name(self._names[name.id], name.ctx) if name.id in self._names else name


def possible_conditions(
    python: ast.expr, is_unknown: Callable[[ast.expr], bool]
) -> Iterator[tuple[ast.expr, tuple[ast.expr, ...]]]:
    """The conditions that a condition consists of, each with premises under which it must hold.

    If parts of an alternative are unknown while input is read, the premise is that its other parts do not hold.
    """
    todo: list[tuple[ast.expr, tuple[ast.expr, ...]]] = [(python, ())]
    while todo:
        part, premises = todo.pop(0)
        match part:
            case ast.BoolOp(ast.And(), parts):
                todo += [(each, premises) for each in parts]
            case ast.BoolOp(ast.Or(), parts) if len(parts) <= MAX_ALTERNATIVES:
                for at, each in enumerate(parts):
                    others = [_known_part(other, is_unknown) for place, other in enumerate(parts) if place != at]
                    known = [_negated(other) for other in others if other is not None]
                    if len(known) == len(others):
                        todo.append((each, (*premises, *known)))
            case ast.IfExp(test, body, otherwise):
                todo += [(body, (*premises, test)), (otherwise, (*premises, _negated(test)))]
            case _:
                yield part, premises


def _known_part(python: ast.expr, is_unknown: Callable[[ast.expr], bool]) -> ast.expr | None:
    """A part of a condition that must hold with it, and is known; None if there is none."""
    parts = python.values if isinstance(python, ast.BoolOp) and isinstance(python.op, ast.And) else [python]
    known = [part for part in parts if not is_unknown(part)]
    if not known:
        return None
    return known[0] if len(known) == 1 else ast.BoolOp(ast.And(), known)


def _negated(python: ast.expr) -> ast.expr:
    match python:
        case ast.UnaryOp(ast.Not(), inner):
            return inner
    return ast.UnaryOp(ast.Not(), python)


def under(premises: Sequence[ast.expr], value: ast.expr) -> ast.expr:
    """A value, or None if one of the premises does not hold."""
    if not premises:
        return value
    test = premises[0] if len(premises) == 1 else ast.BoolOp(ast.And(), list(premises))
    return ast.IfExp(test, value, ast.Constant(None))


def in_turn(values: Sequence[Expression]) -> Expression:
    """The first of several values of `under` whose premises hold; one mention for each path."""
    mentions: list[Mention] = []
    found: ast.expr = ast.Constant(None)
    for value in reversed(values):
        python = _with_own_names(value, mentions)
        assert isinstance(python, ast.IfExp), "it has premises"
        found = ast.IfExp(python.test, python.body, found)
    first = {mention.path: mention for mention in reversed(mentions)}
    python = _Renaming({mention.name: first[mention.path].name for mention in mentions}).visit(found)
    text = " or else ".join(value.text for value in values)
    return replace(values[0], text=text, mentions=tuple(first.values()), python=ast.fix_missing_locations(python))
