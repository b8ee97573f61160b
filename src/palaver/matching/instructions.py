"""Instructions of the fast path, and the node caches and expansions that they refer to."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol, TypeAlias

from palaver.matching.grammar_slots import Computed, FollowTest, GrammarSlot, Nonterminal
from palaver.matching.lookahead import LookaheadState
from palaver.matching.rule_regexes import MatchText, RulePattern
from palaver.trees.node import Leaf, Node, NonTerminal, Part, Parties, new

# Kinds of instructions.
TOKEN, TEXT, CHOOSE, CALL, END, RUN, SWEEP, PATTERN, BEGIN, AGAIN, BITS, STOP, UNKNOWN = range(13)


# A node that a computed bound may look at, and its text if it is short.
FieldValue: TypeAlias = tuple[Node, str | None]
# A generated function: reads all of a rule from a text, from a place on, or raises GaveUp.
ReadFunction: TypeAlias = "Callable[[str, int, int, list[FieldValue | None]], tuple[int, tuple[Part, ...]]]"


class Dialect(Enum):
    SKETCH = "sketch"
    FULL = "full"
    DETAIL = "detail"
    BITS = "bits"


class ParseInstruction:
    """An instruction. Its kind decides which fields it has."""

    __slots__ = (
        "body", "call", "entry", "expand", "goes_on", "is_closed", "is_lazy", "is_leaf", "is_proved", "is_pure",
        "is_spelled_out", "is_tracked", "items", "join", "kept", "kind", "known", "leaf", "least", "limits",
        "longest", "lookahead_state", "match", "most", "next", "options", "parties", "path", "patience", "reads",
        "rule_pattern", "short", "shortest", "slot", "symbol", "takes_all", "target", "text",
    )  # fmt: skip

    kind: int
    next: ParseInstruction
    # CALL and TOKEN: the rule. A token may be called instead, where its pattern does not see the end.
    target: Nonterminal
    symbol: NonTerminal
    parties: Parties | None
    is_tracked: bool  # True if computed bounds look at it, or at something in it
    body: ParseInstruction  # its first instruction
    call: ParseInstruction | None
    # TOKEN and BITS: the regex, and the node made from a match.
    match: MatchText
    is_closed: bool  # True if no match is a prefix of a longer one
    rule_pattern: RulePattern
    known: NodeCache  # nodes over texts that are not longer than `short`
    short: int
    # Nodes over longer texts, where those take long to make. Kept for one message: they are of little use to the next,
    # and its time would depend on those before it.
    kept: NodeCache | None
    is_lazy: bool
    is_leaf: bool  # True if its only child is the text itself
    is_spelled_out: bool  # True if it has to be called unless its node is cached
    expand: Expansion
    shortest: int  # lengths of a match
    longest: int | None
    takes_all: bool  # True if any characters match
    # CALL: generated functions for an open and an ended text; False: there is none, None: not known yet
    reads: list[ReadFunction | bool | None]
    patience: int  # calls left before a function is generated
    # SWEEP: many rounds of a repetition at once, by a regex for all and one that finds each.
    items: Callable[[str, int, int], list[str]]
    goes_on: FollowTest  # characters that show that the last round has been seen to its end
    # TEXT and PATTERN
    slot: GrammarSlot
    text: str
    leaf: Leaf
    is_proved: bool  # True if `match` finds the end of a pattern
    # CHOOSE and AGAIN: the options. Of a repetition, another round and leaving it.
    lookahead_state: LookaheadState
    options: tuple[ParseInstruction, ...]
    join: ParseInstruction  # where the options meet again
    entry: ParseInstruction | None  # of a repetition, the start of a round
    # BEGIN and RUN: the limits of a repetition.
    least: int | Computed
    most: int | Computed | None
    path: int | None  # the field they are computed from, if from one
    is_pure: bool  # True if from nothing else
    limits: dict[str | None, tuple[int, int | None]]  # cached by the text of the field

    def __init__(self, kind: int, following: ParseInstruction | None = None) -> None:
        self.kind = kind
        if following is not None:
            self.next = following


class Unsupported(Exception):
    """Raised for a rule that the fast path cannot read."""


class NodeCache(dict[str, Any]):
    """The nodes of one rule over texts, made when first asked for; None for texts that the pattern does not match."""

    def __init__(
        self, symbol: NonTerminal, expand: Expansion, *, most: int, pattern: re.Pattern[str] | None = None
    ) -> None:
        self._symbol = symbol
        self._expand = expand
        self._most = most
        self._pattern = pattern

    def __missing__(self, text: str) -> Node | None:
        if self._pattern is not None and self._pattern.fullmatch(text) is None:
            return None
        node = new(Node, (self._symbol, self._expand.children(text), (), None))
        if len(self) >= self._most:
            self.clear()
        self[text] = node
        return node


class Expansion(Protocol):
    """Makes the children of a node from its text."""

    def __call__(self, data: str | bytes) -> tuple[Part, ...]:
        """The children for the serialised text of a node."""

    def children(self, text: str) -> tuple[Part, ...]:
        """The children for a text in the buffer of the machine."""
