"""Patterns, and the regular expressions and automata that they stand for.

A pattern is Python's `re` syntax plus `\\p{Lu}` and `[[:alpha:]]`. These two are first rewritten to plain ranges
(`character_classes`), then the standard library's own parser does the rest (`regex_parser`), so our syntax cannot
differ from Python's. A bytes pattern is read as text whose characters are the bytes (latin-1), with `re.ASCII` in
force.

A *plain* pattern has nothing in it that textbooks do not have, and its regular expression is exact. In any other a
look-around or an anchor is widened to the empty word and a back-reference to any text, so the expression accepts at
least what the pattern matches; `Regex.matches` decides about each candidate, and `Regex.verify` does so in bounded work
(`pattern_matching`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import field
from functools import cache, cached_property
from typing import assert_never

from palaver.errors import Undecided
from palaver.lean_dataclasses import dataclass
from palaver.regular.automaton import Automaton
from palaver.regular.character_classes import PatternError, expand_classes, original_place
from palaver.regular.charset import ASCII, BYTES, EVERY, CharSet
from palaver.regular.expression import (
    EMPTY_WORD,
    Alternation,
    CharacterClass,
    Concatenation,
    RegularExpression,
    Repetition,
    alternation,
    can_be_empty,
    character_sets,
    concatenation,
    length_range,
    repetition,
)
from palaver.regular.pattern_matching import BacktrackingCost, backtracking_cost, matches_at_all
from palaver.regular.regex_parser import (
    Anchor,
    BackReference,
    Conditional,
    Group,
    LookAround,
    ParsedPattern,
    PatternCharacter,
    PatternSyntax,
    WordBoundary,
    parse_pattern,
)
from palaver.regular.regular_limits import MAX_BACKTRACKING_STEPS, MAX_TRIED_LENGTH

__all__ = [
    "EMPTY_WORD", "Alternation", "CharacterClass", "Concatenation", "PatternError", "Regex", "RegularExpression",
    "Repetition", "can_be_empty", "character_sets", "compile_pattern", "length_range",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Regex:
    """A pattern that has been read."""

    source: str | bytes
    parsed: ParsedPattern = field(repr=False)
    expanded: str = field(repr=False)

    @property
    def syntax(self) -> PatternSyntax:
        """The syntax tree."""
        return self.parsed.syntax

    @property
    def width(self) -> tuple[int, int | None]:
        """The least and the largest length."""
        return self.parsed.width

    @property
    def is_plain(self) -> bool:
        """True if it has nothing in it that textbooks do not have."""
        return self.parsed.is_plain

    @cached_property
    def automaton(self) -> Automaton:
        """An automaton that accepts what the pattern matches, or more if it is not plain."""
        return self._automaton(BYTES if isinstance(self.source, bytes) else EVERY)

    @cached_property
    def byte_automaton(self) -> Automaton:
        """The same for input that consists of bytes, seen as the characters up to U+00FF."""
        return self.automaton if isinstance(self.source, bytes) else self._automaton(BYTES)

    @cached_property
    def _fullmatch(self) -> Callable[[str], object]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(self.expanded, _flags(self.source)).fullmatch

    def matches(self, text: str) -> bool:
        """Return True if the pattern matches exactly `text`; anchors and look-around see nothing else."""
        return self._fullmatch(text) is not None

    @cached_property
    def _backtracking_cost(self) -> BacktrackingCost | None:
        return backtracking_cost(self.syntax)

    def verify(self, text: str) -> bool:
        """The same as `matches`, in bounded work: `text` may be made to let Python's `re` backtrack without end.

        :raises Undecided: it would take too long
        """
        cost = self._backtracking_cost
        if not text or (cost is not None and cost.is_small(len(text))):
            return self.matches(text)
        if self.parsed.is_memoryless:
            return matches_at_all(self.syntax, text, repr(self.source))
        if len(text) <= MAX_TRIED_LENGTH:
            return self.matches(text)
        MAX_BACKTRACKING_STEPS.reached()
        raise Undecided(f"matching {len(text)} characters with the pattern {self.source!r} may take too many steps")

    def expression(self, alphabet: CharSet) -> RegularExpression | None:
        """An expression that accepts what the pattern matches, or more if it is not plain; None if that is nothing."""
        return _expression(self, alphabet)

    def _automaton(self, alphabet: CharSet) -> Automaton:
        return Automaton(self.expression(alphabet))


@cache
def compile_pattern(source: str | bytes) -> Regex:
    """The meaning of a pattern. :raises PatternError: it has none"""
    text, flags = source.decode("latin-1") if isinstance(source, bytes) else source, _flags(source)
    expanded, places = expand_classes(text, ASCII if isinstance(source, bytes) else EVERY)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = parse_pattern(expanded, flags)
            if not parsed.is_plain:
                re.compile(expanded, flags)  # a look-behind of varying width is found only here
    except re.error as error:
        raise PatternError(error.msg, original_place(places, error.pos or 0)) from None
    except (RecursionError, OverflowError):
        raise PatternError("the pattern is too large or nested too deeply") from None
    return Regex(source, parsed, expanded)


@cache
def _expression(pattern: Regex, alphabet: CharSet) -> RegularExpression | None:
    return _widened(pattern.syntax, alphabet)


def _flags(source: str | bytes) -> int:
    return re.ASCII if isinstance(source, bytes) else 0


def _widened(syntax: PatternSyntax, alphabet: CharSet) -> RegularExpression | None:
    """A regular expression over an alphabet that accepts at least what a pattern matches."""
    match syntax:
        case PatternCharacter():
            chars = syntax.chars & alphabet
            return CharacterClass(chars) if chars else None
        case Concatenation(parts):
            return concatenation(_widened(part, alphabet) for part in parts)
        case Alternation(options):
            return alternation(_widened(option, alphabet) for option in options)
        case Conditional(_, yes, no):
            return alternation((_widened(yes, alphabet), _widened(no, alphabet)))
        case Repetition(body, least, most):
            return repetition(_widened(body, alphabet), least, most)
        case Group(_, body):
            return _widened(body, alphabet)
        case BackReference():
            return Repetition(CharacterClass(alphabet), 0, None)
        case LookAround() | Anchor() | WordBoundary():
            return EMPTY_WORD
        case _:
            assert_never(syntax)
