"""Parts of a grammar that one compiled regular expression can read.

How it works
------------
A nonterminal without recursion and without computed bounds describes a regular language, so the `re` module could
read it in one go, a hundred times faster than we can. But `re` takes the first way that works out and says nothing
about the others. So a nonterminal is *lifted* into a pattern only if there never is another way: at every choice and
every loop the ways on can be told apart by the next character, or no word of one way begins a word of another (then
the pattern looks one character past the choice). This is checked against all that can follow. Such a nonterminal has
at most one end from any start, and one derivation; what the pattern finds is what the chart would find. Loops are
written possessively: nothing is ever taken back.

Bits are first told apart bit by bit in the same way, and then packed into sets of bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from palaver.grammar.automaton import Automaton, State
from palaver.grammar.charset import BYTES, END_OF_UNICODE, EVERY, CharSet
from palaver.grammar.outline import NOTHING, Chars, Fork, Loop, Outline, Series, can_be_empty
from palaver.matching.matching_limits import (
    MAX_ALTERNATIVES_COMPARED,
    MAX_AUTOMATON_STATES,
    MAX_REGEX_LENGTH,
    MAX_STATE_PAIRS,
)
from palaver.matching.steps import BIT, LITERAL, PLAIN, GrammarSlot, Nonterminal
from palaver.matching.tables import GrammarTables

# Stands for the end of the input in sets of characters. It is no character of any script, and an input that has it
# nevertheless is not for us.
END_MARK = chr(END_OF_UNICODE - 1)
END = CharSet.of(END_MARK)


MatchText: TypeAlias = Callable[[str, int], "re.Match[str] | None"]


class NotRegular(Exception):
    """Not something that one pattern can read."""


@dataclass(frozen=True)
class RulePattern:
    """A nonterminal as a pattern."""

    pattern: re.Pattern[str]
    is_closed: bool  # whether nothing it matches can be the beginning of something longer
    least: int  # how many characters it has
    most: int | None
    chars: CharSet  # what it can begin with
    outline: Outline

    @property
    def match(self) -> MatchText:
        return self.pattern.match

    @property
    def find_all(self) -> Callable[[str, int, int], list[str]]:
        return self.pattern.findall

    def takes_all(self, alphabet: CharSet) -> bool:
        """Whether it matches any characters whatever, so many of them."""
        parts = self.outline.parts if isinstance(self.outline, Series) else (self.outline,)
        return all(isinstance(part, Chars) and part.chars == alphabet for part in parts)

    @cached_property
    def start(self) -> State:
        """Where an automaton for it starts."""
        return Automaton(self.outline).start


class RegexRules:
    """The regular parts of one grammar."""

    def __init__(self, tables: GrammarTables) -> None:
        self.alphabet = tables.alphabet - END
        self._outlines: dict[Nonterminal, Outline | None] = {}
        self._bits: dict[Nonterminal, tuple[Outline, int] | None] = {}

    def pattern_of(self, nonterminal: Nonterminal, following: CharSet) -> RulePattern | None:
        """The pattern of a nonterminal that is followed by one of these characters or the end; None if it has none."""
        try:
            return _rule_pattern(self._outline_of(nonterminal), following)
        except (NotRegular, RecursionError):
            return None

    def pattern_of_slots(self, slots: Sequence[GrammarSlot]) -> RulePattern | None:
        """The same for bits in a row, whose number is always the same."""
        try:
            return _rule_pattern(_packed(self._row(slots)), CharSet())
        except (NotRegular, RecursionError):
            return None

    def pattern_of_terminal(self, slot: GrammarSlot) -> RulePattern | None:
        """The same for a terminal."""
        try:
            return _rule_pattern(self._slot(slot), slot.follow.chars)
        except (NotRegular, RecursionError):
            return None

    def pattern_of_rounds(self, repetition: Nonterminal, following: CharSet) -> MatchText | None:
        """What matches as many rounds of a repetition as there are; where the input ends, maybe half of one."""
        try:
            body = self._series([repetition.alternatives[0]])
            if can_be_empty(body):
                return None
            return re.compile(_write(Loop(body, 0, None), Chars(following | END))).match
        except (NotRegular, RecursionError):
            return None

    def width(self, nonterminal: Nonterminal) -> int | None:
        """How many bits a nonterminal has, if it is nothing but a fixed number of them."""
        bits = self._bits_in(nonterminal)
        return None if bits is None else bits[1]

    # --- Outlines ---------------------------------------------------------------------------------------------------

    def _outline_of(self, nonterminal: Nonterminal) -> Outline:
        if nonterminal not in self._outlines:
            self._outlines[nonterminal] = None  # whoever comes back here is recursive
            with suppress(NotRegular):
                self._outlines[nonterminal] = self._outline(nonterminal)
        outline = self._outlines[nonterminal]
        if outline is None:
            raise NotRegular
        return outline

    def _outline(self, nonterminal: Nonterminal) -> Outline:
        if nonterminal.parts:
            raise NotRegular
        if nonterminal.is_repetition:
            return _loop(self._series([nonterminal.alternatives[0]]), nonterminal)
        chains = [chain(start) for start in nonterminal.alternatives]
        rounds = [slots[:-1] for slots in chains if slots[-1].target is nonterminal]
        ends = [self._series(slots) for slots in chains if slots[-1].target is not nonterminal]
        return _fork(ends) if not rounds else _right_linear([self._series(slots) for slots in rounds], ends)

    def _series(self, slots: Sequence[GrammarSlot]) -> Outline:
        parts: list[Outline] = []
        for run in self.runs(slots):
            if any(slot.target is not None and slot.target.symbol and slot.target.is_tracked for slot in run):
                raise NotRegular  # somebody will ask where it was
            parts.append(self._slot(run[0]) if self.bits(run[0]) is None else _packed(self._row(run)))
        return _series(parts)

    def _row(self, slots: Sequence[GrammarSlot]) -> Outline:
        """Steps over bits as digits 0 and 1."""
        return _series([bits[0] for slot in slots if (bits := self.bits(slot)) is not None])

    def _slot(self, slot: GrammarSlot) -> Outline:
        if slot.target is not None:
            return self._outline_of(slot.target)
        if slot.kind == LITERAL:
            return _literal(slot.text)
        if slot.regex is None or not slot.regex.is_plain:
            raise NotRegular
        outline = slot.regex.outline(BYTES if isinstance(slot.regex.source, bytes) else self.alphabet)
        if outline is None:
            raise NotRegular
        return outline

    # --- Bits -------------------------------------------------------------------------------------------------------

    def runs(self, slots: Sequence[GrammarSlot]) -> list[list[GrammarSlot]]:
        """Steps grouped so that each group fills whole characters: one step, or several with bits.

        :raises Irregular: they cannot be grouped so
        """
        groups: list[list[GrammarSlot]] = []
        width = 0
        for slot in slots:
            bits = self.bits(slot)
            if width % 8 == 0:
                groups.append([slot])
                width = 0
            elif bits is None:
                raise NotRegular
            else:
                groups[-1].append(slot)
            width += bits[1] if bits is not None else 0
        if width % 8:
            raise NotRegular
        return groups

    def bits(self, slot: GrammarSlot) -> tuple[Outline, int] | None:
        """What a step wants, as digits 0 and 1, and how many; None if it is not a fixed number of bits."""
        if slot.target is None:
            return (_literal("01"[slot.bit]), 1) if slot.kind == BIT else None
        return self._bits_in(slot.target)

    def _bits_in(self, nonterminal: Nonterminal) -> tuple[Outline, int] | None:
        if nonterminal not in self._bits:
            self._bits[nonterminal] = None  # whoever comes back here is recursive
            self._bits[nonterminal] = self._bits_of(nonterminal)
        return self._bits[nonterminal]

    def _bits_of(self, nonterminal: Nonterminal) -> tuple[Outline, int] | None:
        if nonterminal.parts:
            return None
        options: list[Outline] = []
        widths: set[int] = set()
        for start in nonterminal.alternatives:
            found = [self.bits(slot) for slot in chain(start)]
            known = [one for one in found if one is not None]
            if len(known) < len(found):
                return None
            options.append(_series([outline for outline, _ in known]))
            widths.add(sum(width for _, width in known))
        if len(widths) > 1:
            return None
        outline, width = _fork(options), widths.pop()
        if not nonterminal.is_repetition:
            return outline, width
        least, most = nonterminal.bounds or (0, None)
        return (Loop(outline, least, most), width * least) if least == most and least else None


def chain(start: GrammarSlot) -> list[GrammarSlot]:
    """The steps of an alternative; of a repetition, that of one round."""
    slots = [start]
    while slots[-1].mode == PLAIN and slots[-1].following is not None:
        slots.append(slots[-1].following)
    return slots


def _literal(text: str) -> Outline:
    return _series([Chars(CharSet.of(char)) for char in text])


def _series(parts: Sequence[Outline]) -> Outline:
    flat: list[Outline] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Series) else (part,))
    return flat[0] if len(flat) == 1 else Series(tuple(flat))


def _fork(options: Sequence[Outline]) -> Outline:
    return options[0] if len(options) == 1 else Fork(tuple(options))


def _loop(body: Outline, repetition: Nonterminal) -> Outline:
    if repetition.bounds is None or can_be_empty(body):
        raise NotRegular
    least, most = repetition.bounds
    if most is not None and most < max(least, 1):
        raise NotRegular
    return Loop(body, least, most)


def _right_linear(rounds: list[Outline], ends: list[Outline]) -> Outline:
    """`<x> ::= <end> | <round> <x>` as a loop; if a round begins with an end, it comes first once and then last."""
    if len(rounds) == len(ends) == 1:
        end, more = _series([*ends, NOTHING]), _series([*rounds, NOTHING])
        first = end.parts if isinstance(end, Series) else (end,)
        then = more.parts if isinstance(more, Series) else (more,)
        if then[: len(first)] == first:
            again = _series([*then[len(first) :], end])
            if can_be_empty(again):
                raise NotRegular
            return _series([end, Loop(again, 0, None)])
    if not ends or can_be_empty(_fork(rounds)):
        raise NotRegular
    return _series([Loop(_fork(rounds), 0, None), _fork(ends)])


def _packed(bits: Outline) -> Outline:
    """Rows of 0 and 1, eight to a byte, as bytes."""
    _write(bits, Chars(END))  # only to know that there is never a choice
    outlines: dict[State, Outline] = {}
    todo = [Automaton(bits).start]
    ways: dict[State, dict[State, list[int]]] = {}
    while todo:
        state = todo.pop()
        if state in ways:
            continue
        ways[state] = {}
        if len(ways) > MAX_AUTOMATON_STATES:
            raise NotRegular
        for byte in range(256) if not state.accepts else ():
            after: State | None = state
            for digit in f"{byte:08b}":
                after = after[digit] if after is not None else None
            if after is not None:
                ways[state].setdefault(after, []).append(byte)
        todo += ways[state]
    # All rows have the same length, so no state comes back, and those found last stand nearest to the end or beside.
    start, *_ = ways
    return _bytes_from(start, ways, outlines)


def _bytes_from(state: State, ways: dict[State, dict[State, list[int]]], known: dict[State, Outline]) -> Outline:
    if state not in known:
        options = [
            _series([Chars(CharSet.ranges((byte, byte) for byte in members)), _bytes_from(after, ways, known)])
            for after, members in ways[state].items()
        ]
        known[state] = _fork(options) if options else NOTHING
    return known[state]


# --- Patterns ---------------------------------------------------------------------------------------------------------


def _rule_pattern(outline: Outline, following: CharSet) -> RulePattern:
    least, most = _lengths(outline)
    text = _write(outline, Chars(following | END))
    if len(text) > MAX_REGEX_LENGTH:
        raise NotRegular
    # What always has the same length is never the beginning of something longer.
    is_open = least != most and _is_open(outline)
    if is_open:
        # Without the rest of the input a round or an option may look as if it were absent.
        text += _look(following)
    return RulePattern(re.compile(text), not is_open, least, most, _first(outline), outline)


def _write(outline: Outline, rest: Outline) -> str:
    """The pattern of an outline before `rest`.

    :raises Irregular: there may be more than one way
    """
    match outline:
        case Chars(chars):
            return write_chars(chars)
        case Series(parts):
            # Characters do not care what comes next, and most parts are characters.
            return "".join(
                write_chars(part.chars) if isinstance(part, Chars) else _write(part, _series([*parts[place:], rest]))
                for place, part in enumerate(parts, 1)
            )
        case Fork(options):
            return _write_fork(options, rest)
        case Loop(body, least, most):
            if least != most and _first(body) & _first(rest) and not _are_apart(body, rest):
                raise NotRegular
            text = _write(body, _series([Loop(body, 0, None), rest]))
            limits = f"{{{least},{'' if most is None else most}}}" if (least, most) != (0, None) else "*"
            return f"(?:{text}){limits}+"


def write_chars(chars: CharSet) -> str:
    """A pattern for one character of a set."""
    if chars.size() == 1:
        return re.escape(chr(chars.bounds[0]))
    if chars.bounds[-1] < END_OF_UNICODE - 1:
        return f"[{chars.as_class()}]"
    # What is left out is less, and `re` is slow with large sets.
    others = EVERY - chars - END
    return f"[^{others.as_class()}]" if others else "(?s:.)"


def _write_fork(options: Sequence[Outline], rest: Outline) -> str:
    if len(options) > MAX_ALTERNATIVES_COMPARED:
        raise NotRegular
    options = sorted(options, key=can_be_empty)  # what can be empty would always do, so it comes last
    texts = [_write(option, rest) for option in options]
    firsts = [_first(_series([option, rest])) for option in options]
    if not any(one & two for one, two in combinations(firsts, 2)):
        if all(isinstance(option, Chars) for option in options):
            return write_chars(_union(firsts))
        return f"(?:{'|'.join(texts)})"
    following = _first(rest)
    if not all(_are_apart(*pair) for pair in combinations([_series([o, Chars(following)]) for o in options], 2)):
        raise NotRegular
    return f"(?:{'|'.join(text + _look(following) for text in texts)})"


def _look(following: CharSet) -> str:
    return f"(?={write_chars(following)}|\\Z)" if following else "\\Z"


def _union(sets: Sequence[CharSet]) -> CharSet:
    chars = CharSet()
    for one in sets:
        chars |= one
    return chars


def _first(outline: Outline) -> CharSet:
    """What an outline can begin with."""
    match outline:
        case Chars(chars):
            return chars
        case Fork(options):
            return _union([_first(option) for option in options])
        case Loop(body, _, _):
            return _first(body)
        case Series(parts):
            chars = CharSet()
            for part in parts:
                chars |= _first(part)
                if not can_be_empty(part):
                    break
            return chars


def _lengths(outline: Outline) -> tuple[int, int | None]:
    match outline:
        case Chars():
            return 1, 1
        case Series(parts):
            lengths = [_lengths(part) for part in parts]
            most = [high for _, high in lengths if high is not None]
            return sum(low for low, _ in lengths), sum(most) if len(most) == len(lengths) else None
        case Fork(options):
            lengths = [_lengths(option) for option in options]
            most = [high for _, high in lengths if high is not None]
            return min(low for low, _ in lengths), max(most) if len(most) == len(lengths) else None
        case Loop(body, least, limit):
            low, high = _lengths(body)
            return low * least, None if limit is None or high is None else high * limit


def _is_open(outline: Outline) -> bool:
    """Whether something it matches can be the beginning of something longer that it matches."""
    if _has_an_end_mark(outline):
        return False
    heads = _heads(outline)
    states = [Automaton(outline).start]
    seen = set(states)
    while states:
        state = states.pop()
        if state.accepts and state.can_go_on:
            return True
        for char in heads:
            after = state[char]
            if after is not None and after not in seen:
                seen.add(after)
                states.append(after)
        if len(seen) > MAX_AUTOMATON_STATES:
            return True  # nobody knows
    return False


def _has_an_end_mark(outline: Outline) -> bool:
    """Whether all that it matches ends with a character that stands nowhere else in it, as lines do."""
    match outline:
        case Series((*parts, Chars(mark))) if mark.size() == 1:
            char = chr(mark.bounds[0])
            return not any(char in chars for part in parts for chars in _characters(part))
    return False


def _characters(outline: Outline) -> Iterator[CharSet]:
    match outline:
        case Chars(chars):
            yield chars
        case Series(parts) | Fork(parts):
            for part in parts:
                yield from _characters(part)
        case Loop(body):
            yield from _characters(body)


def _heads(*outlines: Outline) -> list[str]:
    """One character of each kind: those between two of them are treated alike."""
    bounds = sorted({bound for outline in outlines for bound in _bounds(outline)})
    return [chr(bound) for bound in bounds if bound < END_OF_UNICODE]


def _are_apart(one: Outline, two: Outline) -> bool:
    """Whether no word of either begins a word of the other."""
    if any(not (left & right) for left, right in zip(_beginning(one), _beginning(two), strict=False)):
        return True
    heads = _heads(one, two)
    pairs = [(Automaton(one).start, Automaton(two).start)]
    seen = set(pairs)
    while pairs:
        left, right = pairs.pop()
        if left.accepts or right.accepts:
            return False
        for char in heads:
            after, other = left[char], right[char]
            if after is not None and other is not None and (after, other) not in seen:
                seen.add((after, other))
                pairs.append((after, other))
        if len(seen) > MAX_STATE_PAIRS:
            return False
    return True


def _beginning(outline: Outline) -> Iterator[CharSet]:
    """What the first characters can be, as far as there is one in each place for certain."""
    match outline:
        case Chars(chars):
            yield chars
        case Series(parts):
            for part in parts:
                yield from _beginning(part)
                if not isinstance(part, Chars):
                    break


def _bounds(outline: Outline) -> Iterator[int]:
    match outline:
        case Chars(chars):
            yield from chars.bounds
        case Series(parts) | Fork(parts):
            for part in parts:
                yield from _bounds(part)
        case Loop(body, _, _):
            yield from _bounds(body)
