"""Conversion between the words of a field and the values of a view: texts, lengths, numbers, inverse arithmetic."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from palaver.regular.charset import ASCII
from palaver.regular.language import Language, Unit
from palaver.regular.words import BYTEWISE, are_digits, possible_lengths, spelled
from palaver.solving.domains import Domain, lower_of
from palaver.solving.invertible_views import TURNED, View, ViewKind
from palaver.trees.tree import Tree

# The operators between numbers.
HOLDS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def word_of(language: Language, view: View, value: Any) -> str | None:
    """A value as a word of this language; None if that is not certain."""
    if isinstance(value, Tree):
        try:
            value = value.serialised()
        except ValueError:
            return None
    if language.unit is Unit.TEXT:
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
    if language.unit is Unit.BYTES:
        return data.decode("latin-1")
    return "".join(f"{byte:08b}" for byte in data)


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def is_bytewise(language: Language) -> bool:
    """True if each character of a word becomes one byte, if it is not a bit."""
    return language.unit is not Unit.TEXT or not (language.characters - ASCII)


def per_byte(language: Language) -> int:
    """The number of characters of a word per byte, or per character of the text."""
    return 8 if language.unit is Unit.BITS else 1


def lengths_in(domain: Domain, view: View) -> tuple[int, int | None] | None:
    """The bounds of a length view of the words, before its arithmetic; None if unknown."""
    if view.reads_as == "bytes" and not is_bytewise(domain.language):
        return None
    scale = per_byte(domain.language)
    least, most = domain.lengths()
    return least // scale, None if most is None else most // scale


def base_of(language: Language, view: View) -> int | None:
    """The base in which words spell numbers; None if they do not."""
    if language.unit is Unit.BITS:
        as_it_is = not view.reads_as and not view.base
        return 2 if as_it_is or (view.base == BYTEWISE and view.layout == "big") else None
    if view.base == BYTEWISE and not is_bytewise(language):
        return None
    return view.base or 10


def are_known_numbers(language: Language, view: View, base: int) -> bool:
    """True if the words are unsigned digits of that base, so that the number of each is known."""
    return are_digits(language, base) and not language.accepts("") and not is_signed(view.layout)


def is_largest_first(view: View) -> bool:
    """True if the first digit of a number counts most."""
    return view.layout in ("", "big")


def size_of(language: Language, view: View) -> int:
    """The number of characters that a `struct` layout requires; 0 if it may be any."""
    return view.size * per_byte(language)


def spellings(language: Language, view: View, base: int, number: int) -> Iterator[str]:
    """The words that spell this number for the view."""
    if is_largest_first(view):
        return spelled(language, base, number)
    return packed(view.layout, number, (view.size,) if view.size else possible_lengths(language).found)


def numbers_in(domain: Domain, view: View) -> tuple[int, int | None] | None:
    """The bounds of a number view of the words, before its arithmetic; None if unknown."""
    base = base_of(domain.language, view)
    if base is None or not are_known_numbers(domain.language, view, base) or view.layout == "little":
        return None
    low, high = domain.range_in(base)
    longest = domain.lengths()[1]
    return low, lower_of(high, None if longest is None else base**longest - 1)


def simple_base(domain: Domain, view: View) -> int | None:
    """The base of numbers that `first_spelling` can spell; None if that takes `restricted`."""
    if view.kind is not ViewKind.NUMBER or view.modulus or not is_largest_first(view):
        return None
    if domain.limits or domain.words is not None or domain.rest is not None:
        return None
    base = base_of(domain.language, view)
    if base is None or not are_known_numbers(domain.language, view, base):
        return None
    return base if all(each[0] == base for each in domain.ranges) else None


def first_spelling(domain: Domain, view: View, base: int, value: int) -> str | None:
    """The first word that `view == value` allows, as `restricted` and `draw` would give it, in one step."""
    number = inverse(view, value)
    if number is None or any(number < low or (high is not None and number > high) for _, low, high in domain.ranges):
        return None
    size = size_of(domain.language, view)
    for word in spelled(domain.language, base, number):
        length = len(word)
        if length >= domain.least and (domain.most is None or length <= domain.most) and (not size or length == size):
            return word
    return None


def is_number(value: Any) -> bool:
    """True if a value is an integer or a finite float."""
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def inverse(view: View, value: Any) -> int | None:
    """The number n with `times * n ** power + plus == value`; None if there is none."""
    if not is_number(value) or value != int(value):
        return None
    number, rest = divmod(int(value) - view.plus, view.times)
    if rest:
        return None
    if view.power == 1:
        return number
    root = _floor_root(number, view.power)
    return root if root is not None and root**view.power == number else None


def bounds(view: View, operator: str, value: float) -> tuple[int | None, int | None]:
    """The least and the largest n for which `times * n ** power + plus operator value` holds."""
    from fractions import Fraction  # slow to import, and few specs compare numbers

    if view.times < 0:
        operator = TURNED[operator]
    quotient = (Fraction(value) - view.plus) / view.times  # exact, however large the numbers are
    low: int | None = None
    high: int | None = None
    if operator in ("<", "<=", "=="):
        high = math.ceil(quotient) - 1 if operator == "<" else math.floor(quotient)
    if operator in (">", ">=", "=="):
        low = math.floor(quotient) + 1 if operator == ">" else math.ceil(quotient)
    if view.power > 1:
        high = None if high is None else _floor_root(high, view.power) if high >= 0 else -1
        if low is not None and low > 0:
            root = _floor_root(low - 1, view.power)
            assert root is not None, "a root of what is not negative"
            low = root + 1
    return low, high


def _floor_root(number: int, power: int) -> int | None:
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


def is_signed(layout: str) -> bool:
    """True if numbers in this layout may be negative."""
    return layout not in ("", "big", "little") and layout[-1].islower()


def packed(layout: str, number: int, sizes: Iterable[int]) -> Iterator[str]:
    """A number in bytes, with each of the sizes that are large enough."""
    for size in sizes:
        try:
            data = number.to_bytes(size, "little") if layout == "little" else struct.pack(layout, number)
        except (OverflowError, struct.error):
            continue
        yield data.decode("latin-1")
