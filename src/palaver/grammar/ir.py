"""A grammar, as every later stage sees it: rules by name, in order of declaration, complete and frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from palaver.spec.ast import (
    Bit,
    Bound,
    Choice,
    Constraint,
    Expr,
    Expression,
    Goal,
    Literal,
    Pattern,
    Permutation,
    Ref,
    Repeat,
    Rule,
    Sequence,
    Setting,
)


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a set of spec files says together, once names are resolved.

    `own` names the symbols the spec itself defines; the others came from the library.
    """

    rules: Mapping[str, Rule]
    start: str
    constraints: tuple[Constraint, ...] = ()
    goals: tuple[Goal, ...] = ()
    settings: tuple[Setting, ...] = ()
    own: frozenset[str] = field(default=frozenset(), compare=False)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside `expr`."""
    match expr:
        case Sequence(parts) | Permutation(parts):
            return parts
        case Choice(options):
            return options
        case Repeat(body):
            return (body,)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything inside it, in the order of the text."""
    stack = [expr]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(parts_of(top)))


def refs(expr: Expr) -> Iterator[Ref]:
    """The references inside `expr`, in the order of the text."""
    return (part for part in walk(expr) if isinstance(part, Ref))


def computed_bounds(expr: Expr) -> Iterator[Expression]:
    """The bounds inside `expr` that are Python expressions."""
    for part in walk(expr):
        if isinstance(part, Repeat):
            both = dict.fromkeys((part.least, part.most))  # `{n}` is one expression, and both bounds
            yield from (bound for bound in both if isinstance(bound, Expression))


def map_bounds(expr: Expr, change: Callable[[Bound], Bound]) -> Expr:
    """`expr` with every bound of every repetition replaced by what `change` makes of it."""
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
