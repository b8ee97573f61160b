"""Classes of characters that words are drawn from, and the partition of an alphabet into such classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from palaver.chance import Chance
from palaver.regular.automaton import AutomatonState
from palaver.regular.charset import CharSet, drawable, listed


@dataclass(frozen=True, slots=True)
class CharacterPool:
    """A class of characters: all of them, and those that are drawn."""

    chars: CharSet
    every: Sequence[str]
    drawn: Sequence[str]
    table: bytes | None  # all byte values spread evenly over the drawn characters, if that can be done

    @staticmethod
    def of(chars: CharSet) -> CharacterPool:
        every, usual = listed(chars), drawable(chars)
        drawn = listed(usual) if usual and usual != chars else every
        is_even = 256 % len(drawn) == 0 and drawn[-1] < "\u0100"
        return CharacterPool(chars, every, drawn, bytes(map(ord, drawn)) * (256 // len(drawn)) if is_even else None)

    def several(self, count: int, chance: Chance) -> str:
        """So many characters, each drawn on its own."""
        if len(self.drawn) == 1:
            return self.drawn[0] * count
        if self.table is not None:
            return chance.stream.randbytes(count).translate(self.table).decode("latin-1")
        return "".join(chance.stream.choices(self.drawn, k=count))


@dataclass
class CharacterPartition:
    """The classes of characters that a language and some conditions tell apart, and the language's moves by them."""

    classes: tuple[CharSet, ...]
    _moves: dict[AutomatonState, tuple[tuple[int, AutomatonState], ...]] = field(default_factory=dict)
    _pools: dict[tuple[int, ...], CharacterPool] = field(default_factory=dict)

    @cached_property
    def samples(self) -> tuple[str, ...]:
        """A character of each class."""
        return tuple(chr(chars.bounds[0]) for chars in self.classes)

    def after(self, state: AutomatonState) -> tuple[tuple[int, AutomatonState], ...]:
        """The classes that a state takes, each with the state it leads to."""
        found = self._moves.get(state)
        if found is None:
            following = ((at, state[sample]) for at, sample in enumerate(self.samples))
            found = self._moves[state] = tuple((at, there) for at, there in following if there is not None)
        return found

    def pool(self, numbers: tuple[int, ...]) -> CharacterPool:
        """Several classes as one, given by their numbers."""
        found = self._pools.get(numbers)
        if found is None:
            found = self._pools[numbers] = CharacterPool.of(CharSet.union(self.classes[number] for number in numbers))
        return found
