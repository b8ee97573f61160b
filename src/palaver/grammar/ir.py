"""A grammar, as every later stage sees it: rules by name, in order of declaration, complete and frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from palaver.source import Source
from palaver.spec.ast import (
    And,
    Bit,
    Bound,
    Child,
    Choice,
    Constraint,
    Descendant,
    Expr,
    Expression,
    Formula,
    Goal,
    Leaf,
    Literal,
    Not,
    Or,
    Path,
    Pattern,
    Permutation,
    Quantified,
    Ref,
    Repeat,
    Rule,
    Sequence,
    Setting,
)


@dataclass(frozen=True)
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

    @cached_property
    def bodies(self) -> dict[str, Expr]:
        """The right-hand sides alone."""
        return {symbol: rule.body for symbol, rule in self.rules.items()}


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


def mentioned(expr: Expr) -> tuple[str, ...]:
    """The symbols that stand in an expression, each once, in the order of the spec."""
    return tuple(dict.fromkeys(ref.symbol for ref in refs(expr)))


def bodies_below(bodies: Mapping[str, Expr], start: str) -> dict[str, Expr]:
    """The right-hand sides that `start` can lead to, in the order of `bodies`."""
    found = {start}
    todo = [start]
    while todo:
        fresh = [ref.symbol for ref in refs(bodies[todo.pop()]) if ref.symbol not in found]
        found.update(fresh)
        todo += fresh
    return {symbol: body for symbol, body in bodies.items() if symbol in found}


def uses_binary(bodies: Mapping[str, Expr], start: str) -> bool:
    """Whether a tree of `start` may hold bytes or bits."""
    for body in bodies_below(bodies, start).values():
        for part in walk(body):
            match part:
                case Bit() | Literal(bytes()) | Pattern(bytes()):
                    return True
    return False


def computed_bounds(expr: Expr) -> Iterator[Expression]:
    """The bounds inside `expr` that are Python expressions."""
    for part in walk(expr):
        if isinstance(part, Repeat):
            both = dict.fromkeys((part.least, part.most))  # `{n}` is one expression, and both bounds
            yield from (bound for bound in both if isinstance(bound, Expression))


def expressions_of(formula: Formula) -> Iterator[Expression]:
    """The Python expressions inside a formula, in the order of the text."""
    match formula:
        case Leaf(expression):
            yield expression
        case And(parts) | Or(parts):
            for part in parts:
                yield from expressions_of(part)
        case Not(part) | Quantified(body=part):
            yield from expressions_of(part)


def symbols_of(formula: Formula) -> Iterator[str]:
    """The symbols that paths in a formula start from or go through, in the order of the text; bound ones included."""
    for path in paths_of(formula):
        yield from symbols_on(path)


def paths_of(formula: Formula) -> Iterator[Path]:
    """The paths in a formula, those of quantifiers included, in the order of the text."""
    match formula:
        case Leaf(expression):
            yield from (mention.path for mention in expression.mentions)
        case And(parts) | Or(parts):
            for part in parts:
                yield from paths_of(part)
        case Not(part):
            yield from paths_of(part)
        case Quantified(path=path, body=body):
            yield path
            yield from paths_of(body)


def symbols_on(path: Path) -> Iterator[str]:
    """The symbols that a path names."""
    yield path.base
    for step in path.steps:
        if isinstance(step, Child | Descendant):
            yield step.symbol


def first_expression(formula: Formula) -> Expression:
    """The leftmost Python expression of a formula: its place stands for the whole."""
    return next(expressions_of(formula))


def source_of(rule: Rule) -> Source:
    """Where a rule stands; nowhere, if it stands for a symbol that is not defined."""
    return rule.source or Source("<rules>", "")


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
