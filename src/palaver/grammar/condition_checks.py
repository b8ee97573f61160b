"""Static checks of constraints and other Python expressions with selectors."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from itertools import combinations, count
from typing import assert_never

from palaver.grammar.analysis import Analysis
from palaver.source import Source
from palaver.spec.ast import (
    And,
    Child,
    Constraint,
    Descendant,
    Expression,
    Formula,
    Index,
    Literal,
    Mention,
    Not,
    Or,
    Pattern,
    PythonCondition,
    Quantified,
    Selector,
)
from palaver.spec.diagnostics import Reporter
from palaver.spec.traversal import expressions_of, first_expression, last_symbol


def check_constraint(constraint: Constraint, analysis: Analysis, report: Reporter) -> None:
    """Report every error and warning about a constraint."""
    _check_formula(constraint.formula, {}, analysis, report)
    reported: set[str] = set()
    for expression, mention, also in _repeated_mentions(constraint.formula, frozenset()):
        symbol = last_symbol(mention.path)
        if symbol in reported or not analysis.may_repeat(symbol):
            continue
        reported.add(symbol)
        report.warning(
            expression.source,
            mention.path.span,
            f"{symbol} occurs twice in this condition, and each occurrence stands for every {symbol} independently"
            + ("" if also is expression else ": either all of them satisfy one side, or all of them the other"),
            f"for one {symbol} at a time, bind it: {_bound_form(constraint, mention.path, analysis)}",
        )


def _bound_form(constraint: Constraint, path: Selector, analysis: Analysis) -> str:
    """The constraint with one variable for all mentions of `path`."""
    text = constraint.source.text
    variable = next(name for name in _variables() if name not in analysis.grammar.rules and name not in text)
    parts, end = [], constraint.span.start
    for mention in (each for expression in expressions_of(constraint.formula) for each in expression.mentions):
        if mention.path == path and mention.kind == "each":
            parts += [text[end : mention.path.span.start], variable]
            end = mention.path.span.end
    condition = "".join([*parts, text[end : constraint.span.end]]).removeprefix("where").strip()
    over = text[path.span.start : path.span.end]
    return f"where forall {variable} in {over}: {' '.join(condition.split())}"


def _variables() -> Iterator[str]:
    yield from ("<x>", "<y>", "<z>")
    yield from (f"<x{number}>" for number in count(1))


def _check_formula(formula: Formula, bound: dict[str, frozenset[str]], analysis: Analysis, report: Reporter) -> None:
    match formula:
        case PythonCondition(expression):
            check_expression(expression, bound, analysis, report)
        case And(parts) | Or(parts):
            for part in parts:
                _check_formula(part, bound, analysis, report)
        case Not(part):
            _check_formula(part, bound, analysis, report)
        case Quantified(_, variable, path, body):
            source = first_expression(body).source
            symbols = _check_path(path, source, bound, analysis, report)
            _check_formula(body, {**bound, variable: symbols}, analysis, report)
        case _:
            assert_never(formula)


def check_expression(
    expression: Expression, bound: dict[str, frozenset[str]], analysis: Analysis, report: Reporter
) -> None:
    """Report errors and warnings about Python with selectors. `bound`: the symbols that bound names can stand for."""
    for mention in expression.mentions:
        _check_path(mention.path, expression.source, bound, analysis, report)
        _check_index(expression, mention, analysis, report)
    _check_together(expression, bound, analysis, report)
    mentions = {mention.name: mention for mention in expression.mentions}
    for node in ast.walk(expression.python):
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in mentions:
                _check_length(expression, mentions[name], analysis, report)


def _check_length(expression: Expression, mention: Mention, analysis: Analysis, report: Reporter) -> None:
    symbol = last_symbol(mention.path)
    if mention.kind == "each" and _is_one_leaf(symbol, analysis):
        text = expression.source.text[mention.path.span.start : mention.path.span.end]
        message = f"len({text}) counts children, and {symbol} always has exactly one"
        hint = f"for the number of characters, write len(str({text}))"
        report.warning(expression.source, mention.path.span, message, hint)


def _check_index(expression: Expression, mention: Mention, analysis: Analysis, report: Reporter) -> None:
    symbol = last_symbol(mention.path)
    if mention.path.steps and isinstance(mention.path.steps[-1], Index) and _is_one_leaf(symbol, analysis):
        message = f"an index selects a child, and {symbol} always has exactly one"
        report.warning(expression.source, mention.path.span, message, f"for a character, write str({symbol})[…]")


def _is_one_leaf(symbol: str, analysis: Analysis) -> bool:
    rule = analysis.grammar.rules.get(symbol)
    return rule is not None and isinstance(rule.body, Pattern | Literal)


def _check_together(
    expression: Expression, bound: dict[str, frozenset[str]], analysis: Analysis, report: Reporter
) -> None:
    """Warn of a condition on symbols that never occur in one tree: every tree satisfies it."""
    mentions = [each for each in expression.mentions if each.kind == "each" and each.path.base not in bound]
    symbols = {symbol: each for each in mentions if (symbol := each.path.base) in analysis.reachable}
    for (one, _), (other, mention) in combinations(symbols.items(), 2):
        if not analysis.can_cooccur(one, other):
            message = f"{one} and {other} never occur together, so this is always satisfied"
            hint = "a condition holds if one of its symbols is absent; split it, or check the rules"
            report.warning(expression.source, mention.path.span, message, hint)


def _check_path(
    path: Selector, source: Source, bound: dict[str, frozenset[str]], analysis: Analysis, report: Reporter
) -> frozenset[str]:
    """The symbols that `path` can end at; steps that lead nowhere are reported."""
    if path.base in bound:
        symbols = bound[path.base]
    else:
        symbols = frozenset((path.base,))
        rule = analysis.grammar.rules.get(path.base)
        # A rule without a source replaces an undefined symbol, which has been reported. And a spec may replace the
        # rules of an included file that use the symbol.
        is_known = rule is not None and rule.source is not None
        if is_known and path.base not in analysis.used and not source.is_included:
            message = f"{path.base} can never occur below {analysis.grammar.start}, so this is always satisfied"
            hint = f"use {path.base} in a rule that {analysis.grammar.start} leads to"
            report.warning(source, path.span, message, hint)
    for step in path.steps:
        match step:
            case Child(symbol):
                _check_child(symbols, symbol, path, source, bound, analysis, report)
                symbols = frozenset((symbol,))
            case Descendant(symbol):
                if symbols and not any(symbol == name or symbol in analysis.below(name) for name in symbols):
                    message = f"{_names(symbols)} never contains {symbol}"
                    _report_dead_path(path, message, "check the path", source, bound, report)
                symbols = frozenset((symbol,))
            case Index(tuple()):
                pass  # a slice has the children of what it was cut from
            case Index():
                symbols = frozenset(child for name in symbols for child in analysis.children.get(name, ()))
            case _:
                assert_never(step)
    return symbols


def _report_dead_path(
    path: Selector, message: str, hint: str, source: Source, bound: Collection[str], report: Reporter
) -> None:
    """Report a path that never selects anything. Below a bound name, the reference implementation accepts it."""
    if path.base in bound:
        report.warning(source, path.span, f"{message}, so this never selects anything", hint)
    else:
        report.error(source, path.span, message, hint)


def _check_child(
    symbols: frozenset[str],
    child: str,
    path: Selector,
    source: Source,
    bound: Collection[str],
    analysis: Analysis,
    report: Reporter,
) -> None:
    children = {name for symbol in symbols for name in analysis.children.get(symbol, ())}
    if child in children or not symbols:
        return
    hidden = [name for name in children if name.startswith("<_") and child in analysis.below(name)]
    if hidden:
        message = f"{child} is not a direct child of {_names(symbols)}, so this is always satisfied"
        report.warning(source, path.span, message, f"write ..{child} to look deeper")
        return
    deeper = any(child in analysis.below(symbol) for symbol in symbols)
    hint = f"write ..{child} to look deeper" if deeper else "check the path"
    _report_dead_path(path, f"{_names(symbols)} has no direct child {child}", hint, source, bound, report)


def _repeated_mentions(formula: Formula, bound: frozenset[str]) -> Iterator[tuple[Expression, Mention, Expression]]:
    """Mentions whose selector occurs before, in the same condition or in another alternative of an `or`."""
    match formula:
        case PythonCondition(expression):
            seen: set[Selector] = set()
            for mention in expression.mentions:
                if mention.kind == "each" and mention.path.base not in bound:
                    if mention.path in seen:
                        yield expression, mention, expression
                    seen.add(mention.path)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _repeated_mentions(part, bound)
            if isinstance(formula, Or):
                yield from _shared_mentions(parts, bound)
        case Not(part):
            yield from _repeated_mentions(part, bound)
        case Quantified(_, variable, _, body):
            yield from _repeated_mentions(body, bound | {variable})
        case _:
            assert_never(formula)


def _shared_mentions(
    parts: tuple[Formula, ...], bound: frozenset[str]
) -> Iterator[tuple[Expression, Mention, Expression]]:
    earlier: dict[Selector, Expression] = {}
    for part in parts:
        here: dict[Selector, Expression] = {}
        for expression in expressions_of(part):
            for mention in expression.mentions:
                if mention.kind != "each" or mention.path.base in bound:
                    continue
                if mention.path in earlier:
                    yield expression, mention, earlier[mention.path]
                here[mention.path] = expression
        earlier.update(here)


def _names(symbols: frozenset[str]) -> str:
    return " or ".join(sorted(symbols))
