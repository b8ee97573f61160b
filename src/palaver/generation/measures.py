"""The measures of a derivation, and the part of a grammar that a measure looks into."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from math import log2
from typing import TypeAlias, assert_never

from palaver.generation.generation_limits import MAX_RICH_CLASS, MAX_RICH_SYMBOLS
from palaver.grammar.analysis import (
    cyclic_components,
    cyclic_symbols,
    generator_arguments,
    leading_to,
    nullable_symbols,
    users_of,
)
from palaver.lean_dataclasses import dataclass
from palaver.regular.charset import BYTES, EVERY, CharSet
from palaver.regular.language import Unit
from palaver.regular.regex import character_sets, compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Rule, Sequence
from palaver.spec.traversal import computed_bounds, symbols_in, walk


@dataclass(frozen=True)
class Length:
    """The length of a derivation's text, in the unit of its symbol (`MeasuredRules.unit`)."""


@dataclass(frozen=True)
class Count:
    """The number of a derivation's nodes of a symbol, nested ones and the root included."""

    symbol: str


Measure: TypeAlias = Length | Count


class MeasuredRules:
    """The rules of a grammar as a measure sees them."""

    def __init__(self, rules: Mapping[str, Rule], measure: Measure, *, binary: bool) -> None:
        self.rules = rules
        self.counted = measure.symbol if isinstance(measure, Count) else None  # None: a length is measured
        self.binary = binary
        self.alphabet = BYTES if binary else EVERY
        self._below: dict[str, tuple[str, ...]] = {}
        self.nullable = nullable_symbols(rules)
        recursive = cyclic_components(rules, {name: self._children(name) for name in rules})
        self.cyclic = cyclic_symbols({name: rules[name] for name in recursive}, self.nullable)
        self._expanded = self._find_expanded()
        self._with_bits = leading_to(self._symbols_with_bits(), users_of(rules)) if binary else frozenset()
        self.richness = Richness(rules, self._children, self.alphabet)

    def _find_expanded(self) -> frozenset[str]:
        if self.counted is None:
            return frozenset(self.rules)
        # A generator's arguments are nodes too, though they are not part of the text.
        users = users_of(self.rules, {name: generator_arguments(rule) for name, rule in self.rules.items()})
        return leading_to(users.get(self.counted, ()), users)

    def _symbols_with_bits(self) -> Iterator[str]:
        for name, rule in self.rules.items():
            if any(isinstance(part, Bit) for part in walk(rule.body)):
                yield name

    def _children(self, symbol: str) -> tuple[str, ...]:
        if symbol not in self._below:
            self._below[symbol] = symbols_in(self.rules[symbol].body)
        return self._below[symbol]

    def unit(self, symbol: str) -> Unit:
        """The unit of this symbol's lengths: bits as soon as there are bits in it."""
        if not self.binary:
            return Unit.TEXT
        return Unit.BITS if symbol in self._with_bits else Unit.BYTES

    def is_expanded(self, symbol: str) -> bool:
        """Return True if the measure looks below the symbol. Others are made in the usual way."""
        return symbol in self._expanded

    def involved(self, symbol: str) -> dict[str, tuple[str, ...]]:
        """All symbols that matter from `symbol` on, each with those directly below it."""
        found: dict[str, tuple[str, ...]] = {}
        todo = [symbol]
        while todo:
            name = todo.pop()
            if name not in found and self.is_expanded(name):
                found[name] = tuple(filter(self.is_expanded, self._children(name)))
                todo.extend(reversed(found[name]))
        return found

    def can_be_told(self, symbol: str) -> bool:
        """Return True if nothing that is measured depends on the spec's own code."""
        involved = (self.rules[name] for name in self.involved(symbol))
        return not any(rule.generator is not None or any(computed_bounds(rule.body)) for rule in involved)


class Richness:
    """The richness of expressions: about how many different texts they have, so that lengths go to the rich."""

    def __init__(
        self, rules: Mapping[str, Rule], children: Callable[[str], tuple[str, ...]], alphabet: CharSet
    ) -> None:
        self._rules = rules
        self._children = children
        self._alphabet = alphabet
        self._varieties: dict[str, int] = {}
        self._known: dict[str, float] = {}

    def of(self, expr: Expr) -> float:
        """The richness of an expression, compared to others."""
        return log2(1 + self._variety(expr)) + sum(map(self._of_symbol, symbols_in(expr)))

    def _of_symbol(self, symbol: str) -> float:
        if symbol not in self._known:
            found = {symbol: None}
            todo = deque(found)
            variety = 0
            while todo and len(found) < MAX_RICH_SYMBOLS:
                name = todo.popleft()
                if name not in self._varieties:
                    self._varieties[name] = self._variety(self._rules[name].body)
                variety += self._varieties[name]
                fresh = dict.fromkeys(child for child in self._children(name) if child not in found)
                found.update(fresh)
                todo.extend(fresh)
            self._known[symbol] = len(found) + log2(1 + variety)
        return self._known[symbol]

    def _variety(self, expr: Expr) -> int:
        """The approximate number of different texts of an expression's terminals."""
        variety = 0
        for part in walk(expr):
            match part:
                case Literal() | Bit():
                    variety += 1
                case Pattern(source):
                    expression = compile_pattern(source).expression(self._alphabet)
                    sets = () if expression is None else character_sets(expression)
                    variety += sum(min(chars.size(), MAX_RICH_CLASS) for chars in sets)
                case Ref() | Sequence() | Choice() | Repeat() | Permutation():
                    pass
                case _:
                    assert_never(part)
        return variety


def richness_of_class(size: int) -> float:
    """The richness of a class of so many characters."""
    return log2(1 + min(size, MAX_RICH_CLASS))
