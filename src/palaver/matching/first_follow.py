"""FIRST and FOLLOW sets (Aho, Sethi and Ullman 1986), also of bits, as bit sets; too large perhaps, never too small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, reduce
from operator import or_
from typing import TypeVar

from palaver.grammar.analysis import cyclic_components
from palaver.matching.grammar_slots import (
    BIT,
    HEAD,
    LITERAL,
    REPETITION,
    FollowTest,
    GrammarSlot,
    NextInput,
    Nonterminal,
    chain,
    next_chars,
)
from palaver.regular.charset import NO_CHARS, CharSet

Answer = TypeVar("Answer")


class FirstFollow:
    """The FIRST and FOLLOW sets of a grammar. `whole`: the start symbol is followed by the end, not by anything."""

    def __init__(
        self,
        nonterminals: Sequence[Nonterminal],
        terminals: Sequence[GrammarSlot],
        start: Nonterminal,
        alphabet: CharSet,
        *,
        whole: bool,
    ) -> None:
        self.terminals = terminals
        self._nonterminals = nonterminals
        self._alphabet = alphabet
        self._place = {slot: place for place, slot in enumerate(terminals)}
        self._first = [next_chars(slot, 0 if slot.start is None else slot.start) & alphabet for slot in terminals]
        # Thousands of literals begin with few characters: they are looked at together.
        self._terminals_by_first: dict[CharSet, int] = {}
        for place, chars in enumerate(self._first):
            self._terminals_by_first[chars] = self._terminals_by_first.get(chars, 0) | 1 << place
        self._known_chars: dict[int, CharSet] = {}
        self._until_stable(self._refine)
        self.anything = 1 << len(terminals)  # a bit that stands for no terminal in particular
        start.follow_set = 0 if whole else self.anything  # no character fits the end
        self._until_stable(self._spread_following)
        self._note_answers()

    def _note_answers(self) -> None:
        """Store the answers asked for most in slots and nonterminals."""
        for nonterminal in self._nonterminals:
            nonterminal.starts = _ByNextInput(partial(self._fitting_starts, nonterminal))
            nonterminal.may_end = _ByNextInput(partial(self._may_end, nonterminal))
            for slot in nonterminal.slots():
                slot.fits = _ByNextInput(partial(self._fits, slot))
            for slot, following in self._steps_and_rests(nonterminal):
                if slot.target is None:
                    slot.follow = FollowTest(self._chars(following))
        alone = {nonterminal: list(self._possibly_alone(nonterminal)) for nonterminal in self._nonterminals}
        for nonterminal in cyclic_components(self._nonterminals, alone):
            nonterminal.is_cyclic = True

    def members(self, mask: int) -> Iterator[GrammarSlot]:
        """The terminals of a bit set, in the order of the spec."""
        mask &= ~self.anything
        while mask:
            lowest = mask & -mask
            yield self.terminals[lowest.bit_length() - 1]
            mask ^= lowest

    def chars_after(self, nonterminal: Nonterminal) -> CharSet:
        """The characters that can follow a nonterminal; all, if it can be the last of an input that may go on."""
        return self._chars(nonterminal.follow_set)

    def _chars(self, mask: int) -> CharSet:
        """The characters that the terminals of a bit set can begin with."""
        if mask & self.anything:
            return self._alphabet
        if mask not in self._known_chars:
            chars = NO_CHARS
            for first, terminals in self._terminals_by_first.items():
                if mask & terminals:
                    chars |= first
            self._known_chars[mask] = chars
        return self._known_chars[mask]

    def can_come(self, first_set: int, can_be_empty: bool, owner: Nonterminal, key: NextInput) -> bool:
        """Return True if the next input fits a FIRST set or, if that can be empty, the FOLLOW set of its owner."""
        if key is None or self.any_begins(first_set, key):
            return True
        return can_be_empty and owner.may_end[key]

    def _fits(self, slot: GrammarSlot, key: NextInput) -> bool:
        """Return True if a slot, or what comes after it if it can be empty, can begin with the next input."""
        can_be_empty, first_set = self.of_chain(slot)
        # A repetition or permutation may have come to its end.
        can_be_empty = can_be_empty or slot.mode == REPETITION or slot.kind == HEAD
        return self.can_come(first_set, can_be_empty, slot.owner, key)

    def _may_end(self, nonterminal: Nonterminal, key: NextInput) -> bool:
        follow_set = nonterminal.follow_set
        return key is None or bool(follow_set & self.anything) or self.any_begins(follow_set, key)

    def _fitting_starts(self, nonterminal: Nonterminal, key: NextInput) -> tuple[GrammarSlot, ...]:
        chains = [(start, *self.of_chain(start)) for start in nonterminal.alternatives]
        return tuple(start for start, empty, first_set in chains if self.can_come(first_set, empty, nonterminal, key))

    def any_begins(self, mask: int, key: str | int) -> bool:
        """Return True if a match of one of these terminals can begin with a character, or a bit inside a byte."""
        if isinstance(key, int):
            return any(self._can_begin(slot, key) for slot in self.members(mask))
        return any(mask & terminals and key in chars for chars, terminals in self._terminals_by_first.items())

    def _can_begin(self, slot: GrammarSlot, key: str | int) -> bool:
        if isinstance(key, int):
            return slot.kind == BIT and slot.bit == key
        return key in self._first[self._place[slot]]

    def of_slot(self, slot: GrammarSlot) -> tuple[bool, int]:
        """True if the element of `slot` can be empty, and its FIRST set."""
        if slot.kind == HEAD:
            parts = [self.of_slot(part) for part in slot.owner.parts]
            return all(can_be_empty for can_be_empty, _ in parts), reduce(or_, (first_set for _, first_set in parts), 0)
        if slot.target is not None:
            return slot.target.can_be_empty, slot.target.first_set
        return _terminal_can_be_empty(slot), 1 << self._place[slot]

    def of_chain(self, start: GrammarSlot) -> tuple[bool, int]:
        """The same for `start` and all slots after it in its alternative."""
        slot: GrammarSlot | None = start
        first_set = 0
        if start.mode == REPETITION or start.kind == HEAD:
            can_be_empty, first_set = self.of_slot(start)
            least, most = start.owner.least, start.owner.most
            return can_be_empty or not isinstance(least, int) or least < 1, 0 if most == 0 else first_set
        while slot is not None:
            can_be_empty, edge = self.of_slot(slot)
            first_set |= edge
            if not can_be_empty:
                return False, first_set
            slot = slot.following
        return True, first_set

    @cached_property
    def is_left_recursive(self) -> bool:
        """True if some nonterminal can begin with itself."""
        return bool(self.left_recursive)

    @cached_property
    def left_recursive(self) -> tuple[Nonterminal, ...]:
        """The nonterminals that can begin with themselves."""
        first = {nonterminal: list(self._possibly_first(nonterminal)) for nonterminal in self._nonterminals}
        return tuple(cyclic_components(self._nonterminals, first))

    def _until_stable(self, refine: Callable[[Nonterminal], bool]) -> None:
        """Iterate to the fixed point, forwards and backwards in turn: then a long chain of rules takes few rounds."""
        nonterminals = list(self._nonterminals)
        while sum(map(refine, nonterminals)):
            nonterminals.reverse()

    def _refine(self, nonterminal: Nonterminal) -> bool:
        before = nonterminal.can_be_empty, nonterminal.first_set, nonterminal.certain_first_set, nonterminal.is_static
        for start in nonterminal.alternatives:
            can_be_empty, first_set = self.of_chain(start)
            nonterminal.can_be_empty |= can_be_empty
            nonterminal.first_set |= first_set
            self._refine_left_edge(nonterminal, start)
        if nonterminal.is_repetition and nonterminal.bounds is None:
            nonterminal.certain_first_set, nonterminal.is_static = 0, False
        after = nonterminal.can_be_empty, nonterminal.first_set, nonterminal.certain_first_set, nonterminal.is_static
        return before != after

    def _refine_left_edge(self, nonterminal: Nonterminal, start: GrammarSlot) -> None:
        for slot in self._left_edge(start):
            if slot.target is None:
                nonterminal.certain_first_set |= 1 << self._place[slot]
            else:
                nonterminal.certain_first_set |= slot.target.certain_first_set
                nonterminal.is_static &= slot.target.is_static

    def _left_edge(self, start: GrammarSlot) -> Iterator[GrammarSlot]:
        """The slots of an alternative that can come first."""
        if start.kind == HEAD:
            yield from start.owner.parts
            return
        if start.mode == REPETITION:
            if start.owner.most != 0:
                yield start
            return
        slot: GrammarSlot | None = start
        while slot is not None:
            yield slot
            if not self.of_slot(slot)[0]:
                return
            slot = slot.following

    def _spread_following(self, nonterminal: Nonterminal) -> bool:
        changed = False
        for slot, following in self._steps_and_rests(nonterminal):
            target = slot.target
            if target is not None and following & ~target.follow_set:
                target.follow_set |= following
                changed = True
        return changed

    def _steps_and_rests(self, nonterminal: Nonterminal) -> Iterator[tuple[GrammarSlot, int]]:
        """Each slot of a nonterminal with the terminals that can come right after it."""
        for start in nonterminal.alternatives:
            if start.kind == HEAD:
                everything = nonterminal.follow_set | self.of_slot(start)[1]
                yield from ((part, everything) for part in nonterminal.parts)
            elif start.mode == REPETITION:
                # Nothing comes after the only round of an option but what comes after the option.
                has_more = nonterminal.bounds is None or nonterminal.bounds[1] != 1
                yield start, nonterminal.follow_set | (self.of_slot(start)[1] if has_more else 0)
            else:
                for slot in chain(start):
                    can_be_empty, first_set = self.of_chain(slot.following) if slot.following else (True, 0)
                    yield slot, first_set | (nonterminal.follow_set if can_be_empty else 0)

    def _possibly_first(self, nonterminal: Nonterminal) -> Iterator[Nonterminal]:
        """The nonterminals that one can begin with."""
        for start in nonterminal.alternatives:
            for slot in self._left_edge(start):
                if slot.target is not None:
                    yield slot.target

    def _possibly_alone(self, nonterminal: Nonterminal) -> Iterator[Nonterminal]:
        """The nonterminals that can be the whole of one."""
        for start in nonterminal.alternatives:
            slots = nonterminal.parts if start.kind == HEAD else list(chain(start))
            solid = [slot for slot in slots if not self.of_slot(slot)[0]]
            for slot in slots:
                if slot.target is not None and all(other is slot for other in solid):
                    yield slot.target


class _ByNextInput(dict[NextInput, Answer]):
    """Answers by next input, computed when first asked for."""

    def __init__(self, answer: Callable[[NextInput], Answer]) -> None:
        self._answer = answer

    def __missing__(self, key: NextInput) -> Answer:
        answer = self[key] = self._answer(key)
        return answer


def _terminal_can_be_empty(slot: GrammarSlot) -> bool:
    if slot.kind == LITERAL:
        return not slot.text
    return slot.start is not None and slot.start.accepts
