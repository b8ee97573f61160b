"""Sets of characters, as sorted ranges."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

END_OF_UNICODE = 0x110000


@dataclass(frozen=True, slots=True)
class CharSet:
    """Characters by number. `bounds` are the places where membership changes, in rising order.

    So `bounds` (97, 123) is a to z, and a number is inside if an odd number of bounds lies at or below it.
    """

    bounds: tuple[int, ...] = ()

    @staticmethod
    def of(characters: Iterable[str]) -> CharSet:
        """The set of just these characters."""
        return CharSet.ranges((ord(char), ord(char)) for char in characters)

    @staticmethod
    def ranges(pairs: Iterable[tuple[int, int]]) -> CharSet:
        """The set of all numbers from the first to the second of some pair, both included."""
        bounds: list[int] = []
        for low, high in sorted(pairs):
            if bounds and low <= bounds[-1]:
                bounds[-1] = max(bounds[-1], high + 1)
            else:
                bounds += (low, high + 1)
        return CharSet(tuple(bounds))

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
    """The set of the numbers for which `keep` holds; it must not hold outside both sets."""
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
