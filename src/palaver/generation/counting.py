"""How many words can be completed from a place of a product, so that each can be called by its number.

To draw a word, one number below the number of all words is drawn, and the word with that number is spelled out from
the counts; so each is equally likely.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from palaver.generation.product import MOST_PLACES, Place, Product, cost_of

# Longer words are not counted: the numbers alone would fill the memory. They are drawn by walking at random.
_LONGEST_COUNTED = 1_000


class Spot:
    """A place from which words were counted."""

    __slots__ = ("moves", "total", "uptos")

    def __init__(self, moves: list[tuple[Sequence[str], Spot]], total: int) -> None:
        self.moves = moves
        self.uptos = list(accumulate(len(chars) * there.total for chars, there in moves))
        self.total: int = self.uptos[-1] if moves else total

    def word(self, number: int) -> str:
        """The word with this number, of all those that can be completed from here."""
        spot, word = self, []
        while spot.moves:
            at = bisect_right(spot.uptos, number) if len(spot.moves) > 1 else 0
            if at:
                number -= spot.uptos[at - 1]
            chars, spot = spot.moves[at]
            which, number = divmod(number, spot.total)
            word.append(chars[which])
        return "".join(word)


_NOWHERE, _END = Spot([], 0), Spot([], 1)


class Counts:
    """The counts of a product, either of every word or of those that are drawn."""

    def __init__(self, product: Product, *, every: bool) -> None:
        self._product = product
        self._is_every = every
        self._spots: dict[Place, Spot] = {}

    def spot(self, place: Place) -> Spot | None:
        """The counts from a place on; None if that is too much."""
        if place[2] > _LONGEST_COUNTED:
            return None
        spots = self._spots
        if place in spots:
            return spots[place]
        if len(spots) > MOST_PLACES:
            spots.clear()
        left, todo = MOST_PLACES, [place]
        while todo and left > 0:
            here = todo[-1]
            missing = None if here in spots else self._count(here)
            if missing:
                todo += missing
                left -= cost_of(here[0])
            else:
                todo.pop()
        return spots.get(place)

    def _count(self, place: Place) -> list[Place] | None:
        """Count the words from a place on; what must be counted first if it cannot be done."""
        state, states, left = place
        if left == 0:
            self._spots[place] = _END if self._product.ends(state, states) else _NOWHERE
            return None
        moves = [(pool, (there, after, left - 1)) for pool, there, after in self._product.moves(place)]
        missing = [there for _, there in moves if there not in self._spots]
        if not missing:
            ways = [(pool.every if self._is_every else pool.drawn, self._spots[there]) for pool, there in moves]
            ways = [(chars, spot) for chars, spot in ways if spot.total]
            self._spots[place] = Spot(ways, 0) if ways else _NOWHERE
        return missing
