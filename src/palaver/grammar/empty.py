"""Which parts of a grammar can be empty, and which symbols can contain nothing but themselves.

Both make inputs infinitely ambiguous: an empty item can be repeated any number of times, and `<a> ::= <a> | "x"` can go
round any number of times. A derivation goes round no more often than needed, when parsed and when made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from itertools import chain

from palaver.grammar.cycles import circles
from palaver.grammar.regex import compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Rule, Sequence


def nullable_symbols(rules: Mapping[str, Rule]) -> frozenset[str]:
    """The symbols that have an empty tree."""
    found: set[str] = set()
    while fresh := {name for name, rule in rules.items() if name not in found and can_be_empty(rule.body, found)}:
        found |= fresh
    return frozenset(found)


def can_be_empty(expr: Expr, nullable: Set[str]) -> bool:
    """Whether `expr` can stand for nothing, given the symbols that can."""
    match expr:
        case Literal(value):
            return not value
        case Bit():
            return False
        case Pattern(source):
            return compile_pattern(source).width[0] == 0
        case Ref(symbol):
            return symbol in nullable
        case Sequence(parts) | Permutation(parts):
            return all(can_be_empty(part, nullable) for part in parts)
        case Choice(options):
            return any(can_be_empty(option, nullable) for option in options)
        case Repeat(body, least):
            # A computed bound may turn out to be zero.
            return not isinstance(least, int) or least == 0 or can_be_empty(body, nullable)


def cyclic_symbols(rules: Mapping[str, Rule], nullable: Set[str]) -> frozenset[str]:
    """The symbols that can contain themselves with nothing beside them."""
    edges = {name: tuple(dict.fromkeys(_alone(rule.body, nullable))) for name, rule in rules.items()}
    return frozenset(circles(edges, rules))


def _alone(expr: Expr, nullable: Set[str]) -> Iterator[str]:
    """The symbols that can be all there is of `expr`."""
    match expr:
        case Ref(symbol):
            yield symbol
        case Choice(options):
            yield from chain.from_iterable(_alone(option, nullable) for option in options)
        case Sequence(parts) | Permutation(parts):
            for at, part in enumerate(parts):
                if all(can_be_empty(other, nullable) for other in (*parts[:at], *parts[at + 1 :])):
                    yield from _alone(part, nullable)
        case Repeat(body, least):
            if not isinstance(least, int) or least <= 1 or can_be_empty(body, nullable):
                yield from _alone(body, nullable)
