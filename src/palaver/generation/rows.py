"""Words that are rows of independent characters (`[0-9]{1,3}`, any bytes): known without an automaton."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from palaver.generation.pools import Pool
from palaver.grammar.language import Language
from palaver.grammar.outline import Chars, Fork, Loop, Outline, Series

# A stretch of several characters is written out so many times.
_MOST_COPIES = 100

# The characters of a word in a row: so many of each class.
Row: TypeAlias = list[tuple[Pool, int]]


@dataclass(frozen=True, slots=True)
class Rows:
    """The words of a language, as rows. At most one stretch is repeated a varying number of times."""

    before: Row
    loop: tuple[Row, int, int | None] | None = None
    after: Row = field(default_factory=list)

    def row(self, length: int) -> Row | None:
        """The classes of a word's characters; None if there is no word of that length."""
        left = length - _width(self.before) - _width(self.after)
        if self.loop is None:
            return None if left else self.before
        inner, least, most = self.loop
        count, rest = divmod(left, _width(inner))
        if rest or count < least or (most is not None and count > most):
            return None
        return [*self.before, *_several(inner, count), *self.after]

    def loosened(self, language: Language) -> Language:
        """The language with one stretch repeated any number of times, if possible."""
        if self.loop is not None:
            repeated = Loop(_outline(self.loop[0]), 0, None)
        elif len(self.before) == 1:
            return Language(language.unit, Loop(Chars(self.before[0][0].chars), 0, None), 0, None)
        else:
            return language
        outline = Series((_outline(self.before), repeated, _outline(self.after)))
        return Language(language.unit, outline, _width(self.before) + _width(self.after), None)


def rows_of(outline: Outline) -> Rows | None:
    """The words of an outline as rows; None if they are none."""
    match outline:
        case Chars(chars):
            return Rows([(Pool.of(chars), 1)])
        case Series(parts):
            return _rows_in_turn(parts)
        case Loop(body, least, most):
            inner = rows_of(body)
            if inner is None or inner.loop is not None:
                return None
            if least == most and (len(inner.before) == 1 or least <= _MOST_COPIES):
                return Rows(_several(inner.before, least))
            return Rows([], (inner.before, least, most))
        case Fork():
            return None


def _rows_in_turn(parts: tuple[Outline, ...]) -> Rows | None:
    whole = Rows([])
    for part in parts:
        inner = rows_of(part)
        if inner is None or (whole.loop and inner.loop):
            return None
        if whole.loop:
            whole = Rows(whole.before, whole.loop, whole.after + inner.before)
        else:
            whole = Rows(whole.before + inner.before, inner.loop, inner.after)
    return whole


def _several(row: Row, count: int) -> Row:
    return [(row[0][0], row[0][1] * count)] if len(row) == 1 else row * count


def _width(row: Row) -> int:
    return sum(count for _, count in row)


def _outline(row: Row) -> Outline:
    return Series(
        tuple(Loop(Chars(pool.chars), count, count) if count > 1 else Chars(pool.chars) for pool, count in row)
    )
