"""The words of a symbol, where they are a regular language.

How it works
------------
A symbol without recursion, computed repetition and generators describes a regular language. Its rule becomes an
outline, symbol by symbol from the bottom up, and the outline an automaton that grows as it is used. Only words matter
here, not derivations, so a choice of characters is one set of characters, whatever rules it was spread over.

Shared rules are written out wherever they are mentioned, so an outline can become much larger than its grammar. What
becomes too large or too deep counts as not regular.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import permutations
from typing import Any

from palaver.grammar.automaton import Automaton, State
from palaver.grammar.charset import BYTES, EVERY, CharSet
from palaver.grammar.ir import mentioned, refs
from palaver.grammar.outline import NOTHING, Chars, Fork, Loop, Outline, Series
from palaver.grammar.regex import compile_pattern
from palaver.spec import ast
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Rule

# Beyond these the automaton would cost more than it is worth, and recursion over outlines would go too deep.
_LARGEST = 10_000
_DEEPEST = 100
_MOST_PERMUTED = 5  # 120 orders

_BIT_CHARS = (CharSet.of("0"), CharSet.of("1"))


class Unit(Enum):
    """What a character of a word stands for."""

    TEXT = "text"
    BYTES = "bytes"
    BITS = "bits"


@dataclass(frozen=True, eq=False)
class Language:
    """All words of a symbol. Words are str: bytes are seen as latin-1 characters, bits as '0' and '1'.

    `outline` (None: there are no words) and `automaton` are exact.
    """

    unit: Unit
    outline: Outline | None = field(repr=False)
    shortest: int  # how many characters a word has
    longest: int | None  # None: there is no limit
    # What later stages worked out about it, by the class that keeps it: they all share what they know.
    kept: dict[type, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def is_finite(self) -> bool:
        return self.longest is not None

    @cached_property
    def automaton(self) -> Automaton:
        return Automaton(self.outline)

    @cached_property
    def classes(self) -> tuple[CharSet, ...]:
        """The sets of characters that the language is made of, each once."""
        sets = (instruction.chars for instruction in self.automaton.program)
        return tuple(chars for chars in dict.fromkeys(sets) if chars)

    @cached_property
    def characters(self) -> CharSet:
        """Every character that can occur in a word."""
        return CharSet.ranges(pair for chars in self.classes for pair in chars.pairs())

    def accepts(self, word: str) -> bool:
        state: State | None = self.automaton.start
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
    whose rule is that symbol and so many zeros. Its first child is what was asked for.
    """
    missing = -len(bits) % 8
    return int("0" + bits + "0" * missing, 2).to_bytes((len(bits) + missing) // 8, "big"), missing


class Languages:
    """The languages of one grammar, each made when it is first asked for.

    In a binary grammar text is its UTF-8 bytes, and every pattern is about bytes.
    """

    def __init__(self, rules: Mapping[str, Rule], *, binary: bool) -> None:
        self._rules = rules
        self._binary = binary
        self._pieces: dict[str, _Piece | None] = {}  # None: not regular
        self._languages: dict[str, Language | None] = {}

    def of(self, symbol: str) -> Language | None:
        """The words of a symbol; None if they are not a regular language, or nothing is known about them."""
        if symbol not in self._languages:
            self._languages[symbol] = self._language(symbol)
        return self._languages[symbol]

    def is_leaf(self, symbol: str) -> bool:
        """Whether the node of any word is the symbol and one leaf, what `Language.spell` makes of the word."""
        rule = self._rules[symbol]
        options = rule.body.options if isinstance(rule.body, Choice) else (rule.body,)
        return rule.generator is None and all(isinstance(option, Literal | Pattern) for option in options)

    def lengths(self, expr: Expr) -> tuple[int, int | None] | None:
        """How long the words of an expression are; None if they are no regular language."""
        for ref in refs(expr):
            self._gather(ref.symbol)
        try:
            piece = self._piece(expr, 0)
        except _Irregular:
            return None
        return piece.shortest, piece.longest

    def _language(self, symbol: str) -> Language | None:
        self._gather(symbol)
        piece = self._pieces[symbol]
        if piece is None:
            return None
        unit = piece.unit or (Unit.BYTES if self._binary else Unit.TEXT)
        return Language(unit, piece.outline, piece.shortest, piece.longest)

    def _gather(self, symbol: str) -> None:
        """Make the pieces of a symbol and of all that it needs, innermost first."""
        pieces = self._pieces
        opened: set[str] = set()
        todo = [symbol]
        while todo:
            name = todo[-1]
            if name in pieces:
                todo.pop()
                continue
            rule = self._rules.get(name)
            if rule is None or rule.generator is not None:
                pieces[name] = None
                continue
            below = mentioned(rule.body)
            missing = [each for each in below if each not in pieces]
            is_irregular = any(pieces.get(each, _DEAD) is None for each in below)
            if is_irregular or any(each in opened for each in missing):  # the second: it contains itself
                pieces[name] = None
            elif missing:
                opened.add(name)
                todo += missing
            else:
                pieces[name] = self._piece_of(rule)

    def _piece_of(self, rule: Rule) -> _Piece | None:
        try:
            return self._piece(rule.body, 0)
        except _Irregular:
            return None

    def _piece(self, expr: Expr, depth: int) -> _Piece:
        if depth > _DEEPEST:
            raise _Irregular
        match expr:
            case Ref(symbol):
                found = self._pieces[symbol]
                if found is None:
                    raise _Irregular
                return found
            case Literal(value):
                return self._literal(value)
            case Pattern(source):
                return self._pattern(source)
            case Bit(value):
                if not self._binary:
                    raise _Irregular
                return _character(_BIT_CHARS[value], Unit.BITS)
            case ast.Sequence(parts):
                return _series([self._piece(part, depth + 1) for part in parts])
            case Choice(options):
                return _fork([self._piece(option, depth + 1) for option in options])
            case Permutation(parts):
                if len(parts) > _MOST_PERMUTED:
                    raise _Irregular
                pieces = [self._piece(part, depth + 1) for part in parts]
                return _fork([_series(order) for order in permutations(pieces)])
            case Repeat(body, int(least), most) if most is None or isinstance(most, int):
                return _loop(self._piece(body, depth + 1), least, most)
        raise _Irregular

    def _literal(self, value: str | bytes) -> _Piece:
        if isinstance(value, bytes):
            text = value.decode("latin-1")
        else:
            text = value.encode("utf-8", "surrogatepass").decode("latin-1") if self._binary else value
        unit = self._unit(value)
        return _series([_character(CharSet((ord(char), ord(char) + 1)), unit) for char in text])

    def _pattern(self, source: str | bytes) -> _Piece:
        regex, unit = compile_pattern(source), self._unit(source)
        if not regex.is_plain:
            raise _Irregular
        outline = regex.outline(BYTES if self._binary else EVERY)
        return _DEAD if outline is None else _outlined(outline, unit, 0)

    def _unit(self, terminal: str | bytes) -> Unit:
        if isinstance(terminal, bytes) and not self._binary:
            raise _Irregular  # bytes in text: nobody can reach it
        return Unit.BYTES if self._binary else Unit.TEXT


# --- pieces -----------------------------------------------------------------------------------------------------------


class _Irregular(Exception):
    """Not regular, or too large to be worth knowing."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """An outline and what is known about it. None as outline: nothing matches; None as unit: no characters."""

    outline: Outline | None
    unit: Unit | None
    size: int
    depth: int
    shortest: int
    longest: int | None


_DEAD = _Piece(None, None, 0, 0, 0, 0)
_EMPTY = _Piece(NOTHING, None, 0, 0, 0, 0)


def _character(chars: CharSet, unit: Unit) -> _Piece:
    return _Piece(Chars(chars), unit, 1, 0, 1, 1)


def _series(pieces: Sequence[_Piece]) -> _Piece:
    if any(piece.outline is None for piece in pieces):
        return _DEAD
    pieces = [piece for piece in pieces if piece.outline is not NOTHING]
    if len(pieces) < 2:
        return pieces[0] if pieces else _EMPTY
    longest = [piece.longest for piece in pieces if piece.longest is not None]
    return _checked(
        Series(_outlines(pieces)),
        pieces,
        sum(piece.shortest for piece in pieces),
        sum(longest) if len(longest) == len(pieces) else None,
    )


def _fork(pieces: Sequence[_Piece]) -> _Piece:
    pieces = _with_joined_characters([piece for piece in pieces if piece.outline is not None])
    if len(pieces) < 2:
        return pieces[0] if pieces else _DEAD
    longest = [piece.longest for piece in pieces if piece.longest is not None]
    return _checked(
        Fork(_outlines(pieces)),
        pieces,
        min(piece.shortest for piece in pieces),
        max(longest) if len(longest) == len(pieces) else None,
    )


def _with_joined_characters(pieces: Sequence[_Piece]) -> list[_Piece]:
    """The options, with one set of characters for all that are single characters."""
    singles = [piece for piece in pieces if isinstance(piece.outline, Chars)]
    if len(singles) < 2:
        return list(dict.fromkeys(pieces))
    sets = [piece.outline.chars for piece in singles if isinstance(piece.outline, Chars)]
    unit = _common_unit(singles)
    assert unit is not None, "a character has a unit"
    joined = _character(CharSet.ranges(pair for chars in sets for pair in chars.pairs()), unit)
    return [joined, *(piece for piece in dict.fromkeys(pieces) if not isinstance(piece.outline, Chars))]


def _loop(body: _Piece, least: int, most: int | None) -> _Piece:
    if most is not None and most < least:
        return _DEAD
    if body.outline is None:
        return _DEAD if least else _EMPTY
    if body.outline is NOTHING or most == 0:
        return _EMPTY
    if least == most == 1:
        return body
    if body.shortest == 0:
        least = 0  # any number of iterations can be empty
    shortest = body.shortest * least
    longest = None if body.longest is None or most is None else body.longest * most
    inner = body.outline
    if least == most and isinstance(inner, Loop) and inner.least == inner.most:
        return _checked(Loop(inner.body, inner.least * least, inner.least * least), (body,), shortest, longest)
    return _checked(Loop(inner, least, most), (body,), shortest, longest)


def _checked(outline: Outline, pieces: Sequence[_Piece], shortest: int, longest: int | None) -> _Piece:
    size = 2 + sum(piece.size + 1 for piece in pieces)
    depth = 1 + max(piece.depth for piece in pieces)
    if size > _LARGEST or depth > _DEEPEST:
        raise _Irregular
    return _Piece(outline, _common_unit(pieces), size, depth, shortest, longest)


def _common_unit(pieces: Sequence[_Piece]) -> Unit | None:
    """The unit that all these are in, apart from those that are empty."""
    units = dict.fromkeys(piece.unit for piece in pieces if piece.unit is not None)
    if len(units) > 1:
        raise _Irregular
    return next(iter(units), None)


def _outlines(pieces: Sequence[_Piece]) -> tuple[Outline, ...]:
    return tuple(piece.outline for piece in pieces if piece.outline is not None)


def _outlined(outline: Outline, unit: Unit, depth: int) -> _Piece:
    """The piece of a pattern's outline."""
    if depth > _DEEPEST:
        raise _Irregular
    match outline:
        case Chars(chars):
            return _character(chars, unit)
        case Series(parts):
            return _series([_outlined(part, unit, depth + 1) for part in parts])
        case Fork(options):
            return _fork([_outlined(option, unit, depth + 1) for option in options])
        case Loop(body, least, most):
            return _loop(_outlined(body, unit, depth + 1), least, most)
