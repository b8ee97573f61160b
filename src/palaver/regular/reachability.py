"""Reachability in a product automaton, breadth first (Moore 1959): the lengths of its words, and long words.

Lengths are found without counting words. Far from the end of a word the conditions do not depend on how far it is
(beyond their `horizon`), so all lengths share one breadth-first search from the start, and only the last few characters
are searched apart. Once a level of the search has occurred before, levels repeat, and so do the lengths.
"""

from __future__ import annotations

from collections.abc import Iterator

from palaver.random_source import RandomSource
from palaver.regular.automaton import AutomatonState
from palaver.regular.bitsets import members, repeated
from palaver.regular.character_runs import CharacterPool
from palaver.regular.language_facts import FoundLengths, LanguageFacts, LengthQuery, find_lengths
from palaver.regular.product import ProductAutomaton, ProductState, StatePair, cost_of
from palaver.regular.regular_limits import MAX_PRODUCT_STATES


class _TooManyStates(Exception):
    """The search would take too long."""


class Reachability:
    """The states of a product automaton from which a word can be completed."""

    def __init__(self, facts: LanguageFacts, product: ProductAutomaton) -> None:
        self._facts = facts
        self._product = product
        self._known: dict[ProductState, bool] = {}  # True if a word can be completed from there
        self._left = 0  # how many states may still be visited
        # The possible lengths, as far as they are known.
        self._each_length = self._explore()
        self._lengths = self._explored = 0
        self._period = 0  # all lengths beyond are like those so many before

    def lengths(self, query: LengthQuery) -> FoundLengths:
        self._left = int(MAX_PRODUCT_STATES)
        try:
            return find_lengths(self._facts.language, self._mask, self._is_over, query)
        except _TooManyStates:
            MAX_PRODUCT_STATES.reached()
            # Whatever was not reached is as if it were too long.
            found = self._lengths & self._facts.mask(self._explored)
            last = self._explored if query.most is None else min(self._explored, query.most)
            return FoundLengths(members(found, query.least, last), False)

    def _mask(self, upto: int) -> int:
        """The possible lengths as a bit set, up to a certain one."""
        while self._explored <= upto and (is_possible := next(self._each_length, None)) is not None:
            self._lengths |= is_possible << self._explored
            self._explored += 1
        found = self._lengths
        if self._explored <= upto and self._period:
            start = self._explored - self._period
            times = (upto - start) // self._period + 1
            found |= repeated(found >> start, self._period, times) << start
        return found & self._facts.mask(upto)

    def _is_over(self, upto: int) -> bool:
        return self._explored <= upto and self._lengths >> self._explored - self._period == 0

    def _explore(self) -> Iterator[bool]:
        """True or False for each length 0, 1, 2… It ends when no more words are possible, or a period is known."""
        product, horizon = self._product, self._product.horizon
        for length in range(horizon):
            start = product.start(length)
            yield start is not None and self._can_end(start)
        start = product.start(horizon)
        # The states that words of any length can have so many characters before their end:
        level: dict[StatePair, None] = {} if start is None else {start[:2]: None}
        met: dict[frozenset[StatePair], int] = {}
        while level:
            first = met.setdefault(frozenset(level), self._explored)
            if first < self._explored:
                self._period = self._explored - first
                return
            yield any(self._can_end((*here, horizon)) for here in level)
            level = {there[:2]: None for here in level for there in product.following((*here, horizon + 1))}
            for state, _ in level:
                self._spend(state)

    def _can_end(self, state: ProductState) -> bool:
        """Return True if a word can be completed from there (depth-first search)."""
        known, product = self._known, self._product
        if state in known:
            return known[state]
        path = [(state, product.following(state))]
        while path:
            here, rest = path[-1]
            there = next((there for there in rest if known.get(there) is not False), None)
            if there is None:
                known[here] = here[2] == 0 and product.ends(*here[:2])
                path.pop()
            elif there not in known:
                self._spend(there[0])
                path.append((there, product.following(there)))
                continue
            if there is not None or known[here]:
                known.update((visited, True) for visited, _ in path)
                return True
        return False

    def _spend(self, state: AutomatonState) -> None:
        self._left -= cost_of(state)
        if self._left < 0:
            raise _TooManyStates

    def walk(self, start: ProductState, chance: RandomSource) -> str | None:
        """A random word, found by a random walk with backtracking; None if none was found."""
        self._left = int(MAX_PRODUCT_STATES)
        try:
            return self._walk(start, chance)
        except _TooManyStates:
            MAX_PRODUCT_STATES.reached()
            return None

    def _walk(self, start: ProductState, chance: RandomSource) -> str | None:
        known, chars = self._known, [""]
        path = [(start, self._options(start))]
        while path:
            here, options = path[-1]
            if here[2] == 0 and self._product.ends(*here[:2]):
                return "".join(chars)
            if not options:
                known[here] = False
                path.pop()
                chars.pop()
                continue
            pool, there = options.pop(_pick_weighted([len(pool.drawn) for pool, _ in options], chance))
            if known.get(there) is not False:
                self._spend(there[0])
                # A loop that is the only move, far from the end, is taken as often as possible at once.
                is_loop = there[:2] == here[:2] and len(self._product.moves(here)) == 1
                count = max(1, here[2] - self._product.horizon) if is_loop else 1
                there = (*there[:2], here[2] - count)
                chars.append(pool.several(count, chance))
                path.append((there, self._options(there)))
        return None

    def _options(self, state: ProductState) -> list[tuple[CharacterPool, ProductState]]:
        left = state[2] - 1
        return (
            [(pool, (state, states, left)) for pool, state, states in self._product.moves(state)] if left >= 0 else []
        )


def _pick_weighted(weights: list[int], chance: RandomSource) -> int:
    return 0 if len(weights) == 1 else chance.stream.choices(range(len(weights)), weights)[0]
