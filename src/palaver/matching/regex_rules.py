"""Regex rules: rules without recursion, which are regular (Chomsky 1959), so that one compiled regex can read them.

A nonterminal without recursion and without computed bounds describes a regular language, so `re` can read it a hundred
times faster than a parser. `rule_regexes` writes its regex, if there is never more than one way to match. Bits are
first checked digit by digit in the same way, and then packed into sets of bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from palaver.matching.grammar_slots import BIT, LITERAL, GrammarSlot, Nonterminal, chain, is_one_number
from palaver.matching.grammar_tables import GrammarTables
from palaver.matching.matching_limits import MAX_AUTOMATON_STATES
from palaver.matching.rule_regexes import (
    END,
    MatchText,
    NoRegex,
    RulePattern,
    fork,
    rule_pattern,
    series,
    write_regex,
)
from palaver.regular.charset import BYTES, CharSet
from palaver.regular.language import Automaton, AutomatonState
from palaver.regular.regex import EMPTY_WORD, CharacterClass, Concatenation, RegularExpression, Repetition, can_be_empty


class RegexRules:
    """The regular rules of one grammar."""

    def __init__(self, tables: GrammarTables) -> None:
        self.alphabet = tables.alphabet - END
        self._chars_after = tables.first_follow.chars_after
        self._patterns: dict[Nonterminal, RulePattern | None] = {}
        self._outlines: dict[Nonterminal, RegularExpression | None] = {}
        self._bits: dict[Nonterminal, tuple[RegularExpression, int] | None] = {}

    def pattern_of(self, nonterminal: Nonterminal) -> RulePattern | None:
        """The regex of a nonterminal; None if it has none."""
        if nonterminal not in self._patterns:
            self._patterns[nonterminal] = None
            with suppress(NoRegex, RecursionError):
                following = self._chars_after(nonterminal)
                self._patterns[nonterminal] = rule_pattern(self._outline_of(nonterminal), following)
        return self._patterns[nonterminal]

    def automaton_of(self, nonterminal: Nonterminal) -> AutomatonState | None:
        """The start of the automaton of a nonterminal, however its matches end; None if it is not regular."""
        try:
            return Automaton(self._outline_of(nonterminal)).start
        except (NoRegex, RecursionError):
            return None

    def chars_of_run(self, repetition: Nonterminal, *, in_bits: bool = False) -> CharSet | None:
        """The characters of a repetition of a rule over single ones, if it is that and its end is certain."""
        slot = repetition.alternatives[0]
        rule = slot.target
        if not repetition.is_repetition or rule is None or rule.symbol is None or rule.is_tracked or slot.parties:
            return None
        if in_bits:  # every repetition has a fixed number of rounds there
            return CharSet.of("01") if self.width(rule) == 1 else None
        one = self.pattern_of(rule)
        if one is None or not one.least == one.most == 1:
            return None
        is_certain = is_one_number(repetition.least, repetition.most) or not one.chars & self._chars_after(repetition)
        return one.chars if is_certain else None

    def pattern_of_slots(self, slots: Sequence[GrammarSlot]) -> RulePattern | None:
        """The same for a fixed number of bits in a row."""
        try:
            return rule_pattern(_packed(self._row(slots)), CharSet())
        except (NoRegex, RecursionError):
            return None

    def pattern_of_terminal(self, slot: GrammarSlot) -> RulePattern | None:
        """The same for a terminal."""
        try:
            return rule_pattern(self._slot(slot), slot.follow.chars)
        except (NoRegex, RecursionError):
            return None

    def pattern_of_rounds(self, repetition: Nonterminal) -> MatchText | None:
        """A match function for as many rounds of a repetition as there are; the input may end inside the last."""
        try:
            body = self._series([repetition.alternatives[0]])
            if can_be_empty(body):
                return None
            following = self._chars_after(repetition) | END
            return re.compile(write_regex(Repetition(body, 0, None), CharacterClass(following))).match
        except (NoRegex, RecursionError):
            return None

    def width(self, nonterminal: Nonterminal) -> int | None:
        """The number of bits of a nonterminal, if it is nothing but a fixed number of them."""
        bits = self._bits_in(nonterminal)
        return None if bits is None else bits[1]

    def _outline_of(self, nonterminal: Nonterminal) -> RegularExpression:
        if nonterminal not in self._outlines:
            self._outlines[nonterminal] = None  # found again here, it is recursive
            with suppress(NoRegex):
                self._outlines[nonterminal] = self._outline(nonterminal)
        outline = self._outlines[nonterminal]
        if outline is None:
            raise NoRegex
        return outline

    def _outline(self, nonterminal: Nonterminal) -> RegularExpression:
        if nonterminal.parts or nonterminal.length is not None:
            raise NoRegex
        if nonterminal.is_repetition:
            return _loop(self._series([nonterminal.alternatives[0]]), nonterminal)
        chains = [list(chain(start)) for start in nonterminal.alternatives]
        rounds = [slots[:-1] for slots in chains if slots[-1].target is nonterminal]
        ends = [self._series(slots) for slots in chains if slots[-1].target is not nonterminal]
        return fork(ends) if not rounds else _right_linear([self._series(slots) for slots in rounds], ends)

    def _series(self, slots: Sequence[GrammarSlot]) -> RegularExpression:
        parts: list[RegularExpression] = []
        for run in self.runs(slots):
            if any(slot.target is not None and slot.target.symbol and slot.target.is_tracked for slot in run):
                raise NoRegex  # a computed bound needs its node
            parts.append(self._slot(run[0]) if self.bits(run[0]) is None else _packed(self._row(run)))
        return series(parts)

    def _row(self, slots: Sequence[GrammarSlot]) -> RegularExpression:
        """Slots over bits as digits 0 and 1."""
        return series([bits[0] for slot in slots if (bits := self.bits(slot)) is not None])

    def _slot(self, slot: GrammarSlot) -> RegularExpression:
        if slot.target is not None:
            return self._outline_of(slot.target)
        if slot.kind == LITERAL:
            return _literal(slot.text)
        if slot.regex is None or not slot.regex.is_plain:
            raise NoRegex
        outline = slot.regex.expression(BYTES if isinstance(slot.regex.source, bytes) else self.alphabet)
        if outline is None:
            raise NoRegex
        return outline

    def runs(self, slots: Sequence[GrammarSlot]) -> list[list[GrammarSlot]]:
        """Slots in groups that fill whole characters: one, or several with bits. :raises NoRegex: there are none"""
        groups: list[list[GrammarSlot]] = []
        width = 0
        for slot in slots:
            bits = self.bits(slot)
            if width % 8 == 0:
                groups.append([slot])
                width = 0
            elif bits is None:
                raise NoRegex
            else:
                groups[-1].append(slot)
            width += bits[1] if bits is not None else 0
        if width % 8:
            raise NoRegex
        return groups

    def bits(self, slot: GrammarSlot) -> tuple[RegularExpression, int] | None:
        """The element of a slot as digits 0 and 1, and their number; None if it is not a fixed number of bits."""
        if slot.target is None:
            return (_literal("01"[slot.bit]), 1) if slot.kind == BIT else None
        return self._bits_in(slot.target)

    def _bits_in(self, nonterminal: Nonterminal) -> tuple[RegularExpression, int] | None:
        if nonterminal not in self._bits:
            self._bits[nonterminal] = None  # found again here, it is recursive
            self._bits[nonterminal] = self._bits_of(nonterminal)
        return self._bits[nonterminal]

    def _bits_of(self, nonterminal: Nonterminal) -> tuple[RegularExpression, int] | None:
        if nonterminal.parts or nonterminal.length is not None:
            return None
        options: list[RegularExpression] = []
        widths: set[int] = set()
        for start in nonterminal.alternatives:
            found = [self.bits(slot) for slot in chain(start)]
            known = [one for one in found if one is not None]
            if len(known) < len(found):
                return None
            options.append(series([outline for outline, _ in known]))
            widths.add(sum(width for _, width in known))
        if len(widths) > 1:
            return None
        outline, width = fork(options), widths.pop()
        if not nonterminal.is_repetition:
            return outline, width
        least, most = nonterminal.bounds or (0, None)
        return (Repetition(outline, least, most), width * least) if least == most and least else None


def _literal(text: str) -> RegularExpression:
    return series([CharacterClass(CharSet.of(char)) for char in text])


def _loop(body: RegularExpression, repetition: Nonterminal) -> RegularExpression:
    if repetition.bounds is None or can_be_empty(body):
        raise NoRegex
    least, most = repetition.bounds
    if most is not None and most < max(least, 1):
        raise NoRegex
    return Repetition(body, least, most)


def _right_linear(rounds: list[RegularExpression], ends: list[RegularExpression]) -> RegularExpression:
    """`<x> ::= <end> | <round> <x>` as a loop; if a round begins with an end, it comes first once and then last."""
    if len(rounds) == len(ends) == 1:
        end, more = series([*ends, EMPTY_WORD]), series([*rounds, EMPTY_WORD])
        first = end.parts if isinstance(end, Concatenation) else (end,)
        then = more.parts if isinstance(more, Concatenation) else (more,)
        if then[: len(first)] == first:
            again = series([*then[len(first) :], end])
            if can_be_empty(again):
                raise NoRegex
            return series([end, Repetition(again, 0, None)])
    if not ends or can_be_empty(fork(rounds)):
        raise NoRegex
    return series([Repetition(fork(rounds), 0, None), fork(ends)])


def _packed(bits: RegularExpression) -> RegularExpression:
    """Rows of 0 and 1 as bytes, eight digits to a byte."""
    write_regex(bits, CharacterClass(END))  # raises unless every choice is certain
    outlines: dict[AutomatonState, RegularExpression] = {}
    todo = [Automaton(bits).start]
    ways: dict[AutomatonState, dict[AutomatonState, list[int]]] = {}
    while todo:
        state = todo.pop()
        if state in ways:
            continue
        ways[state] = {}
        if len(ways) > MAX_AUTOMATON_STATES:
            raise NoRegex
        for byte in range(256) if not state.accepts else ():
            after: AutomatonState | None = state
            for digit in f"{byte:08b}":
                after = after[digit] if after is not None else None
            if after is not None:
                ways[state].setdefault(after, []).append(byte)
        todo += ways[state]
    # All rows have the same length, so no state comes back.
    start, *_ = ways
    return _bytes_from(start, ways, outlines)


def _bytes_from(
    state: AutomatonState,
    ways: dict[AutomatonState, dict[AutomatonState, list[int]]],
    known: dict[AutomatonState, RegularExpression],
) -> RegularExpression:
    if state not in known:
        options = [
            series([CharacterClass(CharSet.ranges((byte, byte) for byte in members)), _bytes_from(after, ways, known)])
            for after, members in ways[state].items()
        ]
        known[state] = fork(options) if options else EMPTY_WORD
    return known[state]
