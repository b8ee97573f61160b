"""The automaton of a language and those of limits, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from palaver.generation.facts import Facts
from palaver.generation.limits import Limit
from palaver.generation.pools import Pool
from palaver.grammar.automaton import State

# Where the automata are: the state of the language and those of the limits.
States: TypeAlias = tuple[State, tuple[int, ...]]
# The same, and the number of characters still to come.
Place: TypeAlias = tuple[State, tuple[int, ...], int]
# Characters, and where they lead.
Move: TypeAlias = tuple[Pool, State, tuple[int, ...]]

# So many places are looked at for one answer, then it is given up: about half a second.
MOST_PLACES = 30_000

# A step from a state that follows fewer ways at once costs about the same as from any other such.
_CHEAP_WIDTH = 10


def cost_of(state: State) -> int:
    """What it costs to look at a place in this state, compared to `MOST_PLACES`."""
    return 1 + state.width // _CHEAP_WIDTH


class Product:
    """A language under limits, and how one moves in it."""

    def __init__(self, facts: Facts, limits: tuple[Limit, ...]) -> None:
        self.horizon = max((limit.horizon for limit in limits), default=0)
        self._facts = facts
        self._limits = limits
        self._alphabet = facts.alphabet(tuple(cut for limit in limits for cut in limit.cuts))
        self._after_all: dict[tuple[tuple[int, ...], int], list[tuple[int, ...] | None]] = {}
        self._after_one: dict[tuple[int, int, int], list[int | None]] = {}
        self._moves: dict[Place, list[Move]] = {}

    def start(self, length: int) -> Place | None:
        """Where words of this length start; None if the limits allow none."""
        states = _all_of(tuple(limit.start(length) for limit in self._limits))
        return None if states is None else (self._facts.loosened.automaton.start, states, length)

    def ends(self, state: State, states: tuple[int, ...]) -> bool:
        """Whether a word may end here."""
        return state.accepts and all(limit.ends(at) for limit, at in zip(self._limits, states, strict=True))

    def moves(self, place: Place) -> list[Move]:
        """Where the next character leads, characters that lead to the same place together."""
        state, states, left = place
        near = min(left - 1, self.horizon)
        key = (state, states, near)
        found = self._moves.get(key)
        if found is None:
            following = self._limits_after(states, near)
            groups: dict[States, list[int]] = {}
            for number, there in self._alphabet.after(state):
                after = following[number]
                if after is not None:
                    groups.setdefault((there, after), []).append(number)
            pool = self._alphabet.pool
            found = self._moves[key] = [(pool(tuple(numbers)), *there) for there, numbers in groups.items()]
        return found

    def following(self, place: Place) -> Iterator[Place]:
        """Where the next character may lead, some places more than once."""
        state, states, left = place
        if left:
            after = self._limits_after(states, min(left - 1, self.horizon))
            for number, there in self._alphabet.after(state):
                following = after[number]
                if following is not None:
                    yield there, following, left - 1

    def _limits_after(self, states: tuple[int, ...], near: int) -> list[tuple[int, ...] | None]:
        """The states of the limits after each class of characters."""
        found = self._after_all.get((states, near))
        if found is None:
            rows = [self._limit_after(number, state, near) for number, state in enumerate(states)]
            found = self._after_all[states, near] = (
                [_all_of(column) for column in zip(*rows, strict=True)] if rows else [()] * len(self._alphabet.samples)
            )
        return found

    def _limit_after(self, number: int, state: int, near: int) -> list[int | None]:
        found = self._after_one.get((number, state, near))
        if found is None:
            step = self._limits[number].step
            found = self._after_one[number, state, near] = [step(state, char, near) for char in self._alphabet.samples]
        return found


def _all_of(states: tuple[int | None, ...]) -> tuple[int, ...] | None:
    return None if None in states else cast("tuple[int, ...]", states)  # there is no None in it
