"""Copies of rules and constraints with other symbols in the place of some; they stand where the first ones do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, assert_never

from palaver.lean_dataclasses import replace
from palaver.spec.ast import (
    And,
    Bound,
    Child,
    Constraint,
    Descendant,
    Expression,
    Formula,
    Index,
    Not,
    Or,
    PythonCondition,
    Quantified,
    Ref,
    Rule,
    Selector,
    SelectorStep,
)
from palaver.spec.lexer import Token, bare_symbol, python_tokens
from palaver.spec.traversal import map_bounds, map_refs

Names: TypeAlias = Mapping[str, str]  # from symbols to symbols, with brackets


def renamed_rule(rule: Rule, names: Names) -> Rule:
    """The rule with other symbols, on both of its sides."""

    def bound(each: Bound) -> Bound:
        return _expression(each, names) if isinstance(each, Expression) else each

    def ref(each: Ref) -> Ref:
        return replace(each, symbol=names.get(each.symbol, each.symbol))

    generator = None if rule.generator is None else _expression(rule.generator, names)
    body = map_refs(map_bounds(rule.body, bound), ref)
    return replace(rule, symbol=names.get(rule.symbol, rule.symbol), body=body, generator=generator)


def renamed_constraint(constraint: Constraint, names: Names) -> Constraint:
    """The constraint about other symbols."""
    text = _text(constraint.text, names)
    return replace(constraint, text=text, formula=_formula(constraint.formula, names))


def _formula(formula: Formula, names: Names) -> Formula:
    match formula:
        case And(parts):
            return And(tuple(_formula(part, names) for part in parts))
        case Or(parts):
            return Or(tuple(_formula(part, names) for part in parts))
        case Not(part):
            return Not(_formula(part, names))
        case Quantified(every, variable, path, body):
            return Quantified(every, names.get(variable, variable), _selector(path, names), _formula(body, names))
        case PythonCondition(expression):
            return PythonCondition(_expression(expression, names))
        case _:
            assert_never(formula)


def _expression(expression: Expression, names: Names) -> Expression:
    mentions = tuple(replace(each, path=_selector(each.path, names)) for each in expression.mentions)
    return replace(expression, text=_text(expression.text, names), mentions=mentions)


def _selector(path: Selector, names: Names) -> Selector:
    return replace(path, base=names.get(path.base, path.base), steps=tuple(_step(step, names) for step in path.steps))


def _step(step: SelectorStep, names: Names) -> SelectorStep:
    match step:
        case Child(symbol) | Descendant(symbol):
            return replace(step, symbol=names.get(symbol, symbol))
        case Index():
            return step
        case _:
            assert_never(step)


def _text(text: str, names: Names) -> str:
    """Python with selectors, with other symbols in these; what stands in strings stays."""
    pieces: list[str] = []
    done = 0
    for token in _symbols(_tokens(text)):
        if new := names.get(bare_symbol(token, text)):
            pieces += [text[done : token.start], new]
            done = token.end
    return "".join([*pieces, text[done:]])


def _tokens(text: str) -> Iterator[Token]:
    """The tokens of all lines."""
    at = 0
    while at < len(text):
        tokens, end = python_tokens(text, at)
        yield from tokens
        at = max(end, at) + 1


def _symbols(tokens: Iterable[Token]) -> Iterator[Token]:
    """The symbols among tokens, those in f-strings included."""
    for token in tokens:
        if token.kind == "symbol":
            yield token
        yield from _symbols(token.inner)
