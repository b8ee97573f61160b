"""Facts about the words of a language that do not depend on conditions, found on demand and kept."""

from __future__ import annotations

from functools import cached_property

from palaver.regular.bitsets import BoundedSums
from palaver.regular.character_pools import CharacterPartition
from palaver.regular.character_runs import CharacterRuns, runs_of
from palaver.regular.charset import CharSet, partition
from palaver.regular.language import Language
from palaver.regular.lengths import FoundLengths, LengthQuery, find_lengths, length_set
from palaver.regular.regular_limits import MAX_CACHED_LENGTHS, MAX_CACHED_PARTITIONS

# Lengths are found up to powers of two, so that asking for one more costs nothing; this is the first, as an exponent.
_FIRST_SIZE = 10


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
        return None if self.language.outline is None else runs_of(self.language.outline)

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
        if language.outline is not None and language.shortest == language.longest:
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
        expression = self.language.outline
        if size not in self._masks and expression is not None:
            self._masks[size] = length_set(expression, BoundedSums((1 << size) - 1))
        return self._masks.get(size, 0)
