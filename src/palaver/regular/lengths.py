"""The set of a regular language's word lengths, as a bit set (`bitsets`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, assert_never

from palaver.regular.bitsets import BoundedSums, IteratedSums, lowest, members
from palaver.regular.expression import Alternation, CharacterClass, Concatenation, RegularExpression, Repetition
from palaver.regular.language import Language
from palaver.regular.regular_limits import MAX_WORD_LENGTH


class LengthQuery(NamedTuple):
    """Lengths from `least` to `most` (None: no limit); without end, only up to `spread` beyond the first possible."""

    least: int
    most: int | None
    spread: int


class FoundLengths(NamedTuple):
    """Lengths that occur, in rising order; `are_all` is True if no other length of the query occurs."""

    found: tuple[int, ...]
    are_all: bool


def find_lengths(
    language: Language, mask: Callable[[int], int], is_over: Callable[[int], bool], query: LengthQuery
) -> FoundLengths:
    """The lengths of words; `mask` gives those up to a certain one, `is_over` is True if none is larger."""
    first = max(query.least, language.shortest)
    last = min((each for each in (language.longest, query.most) if each is not None), default=None)
    if language.outline is None or (last is not None and last < first):
        return FoundLengths((), True)
    if max(first, last or 0) > MAX_WORD_LENGTH:
        MAX_WORD_LENGTH.reached()
    if first > MAX_WORD_LENGTH:
        return FoundLengths((), False)
    end = int(MAX_WORD_LENGTH) if last is None else min(last, int(MAX_WORD_LENGTH))
    if not language.is_finite:
        upto = first
        while not (found := members(mask(upto), first, upto)) and upto < end and not is_over(upto):
            upto = min(2 * upto + 1, end)
        end = min(end, found[0] + query.spread if found else upto)
    return FoundLengths(members(mask(end), first, end), end == last or is_over(end))


def length_set(expression: RegularExpression, sums: BoundedSums) -> int:
    """The lengths of words up to the limit of the sums."""
    match expression:
        case CharacterClass():
            return 2
        case Concatenation(parts):
            total = 1
            for part in parts:
                total = sums.sums(total, length_set(part, sums))
            return total
        case Alternation(options):
            total = 0
            for option in options:
                total |= length_set(option, sums)
            return total
        case Repetition(body, least, most):
            once = length_set(body, sums)
            if once.bit_count() == 1:
                return sums.multiples(lowest(once), least, most)
            further = sums.limit if most is None else most - least
            return sums.sums(IteratedSums(sums, once).mask(least), IteratedSums(sums, once | 1).mask(further))
        case _:
            assert_never(expression)
