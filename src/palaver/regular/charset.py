"""Sets of characters as sorted ranges, and which of their characters are drawn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from palaver.lean_dataclasses import dataclass
from palaver.regular.regular_limits import MAX_CLOSED_CLASS, MAX_LISTED_CHARACTERS

END_OF_UNICODE = 0x110000


@dataclass(frozen=True, slots=True)
class CharSet:
    """A set of characters. `bounds` are the code points where membership changes, in rising order.

    So `bounds` (97, 123) is a to z, and a character is inside if an odd number of bounds lies at or below it.
    """

    bounds: tuple[int, ...] = ()

    @staticmethod
    def of(characters: Iterable[str]) -> CharSet:
        """The set of just these characters."""
        return CharSet.ranges((ord(char), ord(char)) for char in characters)

    @staticmethod
    def ranges(pairs: Iterable[tuple[int, int]]) -> CharSet:
        """The set of all code points from the first to the second of some pair, both included."""
        bounds: list[int] = []
        for low, high in sorted(pairs):
            if bounds and low <= bounds[-1]:
                bounds[-1] = max(bounds[-1], high + 1)
            else:
                bounds += (low, high + 1)
        return CharSet(tuple(bounds))

    @staticmethod
    def union(sets: Iterable[CharSet]) -> CharSet:
        return CharSet.ranges(pair for chars in sets for pair in chars.pairs())

    def __contains__(self, char: str) -> bool:
        return bool(bisect_right(self.bounds, ord(char)) & 1)

    def __bool__(self) -> bool:
        return bool(self.bounds)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The ranges, first and last included, in rising order."""
        bounds = self.bounds
        for at in range(0, len(bounds), 2):
            yield bounds[at], bounds[at + 1] - 1

    def size(self) -> int:
        return sum(high - low + 1 for low, high in self.pairs())

    def __or__(self, other: CharSet) -> CharSet:
        return _sweep(self, other, lambda one, two: one or two)

    def __and__(self, other: CharSet) -> CharSet:
        return _sweep(self, other, lambda one, two: one and two)

    def __sub__(self, other: CharSet) -> CharSet:
        return _sweep(self, other, lambda one, two: one and not two)

    def as_class(self) -> str:
        """The inside of a bracket expression of `re` that matches exactly this set."""
        return "".join(f"\\U{low:08x}" if low == high else f"\\U{low:08x}-\\U{high:08x}" for low, high in self.pairs())


def _sweep(one: CharSet, two: CharSet, keep: Callable[[bool, bool], bool]) -> CharSet:
    """The set of the code points for which `keep` holds; it must not hold outside both sets."""
    if one.bounds == two.bounds:
        return one if keep(True, True) else CharSet()
    first, second = set(one.bounds), set(two.bounds)
    bounds: list[int] = []
    in_one = in_two = inside = False
    for bound in sorted(first | second):
        in_one ^= bound in first
        in_two ^= bound in second
        if keep(in_one, in_two) is not inside:
            inside = not inside
            bounds.append(bound)
    return CharSet(tuple(bounds))


NO_CHARS = CharSet()
EVERY = CharSet((0, END_OF_UNICODE))
BYTES = CharSet((0, 0x100))
ASCII = CharSet((0, 0x80))

# "Any character" is drawn from what people type, and a few letters that show if somebody counts bytes or characters.
# Uniform draws from all of Unicode would hardly ever hit the characters that protocols care about.
_USUAL = CharSet.of("".join(map(chr, range(0x20, 0x7F))) + "\t\n\r" + "äéßñΩЖ中\u2028€😀")
_SURROGATES = CharSet((0xD800, 0xE000))  # half of a surrogate pair is no character and could not be sent


def partition(sets: Iterable[CharSet]) -> tuple[CharSet, ...]:
    """The coarsest partition of the sets' union such that each set is a union of classes."""
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


def drawable(chars: CharSet) -> CharSet:
    """The characters of a class that are drawn: of an open-ended one the usual ones, if it has any."""
    chars -= _SURROGATES
    usual = chars & _USUAL if chars.size() > MAX_CLOSED_CLASS else chars
    return usual or chars


def listed(chars: CharSet) -> Sequence[str]:
    """The characters of a class, in order."""
    if chars.size() > MAX_LISTED_CHARACTERS:
        return _CharacterRanges(chars)
    return [chr(code) for low, high in chars.pairs() for code in range(low, high + 1)]


class _CharacterRanges(Sequence[str]):
    """The characters of a class that is too large to be listed."""

    def __init__(self, chars: CharSet) -> None:
        pairs = list(chars.pairs())
        self._upto = list(accumulate(high - low + 1 for low, high in pairs))
        self._starts = [high + 1 - upto for (_, high), upto in zip(pairs, self._upto, strict=True)]

    def __len__(self) -> int:
        return self._upto[-1]

    def __getitem__(self, at):  # type: ignore[no-untyped-def]  # only ever asked for one
        return chr(self._starts[bisect_right(self._upto, at)] + at)
