"""Sets of natural numbers (amounts) as bit sets, and their sumsets: subset sums by dynamic programming (Bellman 1957).

The sumset of two sets has all sums of a member of the one and a member of the other: it is the one set, shifted by each
member of the other. Members that follow each other, a *run*, cost no more than a few single ones, because a set that
was shifted by 0 and 1 only has to be shifted by 2 to have been shifted by 0 to 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf

from palaver.random_source import RandomSource
from palaver.regular.regular_limits import MAX_SPLIT_GUESSES

# To find this many runs of bits in a mask, its text is searched.
_FEW_RUNS = 24


class TooExpensive(Exception):
    """The sums would take too long, or too much memory."""


class BoundedSums:
    """Sumsets up to a limit; no more than `most_work` bits are shifted since `begin`."""

    def __init__(self, limit: int, most_work: float = inf) -> None:
        self.limit = limit
        self._everything = (2 << limit) - 1
        self._most_work = most_work
        self._work = 0

    def begin(self) -> None:
        """Count the work anew."""
        self._work = 0

    def sums(self, one: int, other: int) -> int:
        """The sumset of two sets. :raises TooExpensive: it takes more work than is left"""
        if not one or not other:
            return 0
        # Most sums are with a literal, so with a single amount.
        if not one & (one - 1):
            return other << one.bit_length() - 1 & self._everything
        if not other & (other - 1):
            return one << other.bit_length() - 1 & self._everything
        runs = _run_count(one)
        if (others := _run_count(other)) < runs:
            one, other, runs = other, one, others
        self._work += runs * self.limit
        if self._work > self._most_work:
            raise TooExpensive
        found = 0
        for start, length in _runs(one) if runs < _FEW_RUNS else _runs_as_text(one):
            found |= repeated(other, 1, length) << start
        return found & self._everything

    def shifted(self, mask: int, amount: int) -> int:
        return mask << amount & self._everything

    def multiples(self, step: int, least: int, most: int | None) -> int:
        """`least` to `most` times `step`."""
        last = self.limit // step if most is None else min(most, self.limit // step)
        return 0 if least > last else repeated(1, step, last - least + 1) << step * least


class IteratedSums:
    """The n-fold sumsets of one set: the possible amounts of n items together."""

    def __init__(self, sums: BoundedSums, each: int) -> None:
        self._sums = sums
        self._each = each
        self._masks = {0: 1, 1: each}

    def mask(self, count: int) -> int:
        """The possible amounts of `count` items together."""
        mask = self._masks.get(count)
        if mask is None:
            if not self._each or lowest(self._each) * count > self._sums.limit:
                return 0
            # Halves of halves are few, so all of them together cost little more than the largest one.
            half = count // 2
            mask = self._masks[count] = self._sums.sums(self.mask(half), self.mask(count - half))
        return mask

    def share_out(self, amount: int, count: int, chance: RandomSource) -> list[int]:
        """Amounts of `count` items that are `amount` together."""
        least = lowest(self._each)
        shares: list[int] = []
        todo = [(amount, count)]
        while todo:
            amount, count = todo.pop()
            if amount == least * count:
                shares += [least] * count
            elif count == 1:
                shares.append(amount)
            else:
                half = count // 2
                rest = count - half
                share = split(self.mask(half), self.mask(rest), amount, 1, chance)
                todo += ((amount - share, rest), (share, half))
        return shares


def split(left: int, right: int, amount: int, ratio: float, chance: RandomSource) -> int:
    """A share of `amount` for the left, such that the right can have the rest.

    The right gets `ratio` times as much on average, if everything is possible. `amount` must be possible for both.
    """
    low = max(lowest(left), amount - highest(right, amount))
    high = min(highest(left, amount), amount - lowest(right))
    if low == high:
        return low
    width = high - low + 1
    for _ in range(MAX_SPLIT_GUESSES):
        share = low + int(chance.random() ** ratio * width)
        if left >> share & 1 and right >> (amount - share) & 1:
            return share
    return chance.pick([at for at in range(low, high + 1) if left >> at & 1 and right >> (amount - at) & 1])


def lowest(mask: int) -> int:
    """The lowest amount; -1 if there is none."""
    return (mask & -mask).bit_length() - 1


def highest(mask: int, limit: int) -> int:
    """The highest amount up to `limit`, -1 if there is none; so draws do not depend on the limit of the mask."""
    return (mask & ((2 << limit) - 1)).bit_length() - 1


def members(mask: int, least: int, most: int) -> tuple[int, ...]:
    """The amounts from `least` to `most`, in rising order."""
    if most < least:
        return ()
    bits = bin(mask >> least & (1 << (most - least + 1)) - 1)
    return tuple(amount for amount, bit in enumerate(reversed(bits[2:]), least) if bit == "1")


def repeated(mask: int, distance: int, count: int) -> int:
    """The union of `count` copies of a set, each shifted by a distance against the one before."""
    done = 1
    while done < count:
        step = min(done, count - done)
        mask |= mask << step * distance
        done += step
    return mask


def _run_count(mask: int) -> int:
    return (mask & ~(mask << 1)).bit_count()


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    """The start and the length of each run."""
    done = 0
    while mask:
        start = lowest(mask)
        mask >>= start
        length = lowest(mask + 1)
        mask >>= length
        yield done + start, length
        done += start + length


def _runs_as_text(mask: int) -> Iterator[tuple[int, int]]:
    """The same, faster if there are many."""
    for run in re.finditer("1+", f"{mask:b}"[::-1]):
        yield run.start(), run.end() - run.start()
