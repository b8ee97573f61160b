"""Restriction of domains to words that satisfy a comparison with a constant: node consistency (Mackworth 1977)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any, assert_never

from palaver.lean_dataclasses import replace
from palaver.regular.charset import EVERY, CharSet
from palaver.regular.language import Language, Unit
from palaver.regular.words import (
    BYTEWISE,
    CharAt,
    Contains,
    EndsWith,
    Remainder,
    StartsWith,
    possible_lengths,
    spells_all,
)
from palaver.solving.domains import Domain
from palaver.solving.invertible_views import View, ViewKind
from palaver.solving.solving_limits import MAX_LISTED_VALUES, MAX_MODULUS
from palaver.solving.view_values import (
    HOLDS,
    are_known_numbers,
    base_of,
    bounds,
    inverse,
    is_bytewise,
    is_largest_first,
    is_number,
    per_byte,
    size_of,
    spellings,
    word_of,
)

_LAST_CHARACTER = 0x10FFFF

# The operators that hold for a range.
_ORDERED = ("==", "<", "<=", ">", ">=")


def restricted(domain: Domain, view: View, operator: str, value: Any) -> Domain | None:
    """The part of a domain for which `view operator value` holds; None if limits cannot express that."""
    if isinstance(value, bool):
        value = int(value)
    if view.kind is ViewKind.VALUE and not view.reads_as and isinstance(value, int | float) and operator in HOLDS:
        view = replace(view, kind=ViewKind.NUMBER)
    match view.kind:
        case ViewKind.VALUE if operator in ("in", "not in"):
            return _by_members(domain, view, operator, value)
        case ViewKind.VALUE:
            return _by_value(domain, view, operator, value)
        case ViewKind.NUMBER:
            return _by_number(domain, view, operator, value)
        case ViewKind.LENGTH:
            return _by_length(domain, view, operator, value)
        case ViewKind.ITEM:
            return _by_item(domain, view, operator, value)
        case ViewKind.SLICE:
            return _by_slice(domain, view, operator, value)
        case ViewKind.COUNT | ViewKind.LIST | ViewKind.SUM | ViewKind.DIFFERENT | ViewKind.DECODED:
            return None
        case _:
            assert_never(view.kind)


def _by_value(domain: Domain, view: View, operator: str, value: Any) -> Domain | None:
    word = word_of(domain.language, view, value)
    if word is None:
        return None
    match operator:
        case "==":
            return domain.one_of([word])
        case "!=":
            return domain.none_of([word])
        case "startswith":
            return domain.limited(StartsWith(word))
        case "endswith":
            return domain.limited(EndsWith(word))
        case "contains":
            return domain.limited(Contains(word))
        case "<" | "<=" | ">" | ">=" if _are_all_as_long_as(domain.language, word):
            # Bytes of one length are ordered like the numbers they spell.
            number = int.from_bytes(word.encode("latin-1"), "big")
            return domain.in_range(BYTEWISE, *bounds(view, operator, number))
    return None


def _by_members(domain: Domain, view: View, operator: str, values: Any) -> Domain | None:
    """One of several values, or none of them; `in` a text is something else."""
    if not isinstance(values, list | tuple | set | frozenset | dict | range) or not _can_list(values):
        return None
    are_texts = all(isinstance(each, str) for each in values)
    if isinstance(values, set | frozenset | dict) and not (view.reads_as or are_texts):
        return None  # there, a node is only found by its hash, which is that of a text
    words = [word for each in values if (word := word_of(domain.language, view, each)) is not None]
    # Text never equals bytes, so a value of the other type excludes no word.
    other = {"str": bytes, "bytes": str}.get(view.reads_as, ())
    is_exact = len(words) == sum(not isinstance(each, other) for each in values)
    # The order of a set is not the same in every run.
    words = sorted(words) if isinstance(values, set | frozenset) else words
    return domain.one_of(words, is_exact=is_exact) if operator == "in" else domain.none_of(words)


def _are_all_as_long_as(language: Language, word: str) -> bool:
    """True if all words are bytes of the length of this one."""
    return language.unit is Unit.BYTES and language.shortest == language.longest == len(word) > 0


def _can_list(values: Sized) -> bool:
    if len(values) > MAX_LISTED_VALUES:
        MAX_LISTED_VALUES.reached()
    return len(values) <= MAX_LISTED_VALUES


def _by_number(domain: Domain, view: View, operator: str, value: Any) -> Domain | None:
    base = base_of(domain.language, view)
    if base is None:
        return None
    if operator == "in" and isinstance(value, list | tuple | set | frozenset | range) and _can_list(value):
        if not all(isinstance(each, int) for each in value):
            return None
        if view.modulus:
            return _by_remainder(domain, view, base, value.__contains__)
        return _one_of_numbers(domain, view, base, sorted(value) if isinstance(value, set | frozenset) else value)
    if not is_number(value) or operator not in HOLDS:
        return None
    if view.modulus:
        return _by_remainder(domain, view, base, lambda rest: HOLDS[operator](rest, value))
    if operator == "==":
        return _one_of_numbers(domain, view, base, [value])
    if not are_known_numbers(domain.language, view, base):
        return None
    if not (is_largest_first(view) or _is_one_byte(domain.language)):
        return None
    if operator == "!=":
        number = inverse(view, value)
        return domain if number is None else domain.none_of(spellings(domain.language, view, base, number))
    low, high = bounds(view, operator, value)
    if view.power > 1 and low is not None and low < 0:
        return None
    return _sized(domain, view).in_range(base, low, high)


def _one_of_numbers(domain: Domain, view: View, base: int, values: Iterable[Any]) -> Domain:
    language = domain.language
    numbers = [number for value in values if (number := inverse(view, value)) is not None]
    is_exact = are_known_numbers(language, view, base)
    if len(numbers) == 1 and is_exact and is_largest_first(view):
        return _sized(domain, view).in_range(base, numbers[0], numbers[0])
    words = [word for number in numbers for word in spellings(language, view, base, number)]
    # Of spellings with signs or prefixes, or in upper and lower case, only some are given.
    return _sized(domain, view).one_of(words, is_exact=is_exact and spells_all(language, base))


def _by_remainder(domain: Domain, view: View, base: int, is_wanted: Callable[[int], bool]) -> Domain | None:
    is_known = are_known_numbers(domain.language, view, base) and is_largest_first(view)
    if is_known and view.modulus > MAX_MODULUS:
        MAX_MODULUS.reached()
    if not is_known or view.modulus > MAX_MODULUS:
        return None
    modulus = view.modulus
    kept = (rest for rest in range(modulus) if is_wanted((view.times * rest**view.power + view.plus) % modulus))
    allowed = tuple(kept)
    if Remainder.is_small(modulus):
        return domain.limited(Remainder(base, modulus, allowed))
    return None if domain.rest is not None else replace(domain, rest=(base, modulus, allowed), is_exact=False)


def _sized(domain: Domain, view: View) -> Domain:
    size = size_of(domain.language, view)
    return domain.of_length(size, size) if size else domain


def _is_one_byte(language: Language) -> bool:
    lengths = possible_lengths(language)
    return lengths.are_all and max(lengths.found, default=0) <= 1


def _by_length(domain: Domain, view: View, operator: str, value: Any) -> Domain | None:
    if view.modulus or view.power > 1 or not is_number(value) or operator not in _ORDERED:
        return None
    if view.reads_as == "bytes" and not is_bytewise(domain.language):
        return None
    scale = per_byte(domain.language)
    low, high = bounds(view, operator, value)
    # Bits that fill no whole bytes have no length in bytes, and so satisfy nothing.
    is_exact = domain.is_exact and (scale == 1 or low == high)
    longer = domain.of_length((low or 0) * scale, None if high is None else high * scale)
    return replace(longer, is_exact=is_exact)


def _by_item(domain: Domain, view: View, operator: str, value: Any) -> Domain | None:
    if domain.language.unit is Unit.BITS or not is_bytewise(domain.language):
        return None
    assert view.start is not None, "an item has an index"
    if view.stop == 1:
        domain = replace(domain, least=max(domain.least, 1), most=1)
    if not view.is_ordinal:
        return _by_character(domain, view.start, operator, value) if view.is_plain else None
    if view.modulus or view.power > 1 or not is_number(value) or operator not in _ORDERED:
        return None
    low, high = bounds(view, operator, value)
    first, last = max(low or 0, 0), _LAST_CHARACTER if high is None else min(high, _LAST_CHARACTER)
    return domain.limited(CharAt(view.start, CharSet.ranges([(first, last)]) if first <= last else CharSet()))


def _by_character(domain: Domain, index: int, operator: str, value: Any) -> Domain | None:
    if operator in ("in", "not in") and isinstance(value, str | list | tuple | set | frozenset):
        options = [each for each in value if isinstance(each, str) and len(each) == 1]
    elif operator in ("==", "!=") and isinstance(value, str) and len(value) == 1:
        options = [value]
    else:
        return None
    chars = CharSet.of(options)
    return domain.limited(CharAt(index, chars if operator in ("==", "in") else EVERY - chars))


def _by_slice(domain: Domain, view: View, operator: str, value: Any) -> Domain | None:
    """`str(<x>)[2:5] == "abc"`: each of the characters is fixed."""
    word = word_of(domain.language, view, value)
    if operator != "==" or word is None or not word or domain.language.unit is Unit.BITS:
        return None
    assert view.start is not None, "a slice has a start"
    if view.stop is None or len(word) != view.stop - view.start:
        return None
    return domain.limited(*(CharAt(view.start + at, CharSet.of(char)) for at, char in enumerate(word)))
