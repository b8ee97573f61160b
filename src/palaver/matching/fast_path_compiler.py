"""Compiler of the fast path: grammar slots to instructions of a parsing machine (Medeiros & Ierusalimschy 2008).

Every rule becomes a chain of instructions, linked by `next`; groups and repetitions become jumps inside it, so only
rules are ever called. There are four dialects of one grammar:

SKETCH   reads a message: rules that one regex can read become a single TOKEN, whose node is lazy
FULL     the same, but no node is lazy
DETAIL   makes the children of such a node: everything down to single characters is spelled out
BITS     does the same for bits, on rows of the digits 0 and 1

A rule is compiled when it is first called: a message pays for what it has, not for what a spec could say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from palaver.matching import instructions as ops
from palaver.matching.bound_paths import NO_PATH_STATE
from palaver.matching.grammar_slots import BIT, Computed, FollowTest, GrammarSlot, Nonterminal, chain
from palaver.matching.instructions import (
    Dialect,
    NodeCache,
    ParseInstruction,
    Unsupported,
)
from palaver.matching.lookahead import Lookahead, LookaheadState
from palaver.matching.matching_limits import (
    CALLS_BEFORE_GENERATING,
    MAX_KEPT_NODES,
    MAX_SHARED_BITS,
    MAX_SHARED_NODES,
    MAX_SHARED_TEXT,
)
from palaver.matching.rule_regexes import NoRegex, RulePattern, write_chars
from palaver.trees.node import NonTerminal, Parties

if TYPE_CHECKING:
    from palaver.matching.fast_path import FastPath


# Matches nothing: for patterns whose end has to be looked for character by character.
_NO_MATCH = re.compile("(?!)").match


class FastPathProgram:
    """The instructions of one grammar in one dialect."""

    def __init__(self, fast_path: FastPath, dialect: Dialect, lookahead: Lookahead) -> None:
        self.dialect = dialect
        self._tables = fast_path.tables
        self._regex_rules = fast_path.regex_rules
        self._lookahead = lookahead
        self.is_whole = fast_path.whole
        self._expander = fast_path
        self._entries: dict[Nonterminal, ParseInstruction] = {}
        self._known: dict[Nonterminal, NodeCache] = {}
        self._kept: dict[Nonterminal, NodeCache] = {}
        self._end = ParseInstruction(ops.END)

    def call(self, target: Nonterminal, parties: Parties | None, following: ParseInstruction) -> ParseInstruction:
        """An instruction to read a rule; it is resolved when it is first run."""
        op = ParseInstruction(ops.UNKNOWN, following)
        op.target, op.parties, op.is_tracked = target, parties, target.is_tracked
        op.reads, op.patience = [None, None], CALLS_BEFORE_GENERATING
        assert target.symbol is not None  # only rules are called
        op.symbol = target.symbol
        return op

    def forget(self) -> None:
        """Empty the caches of the message before."""
        for kept in self._kept.values():
            kept.clear()

    def entry(self, nonterminal: Nonterminal) -> ParseInstruction:
        """The first instruction of a rule. :raises Unsupported: there is none"""
        if nonterminal not in self._entries:
            try:
                self._entries[nonterminal] = self._alternatives(nonterminal, self._end)
            except NoRegex:
                raise Unsupported from None
        return self._entries[nonterminal]

    def chain(self, slots: Sequence[GrammarSlot], following: ParseInstruction) -> ParseInstruction:
        """The instructions of some slots. :raises Unsupported: there are none :raises NoRegex: bits fill no bytes"""
        if self.dialect is Dialect.BITS:
            for slot in reversed(slots):
                following = self._slot(slot, following)
            return following
        for group in reversed(self._regex_rules.runs(slots)):
            is_rule = group[0].target is not None and group[0].target.symbol is not None
            if self._regex_rules.bits(group[0]) is None or (is_rule and len(group) == 1):
                following = self._slot(group[0], following)
            else:
                following = self._bits(group, following)
        return following

    def prepare(self, op: ParseInstruction) -> None:
        """Resolve an instruction and all that may come after it now."""
        todo = [op]
        seen = {op}
        while todo:
            op = todo.pop()
            try:
                if op.kind == ops.UNKNOWN:
                    self.resolve(op)
                following = [getattr(op, name, None) for name in ("next", "body", "call", "entry", "join")]
                following += getattr(op, "options", ())
                if op.kind == ops.TOKEN and not op.is_leaf and self.dialect is not Dialect.SKETCH:
                    following.append(self.entry(op.target))
            except Unsupported:
                continue  # found again when it is read
            todo += [each for each in following if each is not None and each not in seen]
            seen.update(todo)

    def resolve(self, op: ParseInstruction) -> None:
        """Choose how a rule is read: as a ops.TOKEN or a ops.CALL. :raises Unsupported: neither is possible"""
        target = op.target
        width = self._regex_rules.width(target)
        op.is_lazy = self.dialect is Dialect.SKETCH
        op.call = op.kept = None
        op.expand = self._expander.rule(target, self.dialect)
        if self.dialect is Dialect.BITS:
            assert width is not None  # there is nothing else among bits
            if width > MAX_SHARED_BITS:
                self._make_call(op)
            else:
                op.kind, op.is_closed, op.short, op.takes_all = ops.TOKEN, True, width, True
                op.is_leaf = op.is_spelled_out = False
                op.shortest = op.longest = width
                op.match = re.compile(f"[01]{{{width}}}").match
                op.known = self._known_of(op, re.compile(f"[01]{{{width}}}"))
            return
        rule_pattern = self._regex_rules.pattern_of(target)
        op.is_leaf = _is_leaf(target)
        # In DETAIL, a regex only serves to find cached nodes. Inside itself a rule would only be read twice.
        longest = None if rule_pattern is None else rule_pattern.most
        is_known = longest is not None and longest <= MAX_SHARED_TEXT and op.parties is None
        op.is_spelled_out = self.dialect is Dialect.DETAIL and width is None and not op.is_leaf and not is_known
        is_in_itself = any(slot.target is target for slot in target.slots())
        if rule_pattern is None or (op.is_spelled_out and (rule_pattern.least > MAX_SHARED_TEXT or is_in_itself)):
            self._make_call(op)
            return
        if width is None:
            op.call = self.call(target, op.parties, op.next)
            self._make_call(op.call)
            op.call.reads = [False, False]  # what the regex could not do, no function can
        self._take(op, rule_pattern)
        op.known, op.short = self._known_of(op, rule_pattern.pattern), -1 if op.parties is not None else MAX_SHARED_TEXT
        op.kept = self._kept_of(op)
        op.kind = ops.TOKEN

    def _take(self, op: ParseInstruction, rule_pattern: RulePattern) -> None:
        op.rule_pattern, op.match, op.is_closed = rule_pattern, rule_pattern.pattern.match, rule_pattern.is_closed
        op.shortest, op.longest = rule_pattern.least, rule_pattern.most
        op.takes_all = rule_pattern.takes_all(self._regex_rules.alphabet)

    def _make_call(self, op: ParseInstruction) -> None:
        op.body = self.entry(op.target)
        op.kind = ops.CALL

    def _known_of(self, op: ParseInstruction, pattern: re.Pattern[str]) -> NodeCache:
        if op.target not in self._known:
            self._known[op.target] = NodeCache(op.symbol, op.expand, most=MAX_SHARED_NODES, pattern=pattern)
        return self._known[op.target]

    def _kept_of(self, op: ParseInstruction) -> NodeCache | None:
        if op.is_lazy or op.is_leaf or op.parties is not None:
            return None
        if op.target not in self._kept:
            self._kept[op.target] = NodeCache(op.symbol, op.expand, most=MAX_KEPT_NODES)
        return self._kept[op.target]

    def selected(self, symbol: NonTerminal) -> tuple[int, ...]:
        """The paths of computed bounds that select every node of this name. :raises Unsupported: its place matters"""
        bound_paths = self._tables.bound_paths
        if any(len(path.names) > 1 for path in bound_paths.paths):
            raise Unsupported
        return bound_paths.descend(NO_PATH_STATE, symbol)[1]

    def _alternatives(self, nonterminal: Nonterminal, following: ParseInstruction) -> ParseInstruction:
        if nonterminal.parts:
            raise Unsupported  # a permutation
        options = tuple(self.chain(list(chain(start)), following) for start in nonterminal.alternatives)
        if len(options) == 1:
            return options[0]
        return self._choose(self._lookahead.alternatives(nonterminal), options, following)

    def _choose(
        self, lookahead_state: LookaheadState, options: tuple[ParseInstruction, ...], following: ParseInstruction
    ) -> ParseInstruction:
        op = ParseInstruction(ops.CHOOSE)
        op.lookahead_state, op.options, op.join, op.entry = lookahead_state, options, following, None
        return op

    def _slot(self, slot: GrammarSlot, following: ParseInstruction) -> ParseInstruction:
        target = slot.target
        if target is None:
            return self._terminal(slot, following)
        if target.symbol is not None:
            return self.call(target, slot.parties, following)
        if target.parts or not target.is_repetition:
            return self._alternatives(target, following)
        return self._run(target, following) or self._repetition(target, following)

    def _terminal(self, slot: GrammarSlot, following: ParseInstruction) -> ParseInstruction:
        if slot.regex is None:
            op = ParseInstruction(ops.TEXT, following)
            op.text, op.leaf = "01"[slot.bit] if slot.kind == BIT else slot.text, slot.leaf
            return op
        op = ParseInstruction(ops.PATTERN, following)
        op.slot, op.match, op.is_closed = slot, _NO_MATCH, False
        rule_pattern = self._regex_rules.pattern_of_terminal(slot)
        op.is_proved = rule_pattern is not None
        if rule_pattern is not None:
            self._take(op, rule_pattern)
        return op

    def _repetition(self, repetition: Nonterminal, following: ParseInstruction) -> ParseInstruction:
        slot = repetition.alternatives[0]
        if self._tables.first_follow.of_slot(slot)[0]:
            raise Unsupported  # empty rounds would go on for ever
        lookahead_state = self._lookahead.another_round(repetition)
        if repetition.bounds == (0, 1):
            return self._choose(lookahead_state, (self.chain([slot], following), following), following)
        if repetition.bounds in ((0, None), (1, None)):
            loop = self._choose(lookahead_state, (), following)
            loop.entry = entry = self._sweep(repetition, loop) or loop
            body = self.chain([slot], entry)
            loop.options = body, following
            return body if repetition.least else entry
        again = ParseInstruction(ops.AGAIN)
        again.lookahead_state = lookahead_state
        again.options = self.chain([slot], again), following
        again.join = following
        begin = ParseInstruction(ops.BEGIN, again)
        self._limit(begin, repetition)
        return begin

    def _limit(self, op: ParseInstruction, repetition: Nonterminal) -> None:
        op.least, op.most = repetition.least, repetition.most
        computed = [bound for bound in (op.least, op.most) if isinstance(bound, Computed)]
        # Limits that depend on one field only are kept by its text.
        paths = {path for bound in computed for path in bound.paths}
        op.path = next(iter(paths)) if len(paths) == 1 and all(bound.paths for bound in computed) else None
        op.is_pure = all(bound.is_pure for bound in computed)
        op.limits = {}

    def _sweep(self, repetition: Nonterminal, loop: ParseInstruction) -> ParseInstruction | None:
        """An instruction for many rounds at once, if regexes can tell them apart; the loop reads the rest."""
        slot = repetition.alternatives[0]
        target = slot.target
        if self.dialect is Dialect.BITS or target is None or target.symbol is None or slot.parties or target.is_tracked:
            return None
        one = self._regex_rules.pattern_of(target)
        many = self._regex_rules.pattern_of_rounds(repetition)
        if one is None or many is None or one.least == 0:
            return None
        op = ParseInstruction(ops.SWEEP, loop)
        op.target, op.symbol, op.expand, op.parties = (
            target,
            target.symbol,
            self._expander.rule(target, self.dialect),
            None,
        )
        self._take(op, one)
        op.match, op.items, op.is_leaf = many, one.pattern.findall, _is_leaf(target)
        op.goes_on = FollowTest(one.chars | self._tables.first_follow.chars_after(repetition))
        op.known, op.short = self._known_of(op, one.pattern), MAX_SHARED_TEXT
        op.is_lazy = self.dialect is Dialect.SKETCH
        op.kept = self._kept_of(op)
        return op

    def _run(self, repetition: Nonterminal, following: ParseInstruction) -> ParseInstruction | None:
        """A repetition of a rule over single characters, if it is one and its end is certain."""
        chars = self._regex_rules.chars_of_run(repetition, in_bits=self.dialect is Dialect.BITS)
        target = repetition.alternatives[0].target
        if not chars or target is None or target.symbol is None:
            return None
        op = ParseInstruction(ops.RUN, following)
        self._limit(op, repetition)
        op.match = re.compile(f"{write_chars(chars)}*+").match
        op.takes_all = chars == self._regex_rules.alphabet
        one = re.compile(write_chars(chars))
        op.target, op.symbol, op.expand = target, target.symbol, self._expander.rule(target, self.dialect)
        op.known = self._known_of(op, one)
        return op

    def _bits(self, slots: list[GrammarSlot], following: ParseInstruction) -> ParseInstruction:
        """Slots over bits that fill whole bytes only together."""
        rule_pattern = self._regex_rules.pattern_of_slots(slots)
        if rule_pattern is None:
            raise Unsupported
        op = ParseInstruction(ops.BITS, following)
        self._take(op, rule_pattern)
        op.is_tracked = any(slot.target is not None and slot.target.is_tracked for slot in slots)
        op.expand = self._expander.slots(slots)
        return op


def _is_leaf(nonterminal: Nonterminal) -> bool:
    """Return True if a rule is one terminal and nothing else."""
    first = nonterminal.alternatives[0]
    is_single = len(nonterminal.alternatives) == 1 and not nonterminal.parts and first.is_last
    return is_single and first.target is None and first.kind != BIT
