"""Counting and unranking of words by dynamic programming (recursive method, Flajolet, Zimmermann and Van Cutsem 1994).

For each state of a product automaton the words that can be completed from it are counted. To draw a word, one number
below the count is drawn, and the word with that number is spelled out from the counts; so each is equally likely.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from palaver.regular.product import ProductAutomaton, ProductState, cost_of
from palaver.regular.regular_limits import MAX_COUNTED_LENGTH, MAX_PRODUCT_STATES


class CountedState:
    """A state from which words were counted."""

    __slots__ = ("moves", "total", "uptos")

    def __init__(self, moves: list[tuple[Sequence[str], CountedState]], total: int) -> None:
        self.moves = moves
        self.uptos = list(accumulate(len(chars) * there.total for chars, there in moves))
        self.total: int = self.uptos[-1] if moves else total

    def word(self, number: int) -> str:
        """The word with this number (unranking)."""
        state, word = self, []
        while state.moves:
            at = bisect_right(state.uptos, number) if len(state.moves) > 1 else 0
            if at:
                number -= state.uptos[at - 1]
            chars, state = state.moves[at]
            which, number = divmod(number, state.total)
            word.append(chars[which])
        return "".join(word)


NO_WORD, _END = CountedState([], 0), CountedState([], 1)


class WordCounts:
    """The counts of a product automaton, either of every word or of those that are drawn."""

    def __init__(self, product: ProductAutomaton, *, every: bool) -> None:
        self._product = product
        self._is_every = every
        self._counted: dict[ProductState, CountedState] = {}

    def of(self, state: ProductState) -> CountedState | None:
        """The counts from a state on; None if that is too much."""
        if state[2] > MAX_COUNTED_LENGTH:
            return None
        counted = self._counted
        if state in counted:
            return counted[state]
        if len(counted) > MAX_PRODUCT_STATES:
            counted.clear()
        left, todo = int(MAX_PRODUCT_STATES), [state]
        while todo and left > 0:
            here = todo[-1]
            missing = None if here in counted else self._count(here)
            if missing:
                todo += missing
                left -= cost_of(here[0])
            else:
                todo.pop()
        return counted.get(state)

    def _count(self, state: ProductState) -> list[ProductState] | None:
        """Count the words from a state on; the states that must be counted first if it cannot be done."""
        here, states, left = state
        counted = self._counted
        if left == 0:
            counted[state] = _END if self._product.ends(here, states) else NO_WORD
            return None
        moves = [(pool, (there, after, left - 1)) for pool, there, after in self._product.moves(state)]
        missing = [there for _, there in moves if there not in counted]
        if not missing:
            ways = [(pool.every if self._is_every else pool.drawn, counted[there]) for pool, there in moves]
            ways = [(chars, there) for chars, there in ways if there.total]
            counted[state] = CountedState(ways, 0) if ways else NO_WORD
        return missing
