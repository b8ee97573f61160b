"""Domains of fields (Mackworth 1977): the words that satisfy every condition which compares the field with a constant.

A `Domain` is the language of a symbol with limits put on it, one for each such condition (`restrict`): a range, a
length, a prefix, a few words. Limits are combined before a word is drawn, so five conditions on a field cost no more
than one. A domain is *exact* if it contains all words that the conditions allow. Only an exact domain proves anything
by being empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import islice
from typing import Any

from palaver.lean_dataclasses import dataclass, replace
from palaver.random_source import RandomSource
from palaver.regular.language import Language
from palaver.regular.words import (
    BYTEWISE,
    InRange,
    NoneOf,
    WordCondition,
    Words,
    digits_of,
    of_length,
    possible_lengths,
    spelled,
)
from palaver.solving.solving_limits import MAX_CACHED_DOMAINS, MAX_DOMAIN_DRAWS, MAX_LEADING_ZEROS
from palaver.spec.ast import Constraint

# The probability that a number is drawn without more leading zeros than it needs.
_USUAL_LENGTH = 0.9


@dataclass(frozen=True, slots=True)
class Domain:
    """The words of a symbol that satisfy the `reasons`."""

    symbol: str
    language: Language
    words: tuple[str, ...] | None = None  # only these
    ranges: tuple[tuple[int, int, int | None], ...] = ()  # base, lowest, highest
    limits: tuple[WordCondition, ...] = ()
    least: int = 0  # the length, in characters of words
    most: int | None = None
    rest: tuple[int, int, tuple[int, ...]] | None = None  # base, a large modulus, the allowed remainders
    is_exact: bool = True
    reasons: tuple[Constraint, ...] = ()
    spread: int = 20  # how far the lengths of an endless language are drawn beyond the first possible one
    # Words under limits, counted; shared by all domains of a symbol.
    _known: dict[tuple[Any, ...], Words] = field(default_factory=dict, compare=False, repr=False)

    def one_of(self, words: Iterable[str], *, is_exact: bool = True) -> Domain:
        known = self.words
        kept = tuple(dict.fromkeys(word for word in words if known is None or word in known))
        return replace(self, words=kept, is_exact=self.is_exact and is_exact)

    def none_of(self, words: Iterable[str]) -> Domain:
        return self.limited(NoneOf(tuple(words)))

    def limited(self, *limits: WordCondition) -> Domain:
        return replace(self, limits=(*self.limits, *limits))

    def in_range(self, base: int, low: int | None, high: int | None) -> Domain:
        least, most = self.range_in(base)
        ranges = {known: (lowest, highest) for known, lowest, highest in self.ranges}
        ranges[base] = (max(least, 0 if low is None else low), lower_of(most, high))
        return replace(self, ranges=tuple((known, *limits) for known, limits in ranges.items()))

    def of_length(self, least: int, most: int | None) -> Domain:
        return replace(self, least=max(self.least, least), most=lower_of(self.most, most))

    def range_in(self, base: int) -> tuple[int, int | None]:
        """The required range of numbers in this base."""
        return next(((low, high) for known, low, high in self.ranges if known == base), (0, None))

    @property
    def is_free(self) -> bool:
        """True if all words of the language are in the domain."""
        return self.words is None and not self.ranges and not self.limits and self._any_length and self.rest is None

    @property
    def _any_length(self) -> bool:
        return self.least == 0 and self.most is None

    @property
    def is_single(self) -> bool:
        """True if the domain is one word or one number, so that `draw` always begins with the same word."""
        return self._single is not None or (self.words is not None and len(self.words) < 2)

    @property
    def _single(self) -> tuple[int, int] | None:
        """The base and the value, if the only limit is to be one number."""
        if len(self.ranges) == 1 and not self.limits:
            ((base, low, high),) = self.ranges
            return (base, low) if low == high else None
        return None

    @property
    def _all_limits(self) -> tuple[WordCondition, ...]:
        return (*self.limits, *(InRange(base, low, high) for base, low, high in self.ranges))

    def allows(self, word: str) -> bool:
        """True if a word of the language is in the domain."""
        if len(word) < self.least or (self.most is not None and len(word) > self.most):
            return False
        if self.words is not None and word not in self.words:
            return False
        if not self.language.accepts(word) or (self.rest is not None and not self._has_rest(word)):
            return False
        return all(_keeps(word, limit) for limit in self._all_limits)

    def _has_rest(self, word: str) -> bool:
        assert self.rest is not None, "a remainder is required"
        base, modulus, allowed = self.rest
        number = int.from_bytes(word.encode("latin-1"), "big") if base == BYTEWISE else int(word, base)
        return number % modulus in allowed

    @property
    def is_guess(self) -> bool:
        """True if the domain is a list of words that need not be all."""
        return self.words is not None and not self.is_exact

    @property
    def is_hopeless(self) -> bool:
        """True if no word can be drawn, though that proves nothing."""
        return not self.is_exact and (self._is_contradictory or self._has_no_word_left)

    @property
    def is_empty(self) -> bool:
        """True if it is proved that the domain is empty."""
        if not self.is_exact:
            return False
        if self._is_contradictory or self._has_no_word_left:
            return True
        if self.words is not None:
            return False
        firsts = (word for base, low, _ in self.ranges for word in islice(spelled(self.language, base, low), 3))
        if any(map(self.allows, firsts)):
            return False  # found without counting words
        words = self._words()
        return words.is_complete and not words.lengths

    @property
    def _is_contradictory(self) -> bool:
        return (self.most is not None and self.least > self.most) or any(
            high is not None and low > high for _, low, high in self.ranges
        )

    @property
    def _has_no_word_left(self) -> bool:
        return self.words is not None and not any(map(self.allows, self.words))

    def lengths(self) -> tuple[int, int | None]:
        """The least and the largest length of a word, or bounds on these; (1, 0) if there is no word."""
        if self.words is not None:
            found = sorted(len(word) for word in self.words if self.allows(word))
            return (found[0], found[-1]) if found else (1, 0)
        if self.is_free and self.language.expression is not None:
            return self.language.shortest, self.language.longest
        words = self._words()
        if not words.lengths:
            return (1, 0) if words.is_complete else (self.least, self.most)
        return words.lengths[0], words.lengths[-1] if words.is_complete else self.most

    def each(self, most: int) -> Iterator[str]:
        """The first words of the domain, by length and then in a fixed order; at most so many are looked at."""
        words = self._words().each(most) if self.words is None else iter(self.words)
        return (word for word in words if self.is_free or self.allows(word))

    def _words(self, *, usual: bool = False) -> Words:
        """The words; with `usual` only numbers that are no longer than their range requires, if there are any."""
        most = lower_of(self.most, self._usual_length if usual else None)
        key = (self._all_limits, self.least, most)
        known = self._known
        if key not in known:
            if len(known) > MAX_CACHED_DOMAINS:
                known.clear()
            known[key] = Words(self.language, *key, spread=self.spread)
        return known[key] if known[key].lengths or most == self.most else self._words()

    @property
    def _usual_length(self) -> int | None:
        """The number of digits of the largest allowed number."""
        tops = [len(digits_of(high, base)) for base, _, high in self.ranges if high is not None]
        return max(1, *tops) if tops else None

    def draw(self, chance: RandomSource) -> Iterator[str]:
        """Words to try, at random; finitely many."""
        if self._is_contradictory:
            return
        if self.words is not None:
            words = [word for word in self.words if self.allows(word)]
            while words:
                yield words.pop(chance.below(len(words)))
        elif self.rest is not None:
            yield from self._with_rest(chance)
        elif self._single is not None:
            yield from (word for word in spelled(self.language, *self._single) if self.allows(word))
        elif self.least == self.most and not self.limits and not self.ranges:
            while (word := of_length(self.language, self.least, chance)) is not None:
                yield word
        else:
            yield from self._numbers_drawn(chance)
            for _ in range(MAX_DOMAIN_DRAWS):
                word = self._words(usual=chance.random() < _USUAL_LENGTH).draw(chance)
                if word is None:
                    return
                yield word
            MAX_DOMAIN_DRAWS.reached()

    def _numbers_drawn(self, chance: RandomSource) -> Iterator[str]:
        """Words to try if the only limit is a range of numbers, which needs no counting.

        As with words, the numbers of each length are equally likely. It ends with the first number that is no word.
        """
        longest = self.language.longest
        if len(self.ranges) != 1 or self.limits or not self._any_length or longest is None:
            return
        ((base, low, high),) = self.ranges
        if base == 16 or not self.language.shortest:
            return  # there are more spellings than `spelled` gives
        top = base**longest - 1 if high is None else min(high, base**longest - 1)
        is_fixed = self.language.shortest == longest
        lengths = range(max(1, len(digits_of(low, base))), max(1, len(digits_of(top, base))) + 1)
        for _ in range(MAX_DOMAIN_DRAWS if low <= top else 0):
            length = lengths[0] if is_fixed else chance.pick(lengths)
            first = low if is_fixed or length == 1 else max(low, base ** (length - 1))
            last = top if is_fixed else min(top, base**length - 1)
            words = list(islice(spelled(self.language, base, chance.stream.randint(first, last)), MAX_LEADING_ZEROS))
            if not words:
                return
            yield words[0] if chance.random() < _USUAL_LENGTH else chance.pick(words)

    def _with_rest(self, chance: RandomSource) -> Iterator[str]:
        assert self.rest is not None, "a remainder is required"
        base, modulus, allowed = self.rest
        low, high = self.range_in(base)
        longest = max(possible_lengths(self.language).found, default=0)
        top = base**longest - 1 if high is None else min(high, base**longest - 1)
        if not allowed or low > top:
            return
        for _ in range(MAX_DOMAIN_DRAWS):
            number = low + chance.stream.randrange(top - low + 1)
            number += chance.pick(allowed) - number % modulus
            yield from (word for word in spelled(self.language, base, number) if number >= 0 and self.allows(word))
            # Where few numbers are words, a random word is more likely to fit.
            other = self._words().draw(chance)
            if other is not None and self.allows(other):
                yield other
        MAX_DOMAIN_DRAWS.reached()


def lower_of(one: int | None, other: int | None) -> int | None:
    """The lower of two upper bounds; None is no bound."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _keeps(word: str, limit: WordCondition) -> bool:
    state = limit.start(len(word))
    for left, char in zip(range(len(word) - 1, -1, -1), word, strict=True):
        if state is None:
            return False
        state = limit.step(state, char, left)
    return state is not None and limit.ends(state)
