"""Nodes of words that can be divided by lengths alone, without a parser: `<octet>{4}`, `<day> "." <month>`.

Most fields that equations write are like this. To build them from the rule takes a fraction of the time that a matcher
needs to get ready for a symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias, assert_never

from palaver.grammar.symbol_languages import Languages
from palaver.regular.language import Language, Unit
from palaver.regular.regex import compile_pattern
from palaver.solving.solving_limits import MAX_SPELLER_DEPTH
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Rule, Sequence
from palaver.trees.node import Leaf, Node, NonTerminal, Part

# Makes nodes of a text; None if it is no word.
_Build: TypeAlias = Callable[[str], "tuple[Part, ...] | None"]


class Speller:
    """Makes nodes of the words of regular symbols."""

    def __init__(self, rules: Mapping[str, Rule], languages: Languages) -> None:
        self._rules = rules
        self._languages = languages
        self._builders: dict[str, _Build | None] = {}

    def can_spell(self, symbol: str) -> bool:
        """True if `node` accepts exactly the words of the symbol."""
        return self._builder(symbol) is not None

    def node(self, symbol: str, word: str) -> Node | None:
        """The node of a word; None if it is no word of the symbol."""
        build = self._builder(symbol)
        assert build is not None, "the caller has asked `can_spell`"
        found = build(word)
        if found is None:
            return None
        (node,) = found
        assert isinstance(node, Node), "a symbol is a node"
        return node

    def _builder(self, symbol: str) -> _Build | None:
        if symbol not in self._builders:
            language = self._languages.of(symbol)
            # The empty word is left to the matcher, which knows if it has a leaf.
            is_good = language is not None and language.shortest > 0
            self._builders[symbol] = self._symbol(symbol, language, 0) if language is not None and is_good else None
        return self._builders[symbol]

    def _symbol(self, symbol: str, language: Language, depth: int) -> _Build | None:
        inside = self._built(self._rules[symbol].body, language, depth)
        if inside is None:
            return None
        name, body = NonTerminal(symbol), inside

        def one(text: str) -> tuple[Part, ...] | None:
            parts = body(text)
            return None if parts is None else (Node(name, parts),)

        if language.longest != 1:
            return one
        cached = cache(one)  # there are few single characters, and they come again and again
        return lambda text: cached(text) if len(text) == 1 else None

    def _built(self, expr: Expr, language: Language, depth: int) -> _Build | None:
        if depth > MAX_SPELLER_DEPTH:
            return None
        unit = language.unit
        match expr:
            case Literal() | Bit():
                return self._one_of((expr,), unit)
            case Choice(options):
                return self._one_of(options, unit)
            case Pattern(source):
                matches = compile_pattern(source).matches
                return lambda text: (_leaf(text, unit),) if text and matches(text) else None
            case Ref(symbol, None):
                inner = self._languages.of(symbol)
                return None if inner is None else self._symbol(symbol, inner, depth + 1)
            case Sequence(parts):
                return self._sequence(parts, language, depth)
            case Repeat(body, int(least), most) if most is None or isinstance(most, int):
                return self._repetition(body, least, most, language, depth)
            case Ref() | Repeat() | Permutation():
                return None
            case _:
                assert_never(expr)

    def _one_of(self, options: tuple[Expr, ...], unit: Unit) -> _Build | None:
        """One of several terminals."""
        known: dict[str, tuple[Part, ...]] = {}
        for option in options:
            match option:
                case Bit(value):
                    known[str(value)] = (value,)
                case Literal(value) if value:
                    data = value.encode() if isinstance(value, str) and unit is Unit.BYTES else value
                    known[data if isinstance(data, str) else data.decode("latin-1")] = (data,)
                case _:
                    return None
        return known.get

    def _repetition(self, body: Expr, least: int, most: int | None, language: Language, depth: int) -> _Build | None:
        """A repetition of a body of fixed length."""
        lengths, build = self._languages.lengths(body), self._built(body, language, depth + 1)
        if lengths is None or build is None or lengths[0] != lengths[1] or not lengths[0]:
            return None
        once, size = build, lengths[0]

        def repeated(text: str) -> tuple[Part, ...] | None:
            count, rest = divmod(len(text), size)
            if rest or count < least or (most is not None and count > most):
                return None
            found: list[Part] = []
            for at in range(0, len(text), size):
                parts = once(text[at : at + size])
                if parts is None:
                    return None
                found += parts
            return tuple(found)

        return repeated

    def _sequence(self, parts: tuple[Expr, ...], language: Language, depth: int) -> _Build | None:
        """A sequence of parts of which at most one has no fixed length."""
        builds: list[tuple[_Build, int | None]] = []
        for part in parts:
            lengths, build = self._languages.lengths(part), self._built(part, language, depth + 1)
            if lengths is None or build is None:
                return None
            builds.append((build, lengths[0] if lengths[0] == lengths[1] else None))
        sizes = [size for _, size in builds if size is not None]
        if len(sizes) < len(builds) - 1:
            return None
        known, is_fixed = sum(sizes), len(sizes) == len(builds)

        def divided(text: str) -> tuple[Part, ...] | None:
            left = len(text) - known
            if left < 0 or (left and is_fixed):
                return None
            found: list[Part] = []
            at = 0
            for build, size in builds:
                end = at + (left if size is None else size)
                parts = build(text[at:end])
                if parts is None:
                    return None
                found += parts
                at = end
            return tuple(found)

        return divided


def _leaf(text: str, unit: Unit) -> Leaf:
    return text.encode("latin-1") if unit is Unit.BYTES else text
