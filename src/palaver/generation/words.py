"""Words of a regular language under limits: how many there are, how long they are, and random ones of them.

How it works
------------
The automaton of the language and those of the limits run side by side (`product`). A *place* is a state of each of them
and the number of characters still to come, so whether a word can be completed from there, and in how many ways, does
not depend on how long the word is in all: the answers are kept and shared by all lengths.

Characters that nobody tells apart are one class. To draw a word, one number below the number of all words of that
length is drawn (`counting`); so each is equally likely. An open-ended class (`.`) is drawn from its usual characters
only, as everywhere in generation, but everything else is about all of its characters. Which lengths occur is found
without counting (`reach`).

Where nothing is asked but a length, and the words are rows of independent characters (`rows`), there is no need for an
automaton at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from palaver.chance import Chance
from palaver.generation.counting import Counts, Spot
from palaver.generation.facts import Facts
from palaver.generation.lengths import LONGEST, Lengths, Wanted
from palaver.generation.limits import Limit
from palaver.generation.pools import drawable
from palaver.generation.product import Product
from palaver.generation.reach import Reach
from palaver.grammar.language import Language

# How far the lengths of an endless language are followed beyond the first possible one.
SPREAD = 20

# A number that no count of words needs to exceed to be "many".
_MANY = 1 << 64


def possible_lengths(language: Language, least: int = 0) -> Lengths:
    """The lengths of words from `least` on, and whether these are all; of an endless language only the first ones."""
    return _unlimited(language).lengths(Wanted(least, None, SPREAD))


def of_length(language: Language, length: int, chance: Chance) -> str | None:
    """A random word of exactly this length; None if there is none."""
    return _unlimited(language).draw(length, chance)


class Words:
    """The words of a language that keep all limits and have `least` to `most` characters (None: no limit).

    Of an endless language only lengths up to `spread` beyond the first possible one count.
    """

    def __init__(
        self,
        language: Language,
        limits: tuple[Limit, ...] = (),
        least: int = 0,
        most: int | None = None,
        *,
        spread: int = SPREAD,
    ) -> None:
        self.language = language
        self._wanted = Wanted(max(0, least), most, spread)
        unlimited = _unlimited(language)
        self._words: _Unlimited | _Limited = _Limited(unlimited.facts, limits) if limits else unlimited

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths that occur, in rising order."""
        return self._lengths.found

    @property
    def is_complete(self) -> bool:
        """Whether `lengths` is all there is. Only then does "no lengths" prove that there is no word."""
        return self._lengths.are_all

    @cached_property
    def _lengths(self) -> Lengths:
        return self._words.lengths(self._wanted)

    def draw(self, chance: Chance) -> str | None:
        """A random word: each length is equally likely, and of that length each word.

        None: there is no word of these lengths, or none was found among very many places.
        """
        return self._words.draw(chance.pick(self.lengths), chance) if self.lengths else None

    def count(self, enough: int = _MANY) -> int | None:
        """How many words of these lengths there are, exactly; only "at least so many" once that is `enough`.

        None: it would take too long to count them.
        """
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


class _Limited:
    """The words of a language under limits."""

    def __init__(self, facts: Facts, limits: tuple[Limit, ...]) -> None:
        self._language = facts.language
        self._product = Product(facts, limits)
        self._reach = Reach(facts, self._product)
        self._drawn = Counts(self._product, every=False)

    @cached_property
    def _every(self) -> Counts:
        """Counts of all words, not only of those that are drawn."""
        chars = self._language.characters
        return self._drawn if drawable(chars) == chars else Counts(self._product, every=True)

    def lengths(self, wanted: Wanted) -> Lengths:
        return self._reach.lengths(wanted)

    def draw(self, length: int, chance: Chance) -> str | None:
        place = self._product.start(length)
        if place is None:
            return None
        spot = self._drawn.spot(place)
        if spot is None:
            return self._reach.walk(place, chance)
        return spot.word(chance.stream.randrange(spot.total)) if spot.total else None

    def count(self, length: int, enough: int) -> int | None:
        """How many words of this length there are. They are not counted by ones, so `enough` saves nothing."""
        place = self._product.start(length)
        if place is None:
            return 0
        spot = self._every.spot(place)
        return None if spot is None else spot.total

    def each(self, length: int) -> Iterator[str]:
        place = self._product.start(length)
        spot: Spot | None = None if place is None else self._every.spot(place)
        return iter(()) if spot is None else map(spot.word, range(spot.total))


class _Unlimited:
    """All words of a language."""

    def __init__(self, language: Language) -> None:
        self.facts = Facts(language)

    @cached_property
    def _as_product(self) -> _Limited:
        return _Limited(self.facts, ())

    def lengths(self, wanted: Wanted) -> Lengths:
        return self.facts.lengths(wanted)

    def draw(self, length: int, chance: Chance) -> str | None:
        if length > LONGEST:
            return None
        rows = self.facts.rows
        if rows is None:
            return self._as_product.draw(length, chance) if self.facts.has(length) else None
        row = rows.row(length)
        return None if row is None else "".join([pool.several(count, chance) for pool, count in row])

    def count(self, length: int, enough: int) -> int | None:
        rows = self.facts.rows
        if rows is None:
            return self._as_product.count(length, enough)
        row = rows.row(length)
        if row is None:
            return 0
        total = 1
        for pool, count in row:
            # The power itself may have more digits than anybody wants to see.
            total *= len(pool.every) ** min(count, enough.bit_length())
            if total >= enough:
                break
        return total

    def each(self, length: int) -> Iterator[str]:
        return self._as_product.each(length)


def _unlimited(language: Language) -> _Unlimited:
    found = language.kept.get(_Unlimited)
    if found is None:
        found = language.kept[_Unlimited] = _Unlimited(language)
    assert isinstance(found, _Unlimited)
    return found
