"""The product automaton of a language and of conditions on its words (Rabin and Scott 1959), made on demand.

A state knows how many characters are still to come, so nothing about it depends on the length of the whole word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from palaver.regular.automaton import AutomatonState
from palaver.regular.character_runs import CharacterPool
from palaver.regular.conditions import WordCondition
from palaver.regular.language_facts import LanguageFacts

# The state of the language's automaton and those of the conditions.
StatePair: TypeAlias = tuple[AutomatonState, tuple[int, ...]]
# The same, and the number of characters still to come.
ProductState: TypeAlias = tuple[AutomatonState, tuple[int, ...], int]
# Characters, and the states they lead to.
ProductMove: TypeAlias = tuple[CharacterPool, AutomatonState, tuple[int, ...]]

# A step from a state of fewer threads costs about the same as from any other such.
_CHEAP_WIDTH = 10


def cost_of(state: AutomatonState) -> int:
    """The cost of visiting a product state with this state of the language, counted against `MAX_PRODUCT_STATES`."""
    return 1 + state.width // _CHEAP_WIDTH


class ProductAutomaton:
    """The automaton of the words that keep all conditions."""

    def __init__(self, facts: LanguageFacts, conditions: tuple[WordCondition, ...]) -> None:
        self.horizon = max((condition.horizon for condition in conditions), default=0)
        self._facts = facts
        self._conditions = conditions
        self._partition = facts.partition(tuple(cut for condition in conditions for cut in condition.cuts))
        self._after_all: dict[tuple[tuple[int, ...], int], list[tuple[int, ...] | None]] = {}
        self._after_one: dict[tuple[int, int, int], list[int | None]] = {}
        self._moves: dict[ProductState, list[ProductMove]] = {}

    def start(self, length: int) -> ProductState | None:
        """The start state of words of this length; None if the conditions allow none."""
        states = _all_of(tuple(condition.start(length) for condition in self._conditions))
        return None if states is None else (self._facts.relaxed.automaton.start, states, length)

    def ends(self, state: AutomatonState, states: tuple[int, ...]) -> bool:
        """Return True if a word may end in these states."""
        return state.accepts and all(condition.ends(at) for condition, at in zip(self._conditions, states, strict=True))

    def moves(self, where: ProductState) -> list[ProductMove]:
        """The moves by the next character; characters that lead to the same state are one move."""
        state, states, left = where
        near = min(left - 1, self.horizon)
        key = (state, states, near)
        found = self._moves.get(key)
        if found is None:
            following = self._after_each(states, near)
            groups: dict[StatePair, list[int]] = {}
            for number, there in self._partition.after(state):
                after = following[number]
                if after is not None:
                    groups.setdefault((there, after), []).append(number)
            pool = self._partition.pool
            found = self._moves[key] = [(pool(tuple(numbers)), *there) for there, numbers in groups.items()]
        return found

    def following(self, where: ProductState) -> Iterator[ProductState]:
        """The states that the next character may lead to, some more than once."""
        state, states, left = where
        if left:
            after = self._after_each(states, min(left - 1, self.horizon))
            for number, there in self._partition.after(state):
                following = after[number]
                if following is not None:
                    yield there, following, left - 1

    def _after_each(self, states: tuple[int, ...], near: int) -> list[tuple[int, ...] | None]:
        """The states of the conditions after each class of characters."""
        found = self._after_all.get((states, near))
        if found is None:
            rows = [self._after_condition(number, state, near) for number, state in enumerate(states)]
            found = self._after_all[states, near] = (
                [_all_of(column) for column in zip(*rows, strict=True)] if rows else [()] * len(self._partition.samples)
            )
        return found

    def _after_condition(self, number: int, state: int, near: int) -> list[int | None]:
        found = self._after_one.get((number, state, near))
        if found is None:
            step = self._conditions[number].step
            found = self._after_one[number, state, near] = [step(state, char, near) for char in self._partition.samples]
        return found


def _all_of(states: tuple[int | None, ...]) -> tuple[int, ...] | None:
    return None if None in states else cast("tuple[int, ...]", states)  # there is no None in it
