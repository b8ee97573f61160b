"""What a field may be, as far as conditions that compare it with a constant say.

A `Domain` is the language of a symbol with limits put on it, one for each such condition: a range, a length, a prefix,
a few words. Limits are put together before anything is drawn, so five conditions on a field cost no more than one.
A domain is *exact* if it leaves out nothing that the conditions allow. Only then does an empty one prove anything.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from palaver.chance import Chance
from palaver.generation.limits import digits_of
from palaver.generation.words import (
    CharAt,
    Contains,
    EndsWith,
    InRange,
    Limit,
    NoneOf,
    Remainder,
    StartsWith,
    Words,
    are_digits,
    of_length,
    possible_lengths,
    spelled,
    spells_all,
)
from palaver.grammar.charset import ASCII, EVERY, CharSet
from palaver.grammar.language import Language, Unit
from palaver.solving.views import Kind, View
from palaver.spec.ast import Constraint
from palaver.trees.tree import Tree

HOLDS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

# How often a number with some remainder is drawn and spelled before we say that there is none.
_TRIES = 60

# Sets of allowed words larger than this stay conditions that are merely checked.
_MOST_WORDS = 4096

_LARGEST_MODULUS = 100_000

# Of words that are the same number, with more and more zeros in front, so many are taken into account.
_SPELLINGS = 4

# How often numbers are drawn without more leading zeros than they need.
_USUAL = 0.9

# Limits that change with every tree are not worth keeping for long.
_MOST_KNOWN = 64


@dataclass(frozen=True, slots=True)
class Domain:
    """The words of a symbol that satisfy the `reasons`."""

    symbol: str
    language: Language
    words: tuple[str, ...] | None = None  # only these
    ranges: tuple[tuple[int, int, int | None], ...] = ()  # base, lowest, highest
    limits: tuple[Limit, ...] = ()
    least: int = 0  # the length, in characters of words
    most: int | None = None
    rest: tuple[int, int, tuple[int, ...]] | None = None  # base, a large modulus, the allowed remainders
    is_exact: bool = True
    reasons: tuple[Constraint, ...] = ()
    spread: int = 20  # how far the lengths of an endless language are drawn beyond the first possible one
    # What has been found out about words under limits; shared by all domains of a symbol.
    _known: dict[tuple[Any, ...], Words] = field(default_factory=dict, compare=False, repr=False)

    # --- limits -------------------------------------------------------------------------------------------------------

    def restricted(self, view: View, operator: str, value: Any) -> Domain | None:
        """What is left if `view operator value` is to hold; None if that cannot be said in limits."""
        if isinstance(value, bool):
            value = int(value)
        if view.kind is Kind.VALUE and not view.reads_as and isinstance(value, int | float) and operator in HOLDS:
            view = replace(view, kind=Kind.NUMBER)
        match view.kind:
            case Kind.VALUE:
                return self._with_value(view, operator, value)
            case Kind.NUMBER:
                return self._with_number(view, operator, value)
            case Kind.LENGTH:
                return self._with_length(view, operator, value)
            case Kind.ITEM:
                return self._with_item(view, operator, value)
            case Kind.SLICE:
                return self._with_slice(view, operator, value)
        return None

    def _with_value(self, view: View, operator: str, value: Any) -> Domain | None:
        if operator in ("in", "not in") and isinstance(value, str | bytes):
            return None  # a part of a text, and not one of several
        if operator in ("in", "not in"):
            if not isinstance(value, list | tuple | set | frozenset | dict | range) or len(value) > _MOST_WORDS:
                return None
            if isinstance(value, set | frozenset | dict) and not (view.reads_as or _are_texts(value)):
                return None  # there, a node is only found as what it hashes as, and that is a text
            words = [word for each in value if (word := self._word(view, each)) is not None]
            # Text never equals bytes, so what has no word for this reason is not left out.
            other = {"str": bytes, "bytes": str}.get(view.reads_as, ())
            is_exact = len(words) == sum(not isinstance(each, other) for each in value)
            # A set has no order of its own that is the same in every run.
            words = sorted(words) if isinstance(value, set | frozenset) else words
            return self._one_of(words, is_exact=is_exact) if operator == "in" else self._none_of(words)
        word = self._word(view, value)
        if word is None:
            return None
        match operator:
            case "==":
                return self._one_of([word])
            case "!=":
                return self._none_of([word])
            case "startswith":
                return self._limited(StartsWith(word))
            case "endswith":
                return self._limited(EndsWith(word))
            case "contains":
                return self._limited(Contains(word))
            case "<" | "<=" | ">" | ">=" if self._is_as_long_as(word):
                # Bytes of one length come in the order of the numbers they are.
                number = int.from_bytes(word.encode("latin-1"), "big")
                return self._in_range(256, *_bounds(view, operator, number))
        return None

    def _with_number(self, view: View, operator: str, value: Any) -> Domain | None:
        base = self._base(view)
        if base is None:
            return None
        if operator == "in" and isinstance(value, list | tuple | set | frozenset | range) and len(value) <= _MOST_WORDS:
            if not all(isinstance(each, int) for each in value):
                return None
            if view.modulus:
                return self._with_remainder(view, base, value.__contains__)
            return self._with_numbers(view, base, sorted(value) if isinstance(value, set | frozenset) else value)
        if not _is_number(value) or operator not in HOLDS:
            return None
        if view.modulus:
            return self._with_remainder(view, base, lambda rest: HOLDS[operator](rest, value))
        if operator == "==":
            return self._with_numbers(view, base, [value])
        if not self._is_exact_in(view, base) or not (view.layout in ("", "big") or self._is_one_byte):
            return None
        if operator == "!=":
            solution = inverse(view, value)
            return self if solution is None else self._none_of(self._spelled(view, base, solution))
        low, high = _bounds(view, operator, value)
        if view.power > 1 and low is not None and low < 0:
            return None
        return self._sized(view)._in_range(base, low, high)

    def _with_numbers(self, view: View, base: int, values: Iterable[Any]) -> Domain | None:
        numbers = [number for value in values if (number := inverse(view, value)) is not None]
        is_exact = self._is_exact_in(view, base)
        if len(numbers) == 1 and is_exact and view.layout in ("", "big"):
            return self._sized(view)._in_range(base, numbers[0], numbers[0])
        words = [word for number in numbers for word in self._spelled(view, base, number)]
        # Of spellings with signs or prefixes, or with letters large and small, only some come to mind.
        is_exact = is_exact and spells_all(self.language, base)
        return self._sized(view)._one_of(words, is_exact=is_exact)

    def simple_base(self, view: View) -> int | None:
        """The base of numbers that `first_spelling` can spell; None if it takes `restricted` to know."""
        if view.kind is not Kind.NUMBER or view.modulus or view.layout not in ("", "big"):
            return None
        if self.limits or self.words is not None or self.rest is not None:
            return None
        base = self._base(view)
        is_simple = base is not None and self._is_exact_in(view, base) and all(each[0] == base for each in self.ranges)
        return base if is_simple else None

    def first_spelling(self, view: View, base: int, value: int) -> str | None:
        """The first word that `view == value` allows: what `restricted` and `draw` would give, in one step."""
        number = inverse(view, value)
        if number is None or any(number < low or (high is not None and number > high) for _, low, high in self.ranges):
            return None
        size = view.size * (8 if self.language.unit is Unit.BITS else 1)
        for word in spelled(self.language, base, number):
            length = len(word)
            if length >= self.least and (self.most is None or length <= self.most) and (not size or length == size):
                return word
        return None

    def _with_remainder(self, view: View, base: int, is_wanted: Callable[[int], bool]) -> Domain | None:
        if not self._is_exact_in(view, base) or view.layout not in ("", "big") or view.modulus > _LARGEST_MODULUS:
            return None
        modulus = view.modulus
        kept = (rest for rest in range(modulus) if is_wanted((view.times * rest**view.power + view.plus) % modulus))
        allowed = tuple(kept)
        if Remainder.is_small(modulus):
            return self._limited(Remainder(base, modulus, allowed))
        return None if self.rest is not None else replace(self, rest=(base, modulus, allowed), is_exact=False)

    def _with_length(self, view: View, operator: str, value: Any) -> Domain | None:
        if view.modulus or view.power > 1 or not _is_number(value):
            return None
        if view.reads_as == "bytes" and self.language.unit is Unit.TEXT and not self._is_ascii:
            return None
        if operator not in ("==", "<", "<=", ">", ">="):
            return None
        scale = 8 if self.language.unit is Unit.BITS else 1
        low, high = _bounds(view, operator, value)
        least = max(self.least, (low or 0) * scale)
        tops = [top for top in (self.most, None if high is None else high * scale) if top is not None]
        # Bits that fill no whole bytes have no length in bytes at all, and so satisfy nothing.
        is_exact = self.is_exact and (scale == 1 or low == high)
        return replace(self, least=least, most=min(tops, default=None), is_exact=is_exact)

    def _with_item(self, view: View, operator: str, value: Any) -> Domain | None:
        if self.language.unit is Unit.BITS or (self.language.unit is Unit.TEXT and not self._is_ascii):
            return None
        assert view.start is not None, "an item has an index"
        domain = replace(self, least=max(self.least, 1), most=1) if view.stop == 1 else self
        if not view.is_ordinal:
            return domain._with_character(view.start, operator, value) if view.is_plain else None
        if view.modulus or view.power > 1 or not _is_number(value):
            return None
        if operator not in ("==", "<", "<=", ">", ">="):
            return None
        low, high = _bounds(view, operator, value)
        highest = 0x10FFFF if high is None else min(high, 0x10FFFF)
        chars = CharSet.ranges([(max(low or 0, 0), highest)]) if (low or 0) <= highest and highest >= 0 else CharSet()
        return domain._limited(CharAt(view.start, chars))

    def _with_character(self, index: int, operator: str, value: Any) -> Domain | None:
        if operator in ("in", "not in") and isinstance(value, str | list | tuple | set | frozenset):
            options = [each for each in value if isinstance(each, str) and len(each) == 1]
        elif operator in ("==", "!=") and isinstance(value, str) and len(value) == 1:
            options = [value]
        else:
            return None
        chars = CharSet.of(options)
        return self._limited(CharAt(index, chars if operator in ("==", "in") else EVERY - chars))

    def _with_slice(self, view: View, operator: str, value: Any) -> Domain | None:
        """`str(<x>)[2:5] == "abc"`: each of the characters is what it must be."""
        word = self._word(view, value)
        if operator != "==" or word is None or not word or self.language.unit is Unit.BITS:
            return None
        assert view.start is not None, "a slice has a start"
        if view.stop is None or len(word) != view.stop - view.start:
            return None
        limits = tuple(CharAt(view.start + at, CharSet.of(char)) for at, char in enumerate(word))
        return replace(self, limits=(*self.limits, *limits))

    # --- what limits are made of --------------------------------------------------------------------------------------

    @property
    def _is_ascii(self) -> bool:
        return not (self.language.characters - ASCII)

    @property
    def _is_one_byte(self) -> bool:
        lengths, is_complete = possible_lengths(self.language)
        return is_complete and max(lengths, default=0) <= 1

    def _is_as_long_as(self, word: str) -> bool:
        """Whether all words are rows of bytes, of the length of this one."""
        language = self.language
        return language.unit is Unit.BYTES and language.shortest == language.longest == len(word) > 0

    def _base(self, view: View) -> int | None:
        """The base in which a number is written here; None if this is no way to write numbers."""
        unit = self.language.unit
        if unit is Unit.BITS:
            as_it_is = not view.reads_as and not view.base
            return 2 if as_it_is or (view.base == 256 and view.layout == "big") else None
        if view.base == 256 and unit is Unit.TEXT and not self._is_ascii:
            return None
        return view.base or 10

    def _is_exact_in(self, view: View, base: int) -> bool:
        """Whether the words are digits of that base and nothing else, so that we know what number each is."""
        return are_digits(self.language, base) and not self.language.accepts("") and not _is_signed(view.layout)

    def _sized(self, view: View) -> Domain:
        """A number that `struct` reads has as many bytes as its layout says."""
        size = view.size * (8 if self.language.unit is Unit.BITS else 1)
        if not size:
            return self
        return replace(self, least=max(self.least, size), most=size if self.most is None else min(self.most, size))

    def _spelled(self, view: View, base: int, number: int) -> Iterator[str]:
        if view.layout in ("", "big"):
            return spelled(self.language, base, number)
        return _packed(view.layout, number, (view.size,) if view.size else possible_lengths(self.language)[0])

    def _word(self, view: View, value: Any) -> str | None:
        """What a value is as a word of this language; None if that is not for sure."""
        if isinstance(value, Tree):
            try:
                value = value.serialised()
            except ValueError:
                return None
        if self.language.unit is Unit.TEXT:
            if isinstance(value, str):
                return value if view.reads_as != "bytes" else None
            if isinstance(value, bytes) and view.reads_as != "str":
                return _decoded(value)
            return None
        data = value if isinstance(value, bytes) and view.reads_as != "str" else None
        if isinstance(value, str) and view.reads_as != "bytes" and value.isascii():
            data = value.encode()
        if data is None:
            return None
        if self.language.unit is Unit.BYTES:
            return data.decode("latin-1")
        return "".join(f"{byte:08b}" for byte in data)

    def _one_of(self, words: Iterable[str], *, is_exact: bool = True) -> Domain:
        known = self.words
        kept = tuple(dict.fromkeys(word for word in words if known is None or word in known))
        return replace(self, words=kept, is_exact=self.is_exact and is_exact)

    def _none_of(self, words: Iterable[str]) -> Domain:
        return self._limited(NoneOf(tuple(words)))

    def _limited(self, limit: Limit) -> Domain:
        return replace(self, limits=(*self.limits, limit))

    def _in_range(self, base: int, low: int | None, high: int | None) -> Domain:
        ranges = {known: (least, most) for known, least, most in self.ranges}
        least, most = ranges.get(base, (0, None))
        least = max(least, 0 if low is None else low)
        tops = [top for top in (most, high) if top is not None]
        ranges[base] = (least, min(tops, default=None))
        return replace(self, ranges=tuple((known, *limits) for known, limits in ranges.items()))

    # --- words --------------------------------------------------------------------------------------------------------

    @property
    def is_free(self) -> bool:
        """Whether nothing is asked of the words."""
        return self.words is None and not self.ranges and not self.limits and self._any_length and self.rest is None

    @property
    def _any_length(self) -> bool:
        return self.least == 0 and self.most is None

    @property
    def _all_limits(self) -> tuple[Limit, ...]:
        return (*self.limits, *(InRange(base, low, high) for base, low, high in self.ranges))

    def draw(self, chance: Chance) -> Iterator[str]:
        """Words to try, at random; not without end."""
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
            word = of_length(self.language, self.least, chance)
            while word is not None:
                yield word
                word = of_length(self.language, self.least, chance)
        else:
            yield from self._numbers_drawn(chance)
            for _ in range(_TRIES):
                word = self._words(usual=chance.random() < _USUAL).draw(chance)
                if word is None:
                    return
                yield word

    def _numbers_drawn(self, chance: Chance) -> Iterator[str]:
        """Words to try, if a range of numbers is all that is asked for: then nothing needs to be counted.

        As with words, the numbers of each length are equally likely. It ends with the first number that is no word.
        """
        longest = self.language.longest
        if len(self.ranges) != 1 or self.limits or not self._any_length or longest is None:
            return
        ((base, low, high),) = self.ranges
        if base == 16 or not self.language.shortest:
            return  # there are more spellings than come to mind
        top = base**longest - 1 if high is None else min(high, base**longest - 1)
        is_fixed = self.language.shortest == longest
        lengths = range(max(1, len(digits_of(low, base))), max(1, len(digits_of(top, base))) + 1)
        for _ in range(_TRIES if low <= top else 0):
            length = lengths[0] if is_fixed else chance.pick(lengths)
            first = low if is_fixed or length == 1 else max(low, base ** (length - 1))
            last = top if is_fixed else min(top, base**length - 1)
            words = list(islice(spelled(self.language, base, chance.stream.randint(first, last)), _SPELLINGS))
            if not words:
                return
            yield words[0] if chance.random() < _USUAL else chance.pick(words)

    def allows(self, word: str) -> bool:
        """Whether a word of the language is in the domain."""
        if len(word) < self.least or (self.most is not None and len(word) > self.most):
            return False
        if self.words is not None and word not in self.words:
            return False
        if not self.language.accepts(word) or (self.rest is not None and not self._has_rest(word)):
            return False
        return all(_keeps(word, limit) for limit in self._all_limits)

    @property
    def is_guess(self) -> bool:
        """Whether these are merely the words that came to mind."""
        return self.words is not None and not self.is_exact

    @property
    def is_hopeless(self) -> bool:
        """Whether there is no word that could be drawn, though that proves nothing."""
        has_none = self.words is not None and not any(map(self.allows, self.words))
        return not self.is_exact and (self._is_contradictory or has_none)

    @property
    def is_empty(self) -> bool:
        """Whether it is proved that there is no such word."""
        if not self.is_exact:
            return False
        if self._is_contradictory:
            return True
        if self.words is not None:
            return not any(map(self.allows, self.words))
        if any(
            self.allows(word) for base, low, _ in self.ranges for word in islice(spelled(self.language, base, low), 3)
        ):
            return False  # no need to look any further
        words = self._words()
        return words.is_complete and not words.lengths

    def lengths(self) -> tuple[int, int | None]:
        """The least and the largest length of a word, or limits below and above these; (1, 0) if there is no word."""
        if self.words is not None:
            found = sorted(len(word) for word in self.words if self.allows(word))
            return (found[0], found[-1]) if found else (1, 0)
        if self.is_free and self.language.outline is not None:
            return self.language.shortest, self.language.longest
        words = self._words()
        if not words.lengths:
            return (1, 0) if words.is_complete else (self.least, self.most)
        return words.lengths[0], words.lengths[-1] if words.is_complete else self.most

    def lengths_in(self, view: View) -> tuple[int, int | None] | None:
        """Limits of what a length view of the words gives, before its arithmetic; None if we do not know."""
        if view.reads_as == "bytes" and self.language.unit is Unit.TEXT and not self._is_ascii:
            return None
        scale = 8 if self.language.unit is Unit.BITS else 1
        least, most = self.lengths()
        return least // scale, None if most is None else most // scale

    def numbers(self, view: View) -> tuple[int, int | None] | None:
        """Limits of what a number view of the words gives, before its arithmetic; None if we do not know."""
        base = self._base(view)
        if base is None or not self._is_exact_in(view, base) or view.layout == "little":
            return None
        low, high = next(((low, high) for known, low, high in self.ranges if known == base), (0, None))
        longest = self.lengths()[1]
        tops = [top for top in (high, None if longest is None else base**longest - 1) if top is not None]
        return low, min(tops, default=None)

    @property
    def _is_contradictory(self) -> bool:
        return (self.most is not None and self.least > self.most) or any(
            high is not None and low > high for _, low, high in self.ranges
        )

    @property
    def is_single(self) -> bool:
        """Whether it is one word or one number, so that `draw` always begins with the same word."""
        return self._single is not None or (self.words is not None and len(self.words) < 2)

    @property
    def _single(self) -> tuple[int, int] | None:
        """The base and the value, if only one number is asked for and nothing else."""
        if len(self.ranges) == 1 and not self.limits:
            ((base, low, high),) = self.ranges
            return (base, low) if low == high else None
        return None

    def _words(self, *, usual: bool = False) -> Words:
        """The words; with `usual` only numbers that are no longer than their range makes necessary, if there are."""
        most = self.most
        if usual and self._usual_length is not None:
            most = self._usual_length if most is None else min(most, self._usual_length)
        key = (self._all_limits, self.least, most)
        known = self._known
        if key not in known:
            if len(known) > _MOST_KNOWN:
                known.clear()
            known[key] = Words(self.language, *key, spread=self.spread)
        return known[key] if known[key].lengths or most == self.most else self._words()

    @property
    def _usual_length(self) -> int | None:
        """How many digits the largest allowed number has."""
        tops = [len(digits_of(high, base)) for base, _, high in self.ranges if high is not None]
        return max(1, *tops) if tops else None

    def _with_rest(self, chance: Chance) -> Iterator[str]:
        assert self.rest is not None, "somebody asked for a remainder"
        base, modulus, allowed = self.rest
        low, high = next(((low, high) for known, low, high in self.ranges if known == base), (0, None))
        longest = max(possible_lengths(self.language)[0], default=0)
        top = base**longest - 1 if high is None else min(high, base**longest - 1)
        for _ in range(_TRIES if allowed and low <= top else 0):
            number = low + chance.stream.randrange(top - low + 1)
            number += chance.pick(allowed) - number % modulus
            yield from (word for word in spelled(self.language, base, number) if number >= 0 and self.allows(word))
            # Where few numbers are words, it is easier to come from that side.
            other = self._words().draw(chance)
            if other is not None and self.allows(other):
                yield other

    def _has_rest(self, word: str) -> bool:
        assert self.rest is not None, "somebody asked for a remainder"
        base, modulus, allowed = self.rest
        number = int.from_bytes(word.encode("latin-1"), "big") if base == 256 else int(word, base)
        return number % modulus in allowed


def _keeps(word: str, limit: Limit) -> bool:
    state = limit.start(len(word))
    for left, char in zip(range(len(word) - 1, -1, -1), word, strict=True):
        if state is None:
            return False
        state = limit.step(state, char, left)
    return state is not None and limit.ends(state)


# --- the arithmetic of views ------------------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def inverse(view: View, value: Any) -> int | None:
    """The number n with `times * n ** power + plus == value`; None if there is none."""
    if not _is_number(value) or value != int(value):
        return None
    number, rest = divmod(int(value) - view.plus, view.times)
    if rest:
        return None
    if view.power == 1:
        return number
    root = floor_root(number, view.power)
    return root if root is not None and root**view.power == number else None


def _bounds(view: View, operator: str, value: float) -> tuple[int | None, int | None]:
    """The least and the largest n for which `times * n ** power + plus operator value` holds."""
    if view.times < 0:
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    quotient = (Fraction(value) - view.plus) / view.times  # exact, however large the numbers are
    low: int | None = None
    high: int | None = None
    if operator in ("<", "<=", "=="):
        high = math.ceil(quotient) - 1 if operator == "<" else math.floor(quotient)
    if operator in (">", ">=", "=="):
        low = math.floor(quotient) + 1 if operator == ">" else math.ceil(quotient)
    if view.power > 1:
        high = None if high is None else floor_root(high, view.power) if high >= 0 else -1
        if low is not None and low > 0:
            root = floor_root(low - 1, view.power)
            assert root is not None, "a root of what is not negative"
            low = root + 1
    return low, high


def floor_root(number: int, power: int) -> int | None:
    """The largest n with `n ** power <= number`; None below 0."""
    if number < 0:
        return None
    low, high = 0, 1 << (number.bit_length() // power + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**power <= number:
            low = middle
        else:
            high = middle - 1
    return low


def _is_signed(layout: str) -> bool:
    return layout not in ("", "big", "little") and layout[-1].islower()


def _packed(layout: str, number: int, sizes: Iterable[int]) -> Iterator[str]:
    for size in sizes:
        try:
            data = number.to_bytes(size, "little") if layout == "little" else struct.pack(layout, number)
        except (OverflowError, struct.error):
            continue
        yield data.decode("latin-1")


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
