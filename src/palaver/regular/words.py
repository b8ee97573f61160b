"""Words of a regular language under conditions: enumeration by counting and unranking (Ackerman and Shallit 2009).

The automata of the language and of the conditions run side by side (`product`); characters that none of them tells
apart are one class. Words of a length are counted, and one is drawn by its number (`counting`), so each is equally
likely. An open-ended class (`.`) is drawn from its usual characters only, as everywhere in generation, but everything
else is about all of its characters. Lengths are found without counting (`reachability`).

Where only a length is asked for, and the words are runs of independent characters (`character_runs`), there is no need
for an automaton at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from palaver.random_source import RandomSource
from palaver.regular.automaton import AutomatonState
from palaver.regular.character_runs import CharacterRuns
from palaver.regular.charset import drawable, listed
from palaver.regular.conditions import (
    BYTEWISE,
    DIGIT_CHARS,
    CharAt,
    Contains,
    EndsWith,
    InRange,
    NoneOf,
    Remainder,
    StartsWith,
    WordCondition,
    as_digits,
    digits_of,
)
from palaver.regular.counting import NO_WORD, CountedState, WordCounts
from palaver.regular.language import Language, Unit
from palaver.regular.language_facts import FoundLengths, LanguageFacts, LengthQuery
from palaver.regular.product import ProductAutomaton
from palaver.regular.reachability import Reachability
from palaver.regular.regular_limits import MAX_PREFIX_STEPS, MAX_PRODUCT_STATES, MAX_WORD_LENGTH
from palaver.regular.sampling import NoSuchString, compile_draw, drawn_from

__all__ = [
    "BYTEWISE", "CharAt", "Contains", "EndsWith", "InRange", "NoSuchString", "NoneOf", "Remainder", "StartsWith",
    "WordCondition", "Words", "are_digits", "compile_draw", "digits_of", "drawn_from", "has_words", "of_length",
    "possible_lengths", "spelled", "spells_all",
]  # fmt: skip

# How far the lengths of an endless language are followed beyond the first possible one.
SPREAD = 20

# A number that no count of words needs to exceed to be "many".
_MANY = 1 << 64


def possible_lengths(language: Language, least: int = 0) -> FoundLengths:
    """The lengths of words from `least` on, and whether these are all; of an endless language only the first ones."""
    return _all_words(language).lengths(LengthQuery(least, None, SPREAD))


def of_length(language: Language, length: int, chance: RandomSource) -> str | None:
    """A random word of exactly this length; None if there is none."""
    return _all_words(language).draw(length, chance)


def has_words(language: Language, enough: int) -> bool | None:
    """Return True if there are `enough` words; None if that is not found out soon.

    Every state of the automaton leads to a word, so different beginnings of one length are of different words.
    """
    if language.expression is None or not all(language.classes):
        return None
    shorter = 0
    beginnings = {language.automaton.start: 1}
    for _ in range(MAX_PREFIX_STEPS):
        if shorter + sum(beginnings.values()) >= enough:
            return True
        if not beginnings:
            return False
        shorter += sum(count for state, count in beginnings.items() if state.accepts)
        longer: dict[AutomatonState, int] = {}
        for state, count in beginnings.items():
            chars = state.next_chars()
            if chars.size() >= enough:
                return True
            for char in listed(chars):
                if (after := state[char]) is not None:
                    longer[after] = longer.get(after, 0) + count
        beginnings = longer
    return None


class Words:
    """The words of a language that keep all conditions and have `least` to `most` characters (None: no limit).

    Of an endless language only lengths up to `spread` beyond the first possible one count.
    """

    def __init__(
        self,
        language: Language,
        conditions: tuple[WordCondition, ...] = (),
        least: int = 0,
        most: int | None = None,
        *,
        spread: int = SPREAD,
    ) -> None:
        self.language = language
        self._query = LengthQuery(max(0, least), most, spread)
        every = _all_words(language)
        self._words = _WordSource(every.facts, conditions) if conditions else every

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths that occur, in rising order."""
        return self._lengths.found

    @property
    def is_complete(self) -> bool:
        """True if `lengths` is all there is. Only then does "no lengths" prove that there is no word."""
        return self._lengths.are_all

    @cached_property
    def _lengths(self) -> FoundLengths:
        return self._words.lengths(self._query)

    def draw(self, chance: RandomSource) -> str | None:
        """A random word, each length and each word of it equally likely; None if there is none, or none was found."""
        return self._words.draw(chance.pick(self.lengths), chance) if self.lengths else None

    def count(self, enough: int = _MANY) -> int | None:
        """The number of words; "at least" once that is `enough`. None: it would take too long to count them."""
        total = 0
        for length in self.lengths:
            here = self._words.count(length, enough)
            if here is None:
                return None
            total += here
            if total >= enough:
                break
        return total

    def each(self, most: int) -> Iterator[str]:
        """The first `most` words, by length and then in a fixed order."""
        for length in self.lengths:
            for word in self._words.each(length):
                if most <= 0:
                    return
                yield word
                most -= 1


