"""The alphabet and the word lengths of a language, found on demand and kept; lengths are bit sets (`bitsets`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, assert_never

from palaver.regular.bitsets import BoundedSums, IteratedSums, lowest, members
from palaver.regular.character_runs import CharacterPartition, CharacterRuns, runs_of
from palaver.regular.charset import CharSet, partition
from palaver.regular.expression import Alternation, CharacterClass, Concatenation, RegularExpression, Repetition
from palaver.regular.language import Language
from palaver.regular.regular_limits import MAX_CACHED_LENGTHS, MAX_CACHED_PARTITIONS, MAX_WORD_LENGTH

# Lengths are found up to powers of two, so that asking for one more costs nothing; this is the first, as an exponent.
_FIRST_SIZE = 10


class LengthQuery(NamedTuple):
    """Lengths from `least` to `most` (None: no limit); without end, only up to `spread` beyond the first possible."""

    least: int
    most: int | None
    spread: int


class FoundLengths(NamedTuple):
    """Lengths that occur, in rising order; `are_all` is True if no other length of the query occurs."""

    found: tuple[int, ...]
    are_all: bool


class LanguageFacts:
    """The alphabet and the lengths of a language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._partitions: dict[tuple[CharSet, ...], CharacterPartition] = {}
        self._masks: dict[int, int] = {}
        self._lengths: dict[LengthQuery, FoundLengths] = {}

    def partition(self, cuts: tuple[CharSet, ...]) -> CharacterPartition:
        """The classes of characters, if these sets are to be told apart too."""
        found = self._partitions.get(cuts)
        if found is None:
            if len(self._partitions) >= MAX_CACHED_PARTITIONS:
                self._partitions.clear()
            classes = partition((*self.language.classes, *cuts))
            found = self._partitions[cuts] = CharacterPartition(classes)
        return found

    @cached_property
    def runs(self) -> CharacterRuns | None:
        """The words as runs of independent characters, if they are that."""
        return None if self.language.expression is None else runs_of(self.language.expression)

    @cached_property
    def relaxed(self) -> Language:
        """A language that has the same words of every length that is possible, and no need to count.

        If the words are runs of independent characters then the length tells how often something is repeated.
        """
        return self.language if self.runs is None else self.runs.relaxed(self.language)

    def has(self, length: int) -> bool:
        return self.lengths(LengthQuery(length, length, 0)).found == (length,)

    def lengths(self, query: LengthQuery) -> FoundLengths:
        language = self.language
        if language.expression is not None and language.shortest == language.longest:
            is_wanted = query.least <= language.shortest and (query.most is None or language.shortest <= query.most)
            return FoundLengths((language.shortest,) if is_wanted else (), True)
        if query not in self._lengths:
            if len(self._lengths) >= MAX_CACHED_LENGTHS:
                self._lengths.clear()
            self._lengths[query] = find_lengths(language, self.mask, lambda length: False, query)
        return self._lengths[query]

    def mask(self, upto: int) -> int:
        """The possible lengths as a bit set, at least up to a certain one."""
        size = max(_FIRST_SIZE, upto.bit_length())
        expression = self.language.expression
        if size not in self._masks and expression is not None:
            self._masks[size] = length_set(expression, BoundedSums((1 << size) - 1))
        return self._masks.get(size, 0)


def find_lengths(
    language: Language, mask: Callable[[int], int], is_over: Callable[[int], bool], query: LengthQuery
) -> FoundLengths:
    """The lengths of words; `mask` gives those up to a certain one, `is_over` is True if none is larger."""
    first = max(query.least, language.shortest)
    last = min((each for each in (language.longest, query.most) if each is not None), default=None)
    if language.expression is None or (last is not None and last < first):
        return FoundLengths((), True)
    if max(first, last or 0) > MAX_WORD_LENGTH:
        MAX_WORD_LENGTH.reached()
    if first > MAX_WORD_LENGTH:
        return FoundLengths((), False)
    end = int(MAX_WORD_LENGTH) if last is None else min(last, int(MAX_WORD_LENGTH))
    if language.longest is None:
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
