"""Grammar expressions as instructions for the direct machine.

How it works
------------
Every rule becomes a chain of `Instruction`s, linked by `next`; groups and repetitions become jumps inside it, so only rules
are ever called. There are four dialects of one grammar:

SKETCH   reads a message: rules that one pattern can read become a single TOKEN, whose node is lazy
FULL     the same, but no node is lazy
DETAIL   makes the children of such a node: everything down to single characters is spelled out
BITS     does the same for bits, on rows of the digits 0 and 1

A rule is translated when it is first called, and whether a pattern can read it is found out then, too: a message pays
for what it has, not for what a spec could say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias

from palaver.grammar.charset import CharSet
from palaver.matching.bound_paths import NO_PATH_STATE
from palaver.matching.lookahead import Lookahead, LookaheadState
from palaver.matching.matching_limits import (
    CALLS_BEFORE_GENERATING,
    MAX_KEPT_NODES,
    MAX_SHARED_BITS,
    MAX_SHARED_NODES,
    MAX_SHARED_TEXT,
)
from palaver.matching.regular import RegexRules, chain
from palaver.matching.rule_regexes import MatchText, NotRegular, RulePattern, write_chars
from palaver.matching.steps import BIT, Computed, FollowTest, GrammarSlot, Nonterminal
from palaver.matching.tables import GrammarTables
from palaver.spec.ast import Expression
from palaver.trees.node import Leaf, Node, NonTerminal, Part, Parties, new

# Kinds of instructions.
TOKEN, TEXT, CHOOSE, CALL, END, RUN, SWEEP, PATTERN, BEGIN, AGAIN, BITS, STOP, UNKNOWN = range(13)


# A node that a computed bound may look at, and its text if it is short.
FieldValue: TypeAlias = tuple[Node, str | None]
# See `generated`: what reads all of a rule from a text, from a place on, or gives up.
ReadFunction: TypeAlias = "Callable[[str, int, int, list[FieldValue | None]], tuple[int, tuple[Part, ...]]]"


class Dialect(Enum):
    SKETCH = "sketch"
    FULL = "full"
    DETAIL = "detail"
    BITS = "bits"


@dataclass(frozen=True, slots=True)
class FastPathParts:
    """What all dialects of a grammar share."""

    tables: GrammarTables
    regex_rules: RegexRules
    lookahead: Lookahead
    bit_lookahead: Lookahead
    whole: bool
    is_pure: Callable[[Expression], bool]


class Instruction:
    """An instruction. Which fields it has depends on its kind."""

    __slots__ = (
        "body",
        "call",
        "entry",
        "expand",
        "goes_on",
        "is_closed",
        "is_lazy",
        "is_leaf",
        "is_proved",
        "is_pure",
        "is_spelled_out",
        "is_tracked",
        "items",
        "join",
        "kept",
        "kind",
        "known",
        "leaf",
        "least",
        "limits",
        "longest",
        "lookahead_state",
        "match",
        "most",
        "next",
        "options",
        "parties",
        "path",
        "patience",
        "reads",
        "rule_pattern",
        "short",
        "shortest",
        "slot",
        "symbol",
        "takes_all",
        "target",
        "text",
    )  # fmt: skip

    kind: int
    next: Instruction
    # CALL and TOKEN: the rule. A token may be called instead, where its pattern does not see the end.
    target: Nonterminal
    symbol: NonTerminal
    parties: Parties | None
    is_tracked: bool  # whether computed bounds look at it, or at something in it
    body: Instruction  # its first instruction
    call: Instruction | None
    # TOKEN and BITS: how it is read, and what becomes of it.
    match: MatchText
    is_closed: bool  # whether what was matched can never go on
    rule_pattern: RulePattern
    known: NodeCache  # nodes over texts that are not longer than `short`
    short: int
    kept: (
        MessageNodeCache | None
    )  # nodes over other texts that are not longer than MAX_KEPT_TEXT, where those take long to make
    is_lazy: bool
    is_leaf: bool  # whether its only child is the text itself
    is_spelled_out: bool  # whether it has to be called unless its node is known
    expand: Expansion
    shortest: int  # how long it can be
    longest: int | None
    takes_all: bool  # whether it is as long as it can be, whatever the characters are
    # CALL: what reads all of it at once, if it may go on and if it has ended; False: nothing does, None: not known yet
    reads: list[ReadFunction | bool | None]
    patience: int  # how often it has to be called to be worth to know
    # SWEEP: many rounds of a repetition at once, by a pattern for all and one that finds each.
    items: Callable[[str, int, int], list[str]]
    goes_on: FollowTest  # what must come next, lest the last round was not seen to its end
    # TEXT and PATTERN
    slot: GrammarSlot
    text: str
    leaf: Leaf
    is_proved: bool  # whether `match` finds the end of a pattern
    # CHOOSE and AGAIN: the ways on. Of a repetition, another round and leaving it.
    lookahead_state: LookaheadState
    options: tuple[Instruction, ...]
    join: Instruction  # where the ways meet again
    entry: Instruction | None  # of a repetition, where its rounds begin
    # BEGIN and RUN: the limits of a repetition.
    least: int | Computed
    most: int | Computed | None
    path: int | None  # which field they are computed from, if from one
    is_pure: bool  # whether from nothing else
    limits: dict[str | None, tuple[int, int | None]]  # what they were for fields with this text

    def __init__(self, kind: int, following: Instruction | None = None) -> None:
        self.kind = kind
        if following is not None:
            self.next = following


def _no_match(_text: str, _at: int) -> None:
    """For patterns whose end has to be looked for character by character."""


class Unsupported(Exception):
    """Something that the direct machine cannot do."""


class NodeCache(dict[str, Any]):
    """The nodes of one rule over short texts, made when first asked for; None for texts that are none of it."""

    def __init__(self, symbol: NonTerminal, expand: Expansion, pattern: re.Pattern[str]) -> None:
        self._symbol = symbol
        self._expand = expand
        self._pattern = pattern

    def __missing__(self, text: str) -> Node | None:
        if self._pattern.fullmatch(text) is None:
            return None
        if len(self) >= MAX_SHARED_NODES:
            self.clear()
        node = self[text] = new(Node, (self._symbol, self._expand.children(text), (), None))
        return node


class MessageNodeCache(dict[str, Node]):
    """The nodes of one rule over texts that have been matched, made when first asked for, and kept for a while.

    What was kept of one message is of little use to the next, and would only make the time for a message depend on
    those before it.
    """

    def __init__(self, symbol: NonTerminal, expand: Expansion) -> None:
        self._symbol = symbol
        self._expand = expand

    def __missing__(self, text: str) -> Node:
        node = new(Node, (self._symbol, self._expand.children(text), (), None))
        if len(self) >= MAX_KEPT_NODES:
            self.clear()
        self[text] = node
        return node


class Expansion(Protocol):
    """Makes the parts that some steps, mostly those of a rule, are read as."""

    def __call__(self, data: str | bytes) -> tuple[Part, ...]:
        """For what a node serialises to."""

    def children(self, text: str) -> tuple[Part, ...]:
        """For what stands in the buffer of the machine."""


class Expander(Protocol):
    """Makes expansions. `unpacked`: the dialect is BITS, but the buffer holds bytes."""

    def rule(self, nonterminal: Nonterminal, dialect: Dialect, *, unpacked: bool) -> Expansion: ...

    def slots(self, slots: Sequence[GrammarSlot]) -> Expansion:
        """For bits in bytes."""


class FastPathProgram:
    """The instructions of one grammar in one dialect."""

    def __init__(self, parts: FastPathParts, dialect: Dialect, expander: Expander) -> None:
        self.dialect = dialect
        self._tables = parts.tables
        self._regex_rules = parts.regex_rules
        self._lookahead = parts.bit_lookahead if dialect is Dialect.BITS else parts.lookahead
        self.is_whole = parts.whole
        self._is_pure = parts.is_pure
        self._expander = expander
        self._entries: dict[Nonterminal, Instruction] = {}
        self._known: dict[Nonterminal, NodeCache] = {}
        self._kept: dict[Nonterminal, MessageNodeCache] = {}
        self._end = Instruction(END)

    def call(self, target: Nonterminal, parties: Parties | None, following: Instruction) -> Instruction:
        """An instruction to read a rule. How, is decided when it is first met."""
        op = Instruction(UNKNOWN, following)
        op.target, op.parties, op.is_tracked = target, parties, target.is_tracked
        op.reads, op.patience = [None, None], CALLS_BEFORE_GENERATING
        assert target.symbol is not None  # only rules are called
        op.symbol = target.symbol
        return op

    def forget(self) -> None:
        """Keep nothing of the message before."""
        for kept in self._kept.values():
            kept.clear()

    def entry(self, nonterminal: Nonterminal) -> Instruction:
        """The first instruction of a rule.

        :raises Unsupported: there is none
        """
        if nonterminal not in self._entries:
            try:
                self._entries[nonterminal] = self._alternatives(nonterminal, self._end)
            except NotRegular:
                raise Unsupported from None
        return self._entries[nonterminal]

    def chain(self, slots: Sequence[GrammarSlot], following: Instruction) -> Instruction:
        """The instructions of some steps.

        :raises Unsupported: there are none
        :raises Irregular: bits that do not fill bytes
        """
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

    def prepare(self, op: Instruction) -> None:
        """Decide now, for an instruction and all that may come after it, what would be decided when each is met."""
        todo = [op]
        seen = {op}
        while todo:
            op = todo.pop()
            try:
                if op.kind == UNKNOWN:
                    self.resolve(op)
                following = [getattr(op, name, None) for name in ("next", "body", "call", "entry", "join")]
                following += getattr(op, "options", ())
                if op.kind == TOKEN and not op.is_leaf and self.dialect is not Dialect.SKETCH:
                    following.append(self.entry(op.target))
            except Unsupported:
                continue  # whoever reads will find out
            todo += [each for each in following if each is not None and each not in seen]
            seen.update(todo)

    # --- Rules ------------------------------------------------------------------------------------------------------

    def resolve(self, op: Instruction) -> None:
        """Decide how a rule is read.

        :raises Unsupported: it cannot be
        """
        target = op.target
        width = self._regex_rules.width(target)
        op.is_lazy = self.dialect is Dialect.SKETCH
        op.call = op.kept = None
        op.expand = self._expansion(target)
        if self.dialect is Dialect.BITS:
            assert width is not None  # there is nothing else among bits
            if width > MAX_SHARED_BITS:
                self._make_call(op)
            else:
                op.kind, op.is_closed, op.short, op.takes_all = TOKEN, True, width, True
                op.is_leaf = op.is_spelled_out = False
                op.shortest = op.longest = width
                op.match = re.compile(f"[01]{{{width}}}").match
                op.known = self._known_of(op, re.compile(f"[01]{{{width}}}"))
            return
        rule_pattern = self._pattern_of(target)
        op.is_leaf = _is_leaf(target)
        # In detail, a pattern only serves to find nodes that are known. Inside itself a rule would only be read twice.
        is_known = (
            rule_pattern is not None
            and rule_pattern.most is not None
            and rule_pattern.most <= MAX_SHARED_TEXT
            and op.parties is None
        )
        op.is_spelled_out = self.dialect is Dialect.DETAIL and width is None and not op.is_leaf and not is_known
        is_in_itself = any(slot.target is target for slot in target.slots())
        if rule_pattern is None or (op.is_spelled_out and (rule_pattern.least > MAX_SHARED_TEXT or is_in_itself)):
            self._make_call(op)
            return
        if width is None:
            op.call = self.call(target, op.parties, op.next)
            self._make_call(op.call)
            op.call.reads = [False, False]  # what the pattern could not do, no function can
        self._take(op, rule_pattern)
        op.known, op.short = self._known_of(op, rule_pattern.pattern), -1 if op.parties is not None else MAX_SHARED_TEXT
        op.kept = self._kept_of(op)
        op.kind = TOKEN

    def _take(self, op: Instruction, rule_pattern: RulePattern) -> None:
        op.rule_pattern, op.match, op.is_closed = rule_pattern, rule_pattern.match, rule_pattern.is_closed
        op.shortest, op.longest = rule_pattern.least, rule_pattern.most
        op.takes_all = rule_pattern.takes_all(self._regex_rules.alphabet)

    def _make_call(self, op: Instruction) -> None:
        op.body = self.entry(op.target)
        op.kind = CALL

    def _pattern_of(self, target: Nonterminal) -> RulePattern | None:
        return self._regex_rules.pattern_of(target, self._lookahead.chars_after(target, whole=self.is_whole))

    def _expansion(self, target: Nonterminal) -> Expansion:
        is_bits = self._regex_rules.width(target) is not None
        dialect = Dialect.BITS if is_bits else Dialect.DETAIL
        return self._expander.rule(target, dialect, unpacked=is_bits and self.dialect is not Dialect.BITS)

    def _known_of(self, op: Instruction, pattern: re.Pattern[str]) -> NodeCache:
        if op.target not in self._known:
            self._known[op.target] = NodeCache(op.symbol, op.expand, pattern)
        return self._known[op.target]

    def _kept_of(self, op: Instruction) -> MessageNodeCache | None:
        if op.is_lazy or op.is_leaf or op.parties is not None:
            return None
        if op.target not in self._kept:
            self._kept[op.target] = MessageNodeCache(op.symbol, op.expand)
        return self._kept[op.target]

    def selected(self, symbol: NonTerminal) -> tuple[int, ...]:
        """The paths of computed bounds that select every node with this name.

        :raises Unsupported: for some, it depends on where the node stands
        """
        bound_paths = self._tables.bound_paths
        if any(len(path.names) > 1 for path in bound_paths.paths):
            raise Unsupported
        return bound_paths.descend(NO_PATH_STATE, symbol)[1]

    # --- Inside of rules --------------------------------------------------------------------------------------------

    def _alternatives(self, nonterminal: Nonterminal, following: Instruction) -> Instruction:
        if nonterminal.parts:
            raise Unsupported  # a permutation
        options = tuple(self.chain(chain(start), following) for start in nonterminal.alternatives)
        if len(options) == 1:
            return options[0]
        return self._choose(self._lookahead.alternatives(nonterminal), options, following)

    def _choose(
        self, lookahead_state: LookaheadState, options: tuple[Instruction, ...], following: Instruction
    ) -> Instruction:
        op = Instruction(CHOOSE)
        op.lookahead_state, op.options, op.join, op.entry = lookahead_state, options, following, None
        return op

    def _slot(self, slot: GrammarSlot, following: Instruction) -> Instruction:
        target = slot.target
        if target is None:
            return self._terminal(slot, following)
        if target.symbol is not None:
            return self.call(target, slot.parties, following)
        if target.parts or not target.is_repetition:
            return self._alternatives(target, following)
        return self._run(target, following) or self._repetition(target, following)

    def _terminal(self, slot: GrammarSlot, following: Instruction) -> Instruction:
        if slot.regex is None:
            op = Instruction(TEXT, following)
            op.text, op.leaf = "01"[slot.bit] if slot.kind == BIT else slot.text, slot.leaf
            return op
        op = Instruction(PATTERN, following)
        op.slot, op.match, op.is_closed = slot, _no_match, False
        rule_pattern = self._regex_rules.pattern_of_terminal(slot)
        op.is_proved = rule_pattern is not None
        if rule_pattern is not None:
            self._take(op, rule_pattern)
        return op

    def _repetition(self, repetition: Nonterminal, following: Instruction) -> Instruction:
        slot = repetition.alternatives[0]
        if self._tables.first_follow.of_slot(slot)[0]:
            raise Unsupported  # rounds over nothing would go on for ever
        lookahead_state = self._lookahead.another_round(repetition)
        if repetition.bounds == (0, 1):
            return self._choose(lookahead_state, (self.chain([slot], following), following), following)
        if repetition.bounds in ((0, None), (1, None)):
            loop = self._choose(lookahead_state, (), following)
            loop.entry = entry = self._sweep(repetition, loop) or loop
            body = self.chain([slot], entry)
            loop.options = body, following
            return body if repetition.least else entry
        again = Instruction(AGAIN)
        again.lookahead_state = lookahead_state
        again.options = self.chain([slot], again), following
        again.join = following
        begin = Instruction(BEGIN, again)
        self._limit(begin, repetition)
        return begin

    def _limit(self, op: Instruction, repetition: Nonterminal) -> None:
        op.least, op.most = repetition.least, repetition.most
        computed = [bound for bound in (op.least, op.most) if isinstance(bound, Computed)]
        op.path = computed[0].path if len({bound.path for bound in computed}) == 1 else None
        op.is_pure = all(self._is_pure(bound.expression) for bound in computed)
        op.limits = {}

    def _sweep(self, repetition: Nonterminal, loop: Instruction) -> Instruction | None:
        """What reads many rounds at once, if they can be told apart by patterns; the loop has the last word."""
        slot = repetition.alternatives[0]
        target = slot.target
        if self.dialect is Dialect.BITS or target is None or target.symbol is None or slot.parties or target.is_tracked:
            return None
        following = self._lookahead.chars_after(repetition, whole=self.is_whole)
        one = self._pattern_of(target)
        many = self._regex_rules.pattern_of_rounds(repetition, following)
        if one is None or many is None or one.least == 0:
            return None
        op = Instruction(SWEEP, loop)
        op.target, op.symbol, op.expand, op.parties = target, target.symbol, self._expansion(target), None
        self._take(op, one)
        op.match, op.items, op.is_leaf = many, one.find_all, _is_leaf(target)
        op.goes_on = FollowTest(one.chars | following)
        op.known, op.short, op.is_lazy = (
            self._known_of(op, one.pattern),
            MAX_SHARED_TEXT,
            self.dialect is Dialect.SKETCH,
        )
        op.kept = self._kept_of(op)
        return op

    def _run(self, repetition: Nonterminal, following: Instruction) -> Instruction | None:
        """A repetition of a rule over single characters, if it is one and there is no doubt about its end."""
        target = repetition.alternatives[0].target
        if target is None or target.symbol is None or target.is_tracked or repetition.alternatives[0].parties:
            return None
        if self.dialect is Dialect.BITS:
            chars = CharSet.of("01") if self._regex_rules.width(target) == 1 else CharSet()
        else:
            rule_pattern = self._pattern_of(target)
            chars = (
                rule_pattern.chars
                if rule_pattern is not None and rule_pattern.least == rule_pattern.most == 1
                else CharSet()
            )
        if not chars:
            return None
        is_exact = repetition.least == repetition.most
        if not is_exact and chars & self._lookahead.chars_after(repetition, whole=self.is_whole):
            return None
        op = Instruction(RUN, following)
        self._limit(op, repetition)
        op.match = re.compile(f"{write_chars(chars)}*+").match
        op.takes_all = chars == self._regex_rules.alphabet
        one = re.compile(write_chars(chars))
        op.target, op.symbol, op.expand = target, target.symbol, self._expansion(target)
        op.known = self._known_of(op, one)
        return op

    def _bits(self, slots: list[GrammarSlot], following: Instruction) -> Instruction:
        """Steps over bits that fill whole bytes only together."""
        rule_pattern = self._regex_rules.pattern_of_slots(slots)
        if rule_pattern is None:
            raise Unsupported
        op = Instruction(BITS, following)
        self._take(op, rule_pattern)
        op.is_tracked = any(slot.target is not None and slot.target.is_tracked for slot in slots)
        op.expand = self._expander.slots(slots)
        return op


def _is_leaf(nonterminal: Nonterminal) -> bool:
    """Whether a rule is one terminal and nothing else."""
    first = nonterminal.alternatives[0]
    is_single = len(nonterminal.alternatives) == 1 and not nonterminal.parts and first.is_last
    return is_single and first.target is None and first.kind != BIT
