"""What is known about the words of a language whatever limits they are under."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from palaver.generation.amounts import Scale
from palaver.generation.lengths import Lengths, Wanted, find_lengths, lengths_of
from palaver.generation.limits import told_apart
from palaver.generation.pools import Pool
from palaver.generation.rows import Rows, rows_of
from palaver.grammar.automaton import State
from palaver.grammar.charset import CharSet
from palaver.grammar.language import Language

# Classes of characters are kept for so many sets that limits tell apart.
_MOST_ALPHABETS = 32

# The lengths that were wanted are kept so many times.
_MOST_LENGTHS = 64

# Lengths are found for powers of two, so that asking for one more costs nothing; this is the first, as an exponent.
_FIRST_SIZE = 10


@dataclass
class Alphabet:
    """The classes of characters that a language and some limits tell apart, and how the language takes them."""

    classes: tuple[CharSet, ...]
    _steps: dict[State, tuple[tuple[int, State], ...]] = field(default_factory=dict)
    _pools: dict[tuple[int, ...], Pool] = field(default_factory=dict)

    @cached_property
    def samples(self) -> tuple[str, ...]:
        """A character of each class."""
        return tuple(chr(chars.bounds[0]) for chars in self.classes)

    def after(self, state: State) -> tuple[tuple[int, State], ...]:
        """The classes that a state takes, each with the state it leads to."""
        found = self._steps.get(state)
        if found is None:
            following = ((at, state[sample]) for at, sample in enumerate(self.samples))
            found = self._steps[state] = tuple((at, there) for at, there in following if there is not None)
        return found

    def pool(self, numbers: tuple[int, ...]) -> Pool:
        """Several classes as one, given by their numbers."""
        found = self._pools.get(numbers)
        if found is None:
            chars = CharSet.ranges(pair for number in numbers for pair in self.classes[number].pairs())
            found = self._pools[numbers] = Pool.of(chars)
        return found


class Facts:
    """What is known about a language; found out when it is first asked for."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._alphabets: dict[tuple[CharSet, ...], Alphabet] = {}
        self._masks: dict[int, int] = {}
        self._lengths: dict[Wanted, Lengths] = {}

    def alphabet(self, cuts: tuple[CharSet, ...]) -> Alphabet:
        """The classes of characters, if these sets are to be told apart too."""
        found = self._alphabets.get(cuts)
        if found is None:
            if len(self._alphabets) >= _MOST_ALPHABETS:
                self._alphabets.clear()
            found = self._alphabets[cuts] = Alphabet(told_apart((*self.language.classes, *cuts)))
        return found

    @cached_property
    def rows(self) -> Rows | None:
        """The words as rows of independent characters, if they are."""
        outline = self.language.outline
        return None if outline is None else rows_of(outline)

    @cached_property
    def loosened(self) -> Language:
        """A language that has the same words of every length that is possible, and no need to count.

        If the words are rows of independent characters then the length tells how often something is repeated.
        """
        return self.language if self.rows is None else self.rows.loosened(self.language)

    def has(self, length: int) -> bool:
        return self.lengths(Wanted(length, length, 0)).found == (length,)

    def lengths(self, wanted: Wanted) -> Lengths:
        language = self.language
        if language.outline is not None and language.shortest == language.longest:
            is_wanted = wanted.least <= language.shortest and (wanted.most is None or language.shortest <= wanted.most)
            return Lengths((language.shortest,) if is_wanted else (), True)
        if wanted not in self._lengths:
            if len(self._lengths) >= _MOST_LENGTHS:
                self._lengths.clear()
            self._lengths[wanted] = find_lengths(language, self.mask, lambda length: False, wanted)
        return self._lengths[wanted]

    def mask(self, upto: int) -> int:
        """The possible lengths as bits of a number, at least up to a certain one."""
        size = max(_FIRST_SIZE, upto.bit_length())
        outline = self.language.outline
        if size not in self._masks and outline is not None:
            self._masks[size] = lengths_of(outline, Scale((1 << size) - 1))
        return self._masks.get(size, 0)
