"""Numbers as words of a language: which words are a number, and whether all words are numbers."""

from __future__ import annotations

from collections.abc import Iterator

from palaver.generation.lengths import LONGEST
from palaver.generation.limits import BYTEWISE, InRange, as_digits, digit_chars, digits_of
from palaver.generation.words import Words, possible_lengths
from palaver.grammar.language import Language, Unit


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
    """Whether `spelled` misses no word that is the number, so that something can be proved from it."""
    if not are_digits(language, base) or language.longest is None or language.longest > LONGEST:
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
