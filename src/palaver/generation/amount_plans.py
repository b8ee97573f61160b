"""Plans: expressions made with a given amount, by dynamic programming (Bellman 1957) over the possible amounts.

A plan belongs to an expression of the grammar. First it grows: as the amounts of symbols become known, so do those of
the plans above them. Then it makes parts with a given amount, and gives each plan below it a share.

A symbol remembers which amounts were known for it at which time. So a plan can be made as of an earlier time, from the
amounts that were possible then. A time of None is the present: all amounts are known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import cast

from palaver.generation.generation_limits import MAX_COUNT_GUESSES, MAX_KEPT_MASKS, MAX_NODES, MAX_RETRIES
from palaver.generation.makers import extent
from palaver.generation.measures import richness_of_class
from palaver.random_source import RandomSource
from palaver.regular.bitsets import BoundedSums, IteratedSums, highest, lowest, split
from palaver.regular.charset import CharSet, drawable, listed
from palaver.trees.node import Leaf, Node, NonTerminal, Part, Parties, new


class NotFound(Exception):
    """This attempt does not become a derivation."""


class Attempt:
    """The state of one derivation while it is made."""

    __slots__ = ("_kept", "_made", "_tries", "chance", "finished", "left", "whole")

    def __init__(self, chance: RandomSource, nodes: int, kept: Iterable[Node] = ()) -> None:
        """`kept` are nodes to take before any others are made of their symbols."""
        self.chance = chance
        self.left = nodes
        self._kept: dict[str, deque[Node]] = {}
        for node in kept:
            self._kept.setdefault(node.symbol, deque()).append(node)
        self._made = 0
        self._tries = MAX_RETRIES
        # The latest node of each cyclic symbol and length, and which number it had.
        self.finished = 0
        self.whole: dict[tuple[str, int], tuple[int, Node]] = {}

    def next_kept(self, symbol: str) -> Node | None:
        """The first of the nodes to keep that was not taken yet."""
        waiting = self._kept.get(symbol)
        return waiting.popleft() if waiting else None

    def spend(self, count: int) -> None:
        """Count so many parts. `""{1000000000}` is an empty text, but takes long to make."""
        self._made += count
        if self._made > MAX_NODES:
            MAX_NODES.reached()
            raise NotFound

    def try_again(self) -> None:
        """Count a part that is made again. Retries are shared by all levels, or they would multiply."""
        self._tries -= 1
        if self._tries < 0:
            raise NotFound


class GrowingAmounts(ABC):
    """A set of possible amounts that grows until all are known."""

    __slots__ = ("_earlier", "mask", "weight")

    def __init__(self, weight: float = 1) -> None:
        self.mask = 0
        self.weight = weight  # its share of an amount, compared to others
        self._earlier: dict[int, int] = {}

    def grow(self) -> int:
        """Find the amounts that became possible since the last time; returns them."""
        return self._add(self._mask_at(None))

    def at(self, time: int | None) -> int:
        """The amounts known at a time."""
        if time is None:
            return self.mask
        mask = self._earlier.get(time)
        if mask is None:
            if len(self._earlier) >= MAX_KEPT_MASKS:
                self._earlier.clear()
            mask = self._earlier[time] = self._mask_at(time)
        return mask

    def share_out(self, amount: int, time: int | None, chance: RandomSource, shares: list[int]) -> None:
        """Append the share of each part that it was paired from: all of the amount, if it is a part itself."""
        shares.append(amount)

    @abstractmethod
    def _mask_at(self, time: int | None) -> int:
        """The amounts that follow from those known of everything below at a time."""

    def _add(self, mask: int) -> int:
        fresh = mask & ~self.mask
        self.mask |= fresh
        return fresh


class AmountPlan(GrowingAmounts):
    """An expression: its possible amounts, and how to make it with one of them."""

    __slots__ = ()

    @abstractmethod
    def make(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        """Append parts with this amount, which must have been possible at that time."""


class FixedPlan(AmountPlan):
    """One part that always has the same amount."""

    __slots__ = ("_amounts", "_part")

    def __init__(self, sums: BoundedSums, amount: int, part: Callable[[Attempt], Part]) -> None:
        super().__init__(0)
        self._amounts = sums.shifted(1, amount)
        self._part = part

    def make(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        out.append(self._part(attempt))

    def _mask_at(self, time: int | None) -> int:
        return self._amounts


class CharactersPlan(AmountPlan):
    """Some number of characters of a class, as one string; each has the amount `size`."""

    __slots__ = ("_amounts", "_pool", "_size")

    def __init__(self, sums: BoundedSums, chars: CharSet, least: int, most: int | None, size: int) -> None:
        self._pool = listed(drawable(chars))
        super().__init__(richness_of_class(len(self._pool)))
        self._amounts = sums.multiples(size, least, most if self._pool else 0)
        self._size = size

    def make(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        pool, below = self._pool, attempt.chance.below
        count = len(pool)
        out.append("".join([pool[below(count)] for _ in range(amount // self._size)]))

    def _mask_at(self, time: int | None) -> int:
        return self._amounts


class PatternPlan(AmountPlan):
    """A pattern: the strings that its regular expression makes, put together and checked."""

    __slots__ = ("_inner", "_leaf")

    def __init__(self, inner: AmountPlan, leaf: Callable[[Callable[[], str], Attempt], Leaf]) -> None:
        super().__init__(inner.weight)
        self._inner = inner
        self._leaf = leaf

    def grow(self) -> int:
        return self._add(self._inner.grow())

    def make(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        def text() -> str:
            pieces: list[Part] = []
            self._inner.make(amount, None, attempt, pieces)
            return "".join(cast("list[str]", pieces))  # a regular expression makes nothing but text

        out.append(self._leaf(text, attempt))

    def _mask_at(self, time: int | None) -> int:
        return self._inner.mask


class SymbolAmounts:
    """The amounts of a symbol, and the times at which they became known."""

    body: AmountPlan  # rules mention each other, so there must be all symbols before there is any plan

    def __init__(self, name: NonTerminal, own: int) -> None:
        self.name = name
        self.own = own  # the amount of a node itself, without that of its children
        self.mask = 0
        self._times: list[int] = []
        self._masks: list[int] = []
        self._known_since: dict[int, int] = {}

    def add(self, fresh: int, time: int) -> None:
        self.mask |= fresh
        self._times.append(time)
        self._masks.append(self.mask)

    def mask_at(self, time: int | None) -> int:
        """The amounts known before that time."""
        if time is None:
            return self.mask
        at = bisect_left(self._times, time)
        return self._masks[at - 1] if at else 0

    def known_since(self, amount: int) -> int:
        since = self._known_since.get(amount)
        if since is None:
            at = bisect_left(self._masks, 1, key=lambda mask: mask >> amount & 1)
            since = self._known_since[amount] = self._times[at]
        return since


class SymbolPlan(AmountPlan):
    """A node of a symbol."""

    __slots__ = ("_is_cyclic", "_parties", "_symbol")

    def __init__(self, symbol: SymbolAmounts, parties: Parties | None, is_cyclic: bool) -> None:
        super().__init__()
        self._symbol = symbol
        self._parties = parties
        self._is_cyclic = is_cyclic

    def make(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        symbol = self._symbol
        attempt.left -= 1
        attempt.spend(1)
        then = None if attempt.left > 0 else symbol.known_since(amount)
        before = attempt.finished
        parts: list[Part] = []
        symbol.body.make(amount - symbol.own, then, attempt, parts)
        node: Node = new(Node, (symbol.name, tuple(parts), (), self._parties))
        out.append(self._innermost(node, amount, before, attempt) if self._is_cyclic else node)

    def _innermost(self, node: Node, length: int, before: int, attempt: Attempt) -> Node:
        """The node, or one inside it with the same text. `before` tells which nodes were finished when it was begun."""
        key = (node.symbol, length)
        number, inner = attempt.whole.get(key, (0, node))
        found = inner._replace(parties=self._parties) if number > before else node
        attempt.finished += 1
        attempt.whole[key] = (attempt.finished, found)
        return found

    def _mask_at(self, time: int | None) -> int:
        return self._symbol.mask_at(time)


class ChoicePlan(AmountPlan):
    """A choice. Options are drawn by weight; one that is always the same is as good as the best."""

    __slots__ = ("_fitting", "_options", "_weights")

    def __init__(self, options: list[AmountPlan]) -> None:
        best = max((option.weight for option in options), default=0)
        super().__init__(best)
        self._options = options
        self._weights = [option.weight or best for option in options]
        self._fitting: dict[int, tuple[list[AmountPlan], list[float]]] = {}

    def grow(self) -> int:
        fresh = 0
        for option in self._options:
            fresh |= option.grow()
        return self._add(fresh)

    def make(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        fitting = self._fitting.get(amount) if time is None else None
        if fitting is None:
            fitting = self._fitting_at(amount, time)
            if time is None:
                self._fitting[amount] = fitting
        options, upto = fitting
        at = bisect_right(upto, attempt.chance.random() * upto[-1]) if len(options) > 1 else 0
        options[at].make(amount, time, attempt, out)

    def _fitting_at(self, amount: int, time: int | None) -> tuple[list[AmountPlan], list[float]]:
        """The options that can have this amount, and their weights, added up."""
        places = [at for at, option in enumerate(self._options) if option.at(time) >> amount & 1]
        return [self._options[at] for at in places], list(accumulate(self._weights[at] or 1 for at in places))

    def _mask_at(self, time: int | None) -> int:
        mask = 0
        for option in self._options:
            mask |= option.at(time)
        return mask


class _PlanPair(GrowingAmounts):
    """Two parts of a sequence, or pairs of them, which share an amount. It is the sequence that makes them."""

    __slots__ = ("_left", "_ratio", "_right", "_sums")

    def __init__(self, sums: BoundedSums, left: GrowingAmounts, right: GrowingAmounts) -> None:
        super().__init__(left.weight + right.weight)
        self._sums = sums
        self._left = left
        self._right = right
        self._ratio = right.weight / left.weight if left.weight and right.weight else 1

    def grow(self) -> int:
        fresh_left = self._left.grow()
        fresh_right = self._right.grow()
        sums = self._sums.sums
        old_left = self._left.mask ^ fresh_left
        return self._add(sums(fresh_left, self._right.mask) | sums(old_left, fresh_right))

    def share_out(self, amount: int, time: int | None, chance: RandomSource, shares: list[int]) -> None:
        share = split(self._left.at(time), self._right.at(time), amount, self._ratio, chance)
        self._left.share_out(share, time, chance, shares)
        self._right.share_out(amount - share, time, chance, shares)

    def _mask_at(self, time: int | None) -> int:
        return self._sums.sums(self._left.at(time), self._right.at(time))


class SequencePlan(AmountPlan):
    """A sequence, or a permutation. Parts are paired, pairs are paired, and so on, so that all are treated alike."""

    __slots__ = ("_any_order", "_parts", "_top")

    def __init__(self, sums: BoundedSums, parts: list[AmountPlan], *, any_order: bool) -> None:
        tops: list[GrowingAmounts] = list(parts)
        while len(tops) > 1:
            paired: list[GrowingAmounts] = [_PlanPair(sums, *tops[at : at + 2]) for at in range(0, len(tops) - 1, 2)]
            tops = paired + tops[len(paired) * 2 :]
        self._top = tops[0] if tops else FixedPlan(sums, 0, lambda attempt: "")
        super().__init__(self._top.weight)
        self._parts = parts
        self._any_order = any_order

    def grow(self) -> int:
        return self._add(self._top.grow())

    def make(self, amount: int, time: int | None, attempt: Attempt, out: list[Part]) -> None:
        if not self._parts:
            return
        shares: list[int] = []
        self._top.share_out(amount, time, attempt.chance, shares)
        todo = list(zip(self._parts, shares, strict=True))
        while todo:
            part, share = todo.pop(attempt.chance.below(len(todo)) if self._any_order else 0)
            part.make(share, time, attempt, out)

    def _mask_at(self, time: int | None) -> int:
        return self._top.at(time)


class RepetitionPlan(AmountPlan):
    """A repetition. The number of items is guessed at random, and mostly the guess is good; else they are the fewest.

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

    def _draw_count(self, amount: int, each: int, beyond: int, chance: RandomSource) -> int | None:
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
