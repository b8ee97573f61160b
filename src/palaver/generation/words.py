"""Words of a regular language under limits: how many there are, how long they are, and random ones of them.

How it works
------------
The automaton of the language and those of the limits run side by side. A *place* is a state of each of them and the
number of characters still to come, so whether a word can be completed from there, and in how many ways, does not depend
on how long the word is in all: the answers are kept and shared by all lengths.

Characters that nobody tells apart are one class. To draw a word, one number below the number of all words of that
length is drawn, and the word with that number is spelled out from the counts; so each is equally likely. An open-ended
class (`.`) is drawn from its usual characters only, as everywhere in generation, but everything else is about all of
its characters.

Which lengths occur is found without counting. Far from the end of a word the limits do not care how far it is (beyond
their `horizon`), so all lengths share one walk from the start, and only the last few characters are looked at apart.

Where nothing is asked but a length, and the words are rows of independent characters (`[0-9]{1,3}`, any bytes), there
is no need for an automaton at all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias, cast

from palaver.chance import Chance
from palaver.generation.limits import (
    BYTEWISE,
    CharAt,
    Contains,
    EndsWith,
    InRange,
    Limit,
    NoneOf,
    Remainder,
    StartsWith,
    as_digits,
    digit_chars,
    digits_of,
    told_apart,
)
from palaver.generation.pools import drawable
from palaver.grammar.automaton import State
from palaver.grammar.charset import CharSet
from palaver.grammar.language import Language, Unit
from palaver.grammar.outline import Chars, Fork, Loop, Outline, Series

__all__ = [
    "CharAt",
    "Contains",
    "EndsWith",
    "InRange",
    "Limit",
    "NoneOf",
    "Remainder",
    "StartsWith",
    "Words",
    "are_digits",
    "of_length",
    "possible_lengths",
    "spelled",
    "spells_all",
]

# How far the lengths of an endless language are followed beyond the first possible one.
SPREAD = 20

# Lengths beyond this are not looked for.
_LONGEST = 1 << 17

# Longer words are not counted: the numbers alone would fill the memory. They are drawn by walking at random.
_LONGEST_COUNTED = 1_000

# So many places are looked at for one answer, then it is given up: about half a second.
_MOST_PLACES = 30_000

# A step from a state that follows fewer ways at once costs about the same as from any other such.
_CHEAP_WIDTH = 10

# Classes of more characters are not written out.
_LARGEST_POOL = 4096

# A number that no count of words needs to exceed to be "many".
_MANY = 1 << 64

# Tables that do not depend on limits are kept for so many alphabets.
_MOST_ALPHABETS = 32

# The lengths within limits are kept for so many limits.
_MOST_LENGTHS = 64

# A stretch of several characters is written out so many times.
_MOST_COPIES = 100


def are_digits(language: Language, base: int, *, empty: bool = False) -> bool:
    """Whether every word is nothing but digits, so that `InRange` and `Remainder` say exactly what `int` would.

    The empty word is no number to some and 0 to others; so it must not occur, unless `empty` tells that the limit
    knows what it is worth.
    """
    if language.shortest == 0 and not empty:
        return False
    if base == BYTEWISE:
        return language.unit is Unit.BYTES
    return (language.unit is not Unit.BITS or base == 2) and not language.characters - digit_chars(base)


def possible_lengths(language: Language) -> tuple[tuple[int, ...], bool]:
    """The lengths of words, and whether these are all; of an endless language they are only the first ones."""
    return _plain(language).lengths(0, None, SPREAD)


def of_length(language: Language, length: int, chance: Chance) -> str | None:
    """A random word of exactly this length; None if there is none."""
    return _plain(language).draw(length, chance)


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
    for length in _plain(language).lengths(fewest, None, SPREAD)[0]:
        for sign in signs:
            if length - len(sign) >= fewest:
                padded = digits.rjust(length - len(sign), zero)
                yield from _in_either_case(language, sign, padded) if base == 16 else _accepted(language, sign + padded)


def spells_all(language: Language, base: int) -> bool:
    """Whether `spelled` misses no word that is the number, so that something can be proved from it."""
    if not are_digits(language, base) or language.longest is None or language.longest > _LONGEST:
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
        self._least = max(0, least)
        self._most = most
        self._spread = spread
        self._plain = _plain(language)
        self._product = _Product(self._plain, limits) if limits else None

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths that occur, in rising order."""
        return self._found[0]

    @property
    def is_complete(self) -> bool:
        """Whether `lengths` is all there is. Only then does "no lengths" prove that there is no word."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[tuple[int, ...], bool]:
        if self._product is None:
            return self._plain.lengths(self._least, self._most, self._spread)
        return self._product.lengths(self._least, self._most, self._spread)

    def span(self) -> tuple[int, int] | None:
        """The least and the largest length; None if there are no words."""
        return (self.lengths[0], self.lengths[-1]) if self.lengths else None

    def draw(self, chance: Chance) -> str | None:
        """A random word: each length is equally likely, and of that length each word.

        None: there is no word of these lengths, or none was found among very many places.
        """
        if not self.lengths:
            return None
        length = chance.pick(self.lengths)
        return self._plain.draw(length, chance) if self._product is None else self._product.draw(length, chance)

    def count(self, enough: int = _MANY) -> int | None:
        """How many words of these lengths there are, exactly; only "at least so many" once that is `enough`.

        None: it would take too long to count them.
        """
        total = 0
        for length in self.lengths:
            here = self._plain.count(length, enough) if self._product is None else self._product.count(length)
            if here is None:
                return None
            total += here
            if total >= enough:
                break
        return total

    def each(self, most: int) -> Iterator[str]:
        """The first `most` words, by length and then in a fixed order."""
        product = self._product or self._plain.product
        for length in self.lengths:
            for word in product.each(length):
                if most <= 0:
                    return
                yield word
                most -= 1


# --- pools ------------------------------------------------------------------------------------------------------------


class _Ranges(Sequence[str]):
    """The characters of a class that is too large to be written out."""

    def __init__(self, chars: CharSet) -> None:
        pairs = list(chars.pairs())
        self._upto = list(accumulate(high - low + 1 for low, high in pairs))
        self._starts = [high + 1 - upto for (_, high), upto in zip(pairs, self._upto, strict=True)]

    def __len__(self) -> int:
        return self._upto[-1]

    def __getitem__(self, at):  # type: ignore[no-untyped-def]  # only ever asked for one
        return chr(self._starts[bisect_right(self._upto, at)] + at)


def _written_out(chars: CharSet) -> Sequence[str]:
    if chars.size() > _LARGEST_POOL:
        return _Ranges(chars)
    return "".join(chr(code) for low, high in chars.pairs() for code in range(low, high + 1))


@dataclass(frozen=True, slots=True)
class _Pool:
    """A class of characters: all of them, and those that are drawn."""

    chars: CharSet
    every: Sequence[str]
    drawn: Sequence[str]
    table: bytes | None  # all byte values spread evenly over what is drawn, if that can be done

    @staticmethod
    def of(chars: CharSet) -> _Pool:
        every, usual = _written_out(chars), drawable(chars)
        drawn = _written_out(usual) if usual and usual != chars else every
        is_even = 256 % len(drawn) == 0 and drawn[-1] < "\u0100"
        return _Pool(chars, every, drawn, bytes(map(ord, drawn)) * (256 // len(drawn)) if is_even else None)

    def several(self, count: int, chance: Chance) -> str:
        """So many characters, each drawn on its own."""
        if len(self.drawn) == 1:
            return self.drawn[0] * count
        if self.table is not None:
            return chance.stream.randbytes(count).translate(self.table).decode("latin-1")
        return "".join(chance.stream.choices(self.drawn, k=count))


# --- what does not depend on limits -----------------------------------------------------------------------------------


@dataclass
class _Alphabet:
    """The classes of characters that a language and some limits tell apart, and how the language takes them."""

    classes: tuple[CharSet, ...]
    steps: dict[State, tuple[tuple[int, State], ...]] = field(default_factory=dict)
    pools: dict[tuple[int, ...], _Pool] = field(default_factory=dict)

    @cached_property
    def samples(self) -> tuple[str, ...]:
        return tuple(chr(chars.bounds[0]) for chars in self.classes)

    def after(self, state: State) -> tuple[tuple[int, State], ...]:
        """The classes that a state takes, each with the state it leads to."""
        found = self.steps.get(state)
        if found is None:
            following = ((at, state[sample]) for at, sample in enumerate(self.samples))
            found = self.steps[state] = tuple((at, there) for at, there in following if there is not None)
        return found

    def pool(self, numbers: tuple[int, ...]) -> _Pool:
        found = self.pools.get(numbers)
        if found is None:
            chars = CharSet.ranges(pair for number in numbers for pair in self.classes[number].pairs())
            found = self.pools[numbers] = _Pool.of(chars)
        return found


# The characters of a word in a row: so many of each class.
_Row: TypeAlias = list[tuple[_Pool, int]]


class _Plain:
    """What is known about a language without limits."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._alphabets: dict[tuple[CharSet, ...], _Alphabet] = {}
        self._masks: dict[int, int] = {}
        self._found: dict[tuple[int, int | None, int], tuple[tuple[int, ...], bool]] = {}

    def alphabet(self, cuts: tuple[CharSet, ...]) -> _Alphabet:
        """The classes of characters, if these sets are to be told apart too."""
        found = self._alphabets.get(cuts)
        if found is None:
            if len(self._alphabets) >= _MOST_ALPHABETS:
                self._alphabets.clear()
            found = self._alphabets[cuts] = _Alphabet(told_apart((*self.language.classes, *cuts)))
        return found

    @cached_property
    def product(self) -> _Product:
        return _Product(self, ())

    @cached_property
    def flat(self) -> _Flat | None:
        outline = self.language.outline
        return None if outline is None else _flat(outline)

    def draw(self, length: int, chance: Chance) -> str | None:
        if length > _LONGEST:
            return None
        if self.flat is None:
            return self.product.draw(length, chance) if self.has(length) else None
        row = self.flat.row(length)
        return None if row is None else "".join([pool.several(count, chance) for pool, count in row])

    def count(self, length: int, enough: int) -> int | None:
        if self.flat is None:
            return self.product.count(length)
        row = self.flat.row(length)
        if row is None:
            return 0
        total = 1
        for pool, count in row:
            # The power itself may have more digits than anybody wants to see.
            total *= len(pool.every) ** min(count, enough.bit_length())
            if total >= enough:
                break
        return total

    @cached_property
    def loosened(self) -> Language:
        """A language that has the same words of every length that is possible, and no need to count.

        If the words are rows of independent characters then the length tells how often something is repeated.
        """
        return self.language if self.flat is None else self.flat.loosened(self.language)

    def has(self, length: int) -> bool:
        return self.lengths(length, length, 0)[0] == (length,)

    def lengths(self, least: int, most: int | None, spread: int) -> tuple[tuple[int, ...], bool]:
        """The possible lengths from `least` to `most`, and whether these are all; of an endless language the first."""
        language = self.language
        if language.outline is not None and language.shortest == language.longest:
            is_within = least <= language.shortest and (most is None or language.shortest <= most)
            return (language.shortest,) if is_within else (), True
        key = (least, most, spread)
        if key not in self._found:
            if len(self._found) >= _MOST_LENGTHS:
                self._found.clear()
            self._found[key] = _find_lengths(language, self.mask, lambda length: False, least, most, spread)
        return self._found[key]

    def mask(self, upto: int) -> int:
        """The possible lengths as bits of a number, at least up to a certain one."""
        size = max(10, upto.bit_length())
        outline = self.language.outline
        if size not in self._masks and outline is not None:
            self._masks[size] = _lengths_of(outline, (1 << (1 << size)) - 1)
        return self._masks.get(size, 0)


