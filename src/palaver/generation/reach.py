"""Whether words of a product can be completed: which lengths occur, and long words found by walking at random.

How it works
------------
Which lengths occur is found without counting. Far from the end of a word the limits do not care how far it is (beyond
their `horizon`), so all lengths share one walk from the start, and only the last few characters are looked at apart.
Where the walk comes to places that it has met before, it goes round from there on: lengths beyond have a period.
"""

from __future__ import annotations

from collections.abc import Iterator

from palaver.chance import Chance
from palaver.generation.amounts import members, repeated
from palaver.generation.facts import Facts
from palaver.generation.lengths import Lengths, Wanted, find_lengths
from palaver.generation.pools import Pool
from palaver.generation.product import MOST_PLACES, Place, Product, States, cost_of
from palaver.grammar.automaton import State


class _TooMany(Exception):
    """It would take too long."""


class Reach:
    """What can be reached in a product."""

    def __init__(self, facts: Facts, product: Product) -> None:
        self._facts = facts
        self._product = product
        self._known: dict[Place, bool] = {}  # whether a word can be completed from there
        self._left = 0  # how many places may still be looked at
        # The possible lengths, as far as they are known.
        self._each_length = self._explore()
        self._lengths = self._explored = 0
        self._period = 0  # all lengths beyond are like those so many before

    # --- lengths ------------------------------------------------------------------------------------------------------

    def lengths(self, wanted: Wanted) -> Lengths:
        self._left = MOST_PLACES
        try:
            return find_lengths(self._facts.language, self._mask, self._is_over, wanted)
        except _TooMany:
            # Whatever was not reached is as if it were too long.
            found = self._lengths & self._facts.mask(self._explored)
            last = self._explored if wanted.most is None else min(self._explored, wanted.most)
            return Lengths(members(found, wanted.least, last), False)

    def _mask(self, upto: int) -> int:
        """The possible lengths as bits of a number, up to a certain one."""
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
        """Whether there are words of length 0, 1, 2… It ends when no more are possible, or a period is known."""
        product, horizon = self._product, self._product.horizon
        for length in range(horizon):
            place = product.start(length)
            yield place is not None and self._can_end(place)
        start = product.start(horizon)
        # So many characters before the end, all words of whatever length are at one of these:
        level: dict[States, None] = {} if start is None else {start[:2]: None}
        met: dict[frozenset[States], int] = {}
        while level:
            first = met.setdefault(frozenset(level), self._explored)
            if first < self._explored:
                self._period = self._explored - first
                return
            yield any(self._can_end((*here, horizon)) for here in level)
            level = {there[:2]: None for here in level for there in product.following((*here, horizon + 1))}
            for state, _ in level:
                self._spend(state)

    def _can_end(self, place: Place) -> bool:
        """Whether any word can be completed from there."""
        known, product = self._known, self._product
        if place in known:
            return known[place]
        path = [(place, product.following(place))]
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
                known.update((passed, True) for passed, _ in path)
                return True
        return False

    def _spend(self, state: State) -> None:
        self._left -= cost_of(state)
        if self._left < 0:
            raise _TooMany

    # --- words too long to be counted ---------------------------------------------------------------------------------

    def walk(self, start: Place, chance: Chance) -> str | None:
        """A random word, found by going on wherever it is possible, and back where it was not.

        None: there is none, or none was found among very many places.
        """
        self._left = MOST_PLACES
        try:
            return self._walk(start, chance)
        except _TooMany:
            return None

    def _walk(self, start: Place, chance: Chance) -> str | None:
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
                # Where there is only one way, far from the end, and it leads nowhere else, it is gone in one stride.
                is_loop = there[:2] == here[:2] and len(self._product.moves(here)) == 1
                count = max(1, here[2] - self._product.horizon) if is_loop else 1
                there = (*there[:2], here[2] - count)
                chars.append(pool.several(count, chance))
                path.append((there, self._options(there)))
        return None

    def _options(self, place: Place) -> list[tuple[Pool, Place]]:
        left = place[2] - 1
        return (
            [(pool, (state, states, left)) for pool, state, states in self._product.moves(place)] if left >= 0 else []
        )


def _pick_weighted(weights: list[int], chance: Chance) -> int:
    return 0 if len(weights) == 1 else chance.stream.choices(range(len(weights)), weights)[0]
