"""Which way to go, told by what comes next: look-ahead that reads exactly as far as it must.

How it works
------------
A *decision* is a point where the grammar leaves several ways open: the alternatives of a nonterminal, or another round
of a repetition against what comes after it. To decide, all ways are walked at once over the characters ahead. A
*place* is one state of one walk: which way it belongs to, the terminal it stands in, and the calls it has to return to.
As soon as all places that are left belong to one way, that way is the only one possible, and nothing has been guessed.

The walks of one decision form a deterministic automaton, made state by state as input asks for it and kept, so a
decision costs one look-up per character it has to see, mostly one. A walk that leaves the nonterminal in which it began
goes on behind every call of it: the places may be too many, never too few. If two ways reach the very end of
the input together, or look alike for too long, the decision is *lost*, and somebody must read who can follow both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from palaver.grammar.automaton import State
from palaver.grammar.charset import EVERY, CharSet
from palaver.matching.steps import BIT, CALL, HEAD, LITERAL, REPETITION, Nonterminal, Step
from palaver.matching.tables import Tables

# Farther than this nobody needs to look; whoever does is better served by the chart.
_FARTHEST = 200
# The same for how many calls a walk holds open, and for how much there is to do for one character.
_DEEPEST = 50
_MOST_MOVES = 3_000

# What an outlook says in place of the number of a way.
UNDECIDED: Final = -1
DEAD: Final = -2
LOST: Final = -3

# The calls to return to, innermost first: (calling step, rounds finished in what it called, the calls around it).
# Rounds are counted only as far as limits go; -1: they are not known. None: whoever called.
Calls: TypeAlias = "tuple[Step, int, Calls] | None"


class Place(NamedTuple):
    """Where a walk stands: in a terminal, or without a step where the input may end."""

    way: int
    step: Step | None
    state: State | int  # of a pattern; of a literal, how many characters have been seen; of the end, 1 if of all
    calls: Calls


class Outlook(dict[str, "Outlook"]):
    """All places after some characters. `outlook[char]` is the next; `way` is the decision, or one of the above."""

    __slots__ = ("_depth", "_places", "_walks", "may_be_last", "way", "way_at_end")

    def __init__(self, walks: Walks, places: frozenset[Place], depth: int) -> None:
        self._walks = walks
        self._places = places
        self._depth = depth
        self.way = _only({place.way for place in places}, otherwise=UNDECIDED)
        if self.way == UNDECIDED and depth > _FARTHEST:
            self.way = LOST
        # The decision if the input ends here.
        self.way_at_end = _only({place.way for place in places if place.step is None}, otherwise=LOST)
        # Whether all may have been read, so that whatever comes belongs to somebody else.
        self.may_be_last = any(place.step is None and place.state for place in places)

    def __missing__(self, char: str) -> Outlook:
        following = self[char] = self._walks.after(self._places, char, self._depth + 1)
        return following


def _only(ways: set[int], *, otherwise: int) -> int:
    return ways.pop() if len(ways) == 1 else otherwise if ways else DEAD


class _TooMuch(Exception):
    """Left recursion, or something as hard to look through."""


class _Lost(Outlook):
    """The outlook of those who see too much."""

    __slots__ = ()

    def __init__(self, walks: Walks) -> None:
        super().__init__(walks, frozenset(), 0)
        self.way = self.way_at_end = LOST


# What is to be done on the way to the next terminals: arrive at a step, go into it, leave it behind, or leave a
# nonterminal.
_AT, _INTO, _BEHIND, _DONE = range(4)
_Move: TypeAlias = tuple[int, int, Step | Nonterminal, Calls]  # what, on which way, where


class Walks:
    """Looks ahead in one grammar. `in_bits`: the input is a row of 0 and 1 that stand for single bits."""

    def __init__(self, tables: Tables, *, in_bits: bool = False) -> None:
        self._in_bits = in_bits
        self._start = tables.start
        self._callers: dict[Nonterminal, list[Step]] = {}
        for nonterminal in tables.nonterminals:
            for step in nonterminal.steps():
                if step.target is not None:
                    self._callers.setdefault(step.target, []).append(step)
        self._lost = _Lost(self)

    # --- Decisions --------------------------------------------------------------------------------------------------

    def alternatives(self, nonterminal: Nonterminal) -> Outlook:
        """Which alternative of a nonterminal it is, by its number."""
        return self._outlook([(_AT, way, start, None) for way, start in enumerate(nonterminal.alternatives)], 0)

    def another_round(self, repetition: Nonterminal) -> Outlook:
        """Whether a repetition goes on (way 0) or is done (way 1), where its limits allow for both."""
        return self._outlook([(_INTO, 0, repetition.alternatives[0], None), (_DONE, 1, repetition, None)], 0)

    def chars_after(self, nonterminal: Nonterminal, *, whole: bool) -> CharSet:
        """What can come right behind a nonterminal; everything, if it can be the last of an input that may go on."""
        try:
            places = self._spread([(_DONE, 0, nonterminal, None)])
        except _TooMuch:
            return EVERY
        chars = CharSet()
        for place in places:
            if place.step is not None:
                chars |= _next_chars(place.step, place.state)
            elif place.state and not whole:
                return EVERY
        return chars

    def _outlook(self, moves: list[_Move], depth: int, places: Iterable[Place] = ()) -> Outlook:
        try:
            return Outlook(self, frozenset(self._spread(moves).union(places)), depth)
        except _TooMuch:
            return self._lost

    # --- Walking ----------------------------------------------------------------------------------------------------

    def after(self, places: frozenset[Place], char: str, depth: int) -> Outlook:
        """The outlook from `places` behind one more character."""
        stay: list[Place] = []
        moves: list[_Move] = []
        bits: list[Place] = []
        for place in places:
            way, step, state, calls = place
            if step is None:
                continue
            if step.kind == BIT:
                bits.append(place)
            elif step.kind == LITERAL:
                assert isinstance(state, int)  # what literals have
                if step.text[state] != char:
                    continue
                if state + 1 == len(step.text):
                    moves.append((_BEHIND, way, step, calls))
                else:
                    stay.append(Place(way, step, state + 1, calls))
            else:
                assert isinstance(state, State)  # what patterns have
                following = state[char]
                if following is not None:
                    if following.can_go_on:
                        stay.append(Place(way, step, following, calls))
                    if following.accepts:
                        moves.append((_BEHIND, way, step, calls))
        try:
            stay += self._over_bits(bits, char)
        except _TooMuch:
            return self._lost
        return self._outlook(moves, depth, stay)

    def _over_bits(self, places: list[Place], char: str) -> list[Place]:
        digits = char if self._in_bits else f"{ord(char):08b}"
        if len(digits) > 8:
            return []  # no byte
        for digit in digits:
            # Whole characters stand at byte borders only, so whoever wants one inside a byte is left behind.
            moves: list[_Move] = [
                (_BEHIND, place.way, place.step, place.calls)
                for place in places
                if place.step is not None and place.step.kind == BIT and "01"[place.step.bit] == digit
            ]
            places = list(self._spread(moves))
        return places

    def _spread(self, moves: list[_Move]) -> set[Place]:
        """The terminals, and the ends, that are reached without reading anything."""
        seen = set(moves)
        found: set[Place] = set()
        while moves:
            what, way, where, calls = moves.pop()
            if isinstance(where, Nonterminal):
                following = self._leave(way, where, calls)
                if calls is None:
                    found.add(Place(way, None, int(where is self._start), None))
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
                    found.add(Place(way, where, state if state is not None else 0, calls))
                following = [(_BEHIND, way, where, calls)] if is_empty else []
            for move in following:
                if move not in seen:
                    seen.add(move)
                    moves.append(move)
            if len(seen) > _MOST_MOVES:
                raise _TooMuch
        return found

    def _leave(self, way: int, nonterminal: Nonterminal, calls: Calls) -> list[_Move]:
        if calls is not None:
            return [(_BEHIND, way, calls[0], calls[2])]
        return [(_BEHIND, way, caller, None) for caller in self._callers.get(nonterminal, ())]


def _arrive(way: int, step: Step, calls: Calls) -> list[_Move]:
    if step.mode != REPETITION:
        return [(_INTO, way, step, calls)]
    rounds = -1 if calls is None else calls[1]
    moves: list[_Move] = []
    least, most = step.owner.bounds or (0, None)
    if rounds < 0 or rounds >= least:
        moves.append((_DONE, way, step.owner, calls))
    if rounds < 0 or most is None or rounds < most:
        moves.append((_INTO, way, step, calls))
    return moves


def _leave_behind(way: int, step: Step, calls: Calls) -> list[_Move]:
    if step.following is None:
        return [(_DONE, way, step.owner, calls)]
    if step.mode == REPETITION and calls is not None and calls[1] >= 0:
        caller, rounds, around = calls
        least, most = step.owner.bounds or (0, None)
        # Without an upper limit there is nothing to count once the lower one is reached.
        calls = caller, min(rounds + 1, least) if most is None else rounds + 1, around
    return [(_AT, way, step.following, calls)]


def _call(way: int, step: Step, calls: Calls) -> list[_Move]:
    target = step.target
    assert target is not None  # what CALL means
    depth, around = 0, calls
    while around is not None:
        depth, around = depth + 1, around[2]
    if depth > _DEEPEST:
        raise _TooMuch
    inner = (step, -1 if target.bounds is None else 0, calls)
    return [(_AT, way, start, inner) for start in target.alternatives]


def _next_chars(step: Step, state: State | int) -> CharSet:
    """What a terminal goes on with."""
    if isinstance(state, State):
        return state.next_chars()
    if step.kind == BIT:
        return CharSet((0x80, 0x100)) if step.bit else CharSet((0, 0x80))
    return CharSet.of(step.text[state : state + 1])
