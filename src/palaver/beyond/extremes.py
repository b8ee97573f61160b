"""Extremes: fields at the bounds that their rules set, just inside and just outside of them.

How it works
============

The rule of a field is a regular language, where it is one: its shortest and longest word are its bounds. A word of
that length is inside, and a message with it is right, if the constraints allow it. One character more or less is
outside. Lengths and numbers at which programs often fail are tried as well; the proof of membership tells which of them
are wrong. A field without a longest word has no bound, so nothing inside is longest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from palaver.beyond.beyond_limits import MAX_FIELD_BYTES
from palaver.beyond.mutants import MutablePart, Mutant, WrongnessKind, name_of, spliced
from palaver.compiled import Spec
from palaver.grammar.symbol_languages import Languages
from palaver.printable import counted
from palaver.random_source import RandomSource
from palaver.regular.language import Language, Unit
from palaver.regular.words import of_length
from palaver.trees.values import leaf_bytes

_LENGTHS = (0, 1, 64, 65, 255, 256, 257, 511, 512, 513, 1000, 4096, 65_535, 65_536)
_NUMBERS = (
    *(b"0", b"-1", b"255", b"256", b"32768", b"65535", b"65536", b"2147483647", b"2147483648", b"4294967295"),
    *(b"4294967296", b"9223372036854775808", b"18446744073709551616", b"9" * 40, b"00000000001", b"1e9", b"0x10"),
)
# Of four extremes, one is just outside of the bounds of its field, one is a number if it can be, the others are long.
_ROUNDS = 4


class FieldExtremes:
    """Makes messages with a field at its bounds, or beyond them."""

    def __init__(self, spec: Spec) -> None:
        self._languages = Languages(spec.grammar.rules, binary=spec.is_binary)

    def _language(self, span: MutablePart) -> Language | None:
        """The language of a field of whole characters."""
        language = None if span.is_leaf else self._languages.of(span.symbol)
        return None if language is None or language.unit is Unit.BITS else language

    def outside(self, data: bytes, spans: Sequence[MutablePart], chance: RandomSource, turn: int) -> Mutant | None:
        """A message with a field that is empty, too long, or a very large number."""
        fields = [span for span in spans if not span.is_leaf] or [span for span in spans if span.is_leaf]
        if not fields:
            return None
        span = chance.pick(fields)
        text, name = data[span.start : span.end], name_of(data, span)
        # What is repeated is one of the characters that the field has, so that only the length is wrong.
        unit = bytes([text[chance.below(len(text))]])
        way, step = turn % _ROUNDS, turn // _ROUNDS
        if way == 0 and (mutant := self._just_outside(data, span, unit, step)) is not None:
            return mutant
        if way == 1 and re.fullmatch(rb"-?[0-9]+", text):
            number = _NUMBERS[step % len(_NUMBERS)]
            return Mutant(spliced(data, span, number), WrongnessKind.EXTREME, f"{name} is {number.decode()}")
        length = min(_LENGTHS[(2 * step + way) % len(_LENGTHS)], MAX_FIELD_BYTES)
        return Mutant(spliced(data, span, unit * length), WrongnessKind.EXTREME, f"{name} of {counted(length, 'byte')}")

    def _just_outside(self, data: bytes, span: MutablePart, unit: bytes, step: int) -> Mutant | None:
        language = self._language(span)
        if language is None:
            return None
        text, name = data[span.start : span.end], span.symbol
        if step % 2 or language.longest is None:
            if not language.shortest:
                return None
            new = text[: language.shortest - 1]
            return Mutant(spliced(data, span, new), WrongnessKind.EXTREME, f"{name} one shorter than its shortest")
        if language.longest >= MAX_FIELD_BYTES:
            return None
        new = text + unit * (language.longest + 1 - len(text))
        return Mutant(spliced(data, span, new), WrongnessKind.EXTREME, f"{name} one longer than its longest")

    def inside(self, data: bytes, spans: Sequence[MutablePart], chance: RandomSource, turn: int) -> bytes | None:
        """The bytes of a message with a field that is as short or as long as it may be; None if no field is bounded."""
        bounded: list[tuple[MutablePart, Language, int]] = []
        for span in spans:
            language = self._language(span)
            if language is None or language.longest is None or language.shortest == language.longest:
                continue
            length = language.longest if turn % 2 else language.shortest
            if length <= MAX_FIELD_BYTES:
                bounded.append((span, language, length))
        if not bounded:
            return None
        span, language, length = chance.pick(bounded)
        word = of_length(language, length, chance)
        return None if word is None else spliced(data, span, leaf_bytes(language.spell(word)))
