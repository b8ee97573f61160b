"""Richness: a heuristic of how many different texts a part of a grammar has, so that lengths go to the rich parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from math import log2

from palaver.generation.generation_limits import MAX_RICH_CLASS, MAX_RICH_SYMBOLS
from palaver.grammar.ir import mentioned, walk
from palaver.regular.charset import CharSet
from palaver.regular.regex import character_sets, compile_pattern
from palaver.spec.ast import Bit, Expr, Literal, Pattern, Rule


class Richness:
    """The richness of a grammar's expressions; `children` are the symbols directly below each."""

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
        return log2(1 + self._variety(expr)) + sum(map(self._of_symbol, mentioned(expr)))

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
            if isinstance(part, Literal | Bit):
                variety += 1
            elif isinstance(part, Pattern):
                expression = compile_pattern(part.source).outline(self._alphabet)
                sets = () if expression is None else character_sets(expression)
                variety += sum(min(chars.size(), MAX_RICH_CLASS) for chars in sets)
        return variety


def richness_of_class(size: int) -> float:
    """The richness of a class of so many characters."""
    return log2(1 + min(size, MAX_RICH_CLASS))
