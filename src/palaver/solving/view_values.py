"""Conversion between the words of a field and the values of a view: texts, lengths and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from palaver.regular.charset import ASCII
from palaver.regular.language import Language, Unit
from palaver.regular.words import BYTEWISE, are_digits, possible_lengths, spelled
from palaver.solving.domains import Domain, lower_of
from palaver.solving.invertible_views import View, ViewKind
from palaver.solving.view_arithmetic import inverse, is_signed, packed
from palaver.trees.tree import Tree

# --- as text or bytes -------------------------------------------------------------------------------------------------


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


# --- as numbers -------------------------------------------------------------------------------------------------------


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
