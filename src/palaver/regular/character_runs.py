"""Classes of characters that words are drawn from; and words that are runs of independent characters.

Words that are runs (`[0-9]{1,3}`, any bytes) are drawn and counted without an automaton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import TypeAlias, assert_never

from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.regular.automaton import AutomatonState
from palaver.regular.charset import CharSet, drawable, listed
from palaver.regular.expression import Alternation, CharacterClass, Concatenation, RegularExpression, Repetition
from palaver.regular.language import Language
from palaver.regular.regular_limits import MAX_RUN_COPIES


@dataclass(frozen=True, slots=True)
class CharacterPool:
    """A class of characters: all of them, and those that are drawn."""

    chars: CharSet
    every: Sequence[str]
    drawn: Sequence[str]
    table: bytes | None  # all byte values spread evenly over the drawn characters, if that can be done

    @staticmethod
    def of(chars: CharSet) -> CharacterPool:
        every, usual = listed(chars), drawable(chars)
        drawn = listed(usual) if usual and usual != chars else every
        is_even = 256 % len(drawn) == 0 and drawn[-1] < "\u0100"
        return CharacterPool(chars, every, drawn, bytes(map(ord, drawn)) * (256 // len(drawn)) if is_even else None)

    def several(self, count: int, chance: RandomSource) -> str:
        """So many characters, each drawn on its own."""
        if len(self.drawn) == 1:
            return self.drawn[0] * count
        if self.table is not None:
            return chance.stream.randbytes(count).translate(self.table).decode("latin-1")
        return "".join(chance.stream.choices(self.drawn, k=count))


@dataclass
class CharacterPartition:
    """The classes of characters that a language and some conditions tell apart, and the language's moves by them."""

    classes: tuple[CharSet, ...]
    _moves: dict[AutomatonState, tuple[tuple[int, AutomatonState], ...]] = field(default_factory=dict)
    _pools: dict[tuple[int, ...], CharacterPool] = field(default_factory=dict)

    @cached_property
    def samples(self) -> tuple[str, ...]:
        """A character of each class."""
        return tuple(chr(chars.bounds[0]) for chars in self.classes)

    def after(self, state: AutomatonState) -> tuple[tuple[int, AutomatonState], ...]:
        """The classes that a state takes, each with the state it leads to."""
        found = self._moves.get(state)
        if found is None:
            following = ((at, state[sample]) for at, sample in enumerate(self.samples))
            found = self._moves[state] = tuple((at, there) for at, there in following if there is not None)
        return found

    def pool(self, numbers: tuple[int, ...]) -> CharacterPool:
        """Several classes as one, given by their numbers."""
        found = self._pools.get(numbers)
        if found is None:
            found = self._pools[numbers] = CharacterPool.of(CharSet.union(self.classes[number] for number in numbers))
        return found


# The characters of a word: so many of each class.
RunList: TypeAlias = list[tuple[CharacterPool, int]]


@dataclass(frozen=True, slots=True)
class CharacterRuns:
    """The words of a language as runs. At most one stretch of them is repeated a varying number of times."""

    before: RunList
    loop: tuple[RunList, int, int | None] | None = None
    after: RunList = field(default_factory=list)

    def of_length(self, length: int) -> RunList | None:
        """The classes of a word's characters; None if there is no word of that length."""
        left = length - _width(self.before) - _width(self.after)
        if self.loop is None:
            return None if left else self.before
        inner, least, most = self.loop
        count, rest = divmod(left, _width(inner))
        if rest or count < least or (most is not None and count > most):
            return None
        return [*self.before, *_several(inner, count), *self.after]

    def relaxed(self, language: Language) -> Language:
        """The language with one stretch repeated any number of times, if possible."""
        if self.loop is not None:
            repeated = Repetition(_expression_of(self.loop[0]), 0, None)
        elif len(self.before) == 1:
            return Language(language.unit, Repetition(CharacterClass(self.before[0][0].chars), 0, None))
        else:
            return language
        expression = Concatenation((_expression_of(self.before), repeated, _expression_of(self.after)))
        return Language(language.unit, expression)


def runs_of(expression: RegularExpression) -> CharacterRuns | None:
    """The words of an expression as runs; None if they are not that."""
    match expression:
        case CharacterClass(chars):
            return CharacterRuns([(CharacterPool.of(chars), 1)])
        case Concatenation(parts):
            return _runs_in_sequence(parts)
        case Repetition(body, least, most):
            inner = runs_of(body)
            if inner is None or inner.loop is not None:
                return None
            if least == most and (len(inner.before) == 1 or least <= MAX_RUN_COPIES):
                return CharacterRuns(_several(inner.before, least))
            return CharacterRuns([], (inner.before, least, most))
        case Alternation():
            return None
        case _:
            assert_never(expression)


def _runs_in_sequence(parts: tuple[RegularExpression, ...]) -> CharacterRuns | None:
    whole = CharacterRuns([])
    for part in parts:
        inner = runs_of(part)
        if inner is None or (whole.loop and inner.loop):
            return None
        if whole.loop:
            whole = CharacterRuns(whole.before, whole.loop, whole.after + inner.before)
        else:
            whole = CharacterRuns(whole.before + inner.before, inner.loop, inner.after)
    return whole


def _several(runs: RunList, count: int) -> RunList:
    return [(runs[0][0], runs[0][1] * count)] if len(runs) == 1 else runs * count


def _width(runs: RunList) -> int:
    return sum(count for _, count in runs)


def _expression_of(runs: RunList) -> RegularExpression:
    classes = [(CharacterClass(pool.chars), count) for pool, count in runs]
    return Concatenation(tuple(Repetition(one, count, count) if count > 1 else one for one, count in classes))
