"""Regular languages: a regular expression (Kleene 1956), its automaton, and how languages are composed from parts.

Only words matter here, not derivations, so an alternation of characters is one set of characters. A part that is used
twice is written out twice, so an expression can become much larger than what it is made from; what becomes too large or
too deep counts as not regular.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import Any, assert_never

from palaver.lean_dataclasses import dataclass
from palaver.regular.automaton import Automaton, AutomatonState
from palaver.regular.charset import CharSet
from palaver.regular.expression import (
    EMPTY_WORD,
    Alternation,
    CharacterClass,
    Concatenation,
    RegularExpression,
    Repetition,
    alternation,
    character_sets,
    concatenation,
    length_range,
    repetition,
)
from palaver.regular.regular_limits import MAX_EXPRESSION_DEPTH, MAX_EXPRESSION_SIZE, MAX_PERMUTED_PARTS

__all__ = [
    "MAX_EXPRESSION_DEPTH", "MAX_PERMUTED_PARTS", "Automaton", "AutomatonState", "Language", "LanguagePart",
    "NotRegular", "Unit", "packed",
]  # fmt: skip


class Unit(Enum):
    """The meaning of a character of a word."""

    TEXT = "text"
    BYTES = "bytes"
    BITS = "bits"


@dataclass(frozen=True, eq=False)
class Language:
    """All words of a regular expression. Words are str: bytes are seen as latin-1 characters, bits as '0' and '1'."""

    unit: Unit
    expression: RegularExpression | None = field(repr=False)  # None: there are no words
    # What others have worked out about the language, by the class that keeps it, so that all can share it.
    kept: dict[type, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _lengths(self) -> tuple[int, int | None]:
        return (0, 0) if self.expression is None else length_range(self.expression)

    @cached_property
    def shortest(self) -> int:
        """The length of the shortest word."""
        return self._lengths[0]

    @cached_property
    def longest(self) -> int | None:
        """The length of the longest word; None if there is no limit."""
        return self._lengths[1]

    @cached_property
    def automaton(self) -> Automaton:
        return Automaton(self.expression)

    @cached_property
    def classes(self) -> tuple[CharSet, ...]:
        """The sets of characters that the language is made of, each once."""
        return () if self.expression is None else tuple(dict.fromkeys(character_sets(self.expression)))

    @cached_property
    def characters(self) -> CharSet:
        """Every character that can occur in a word."""
        return CharSet.union(self.classes)

    def accepts(self, word: str) -> bool:
        state: AutomatonState | None = self.automaton.start
        for char in word:
            if state is None:
                return False
            state = state[char]
        return state is not None and state.accepts

    def spell(self, word: str) -> str | bytes:
        """A word as text or bytes; bits stay a text of 0 and 1, because they need not fill whole bytes."""
        return word.encode("latin-1") if self.unit is Unit.BYTES else word


def packed(bits: str) -> tuple[bytes, int]:
    """Bits as bytes, and the number of zeros that were appended to fill the last one.

    Bits that do not fill whole bytes can be read as a symbol nevertheless: read these bytes as a symbol of its own
    whose rule is that symbol and so many zeros. Its first child is the node of the bits.
    """
    missing = -len(bits) % 8
    return int("0" + bits + "0" * missing, 2).to_bytes((len(bits) + missing) // 8, "big"), missing


class NotRegular(Exception):
    """The language is not regular, or too large to be worth knowing."""


@dataclass(frozen=True, slots=True)
class LanguagePart:
    """A part of a language. None as expression: it has no words; None as unit: it has no characters."""

    expression: RegularExpression | None
    unit: Unit | None = None
    size: int = 0
    depth: int = 0

    @staticmethod
    def character(chars: CharSet, unit: Unit) -> LanguagePart:
        return LanguagePart(CharacterClass(chars), unit, 1, 0)

    @staticmethod
    def text(text: str, unit: Unit) -> LanguagePart:
        return LanguagePart.sequence([LanguagePart.character(CharSet.of(char), unit) for char in text])

    @staticmethod
    def sequence(parts: Sequence[LanguagePart]) -> LanguagePart:
        parts = [part for part in parts if part.expression is not EMPTY_WORD]
        return _composed(concatenation(part.expression for part in parts), parts)

    @staticmethod
    def choice(options: Sequence[LanguagePart]) -> LanguagePart:
        options = _with_joined_characters([option for option in options if option.expression is not None])
        return _composed(alternation(option.expression for option in options), options)

    def repeated(self, least: int, most: int | None) -> LanguagePart:
        if most is not None and most < least:
            return LanguagePart(None)
        if least == most == 1:
            return self
        found = repetition(self.expression, least, most)
        match found:
            case Repetition(Repetition(body, inner, inner_most), outer, outer_most):
                if inner == inner_most and outer == outer_most:
                    found = Repetition(body, inner * outer, inner * outer)
        return _composed(found, (self,))

    @staticmethod
    def of(expression: RegularExpression | None, unit: Unit, depth: int = 0) -> LanguagePart:
        """The language of an expression."""
        if depth > MAX_EXPRESSION_DEPTH:
            MAX_EXPRESSION_DEPTH.reached()
            raise NotRegular
        match expression:
            case None:
                return LanguagePart(None)
            case CharacterClass(chars):
                return LanguagePart.character(chars, unit)
            case Concatenation(parts):
                return LanguagePart.sequence([LanguagePart.of(part, unit, depth + 1) for part in parts])
            case Alternation(options):
                return LanguagePart.choice([LanguagePart.of(option, unit, depth + 1) for option in options])
            case Repetition(body, least, most):
                return LanguagePart.of(body, unit, depth + 1).repeated(least, most)
            case _:
                assert_never(expression)


def _composed(expression: RegularExpression | None, parts: Sequence[LanguagePart]) -> LanguagePart:
    """The part with this expression, which the constructors may have found to be one of the parts, or trivial."""
    if expression is None or expression is EMPTY_WORD:
        return LanguagePart(expression)
    for part in parts:
        if part.expression is expression:
            return part
    size = 2 + sum(part.size + 1 for part in parts)
    depth = 1 + max(part.depth for part in parts)
    for limit, value in ((MAX_EXPRESSION_SIZE, size), (MAX_EXPRESSION_DEPTH, depth)):
        if value > limit:
            limit.reached()
            raise NotRegular
    return LanguagePart(expression, _common_unit(parts), size, depth)


def _with_joined_characters(options: Sequence[LanguagePart]) -> list[LanguagePart]:
    """The options, with one set of characters for all that are single characters."""
    singles = [option for option in options if isinstance(option.expression, CharacterClass)]
    if len(singles) < 2:
        return list(dict.fromkeys(options))
    sets = [option.expression.chars for option in singles if isinstance(option.expression, CharacterClass)]
    unit = _common_unit(singles)
    assert unit is not None, "a character has a unit"
    joined = LanguagePart.character(CharSet.union(sets), unit)
    return [joined, *(option for option in dict.fromkeys(options) if not isinstance(option.expression, CharacterClass))]


def _common_unit(parts: Sequence[LanguagePart]) -> Unit | None:
    """The unit that all these are in, apart from those that are empty."""
    units = dict.fromkeys(part.unit for part in parts if part.unit is not None)
    if len(units) > 1:
        raise NotRegular
    return next(iter(units), None)