def _plain(language: Language) -> _Plain:
    found = language.kept.get(_Plain)
    if found is None:
        found = language.kept[_Plain] = _Plain(language)
    assert isinstance(found, _Plain)
    return found


# --- sets of lengths, as bits of a number -----------------------------------------------------------------------------


def _find_lengths(
    language: Language,
    mask: Callable[[int], int],
    is_over: Callable[[int], bool],
    least: int,
    most: int | None,
    spread: int,
) -> tuple[tuple[int, ...], bool]:
    """The lengths within limits, and whether these are all; of an endless language the first ones.

    `mask` gives the lengths up to a certain one, `is_over` tells whether none is larger.
    """
    first = max(least, language.shortest)
    last = min((each for each in (language.longest, most) if each is not None), default=None)
    if language.outline is None or (last is not None and last < first):
        return (), True
    if first > _LONGEST:
        return (), False
    end = _LONGEST if last is None else min(last, _LONGEST)
    if not language.is_finite:
        upto = first
        while not (found := _numbers(mask(upto), first, upto)) and upto < end and not is_over(upto):
            upto = min(2 * upto + 1, end)
        end = min(end, found[0] + spread if found else upto)
    return _numbers(mask(end), first, end), end == last or is_over(end)


def _numbers(mask: int, least: int, most: int) -> tuple[int, ...]:
    """The members of a set that are within limits."""
    if most < least:
        return ()
    bits = bin(mask >> least & (1 << (most - least + 1)) - 1)
    return tuple(number for number, bit in enumerate(reversed(bits[2:]), least) if bit == "1")


