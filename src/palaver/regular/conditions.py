"""Conditions on words, each a deterministic automaton (Rabin and Scott 1959) that runs beside that of the language.

An automaton starts with the length of the word, and is told at every character how many are still to come. So a
number is compared digit by digit from the left, and the end of a word is known when it is near. The states are plain
numbers; None stands for words that are rejected.
"""

from __future__ import annotations

from functools import cached_property
from math import gcd
from typing import TypeAlias

from palaver.lean_dataclasses import dataclass
from palaver.regular.charset import CharSet
from palaver.regular.regular_limits import MAX_MODULUS

# The digits of a number in this base are bytes, the most significant first.
BYTEWISE = 256

_DIGITS = "0123456789abcdef"
BASES = (2, 8, 10, 16, BYTEWISE)


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


def _digit_values(base: int) -> dict[str, int]:
    if base == BYTEWISE:
        return {chr(value): value for value in range(base)}
    values = {char: value for value, char in enumerate(_DIGITS[:base])}
    return values | {char.upper(): value for char, value in values.items()}


# The characters that are digits: only ASCII, though Python's `int` knows others.
_DIGIT_VALUES = {base: _digit_values(base) for base in BASES}
DIGIT_CHARS = {base: CharSet.of(_DIGIT_VALUES[base]) for base in BASES}
# Each digit apart from all others, in either case.
_EACH_DIGIT = {
    base: tuple(CharSet.of({char, char.upper()}) for char in _DIGITS[:base]) for base in BASES if base != BYTEWISE
}

# Bits of the state of `InRange`: what was read is still the beginning of `low`, and of `high`.
_AT_LOW, _AT_HIGH = 1, 2


class _ConditionDefaults:
    """The defaults of a condition: any length is possible, and any state accepts."""

    @property
    def horizon(self) -> int:
        """As long as so many characters or more are still to come, their number does not matter."""
        return 0

    def start(self, length: int) -> int | None:
        """The state before a word of this length."""
        return 0

    def ends(self, state: int) -> bool:
        """Return True if a word may end in this state."""
        return True


@dataclass(frozen=True)
class InRange(_ConditionDefaults):
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
        """The sets of characters that must be told apart."""
        if self.base != BYTEWISE:
            return _EACH_DIGIT[self.base]
        borders = sorted({0, *self._lows, *self._highs})
        return tuple(CharSet(pair) for border in borders for pair in ((0, border), (border, border + 1)) if pair[1])

    def start(self, length: int) -> int | None:
        if self.high is not None and self.high < max(self.low, 0):
            return None
        if length == 0:
            is_inside = self.empty is not None and self.low <= self.empty
            return 0 if is_inside and (self.high is None or self.empty <= self.high) else None  # type: ignore[operator]
        if len(self._lows) > length:
            return None
        state = _AT_LOW if self._lows else 0
        return state | _AT_HIGH if self.high is not None and len(self._highs) <= length else state

    def step(self, state: int, char: str, left: int) -> int | None:
        digit = _DIGIT_VALUES[self.base].get(char)
        if digit is None:
            return None
        if state & _AT_LOW:
            border = _digit_at(self._lows, left)
            if digit < border:
                return None
            state = state if digit == border else state & ~_AT_LOW
        if state & _AT_HIGH:
            border = _digit_at(self._highs, left)
            if digit > border:
                return None
            state = state if digit == border else state & ~_AT_HIGH
        return state


def _digit_at(digits: list[int], left: int) -> int:
    return digits[-1 - left] if left < len(digits) else 0


@dataclass(frozen=True)
class Remainder(_ConditionDefaults):
    """The word, as a number, leaves one of the `allowed` remainders. :raises ValueError: the modulus is not small"""

    base: int
    modulus: int
    allowed: tuple[int, ...]
    empty: int | None = None

    def __post_init__(self) -> None:
        if not self.is_small(self.modulus):
            raise ValueError(f"a modulus from 1 to {MAX_MODULUS} is wanted, not {self.modulus}")

    @staticmethod
    def is_small(modulus: int) -> bool:
        """Return True if a modulus is small enough for an automaton."""
        if modulus > MAX_MODULUS:
            MAX_MODULUS.reached()
        return 0 < modulus <= MAX_MODULUS

    @cached_property
    def _known_by(self) -> list[int]:
        """The modulus by which the number read so far has to be known, if 0, 1, 2… digits are to come.

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
        digit = _DIGIT_VALUES[self.base].get(char)
        if digit is None:
            return None
        return (state * self.base + digit) % self._known_by[min(left, len(self._known_by) - 1)]

    def ends(self, state: int) -> bool:
        return state in self.allowed


@dataclass(frozen=True)
class _TextCondition(_ConditionDefaults):
    text: str

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        return _each_of(self.text)


class StartsWith(_TextCondition):
    def step(self, state: int, char: str, left: int) -> int | None:
        if state == len(self.text):
            return state
        return state + 1 if self.text[state] == char else None

    def ends(self, state: int) -> bool:
        return state == len(self.text)


class _LaterTextCondition(_TextCondition):
    @property
    def horizon(self) -> int:
        return len(self.text)

    def start(self, length: int) -> int | None:
        return 0 if length >= len(self.text) else None


class EndsWith(_LaterTextCondition):
    def step(self, state: int, char: str, left: int) -> int | None:
        return None if left < len(self.text) and char != self.text[-1 - left] else state


class Contains(_LaterTextCondition):
    """The automaton of Knuth, Morris and Pratt (1977); the state is how much of the text the last characters are."""

    @cached_property
    def _borders(self) -> list[int]:
        """For each number of matched characters, how many are still matched if the next one does not follow."""
        borders, matched = [0, 0], 0
        for char in self.text[1:]:
            while matched and self.text[matched] != char:
                matched = borders[matched]
            matched += self.text[matched] == char
            borders.append(matched)
        return borders

    def step(self, state: int, char: str, left: int) -> int | None:
        text = self.text
        if state == len(text):
            return state
        while state and text[state] != char:
            state = self._borders[state]
        state += text[state] == char
        return state if len(text) - state <= left else None

    def ends(self, state: int) -> bool:
        return state == len(self.text)


_NO_FORBIDDEN_WORD = -1  # the state once no forbidden word is possible any more


@dataclass(frozen=True)
class NoneOf(_ConditionDefaults):
    """The word is none of these."""

    words: tuple[str, ...]

    @property
    def cuts(self) -> tuple[CharSet, ...]:
        return _each_of("".join(self.words))

    @cached_property
    def _trie(self) -> tuple[list[dict[str, int]], set[int]]:
        """The forbidden words as a trie, and the nodes at which they end."""
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

    def step(self, state: int, char: str, left: int) -> int | None:
        return _NO_FORBIDDEN_WORD if state == _NO_FORBIDDEN_WORD else self._trie[0][state].get(char, _NO_FORBIDDEN_WORD)

    def ends(self, state: int) -> bool:
        return state not in self._trie[1]


@dataclass(frozen=True)
class CharAt(_ConditionDefaults):
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


WordCondition: TypeAlias = InRange | Remainder | StartsWith | EndsWith | Contains | NoneOf | CharAt


def _each_of(text: str) -> tuple[CharSet, ...]:
    return tuple(CharSet((ord(char), ord(char) + 1)) for char in dict.fromkeys(text))
