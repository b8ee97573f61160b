"""Nodes of words, where their lengths alone tell how a word is divided: `<octet>{4}`, `<day> "." <month>`.

Most fields that equations write are such rows. To build them from the rule takes a fraction of what a matcher needs to
get ready for a symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from palaver.grammar.language import Language, Languages, Unit
from palaver.grammar.regex import compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Ref, Repeat, Rule, Sequence
from palaver.trees.node import Leaf, Node, NonTerminal, Part

# Makes parts of a text; None if it is not what it should be.
_Build: TypeAlias = Callable[[str], "tuple[Part, ...] | None"]

# Rules that contain each other deeper than this are left to the matcher.
_DEEPEST = 20


class Speller:
    """Makes nodes of the words of regular symbols."""

    def __init__(self, rules: Mapping[str, Rule], languages: Languages) -> None:
        self._rules = rules
        self._languages = languages
        self._builders: dict[str, _Build | None] = {}

    def can_spell(self, symbol: str) -> bool:
        """Whether `node` is able to tell what is a word of the symbol, and what is not."""
        return self._builder(symbol) is not None

    def node(self, symbol: str, word: str) -> Node | None:
        """The node of a word; None if it is no word of the symbol."""
        build = self._builder(symbol)
        assert build is not None, "only those who know that it can be told ask"
        found = build(word)
        if found is None:
            return None
        (node,) = found
        assert isinstance(node, Node), "a symbol is a node"
        return node

    def _builder(self, symbol: str) -> _Build | None:
        if symbol not in self._builders:
            language = self._languages.of(symbol)
            # Whether nothing is a leaf is not ours to say.
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

        # Of single characters there are few, and they come again and again.
        return _remembering(one) if language.longest == 1 else one

    def _built(self, expr: Expr, language: Language, depth: int) -> _Build | None:
        if depth > _DEEPEST:
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
                return self._row(body, least, most, language, depth)
        return None

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

    def _row(self, body: Expr, least: int, most: int | None, language: Language, depth: int) -> _Build | None:
        """A repetition of something that is always equally long."""
        lengths, build = self._languages.lengths(body), self._built(body, language, depth + 1)
        if lengths is None or build is None or lengths[0] != lengths[1] or not lengths[0]:
            return None
        once, size = build, lengths[0]

        def row(text: str) -> tuple[Part, ...] | None:
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

        return row

    def _sequence(self, parts: tuple[Expr, ...], language: Language, depth: int) -> _Build | None:
        """Parts of which at most one is not always equally long."""
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


def _remembering(build: _Build) -> _Build:
    known: dict[str, tuple[Part, ...] | None] = {}

    def remembering(text: str) -> tuple[Part, ...] | None:
        if len(text) != 1:
            return None
        if text not in known:
            known[text] = build(text)
        return known[text]

    return remembering


def _leaf(text: str, unit: Unit) -> Leaf:
    return text.encode("latin-1") if unit is Unit.BYTES else text