class _WordSource:
    """The words of a language that keep some conditions, by their length."""

    def __init__(self, facts: LanguageFacts, conditions: tuple[WordCondition, ...] = ()) -> None:
        self.facts = facts
        self._conditions = conditions

    @cached_property
    def _product(self) -> ProductAutomaton:
        return ProductAutomaton(self.facts, self._conditions)

    @cached_property
    def _reachability(self) -> Reachability:
        return Reachability(self.facts, self._product)

    @cached_property
    def _drawn(self) -> WordCounts:
        return WordCounts(self._product, every=False)

    @cached_property
    def _every(self) -> WordCounts:
        """Counts of all words, not only of those that are drawn."""
        chars = self.facts.language.characters
        return self._drawn if drawable(chars) == chars else WordCounts(self._product, every=True)

    @property
    def _runs(self) -> CharacterRuns | None:
        return None if self._conditions else self.facts.runs

    def lengths(self, query: LengthQuery) -> FoundLengths:
        return self._reachability.lengths(query) if self._conditions else self.facts.lengths(query)

    def draw(self, length: int, chance: RandomSource) -> str | None:
        if length > MAX_WORD_LENGTH:
            MAX_WORD_LENGTH.reached()
            return None
        if self._runs is not None:
            runs = self._runs.of_length(length)
            return None if runs is None else "".join([pool.several(count, chance) for pool, count in runs])
        is_possible = bool(self._conditions) or self.facts.has(length)
        start = self._product.start(length) if is_possible else None
        if start is None:
            return None
        counted = self._drawn.of(start)
        if counted is None:
            return self._reachability.walk(start, chance)
        return counted.word(chance.stream.randrange(counted.total)) if counted.total else None

    def count(self, length: int, enough: int) -> int | None:
        """The number of words of this length; `enough` as for `Words.count`."""
        if self._runs is None:
            counted = self._counted(length)
            return None if counted is None else counted.total
        runs = self._runs.of_length(length)
        total = 0 if runs is None else 1
        for pool, count in runs or ():
            # The power itself may have very many digits.
            total *= len(pool.every) ** min(count, enough.bit_length())
            if total >= enough:
                break
        return total

    def each(self, length: int) -> Iterator[str]:
        counted = self._counted(length)
        return iter(()) if counted is None else map(counted.word, range(counted.total))

    def _counted(self, length: int) -> CountedState | None:
        start = self._product.start(length)
        counted = NO_WORD if start is None else self._every.of(start)
        if counted is None:
            MAX_PRODUCT_STATES.reached()
        return counted


def _all_words(language: Language) -> _WordSource:
    found = language.kept.get(_WordSource)
    if found is None:
        found = language.kept[_WordSource] = _WordSource(LanguageFacts(language))
    assert isinstance(found, _WordSource)
    return found


def are_digits(language: Language, base: int, *, empty: bool = False) -> bool:
    """Return True if every word is nothing but digits, so that `InRange` and `Remainder` are exactly about its `int`.

    The empty word is no number to some and 0 to others; so it must not occur, unless `empty` tells that the
    condition knows its value.
    """
    if language.shortest == 0 and not empty:
        return False
    if base == BYTEWISE:
        return language.unit is Unit.BYTES
    return (language.unit is not Unit.BITS or base == 2) and not language.characters - DIGIT_CHARS[base]


def spelled(language: Language, base: int, value: int) -> Iterator[str]:
    """The words that are this number, the shortest first, padded with zeros as the language wants it.

    Of hexadecimal digits that may be large or small, only those with all letters alike come if there are such. If
    the words are not all digits, signs and prefixes are tried too; then the words are candidates, not all there are.
    """
    if (language.unit is Unit.BITS and base != 2) or (base == BYTEWISE and language.unit is not Unit.BYTES):
        return
    signs: tuple[str, ...] = ("",)
    if not are_digits(language, base, empty=True):
        prefix = {2: "0b", 8: "0o", 16: "0x"}.get(base, "")
        signs = ("-",) if value < 0 else ("", "+")
        signs += tuple(sign + each for sign in signs for each in dict.fromkeys((prefix, prefix.upper())) if each)
    elif value < 0:
        return
    digits = as_digits(digits_of(abs(value), base), base)
    zero, fewest = ("\0", len(digits)) if base == BYTEWISE else ("0", max(1, len(digits)))
    for length in possible_lengths(language, fewest).found:
        for sign in signs:
            if length - len(sign) >= fewest:
                padded = digits.rjust(length - len(sign), zero)
                yield from _in_either_case(language, sign, padded) if base == 16 else _accepted(language, sign + padded)


def spells_all(language: Language, base: int) -> bool:
    """Return True if `spelled` misses no word that is the number, so that something can be proved from it."""
    if not are_digits(language, base) or language.longest is None:
        return False
    if language.longest > MAX_WORD_LENGTH:
        MAX_WORD_LENGTH.reached()
        return False
    chars = language.characters
    return base != 16 or not any(letter in chars and letter.upper() in chars for letter in "abcdef")


def _accepted(language: Language, *words: str) -> list[str]:
    return [word for word in dict.fromkeys(words) if language.accepts(word)]


def _in_either_case(language: Language, sign: str, digits: str) -> list[str]:
    alike = _accepted(language, sign + digits, sign + digits.upper())
    if alike or sign or digits == digits.upper():
        return alike
    value = int(digits, 16)
    return list(Words(language, (InRange(16, value, value),), len(digits), len(digits)).each(1))
