"""Repetitions with an exact amount, shared out to their items.

The number of items is guessed at random, and mostly the guess is good; else there are as few as possible. Items beyond
the least number must not be empty, or they are left out.
"""

from __future__ import annotations

from bisect import bisect_left

from palaver.chance import Chance
from palaver.generation.amount_plans import AmountPlan, Attempt, NotFound
from palaver.generation.generation_limits import MAX_COUNT_GUESSES, MAX_KEPT_MASKS, MAX_NODES
from palaver.generation.makers import extent
from palaver.regular.bitsets import BoundedSums, IteratedSums, highest, lowest, split
from palaver.trees.node import Part


class RepetitionPlan(AmountPlan):
    """A repetition.

    Items beyond the least number must not be empty. If a length is measured, they have an amount; if a count is, the
    items are checked when they are made (`not_empty`).
    """

    __slots__ = ("_body", "_extra", "_iterated_sums", "_least", "_most", "_not_empty", "_sums")

    def __init__(
        self, sums: BoundedSums, body: AmountPlan, least: int, most: int | None, *, extra: int | None, not_empty: bool
    ) -> None:
        super().__init__(body.weight)
        self._sums = sums
        self._body = body
        self._least = least
        self._most = most
        self._extra = extra  # the most items without an amount of a count; None: a length is measured
        self._not_empty = not_empty
        self._iterated_sums: dict[int, IteratedSums] = {}

    def grow(self) -> int:
        if not self._body.grow() and self.mask:
            return 0
        return self._add(self._mask_at(None))

    def _mask_at(self, time: int | None) -> int:
        each = self._body.at(time)
        further = self._raised(self._beyond(each) | 1)
        return self._sums.sums(self._raised(each).mask(self._least), further.mask(self._most_beyond))

    @property
    def _most_beyond(self) -> int:
        """The most items beyond the least number; more than the limit would have nothing to share."""
        return self._sums.limit if self._most is None else min(self._most - self._least, self._sums.limit)

    def _beyond(self, each: int) -> int:
        """The amounts of an item beyond the least number."""
        return each & ~1 if self._extra is None else each

    def _raised(self, each: int) -> IteratedSums:
        iterated = self._iterated_sums.get(each)
        if iterated is None:
            if len(self._iterated_sums) >= MAX_KEPT_MASKS:
                self._iterated_sums.clear()
            iterated = self._iterated_sums[each] = IteratedSums(self._sums, each)
        return iterated

    def make(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        shares = self._shares(amount, self._body.at(time), attempt)
        attempt.spend(len(shares))
        for share in shares[: self._least]:
            self._body.make(share, time, attempt, out)
        further = self._make_further if self._not_empty else self._body.make
        for share in shares[self._least :]:
            further(share, time, attempt, out)

    def _make_further(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        while True:
            parts: list[Part] = []
            self._body.make(amount, time, attempt, parts)
            if any(extent(part) for part in parts):
                out += parts
                return
            if not amount:
                return
            attempt.try_again()

    def _shares(self, amount: int, each: int, attempt: Attempt) -> list[int]:
        """The amount of each item; their number is drawn here too."""
        if self._least > MAX_NODES:
            raise NotFound
        beyond = self._beyond(each)
        chance = attempt.chance
        count = self._draw_count(amount, each, beyond, chance) if attempt.left > 0 else None
        if count is not None and beyond == each:
            return self._raised(each).share_out(amount, self._least + count, chance)
        if count is None:
            count = self._fewest(amount, each, beyond)
            beyond |= 1
        first, further = self._raised(each), self._raised(beyond)
        left, right = first.mask(self._least), further.mask(count)
        share = split(left, right, amount, max(count, 1) / max(self._least, 1), chance)
        rest = further.share_out(amount - share, count, chance)
        return first.share_out(share, self._least, chance) + [share for share in rest if share or beyond == each]

    def _draw_count(self, amount: int, each: int, beyond: int, chance: Chance) -> int | None:
        """The number of items beyond the least number; None if no good guess was made."""
        low, high = self._counts(amount, each, beyond)
        for _ in range(MAX_COUNT_GUESSES if low <= high else 0):
            drawn = chance.random()
            # Squared, so that few are usual and many still happen.
            count = low + int((drawn if self._most else drawn * drawn) * (high - low + 1))
            if self._mask_of(count, each, beyond) >> amount & 1:
                return count
        return None

    def _counts(self, amount: int, each: int, beyond: int) -> tuple[int, int]:
        """The range in which the number of items beyond the least number is drawn."""
        some = beyond & ~1
        if highest(some, amount) < 0:
            low, high = 0, 0
        elif beyond == each == some:  # every item takes its share
            low = -(-amount // highest(some, amount)) - self._least
            high = amount // lowest(some) - self._least
        else:
            low, high = 0, amount // lowest(some)
        if beyond & 1:
            high += self._extra or 0
        return max(low, 0), high if self._most is None else min(high, self._most - self._least)

    def _mask_of(self, count: int, each: int, beyond: int) -> int:
        if beyond == each:
            return self._raised(each).mask(self._least + count)
        return self._sums.sums(self._raised(each).mask(self._least), self._raised(beyond).mask(count))

    def _fewest(self, amount: int, each: int, beyond: int) -> int:
        """The fewest items beyond the least number with which the amount is possible."""
        first, further = self._raised(each).mask(self._least), self._raised(beyond | 1)

        def suffices(count: int) -> bool:
            return bool(self._sums.sums(first, further.mask(count)) >> amount & 1)

        high = 0
        while not suffices(min(high, self._most_beyond)):
            high = high * 2 + 1
        return bisect_left(range(min(high, self._most_beyond) + 1), True, lo=(high + 1) // 2, key=suffices)
