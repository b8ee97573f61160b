"""Which lengths the words of a language have, as bits of a whole number (see `amounts`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from palaver.generation.amounts import Powers, Scale, lowest, members
from palaver.grammar.language import Language
from palaver.grammar.outline import Chars, Fork, Loop, Outline, Series

# Lengths beyond this are not looked for.
LONGEST = 1 << 17


class Wanted(NamedTuple):
    """Lengths from `least` to `most` (None: no limit); without end, only up to `spread` beyond the first possible."""

    least: int
    most: int | None
    spread: int


class Lengths(NamedTuple):
    """Lengths that occur, in rising order, and whether these are all that were asked for."""

    found: tuple[int, ...]
    are_all: bool


def find_lengths(
    language: Language, mask: Callable[[int], int], is_over: Callable[[int], bool], wanted: Wanted
) -> Lengths:
    """The wanted lengths of words; `mask` gives those up to a certain one, `is_over` tells whether none is larger."""
    first = max(wanted.least, language.shortest)
    last = min((each for each in (language.longest, wanted.most) if each is not None), default=None)
    if language.outline is None or (last is not None and last < first):
        return Lengths((), True)
    if first > LONGEST:
        return Lengths((), False)
    end = LONGEST if last is None else min(last, LONGEST)
    if not language.is_finite:
        upto = first
        while not (found := members(mask(upto), first, upto)) and upto < end and not is_over(upto):
            upto = min(2 * upto + 1, end)
        end = min(end, found[0] + wanted.spread if found else upto)
    return Lengths(members(mask(end), first, end), end == last or is_over(end))


def lengths_of(outline: Outline, scale: Scale) -> int:
    """The lengths of words up to the limit of the scale."""
    match outline:
        case Chars():
            return 2
        case Series(parts):
            total = 1
            for part in parts:
                total = scale.sums(total, lengths_of(part, scale))
            return total
        case Fork(options):
            total = 0
            for option in options:
                total |= lengths_of(option, scale)
            return total
        case Loop(body, least, most):
            once = lengths_of(body, scale)
            if once.bit_count() == 1:
                return scale.multiples(lowest(once), least, most)
            further = scale.limit if most is None else most - least
            return scale.sums(Powers(scale, once).mask(least), Powers(scale, once | 1).mask(further))
