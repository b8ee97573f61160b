"""The positions at which a rule may end whose length a constraint decides.

Positions count characters. A length in bytes of UTF-8 is turned into positions as soon as the text is there; a rule
that begins before has to be counted when it ends.
"""

from __future__ import annotations

from typing import NamedTuple

_WIDEST_CHARACTER = 4  # bytes, in UTF-8


class UncountedLength(NamedTuple):
    """A length in bytes of UTF-8, counted from a position on."""

    start: int
    least: int
    greatest: int

    def fits(self, buffer: str, end: int) -> bool:
        characters = end - self.start
        if characters > self.greatest or characters * _WIDEST_CHARACTER < self.least:
            return False
        return self.least <= len(_encoded(buffer[self.start : end])) <= self.greatest


class PossibleEnds(NamedTuple):
    """The least and the greatest position of an end; they are crossed if there is none."""

    least: int
    greatest: int
    uncounted: UncountedLength | None = None  # as long as the text has not come

    def allow(self, pos: int, buffer: str) -> bool:
        """Return True if the rule may end at a position, which is not beyond the greatest."""
        return pos >= self.least and (self.uncounted is None or self.uncounted.fits(buffer, pos))


def ends_of_encoded(buffer: str, start: int, lengths: tuple[int, int]) -> PossibleEnds:
    """The positions at which a text may end whose length in UTF-8 is between these two."""
    least, greatest = lengths
    if greatest < 0:
        return PossibleEnds(start, start - 1)
    text = buffer[start : start + greatest]
    written = _encoded(text)
    if len(written) < greatest:
        most = start + len(text) + greatest - len(written)
        return PossibleEnds(start, most, UncountedLength(start, least, greatest))
    before = _decoded(written[:least])
    return PossibleEnds(
        start + len(before) + (len(_encoded(before)) < least), start + len(_decoded(written[:greatest]))
    )


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    """The whole characters at the beginning of a text."""
    end = len(data)
    while end and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    last = data[end - 1 :] if end else b""
    is_whole = not last or last[0] < 0x80 or len(last) == (2 if last[0] < 0xE0 else 3 if last[0] < 0xF0 else 4)
    return (data if is_whole else data[: end - 1]).decode("utf-8", "surrogatepass")
