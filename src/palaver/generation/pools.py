"""Classes of characters to draw from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from palaver.chance import Chance
from palaver.grammar.charset import CharSet

# What "any character" is drawn from: what people type, and a few letters that tell whether somebody counts bytes or
# characters. Uniform draws from all of Unicode would hardly ever hit the characters that protocols care about.
_USUAL = CharSet.of("".join(map(chr, range(0x20, 0x7F))) + "\t\n\r" + "äéßñΩЖ中\u2028€😀")
_SURROGATES = CharSet((0xD800, 0xE000))  # half of a surrogate pair is no character and could not be sent

# A class of more characters than this is open-ended, and drawn from the usual ones in it.
_LARGE_CLASS = 512

# Classes of more characters are not written out.
_LARGEST_WRITTEN = 4096


def drawable(chars: CharSet) -> CharSet:
    """The characters of a class that are drawn: of an open-ended one the usual ones, if it has any."""
    chars -= _SURROGATES
    usual = chars & _USUAL if chars.size() > _LARGE_CLASS else chars
    return usual or chars


def written_out(chars: CharSet) -> Sequence[str]:
    """The characters of a class, in order."""
    if chars.size() > _LARGEST_WRITTEN:
        return _Ranges(chars)
    return [chr(code) for low, high in chars.pairs() for code in range(low, high + 1)]


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


@dataclass(frozen=True, slots=True)
class Pool:
    """A class of characters: all of them, and those that are drawn."""

    chars: CharSet
    every: Sequence[str]
    drawn: Sequence[str]
    table: bytes | None  # all byte values spread evenly over what is drawn, if that can be done

    @staticmethod
    def of(chars: CharSet) -> Pool:
        every, usual = written_out(chars), drawable(chars)
        drawn = written_out(usual) if usual and usual != chars else every
        is_even = 256 % len(drawn) == 0 and drawn[-1] < "\u0100"
        return Pool(chars, every, drawn, bytes(map(ord, drawn)) * (256 // len(drawn)) if is_even else None)

    def several(self, count: int, chance: Chance) -> str:
        """So many characters, each drawn on its own."""
        if len(self.drawn) == 1:
            return self.drawn[0] * count
        if self.table is not None:
            return chance.stream.randbytes(count).translate(self.table).decode("latin-1")
        return "".join(chance.stream.choices(self.drawn, k=count))