def _lengths_of(outline: Outline, within: int) -> int:
    match outline:
        case Chars():
            return 2
        case Series(parts):
            total = 1
            for part in parts:
                total = _sums(total, _lengths_of(part, within), within)
            return total
        case Fork(options):
            total = 0
            for option in options:
                total |= _lengths_of(option, within)
            return total
        case Loop(body, least, most):
            once = _lengths_of(body, within)
            further = within.bit_length() if most is None else most - least
            return _sums(_times(once, least, within), _up_to(once, further, within), within)


def _times(once: int, count: int, within: int) -> int:
    """The sums of so many lengths."""
    total = 1
    while count and total:
        if count & 1:
            total = _sums(total, once, within)
        once = _sums(once, once, within)
        count >>= 1
    return total


def _up_to(once: int, count: int, within: int) -> int:
    """The sums of at most so many lengths."""
    if once.bit_count() != 1:
        return _times(once | 1, count, within)
    length = once.bit_length() - 1
    return _repeated(1, length, min(count, within.bit_length() // length) + 1) & within


def _sums(one: int, other: int, within: int) -> int:
    """All sums of a length from one set and a length from the other."""
    if _runs(one) < _runs(other):
        one, other = other, one
    total = at = 0
    while other:
        skipped = (other & -other).bit_length() - 1
        other >>= skipped
        at += skipped
        width = (~other & other + 1).bit_length() - 1
        other >>= width
        total |= _repeated(one, 1, width) << at
        at += width
    return total & within


def _runs(mask: int) -> int:
    return (mask & ~(mask << 1)).bit_count()


def _repeated(mask: int, distance: int, count: int) -> int:
    """So many copies of a set, each shifted by a distance against the one before."""
    done = 1
    while done < count:
        step = min(done, count - done)
        mask |= mask << step * distance
        done += step
    return mask


# --- rows of independent characters -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Flat:
    """Words that are rows of independent characters. At most one stretch is repeated a varying number of times."""

    before: _Row
    loop: tuple[_Row, int, int | None] | None = None
    after: _Row = field(default_factory=list)

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

    def row(self, length: int) -> _Row | None:
        """The classes of a word's characters; None if there is no word of that length."""
        left = length - _width(self.before) - _width(self.after)
        if self.loop is None:
            return None if left else self.before
        inner, least, most = self.loop
        count, rest = divmod(left, _width(inner))
        if rest or count < least or (most is not None and count > most):
            return None
        return [*self.before, *_several(inner, count), *self.after]


def _width(row: _Row) -> int:
    return sum(count for _, count in row)


def _outline(row: _Row) -> Outline:
    return Series(
        tuple(Loop(Chars(pool.chars), count, count) if count > 1 else Chars(pool.chars) for pool, count in row)
    )


def _several(row: _Row, count: int) -> _Row:
    return [(row[0][0], row[0][1] * count)] if len(row) == 1 else row * count


def _flat(outline: Outline) -> _Flat | None:
    match outline:
        case Chars(chars):
            return _Flat([(_Pool.of(chars), 1)])
        case Series(parts):
            return _flat_series(parts)
        case Loop(body, least, most):
            inner = _flat(body)
            if inner is None or inner.loop is not None:
                return None
            if least == most and (len(inner.before) == 1 or least <= _MOST_COPIES):
                return _Flat(_several(inner.before, least))
            return _Flat([], (inner.before, least, most))
        case Fork():
            return None


def _flat_series(parts: tuple[Outline, ...]) -> _Flat | None:
    whole = _Flat([])
    for part in parts:
        inner = _flat(part)
        if inner is None or (whole.loop and inner.loop):
            return None
        if whole.loop:
            whole = _Flat(whole.before, whole.loop, whole.after + inner.before)
        else:
            whole = _Flat(whole.before + inner.before, inner.loop, inner.after)
    return whole


# --- the automata side by side ----------------------------------------------------------------------------------------

_Place: TypeAlias = tuple[State, tuple[int, ...], int]  # states of the language and of the limits; characters to come
_Move: TypeAlias = tuple[_Pool, State, tuple[int, ...]]


class _TooMany(Exception):
    """It would take too long."""


class _Product:
    """A language under limits."""

    def __init__(self, plain: _Plain, limits: tuple[Limit, ...]) -> None:
        self._plain = plain
        self._limits = limits
        self._horizon = max((limit.horizon for limit in limits), default=0)
        self._alphabet = plain.alphabet(tuple(cut for limit in limits for cut in limit.cuts))
        self._after_all: dict[tuple[tuple[int, ...], int], list[tuple[int, ...] | None]] = {}
        self._after_one: dict[tuple[int, int, int], list[int | None]] = {}
        self._moves: dict[_Place, list[_Move]] = {}
        self._known: dict[_Place, bool] = {}  # whether a word can be completed from there
        self._left = 0  # how many places may still be looked at
        self._drawn = _Table(self, every=False)
        # The possible lengths, as far as they are known.
        self._each_length = self._explore()
        self._lengths = self._explored = 0
        self._period = 0  # all lengths beyond are like those so many before

    @cached_property
    def _every(self) -> _Table:
        """Counts of all words, not only of those that are drawn."""
        chars = self._plain.language.characters
        return self._drawn if drawable(chars) == chars else _Table(self, every=True)

    def draw(self, length: int, chance: Chance) -> str | None:
        place = self._start(length)
        if place is None:
            return None
        spot = self._drawn.spot(place) if length <= _LONGEST_COUNTED else None
        if spot is None:
            try:
                return self._walk(place, chance)
            except _TooMany:
                return None
        return spot.word(chance.stream.randrange(spot.total)) if spot.total else None

    def count(self, length: int) -> int | None:
        place = self._start(length)
        if place is None:
            return 0
        spot = self._every.spot(place) if length <= _LONGEST_COUNTED else None
        return None if spot is None else spot.total

    def each(self, length: int) -> Iterator[str]:
        place = self._start(length)
        spot = self._every.spot(place) if place is not None and length <= _LONGEST_COUNTED else None
        return map(spot.word, range(spot.total)) if spot is not None else iter(())

    # --- moving -------------------------------------------------------------------------------------------------------

    def _start(self, length: int) -> _Place | None:
        states = _all_of(tuple(limit.start(length) for limit in self._limits))
        return None if states is None else (self._plain.loosened.automaton.start, states, length)

    def ends(self, state: State, states: tuple[int, ...]) -> bool:
        """Whether a word may end here."""
        return state.accepts and all(limit.ends(at) for limit, at in zip(self._limits, states, strict=True))

    def moves(self, place: _Place) -> list[_Move]:
        """Where the next character leads, characters that lead to the same place together."""
        state, states, left = place
        near = min(left - 1, self._horizon)
        key = (state, states, near)
        found = self._moves.get(key)
        if found is None:
            following = self._limits_after(states, near)
            groups: dict[tuple[State, tuple[int, ...]], list[int]] = {}
            for number, there in self._alphabet.after(state):
                after = following[number]
                if after is not None:
                    groups.setdefault((there, after), []).append(number)
            pool = self._alphabet.pool
            found = self._moves[key] = [(pool(tuple(numbers)), *there) for there, numbers in groups.items()]
        return found

    def _limits_after(self, states: tuple[int, ...], near: int) -> list[tuple[int, ...] | None]:
        """The states of the limits after each class of characters."""
        found = self._after_all.get((states, near))
        if found is None:
            rows = [self._limit_after(number, state, near) for number, state in enumerate(states)]
            found = self._after_all[states, near] = (
                [_all_of(column) for column in zip(*rows, strict=True)] if rows else [()] * len(self._alphabet.samples)
            )
        return found

    def _limit_after(self, number: int, state: int, near: int) -> list[int | None]:
        found = self._after_one.get((number, state, near))
        if found is None:
            step = self._limits[number].step
            found = self._after_one[number, state, near] = [step(state, char, near) for char in self._alphabet.samples]
        return found

    # --- lengths ------------------------------------------------------------------------------------------------------

    def lengths(self, least: int, most: int | None, spread: int) -> tuple[tuple[int, ...], bool]:
        """The possible lengths from `least` to `most`, and whether these are all; of an endless language the first."""
        self._left = _MOST_PLACES
        try:
            return _find_lengths(self._plain.language, self._mask, self._is_over, least, most, spread)
        except _TooMany:
            # Whatever was not reached is as if it were too long.
            found = self._lengths & self._plain.mask(self._explored)
            last = self._explored if most is None else min(self._explored, most)
            return _numbers(found, least, last), False

    def _mask(self, upto: int) -> int:
        """The possible lengths as bits of a number, up to a certain one."""
        while self._explored <= upto and (is_possible := next(self._each_length, None)) is not None:
            self._lengths |= is_possible << self._explored
            self._explored += 1
        found = self._lengths
        if self._explored <= upto and self._period:
            start = self._explored - self._period
            times = (upto - start) // self._period + 1
            found |= _repeated(found >> start, self._period, times) << start
        return found & self._plain.mask(upto)

    def _is_over(self, upto: int) -> bool:
        return self._explored <= upto and self._lengths >> self._explored - self._period == 0

    def _explore(self) -> Iterator[bool]:
        """Whether there are words of length 0, 1, 2… It ends when no more are possible, or a period is known."""
        horizon = self._horizon
        for length in range(horizon):
            place = self._start(length)
            yield place is not None and self._can_end(place)
        start = self._start(horizon)
        # So many characters before the end, all words of whatever length are at one of these:
        level: dict[tuple[State, tuple[int, ...]], None] = {} if start is None else {start[:2]: None}
        met: dict[frozenset[tuple[State, tuple[int, ...]]], int] = {}
        while level:
            first = met.setdefault(frozenset(level), self._explored)
            if first < self._explored:
                self._period = self._explored - first
                return
            yield any(self._can_end((*here, horizon)) for here in level)
            level = {there[:2]: None for here in level for there in self._following((*here, horizon + 1))}
            for state, _ in level:
                self._spend(state)

    def _can_end(self, place: _Place) -> bool:
        """Whether any word can be completed from there."""
        known = self._known
        if place in known:
            return known[place]
        path = [(place, self._following(place))]
        while path:
            here, rest = path[-1]
            there = next((there for there in rest if known.get(there) is not False), None)
            if there is None:
                known[here] = here[2] == 0 and self.ends(*here[:2])
                path.pop()
            elif there not in known:
                self._spend(there[0])
                path.append((there, self._following(there)))
                continue
            if there is not None or known[here]:
                known.update((passed, True) for passed, _ in path)
                return True
        return False

    def _following(self, place: _Place) -> Iterator[_Place]:
        """Where the next character may lead, some places more than once."""
        state, states, left = place
        if left:
            after = self._limits_after(states, min(left - 1, self._horizon))
            for number, there in self._alphabet.after(state):
                following = after[number]
                if following is not None:
                    yield there, following, left - 1

    def _spend(self, state: State) -> None:
        self._left -= 1 + state.width // _CHEAP_WIDTH
        if self._left < 0:
            raise _TooMany

    # --- words too long to be counted ---------------------------------------------------------------------------------

    def _walk(self, start: _Place, chance: Chance) -> str | None:
        """A random word, found by going on wherever it is possible, and back where it was not."""
        self._left = _MOST_PLACES
        known, chars = self._known, [""]
        path = [(start, self._options(start))]
        while path:
            here, options = path[-1]
            if here[2] == 0 and self.ends(*here[:2]):
                return "".join(chars)
            if not options:
                known[here] = False
                path.pop()
                chars.pop()
                continue
            pool, there = options.pop(_pick_weighted([len(pool.drawn) for pool, _ in options], chance))
            if known.get(there) is not False:
                self._spend(there[0])
                # Where there is only one way, far from the end, and it leads nowhere else, it is gone in one stride.
                is_loop = there[:2] == here[:2] and len(self.moves(here)) == 1
                count = max(1, here[2] - self._horizon) if is_loop else 1
                there = (*there[:2], here[2] - count)
                chars.append(pool.several(count, chance))
                path.append((there, self._options(there)))
        return None

    def _options(self, place: _Place) -> list[tuple[_Pool, _Place]]:
        left = place[2] - 1
        return [(pool, (state, states, left)) for pool, state, states in self.moves(place)] if left >= 0 else []


def _all_of(states: tuple[int | None, ...]) -> tuple[int, ...] | None:
    return None if None in states else cast("tuple[int, ...]", states)  # there is no None in it


def _pick_weighted(weights: list[int], chance: Chance) -> int:
    return 0 if len(weights) == 1 else chance.stream.choices(range(len(weights)), weights)[0]


# --- counting ---------------------------------------------------------------------------------------------------------


class _Spot:
    """A place from which words were counted."""

    __slots__ = ("moves", "total", "uptos")

    def __init__(self, moves: list[tuple[Sequence[str], _Spot]], total: int) -> None:
        self.moves = moves
        self.uptos = list(accumulate(len(pool) * there.total for pool, there in moves))
        self.total: int = self.uptos[-1] if moves else total

    def word(self, number: int) -> str:
        """The word with this number, of all those that can be completed from here."""
        spot, chars = self, []
        while spot.moves:
            at = bisect_right(spot.uptos, number) if len(spot.moves) > 1 else 0
            if at:
                number -= spot.uptos[at - 1]
            pool, spot = spot.moves[at]
            which, number = divmod(number, spot.total)
            chars.append(pool[which])
        return "".join(chars)


_NOWHERE, _END = _Spot([], 0), _Spot([], 1)


class _Table:
    """The counts of a product, either of every word or of those that are drawn."""

    def __init__(self, product: _Product, *, every: bool) -> None:
        self._product = product
        self._is_every = every
        self._spots: dict[_Place, _Spot] = {}

    def spot(self, place: _Place) -> _Spot | None:
        """The counts from a place on; None if that is too much."""
        spots = self._spots
        if place in spots:
            return spots[place]
        if len(spots) > _MOST_PLACES:
            spots.clear()
        left, todo = _MOST_PLACES, [place]
        while todo and left > 0:
            here = todo[-1]
            missing = None if here in spots else self._count(here)
            if missing:
                todo += missing
                left -= 1 + here[0].width // _CHEAP_WIDTH
            else:
                todo.pop()
        return spots.get(place)

    def _count(self, place: _Place) -> list[_Place] | None:
        """Count the words from a place on; what must be counted first if it cannot be done."""
        state, states, left = place
        if left == 0:
            self._spots[place] = _END if self._product.ends(state, states) else _NOWHERE
            return None
        moves = [(pool, (there, after, left - 1)) for pool, there, after in self._product.moves(place)]
        missing = [there for _, there in moves if there not in self._spots]
        if not missing:
            ways = [(pool.every if self._is_every else pool.drawn, self._spots[there]) for pool, there in moves]
            ways = [(pool, spot) for pool, spot in ways if spot.total]
            self._spots[place] = _Spot(ways, 0) if ways else _NOWHERE
        return missing
