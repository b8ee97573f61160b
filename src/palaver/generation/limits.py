"""What can be demanded of a word, each demand an automaton that runs beside that of the language.

An automaton starts with the length of the word, and is told at every character how many are still to come. So a
number is compared digit by digit from the left, and the end of a word is known when it is near. The states are plain
numbers; None stands for words that are out of the question. `horizon` promises: as long as so many characters or more
are still to come, it does not matter how many. `cuts` are the sets of characters that must be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from math import gcd
from typing import TypeAlias

from palaver.grammar.charset import CharSet

# Beyond this the automaton of remainders is larger than what can be gained by it.
LARGEST_MODULUS = 64

# The digits of a number in this base are bytes, the most significant first.
BYTEWISE = 256

_DIGITS = "0123456789abcdef"
BASES = (2, 8, 10, 16, BYTEWISE)


@cache
def digit_chars(base: int) -> CharSet:
    """The characters that are digits: only ASCII, though Python's `int` knows others."""
    if base == BYTEWISE:
        return CharSet((0, 0x100))
    digits = _DIGITS[:base]
    return CharSet.of(digits + digits.upper())


def digits_of(value: int, base: int) -> list[int]:
    """The digits of a number that is not negative, the most significant first; 0 has none."""
    if base == BYTEWISE:
        return list(value.to_bytes((value.bit_length() + 7) // 8, "big"))
    found = []
    while value:
        value, digit = divmod(value, base)
        found.append(digit)
    return found[::-1]


def as_digits(values: list[int], base: int) -> str:
    """Digits as characters; letters are small."""
    return "".join(map(chr, values) if base == BYTEWISE else (_DIGITS[value] for value in values))


def _worth(base: int) -> dict[str, int]:
    if base == BYTEWISE:
        return {chr(value): value for value in range(base)}
    worth = {char: value for value, char in enumerate(_DIGITS[:base])}
    return worth | {char.upper(): value for char, value in worth.items()}


_WORTH = {base: _worth(base) for base in BASES}
# Each digit apart from all others, in either case.
_EACH_DIGIT = {
    base: tuple(CharSet.of({char, char.upper()}) for char in _DIGITS[:base]) for base in BASES if base != BYTEWISE
}

_FROM_BELOW, _FROM_ABOVE = 1, 2


@dataclass(frozen=True)
class InRange:
    """The word, read as a number, is at least `low` and at most `high` (None: no limit).

    What is no digit is refused. `empty` is what the empty word is worth; None: it is no number.
    """

    base: int
    low: int
    high: int | None = None
    empty: int | None = None

    @cached_property
    def _lows(self) -> list[int]:
        return digits_of(max(self.low, 0), self.base)

    @cached_property
    def _highs(self) -> list[int]:
        return digits_of(max(self.high or 0, 0), self.base)

    @property
    def horizon(self) -> int:
        return max(1, len(self._lows), len(self._highs))

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        if self.base != BYTEWISE:
            return _EACH_DIGIT[self.base]
        borders = sorted({0, *self._lows, *self._highs})
        return tuple(CharSet(pair) for border in borders for pair in ((0, border), (border, border + 1)) if pair[1])

    def start(self, length: int) -> int | None:
        """The state says whether what was read is still the beginning of `low`, and of `high`."""
        if self.high is not None and self.high < max(self.low, 0):
            return None
        if length == 0:
            is_inside = self.empty is not None and self.low <= self.empty
            return 0 if is_inside and (self.high is None or self.empty <= self.high) else None  # type: ignore[operator]
        if len(self._lows) > length:
            return None
        state = _FROM_BELOW if self._lows else 0
        return state | _FROM_ABOVE if self.high is not None and len(self._highs) <= length else state

    def step(self, state: int, char: str, left: int) -> int | None:
        digit = _WORTH[self.base].get(char)
        if digit is None:
            return None
        if state & _FROM_BELOW:
            border = _digit_at(self._lows, left)
            if digit < border:
                return None
            state = state if digit == border else state & ~_FROM_BELOW
        if state & _FROM_ABOVE:
            border = _digit_at(self._highs, left)
            if digit > border:
                return None
            state = state if digit == border else state & ~_FROM_ABOVE
        return state

    def ends(self, state: int) -> bool:
        return True


def _digit_at(digits: list[int], left: int) -> int:
    return digits[-1 - left] if left < len(digits) else 0


@dataclass(frozen=True)
class Remainder:
    """The word, read as a number, leaves one of the `allowed` remainders when divided by `modulus`.

    :raises ValueError: the modulus is not a small number
    """

    base: int
    modulus: int
    allowed: tuple[int, ...]
    empty: int | None = None

    def __post_init__(self) -> None:
        if not self.is_small(self.modulus):
            raise ValueError(f"a modulus from 1 to {LARGEST_MODULUS} is wanted, not {self.modulus}")

    @staticmethod
    def is_small(modulus: int) -> bool:
        """Whether a modulus is within what is possible here."""
        return 0 < modulus <= LARGEST_MODULUS

    @cached_property
    def _known_by(self) -> list[int]:
        """By which modulus the number read so far has to be known, if 0, 1, 2… digits are to come.

        Digits to come may leave little open: of a number that is to be even, only the last one matters.
        """
        found = [self.modulus]
        while (less := self.modulus // gcd(self.modulus, self.base ** len(found))) != found[-1]:
            found.append(less)
        return found

    @property
    def horizon(self) -> int:
        return max(1, len(self._known_by) - 1)

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        if self.base != BYTEWISE:
            return _EACH_DIGIT[self.base]
        alike = (range(first, BYTEWISE, self.modulus) for first in range(self.modulus))
        return tuple(CharSet.ranges((byte, byte) for byte in each) for each in alike)

    def start(self, length: int) -> int | None:
        if length == 0:
            return None if self.empty is None else self.empty % self.modulus
        return 0

    def step(self, state: int, char: str, left: int) -> int | None:
        digit = _WORTH[self.base].get(char)
        if digit is None:
            return None
        return (state * self.base + digit) % self._known_by[min(left, len(self._known_by) - 1)]

    def ends(self, state: int) -> bool:
        return state in self.allowed


@dataclass(frozen=True)
class StartsWith:
    text: str

    horizon = 0

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        return _each_of(self.text)

    def start(self, length: int) -> int | None:
        return 0

    def step(self, state: int, char: str, left: int) -> int | None:
        if state == len(self.text):
            return state
        return state + 1 if self.text[state] == char else None

    def ends(self, state: int) -> bool:
        return state == len(self.text)


@dataclass(frozen=True)
class EndsWith:
    text: str

    @property
    def horizon(self) -> int:
        return len(self.text)

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        return _each_of(self.text)

    def start(self, length: int) -> int | None:
        return 0 if length >= len(self.text) else None

    def step(self, state: int, char: str, left: int) -> int | None:
        return None if left < len(self.text) and char != self.text[-1 - left] else state

    def ends(self, state: int) -> bool:
        return True


@dataclass(frozen=True)
class Contains:
    text: str

    @property
    def horizon(self) -> int:
        return len(self.text)

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        return _each_of(self.text)

    @cached_property
    def _falls(self) -> list[int]:
        """How much of the text is still matched when the next character does not follow so much of it."""
        falls, matched = [0, 0], 0
        for char in self.text[1:]:
            while matched and self.text[matched] != char:
                matched = falls[matched]
            matched += self.text[matched] == char
            falls.append(matched)
        return falls

    def start(self, length: int) -> int | None:
        return 0 if length >= len(self.text) else None

    def step(self, state: int, char: str, left: int) -> int | None:
        """The state is how much of the text the last characters are."""
        text = self.text
        if state == len(text):
            return state
        while state and text[state] != char:
            state = self._falls[state]
        state += text[state] == char
        return state if len(text) - state <= left else None

    def ends(self, state: int) -> bool:
        return state == len(self.text)


_OFF = -1  # where no forbidden word can be met any more


@dataclass(frozen=True)
class NoneOf:
    """The word is none of these."""

    words: tuple[str, ...]

    horizon = 0

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        return _each_of("".join(self.words))

    @cached_property
    def _tree(self) -> tuple[list[dict[str, int]], set[int]]:
        """The forbidden words as a tree of their characters, and where they end in it."""
        nodes: list[dict[str, int]] = [{}]
        ends = set()
        for word in self.words:
            at = 0
            for char in word:
                following = nodes[at].setdefault(char, len(nodes))
                if following == len(nodes):
                    nodes.append({})
                at = following
            ends.add(at)
        return nodes, ends

    def start(self, length: int) -> int | None:
        return 0

    def step(self, state: int, char: str, left: int) -> int | None:
        return _OFF if state == _OFF else self._tree[0][state].get(char, _OFF)

    def ends(self, state: int) -> bool:
        return state not in self._tree[1]


@dataclass(frozen=True)
class CharAt:
    """The word has a character at `index` (counted from the end if negative), and it is one of `chars`."""

    index: int
    chars: CharSet

    @property
    def horizon(self) -> int:
        return max(0, -self.index)

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        return (self.chars,)

    def start(self, length: int) -> int | None:
        return 0 if length >= -self.index else None

    def step(self, state: int, char: str, left: int) -> int | None:
        """The state is how many characters were read, up to the one that counts."""
        if self.index < 0:
            return None if left == -self.index - 1 and char not in self.chars else state
        if state == self.index and char not in self.chars:
            return None
        return min(state, self.index) + 1

    def ends(self, state: int) -> bool:
        return state > self.index


Limit: TypeAlias = InRange | Remainder | StartsWith | EndsWith | Contains | NoneOf | CharAt


def _each_of(text: str) -> tuple[CharSet, ...]:
    return tuple(CharSet((ord(char), ord(char) + 1)) for char in dict.fromkeys(text))


def told_apart(sets: Iterable[CharSet]) -> tuple[CharSet, ...]:
    """The largest classes of characters that all of these sets agree about; what is in none of them is left out."""
    changes: dict[int, int] = {}
    for number, chars in enumerate(dict.fromkeys(sets)):
        for bound in chars.bounds:
            changes[bound] = changes.get(bound, 0) ^ 1 << number
    classes: dict[int, list[int]] = {}
    inside = 0
    for bound in sorted(changes):
        if inside:
            classes[inside].append(bound)
        inside ^= changes[bound]
        if inside:
            classes.setdefault(inside, []).append(bound)
    return tuple(CharSet(tuple(bounds)) for bounds in classes.values())
