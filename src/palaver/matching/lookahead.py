"""Lookahead: a lazily built DFA per decision, as in adaptive LL(*) prediction (Parr, Harwell and Fisher 2014).

A *decision* is a point with several options: the alternatives of a nonterminal, or another round of a repetition
against what comes after it. All options are followed at once over the characters ahead. A *lookahead item* is one
configuration: its option, the terminal it is in, and the calls to return to. As soon as all items that are left belong
to one option, that is the only one possible, and nothing has been guessed.

DFA states are made as input asks for them and kept, so a decision costs one look-up per character it has to see, mostly
one. An item that leaves the nonterminal of the decision goes on after every call of it (SLL): there may be too many
items, never too few. If two options reach the end of the input together, or look alike for too long, the decision is
UNDECIDABLE, and the Earley parser has to follow both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from palaver.matching.grammar_slots import BIT, CALL, HEAD, LITERAL, REPETITION, GrammarSlot, Nonterminal
from palaver.matching.grammar_tables import GrammarTables
from palaver.matching.matching_limits import MAX_LOOKAHEAD_CALLS, MAX_LOOKAHEAD_CHARACTERS, MAX_LOOKAHEAD_MOVES
from palaver.regular.language import AutomatonState

# In place of the number of an option.
UNDECIDED: Final = -1
NO_ALTERNATIVE: Final = -2
UNDECIDABLE: Final = -3

# The calls to return to, innermost first: (calling slot, rounds finished in what it called, the calls around it).
# Rounds are counted only as far as limits go; -1: they are not known. None: any caller.
CallStack: TypeAlias = "tuple[GrammarSlot, int, CallStack] | None"


class LookaheadItem(NamedTuple):
    """A configuration of one option: in a terminal, or without a slot where the input may end."""

    way: int
    slot: GrammarSlot | None
    state: (
        AutomatonState | int
    )  # of a pattern; of a literal, the number of characters seen; of the end, 1 if of the whole input
    calls: CallStack


class LookaheadState(dict[str, "LookaheadState"]):
    """A state of the lookahead DFA. `state[char]` is the next; `way` is the option decided on, or one of the above."""

    __slots__ = ("_depth", "_items", "_lookahead", "may_be_last", "way", "way_at_end")

    def __init__(self, lookahead: Lookahead, items: frozenset[LookaheadItem], depth: int) -> None:
        self._lookahead = lookahead
        self._items = items
        self._depth = depth
        self.way = _only({item.way for item in items}, otherwise=UNDECIDED)
        if self.way == UNDECIDED and depth > MAX_LOOKAHEAD_CHARACTERS:
            self.way = UNDECIDABLE
        # The decision if the input ends here.
        self.way_at_end = _only({item.way for item in items if item.slot is None}, otherwise=UNDECIDABLE)
        # True if the whole input may have been read, so that what comes next belongs to another message.
        self.may_be_last = any(item.slot is None and item.state for item in items)

    def __missing__(self, char: str) -> LookaheadState:
        following = self[char] = self._lookahead.after(self._items, char, self._depth + 1)
        return following


def _only(ways: set[int], *, otherwise: int) -> int:
    return ways.pop() if len(ways) == 1 else otherwise if ways else NO_ALTERNATIVE


class _TooComplex(Exception):
    """Raised on left recursion, or where there are too many configurations."""


# Closure steps on the way to the next terminals: arrive at a slot, enter it, move past it, or leave a nonterminal.
_AT, _INTO, _BEHIND, _DONE = range(4)
_ClosureStep: TypeAlias = tuple[
    int, int, GrammarSlot | Nonterminal, CallStack
]  # (kind, option, slot or nonterminal, calls)


class Lookahead:
    """Lookahead in one grammar. `in_bits`: the input is a row of 0 and 1 that stand for single bits."""

    def __init__(self, tables: GrammarTables, *, in_bits: bool = False) -> None:
        self._in_bits = in_bits
        self._start = tables.start
        self._callers: dict[Nonterminal, list[GrammarSlot]] = {}
        for nonterminal in tables.nonterminals:
            for slot in nonterminal.slots():
                if slot.target is not None:
                    self._callers.setdefault(slot.target, []).append(slot)
        self._undecidable = LookaheadState(self, frozenset(), 0)
        self._undecidable.way = self._undecidable.way_at_end = UNDECIDABLE

    def alternatives(self, nonterminal: Nonterminal) -> LookaheadState:
        """The decision between the alternatives of a nonterminal, by their numbers."""
        return self._lookahead_state([(_AT, way, start, None) for way, start in enumerate(nonterminal.alternatives)], 0)

    def another_round(self, repetition: Nonterminal) -> LookaheadState:
        """The decision between another round (0) and the end (1) of a repetition, where its limits allow for both."""
        return self._lookahead_state([(_INTO, 0, repetition.alternatives[0], None), (_DONE, 1, repetition, None)], 0)

    def _lookahead_state(
        self, moves: list[_ClosureStep], depth: int, items: Iterable[LookaheadItem] = ()
    ) -> LookaheadState:
        try:
            return LookaheadState(self, frozenset(self._closure(moves).union(items)), depth)
        except _TooComplex:
            return self._undecidable

    def after(self, items: frozenset[LookaheadItem], char: str, depth: int) -> LookaheadState:
        """The state after `items` and one more character."""
        stay: list[LookaheadItem] = []
        moves: list[_ClosureStep] = []
        bits: list[LookaheadItem] = []
        for item in items:
            way, slot, state, calls = item
            if slot is None:
                continue
            if slot.kind == BIT:
                bits.append(item)
            elif slot.kind == LITERAL:
                assert isinstance(state, int)  # what literals have
                if slot.text[state] != char:
                    continue
                if state + 1 == len(slot.text):
                    moves.append((_BEHIND, way, slot, calls))
                else:
                    stay.append(LookaheadItem(way, slot, state + 1, calls))
            else:
                assert isinstance(state, AutomatonState)  # what patterns have
                following = state[char]
                if following is not None:
                    if following.can_go_on:
                        stay.append(LookaheadItem(way, slot, following, calls))
                    if following.accepts:
                        moves.append((_BEHIND, way, slot, calls))
        try:
            stay += self._over_bits(bits, char)
        except _TooComplex:
            return self._undecidable
        return self._lookahead_state(moves, depth, stay)

    def _over_bits(self, items: list[LookaheadItem], char: str) -> list[LookaheadItem]:
        digits = char if self._in_bits else f"{ord(char):08b}"
        if len(digits) > 8:
            return []  # no byte
        for digit in digits:
            # Whole characters stand at byte borders only, so items that want one inside a byte drop out.
            moves: list[_ClosureStep] = [
                (_BEHIND, item.way, item.slot, item.calls)
                for item in items
                if item.slot is not None and item.slot.kind == BIT and "01"[item.slot.bit] == digit
            ]
            items = list(self._closure(moves))
        return items

    def _closure(self, moves: list[_ClosureStep]) -> set[LookaheadItem]:
        """The closure: all terminals and ends that are reached without reading anything."""
        seen = set(moves)
        found: set[LookaheadItem] = set()
        while moves:
            what, way, where, calls = moves.pop()
            if isinstance(where, Nonterminal):
                following = self._leave(way, where, calls)
                if calls is None:
                    found.add(LookaheadItem(way, None, int(where is self._start), None))
            elif what == _AT:
                following = _arrive(way, where, calls)
            elif what == _BEHIND:
                following = _leave_behind(way, where, calls)
            elif where.kind == CALL:
                following = _call(way, where, calls)
            elif where.kind == HEAD:
                following = [(_INTO, way, part, calls) for part in where.owner.parts]
                following.append((_DONE, way, where.owner, calls))
            else:
                state = where.start
                is_empty = state.accepts if state is not None else where.kind == LITERAL and not where.text
                if state.can_go_on if state is not None else not is_empty:
                    found.add(LookaheadItem(way, where, state if state is not None else 0, calls))
                following = [(_BEHIND, way, where, calls)] if is_empty else []
            for move in following:
                if move not in seen:
                    seen.add(move)
                    moves.append(move)
            if len(seen) > MAX_LOOKAHEAD_MOVES:
                raise _TooComplex
        return found

    def _leave(self, way: int, nonterminal: Nonterminal, calls: CallStack) -> list[_ClosureStep]:
        if calls is not None:
            return [(_BEHIND, way, calls[0], calls[2])]
        return [(_BEHIND, way, caller, None) for caller in self._callers.get(nonterminal, ())]


def _arrive(way: int, slot: GrammarSlot, calls: CallStack) -> list[_ClosureStep]:
    if slot.mode != REPETITION:
        return [(_INTO, way, slot, calls)]
    rounds = -1 if calls is None else calls[1]
    moves: list[_ClosureStep] = []
    least, most = slot.owner.bounds or (0, None)
    if rounds < 0 or rounds >= least:
        moves.append((_DONE, way, slot.owner, calls))
    if rounds < 0 or most is None or rounds < most:
        moves.append((_INTO, way, slot, calls))
    return moves


def _leave_behind(way: int, slot: GrammarSlot, calls: CallStack) -> list[_ClosureStep]:
    is_option = slot.mode == REPETITION and slot.owner.bounds is not None and slot.owner.bounds[1] == 1
    if slot.following is None or is_option:
        return [(_DONE, way, slot.owner, calls)]
    if slot.mode == REPETITION and calls is not None and calls[1] >= 0:
        caller, rounds, around = calls
        least, most = slot.owner.bounds or (0, None)
        # Without an upper limit there is nothing to count once the lower one is reached.
        calls = caller, min(rounds + 1, least) if most is None else rounds + 1, around
    return [(_AT, way, slot.following, calls)]


def _call(way: int, slot: GrammarSlot, calls: CallStack) -> list[_ClosureStep]:
    target = slot.target
    assert target is not None  # what CALL means
    depth, around = 0, calls
    while around is not None:
        depth, around = depth + 1, around[2]
    if depth > MAX_LOOKAHEAD_CALLS:
        raise _TooComplex
    inner = (slot, -1 if target.bounds is None else 0, calls)
    return [(_AT, way, start, inner) for start in target.alternatives]
