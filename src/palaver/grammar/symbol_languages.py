"""The regular languages of a grammar's symbols.

A symbol without recursion, computed repetition and generators describes a regular language. Its rule becomes a regular
expression, symbol by symbol from the bottom up.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import assert_never

from palaver.regular.charset import BYTES, EVERY, CharSet
from palaver.regular.language import MAX_EXPRESSION_DEPTH, MAX_PERMUTED_PARTS, Language, LanguagePart, NotRegular, Unit
from palaver.regular.regex import compile_pattern, length_range
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Rule, Sequence
from palaver.spec.traversal import refs, symbols_in

_BIT_CHARS = (CharSet.of("0"), CharSet.of("1"))


class Languages:
    """The languages of a grammar's symbols. In a binary one text is its UTF-8 bytes, and patterns are about bytes."""

    def __init__(self, rules: Mapping[str, Rule], *, binary: bool) -> None:
        self._rules = rules
        self._binary = binary
        self._unit = Unit.BYTES if binary else Unit.TEXT
        self._parts: dict[str, LanguagePart | None] = {}  # None: not regular
        self._languages: dict[str, Language | None] = {}
        self._leaves: dict[str, bool] = {}

    def of(self, symbol: str) -> Language | None:
        """The words of a symbol; None if they are not a regular language, or nothing is known about them."""
        if symbol not in self._languages:
            self._gather(symbol)
            part = self._parts[symbol]
            self._languages[symbol] = None if part is None else Language(part.unit or self._unit, part.expression)
        return self._languages[symbol]

    def is_leaf(self, symbol: str) -> bool:
        """Return True if the node of any word is the symbol and one leaf, which `Language.spell` makes of the word."""
        if symbol not in self._leaves:
            rule = self._rules[symbol]
            options = rule.body.options if isinstance(rule.body, Choice) else (rule.body,)
            is_plain = all(isinstance(option, Literal | Pattern) for option in options)
            self._leaves[symbol] = rule.generator is None and is_plain
        return self._leaves[symbol]

    def lengths(self, expr: Expr) -> tuple[int, int | None] | None:
        """The least and the largest length of an expression's words; None if they are no regular language."""
        for ref in refs(expr):
            self._gather(ref.symbol)
        part = self._part_or_none(expr)
        if part is None:
            return None
        return (0, 0) if part.expression is None else length_range(part.expression)

    def _gather(self, symbol: str) -> None:
        """Make the parts of a symbol and of all that it needs, innermost first."""
        parts = self._parts
        opened: set[str] = set()
        todo = [symbol]
        while todo:
            name = todo[-1]
            if name in parts:
                todo.pop()
                continue
            rule = self._rules.get(name)
            if rule is None or rule.generator is not None:
                parts[name] = None
                continue
            below = symbols_in(rule.body)
            missing = [each for each in below if each not in parts]
            is_irregular = any(each in parts and parts[each] is None for each in below)
            if is_irregular or any(each in opened for each in missing):  # the second: it contains itself
                parts[name] = None
            elif missing:
                opened.add(name)
                todo += missing
            else:
                parts[name] = self._part_or_none(rule.body)

    def _part_or_none(self, expr: Expr) -> LanguagePart | None:
        try:
            return self._part(expr, 0)
        except NotRegular:
            return None

    def _part(self, expr: Expr, depth: int) -> LanguagePart:
        if depth > MAX_EXPRESSION_DEPTH:
            MAX_EXPRESSION_DEPTH.reached()
            raise NotRegular
        match expr:
            case Ref(symbol):
                found = self._parts[symbol]
                if found is None:
                    raise NotRegular
                return found
            case Literal(value):
                return self._literal(value)
            case Pattern(source):
                return self._pattern(source)
            case Bit(value):
                if not self._binary:
                    raise NotRegular
                return LanguagePart.character(_BIT_CHARS[value], Unit.BITS)
            case Sequence(parts):
                return LanguagePart.sequence([self._part(part, depth + 1) for part in parts])
            case Choice(options):
                return LanguagePart.choice([self._part(option, depth + 1) for option in options])
            case Permutation(parts):
                return self._permutation(parts, depth)
            case Repeat(body, least, most):
                if not isinstance(least, int) or not (most is None or isinstance(most, int)):
                    raise NotRegular
                return self._part(body, depth + 1).repeated(least, most)
            case _:
                assert_never(expr)

    def _permutation(self, exprs: tuple[Expr, ...], depth: int) -> LanguagePart:
        if len(exprs) > MAX_PERMUTED_PARTS:
            MAX_PERMUTED_PARTS.reached()
            raise NotRegular
        parts = [self._part(expr, depth + 1) for expr in exprs]
        return LanguagePart.choice([LanguagePart.sequence(order) for order in permutations(parts)])

    def _literal(self, value: str | bytes) -> LanguagePart:
        self._check_can_occur(value)
        if isinstance(value, bytes):
            return LanguagePart.text(value.decode("latin-1"), self._unit)
        text = value.encode("utf-8", "surrogatepass").decode("latin-1") if self._binary else value
        return LanguagePart.text(text, self._unit)

    def _pattern(self, source: str | bytes) -> LanguagePart:
        self._check_can_occur(source)
        regex = compile_pattern(source)
        if not regex.is_plain:
            raise NotRegular
        return LanguagePart.of(regex.expression(BYTES if self._binary else EVERY), self._unit)

    def _check_can_occur(self, terminal: str | bytes) -> None:
        if isinstance(terminal, bytes) and not self._binary:
            raise NotRegular  # bytes in text: nothing can reach it
