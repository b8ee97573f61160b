"""Traversals of the AST: the parts of grammar expressions, formulas and selectors, in the order of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from palaver.lean_dataclasses import replace
from palaver.spec.ast import (
    And,
    Bit,
    Bound,
    Child,
    Choice,
    Descendant,
    Expr,
    Expression,
    Formula,
    Literal,
    Not,
    Or,
    Pattern,
    Permutation,
    PythonCondition,
    Quantified,
    Ref,
    Repeat,
    Selector,
    SelectorStep,
    Sequence,
)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside `expr`."""
    match expr:
        case Ref() | Literal() | Pattern() | Bit():  # most are one of these
            return ()
        case Sequence(parts) | Permutation(parts) | Choice(parts):
            return parts
        case Repeat(body):
            return (body,)
        case _:
            assert_never(expr)


def walk(expr: Expr) -> list[Expr]:
    """`expr` and everything inside it."""
    if not (parts := parts_of(expr)):
        return [expr]
    found = [expr]
    stack = [*reversed(parts)]
    while stack:
        top = stack.pop()
        found.append(top)
        if parts := parts_of(top):
            stack.extend(reversed(parts))
    return found


def refs(expr: Expr) -> list[Ref]:
    """The references inside `expr`."""
    return [part for part in walk(expr) if isinstance(part, Ref)]


def symbols_in(expr: Expr) -> tuple[str, ...]:
    """The symbols that `expr` refers to, each once."""
    return tuple(dict.fromkeys([ref.symbol for ref in refs(expr)]))


def names_in(expr: Expr) -> Iterator[str]:
    """The symbols and the labels of terminals inside `expr`, without those that are repeated zero times."""
    stack = [expr]
    while stack:
        match stack.pop():
            case Ref(symbol):
                yield symbol
            case Literal() | Bit() | Pattern() as terminal:
                yield terminal_label(terminal)
            case Sequence(parts) | Permutation(parts) | Choice(parts):
                stack.extend(reversed(parts))
            case Repeat(body, _, most):
                if most != 0:
                    stack.append(body)
            case unknown:
                assert_never(unknown)


def terminal_label(terminal: Literal | Bit | Pattern) -> str:
    """A terminal as Python writes it. Text, bytes, bits and patterns have different labels."""
    return f"r{terminal.source!r}" if isinstance(terminal, Pattern) else repr(terminal.value)


def computed_bounds(expr: Expr) -> list[Expression]:
    """The bounds inside `expr` that are Python expressions."""
    return bounds_among(walk(expr))


def bounds_among(parts: Iterable[Expr]) -> list[Expression]:
    """The bounds of these repetitions, whatever else is among them, that are Python expressions."""
    found: list[Expression] = []
    for part in parts:
        if isinstance(part, Repeat):
            both = dict.fromkeys((part.least, part.most))  # `{n}` is one expression, and both bounds
            found += [bound for bound in both if isinstance(bound, Expression)]
    return found


def map_bounds(expr: Expr, change: Callable[[Bound], Bound]) -> Expr:
    """`expr` with `change` applied to every bound of every repetition."""
    match expr:
        case Sequence(parts) | Permutation(parts):
            return replace(expr, parts=tuple(map_bounds(part, change) for part in parts))
        case Choice(options):
            return replace(expr, options=tuple(map_bounds(option, change) for option in options))
        case Repeat(body, least, most):
            top = None if most is None else change(most)
            return replace(expr, body=map_bounds(body, change), least=change(least), most=top)
        case Literal() | Bit() | Pattern() | Ref():
            return expr
        case _:
            assert_never(expr)


def map_refs(expr: Expr, change: Callable[[Ref], Expr]) -> Expr:
    """`expr` with `change` applied to every reference."""
    match expr:
        case Sequence(parts) | Permutation(parts):
            return replace(expr, parts=tuple(map_refs(part, change) for part in parts))
        case Choice(options):
            return replace(expr, options=tuple(map_refs(option, change) for option in options))
        case Repeat(body):
            return replace(expr, body=map_refs(body, change))
        case Ref():
            return change(expr)
        case Literal() | Bit() | Pattern():
            return expr
        case _:
            assert_never(expr)


def map_terminals(expr: Expr, change: Callable[[Literal | Pattern], Expr]) -> Expr:
    """`expr` with `change` applied to every text, sequence of bytes and pattern."""
    match expr:
        case Sequence(parts) | Permutation(parts):
            return replace(expr, parts=tuple(map_terminals(part, change) for part in parts))
        case Choice(options):
            return replace(expr, options=tuple(map_terminals(option, change) for option in options))
        case Repeat(body):
            return replace(expr, body=map_terminals(body, change))
        case Literal() | Pattern():
            return change(expr)
        case Ref() | Bit():
            return expr
        case _:
            assert_never(expr)


def walk_formula(formula: Formula) -> Iterator[Formula]:
    """`formula` and everything inside it."""
    yield formula
    match formula:
        case And(parts) | Or(parts):
            for part in parts:
                yield from walk_formula(part)
        case Not(part) | Quantified(body=part):
            yield from walk_formula(part)
        case PythonCondition():
            pass
        case _:
            assert_never(formula)


def expressions_of(formula: Formula) -> Iterator[Expression]:
    """The Python expressions inside a formula."""
    return (part.expression for part in walk_formula(formula) if isinstance(part, PythonCondition))


def first_expression(formula: Formula) -> Expression:
    """The leftmost Python expression of a formula; its place stands for the whole."""
    return next(expressions_of(formula))


def selectors_of(formula: Formula) -> Iterator[Selector]:
    """The selectors in a formula, those of quantifiers included."""
    for part in walk_formula(formula):
        if isinstance(part, PythonCondition):
            yield from (mention.path for mention in part.expression.mentions)
        elif isinstance(part, Quantified):
            yield part.path


def symbols_of(formula: Formula) -> Iterator[str]:
    """The symbols that the selectors of a formula name, bound ones included."""
    for path in selectors_of(formula):
        yield path.base
        yield from step_symbols(path)


def step_symbols(path: Selector) -> Iterator[str]:
    """The symbols that the steps of a selector name."""
    return (step.symbol for step in path.steps if isinstance(step, Child | Descendant))


def steps_behind(path: Selector) -> Iterator[tuple[str, SelectorStep]]:
    """The steps of a selector, each with the name before it."""
    name = path.base
    for step in path.steps:
        yield name, step
        if isinstance(step, Child | Descendant):
            name = step.symbol


def last_symbol(path: Selector) -> str:
    """The symbol of the nodes that a selector selects, its indices aside."""
    return [path.base, *step_symbols(path)][-1]
