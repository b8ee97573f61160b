"""Grammar slots (Scott and Johnstone 2010) and nonterminals: the linked tables that a grammar becomes for the parsers.

Every rule becomes a `Nonterminal`, and so does every group, repetition and permutation inside a rule; these have no
name and leave no node in a tree. A `GrammarSlot` is a dotted position in a right-hand side. Nonterminals have three
shapes, told apart by the *mode* of their slots:

plain        alternatives, each a chain of slots
repetition   one slot that leads back to itself; the parser counts how often
permutation  a head, and one slot per part that leads back to the head; the parser keeps a bit set of used parts
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple, TypeAlias

from palaver.lean_dataclasses import dataclass
from palaver.matching.matching_limits import VISITS_BEFORE_COMPILING
from palaver.regular.charset import EVERY, CharSet
from palaver.regular.language import AutomatonState
from palaver.regular.regex import Regex
from palaver.spec.ast import Expression
from palaver.trees.node import Leaf, NonTerminal, Parties

# Kinds of slots: the element after the dot.
CALL, LITERAL, PATTERN, BIT, HEAD = range(5)
# Modes of slots: where the dot moves.
PLAIN, REPETITION, PERMUTATION = range(3)


# The next input: a character, a bit inside a byte, or None if not known yet.
NextInput: TypeAlias = str | int | None


@dataclass(slots=True, eq=False)
class GrammarSlot:
    """A grammar slot: the dot before one element of a right-hand side. Fields of other kinds have no meaning."""

    kind: int
    owner: Nonterminal
    mode: int = PLAIN
    following: GrammarSlot | None = None  # None: the alternative is complete after this slot
    is_last: bool = False  # True for the last slot of an alternative
    is_opening: bool = False  # True for the first of several slots in one
    is_tail: bool = False  # True for a call in the last slot that no computed bound depends on
    order: int = 0  # among all slots, in the order of the spec
    fits: Mapping[NextInput, bool] = field(init=False)  # True if the next input fits
    # CALL
    target: Nonterminal | None = None
    parties: Parties | None = None
    # LITERAL (`text` as it looks in the buffer), BIT
    text: str = ""
    leaf: Leaf = ""
    bit: int = 0  # also the part of a permutation, as a bit set
    # PATTERN
    regex: Regex | None = None
    start: AutomatonState | None = None
    verify: Callable[[str], bool] | None = None  # None: the automaton is exact
    follow: FollowTest = field(default_factory=lambda: FollowTest(EVERY))
    compiled_loops: dict[AutomatonState, Callable[[str, int], re.Match[str] | None]] = field(default_factory=dict)
    shown: str = ""  # the name of the terminal in messages

    def run_ahead(self, state: AutomatonState, buffer: str, at: int) -> int:
        """The first place from `at` on where `state` may be left."""
        run = self.compiled_loops.get(state)
        if run is None:
            state.visits += 1
            if state.visits < VISITS_BEFORE_COMPILING:
                return at
            chars = state.loop_chars()
            if state.accepts:
                # Where the match may end and something may follow, the parser must look closer.
                chars -= self.follow.chars
            run = self.compiled_loops[state] = re.compile(f"[{chars.as_class()}]*" if chars else "").match
        match = run(buffer, at)
        return match.end() if match else at


class FollowTest(dict[str, bool]):
    """The characters that can follow a terminal, as a cached test per character."""

    def __init__(self, chars: CharSet) -> None:
        self.chars = chars

    def __missing__(self, char: str) -> bool:
        answer = self[char] = char in self.chars
        return answer


@dataclass(slots=True, eq=False)
class Nonterminal:
    """A rule (`symbol` is its name), or a part of one that leaves no node (`symbol` is None)."""

    symbol: NonTerminal | None
    alternatives: list[GrammarSlot] = field(default_factory=list)  # the first slot of each
    parts: list[GrammarSlot] = field(default_factory=list)  # of a permutation
    is_repetition: bool = False
    length: Computed | None = None  # how much it reads, if a constraint says so
    is_total: bool = False  # True if that is counted from where the rule begins that it is a part of
    is_encoded: bool = False  # True if that is counted in bytes of UTF-8
    own_paths: tuple[int, ...] = ()  # the paths whose nodes are looked at only inside of it
    least: int | Computed = 1  # of a repetition; if it has to be computed once, `least` and `most` are one object
    most: int | Computed | None = 1
    bounds: tuple[int, int | None] | None = (1, 1)  # the same, if they are fixed
    # FIRST and FOLLOW sets are bit sets over `FirstFollow.terminals`.
    can_be_empty: bool = False
    first_set: int = 0
    certain_first_set: int = 0  # without what stands below computed repetitions
    is_static: bool = True  # True if no computed repetition can come first in it
    follow_set: int = 0
    is_cyclic: bool = False  # True if it can contain itself and nothing else
    is_tracked: bool = False  # True if something in it sets or reads a field of computed bounds
    is_short: bool = False  # True if it is not tracked, and no alternative has more than two slots
    starts: Mapping[NextInput, tuple[GrammarSlot, ...]] = field(init=False)  # the alternatives that fit the next input
    may_end: Mapping[NextInput, bool] = field(init=False)  # True if the next input can follow

    def slots(self) -> Iterator[GrammarSlot]:
        """All slots in it."""
        yield from self.parts
        for start in self.alternatives:
            yield from chain(start)


def chain(start: GrammarSlot) -> Iterator[GrammarSlot]:
    """The slots of an alternative; of a repetition, that of one round."""
    slot: GrammarSlot | None = start
    while slot is not None:
        yield slot
        slot = slot.following if slot.mode == PLAIN else None


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A bound to be computed from the nodes that the paths of these numbers select."""

    expression: Expression
    paths: tuple[int, ...]
    is_pure: bool  # True if it depends on the text of that node only
    known: dict[str, int] = field(default_factory=dict)  # if so, its values for short texts
    advice: Advice | None = None  # for a bound of a constraint


class Advice(NamedTuple):
    """The use of a bound of a constraint; it is ignored if it cannot be computed (see `length_bounds`)."""

    minus: int
    divisor: int
    rounding: int
    stated: tuple[int, int | None]  # the bounds of a repetition in the grammar, which hold as well

    def bounds(self, value: int | None) -> tuple[int, int | None] | None:
        """The bounds of a repetition for a value, None if it has none; None if they cannot be met."""
        if value is None:
            return self.stated
        (least, most), (low, high) = self.amounts(value), self.stated
        least, most = max(least, low), most if high is None else min(most, high)
        return (least, most) if least <= most else None

    def amounts(self, value: int) -> tuple[int, int]:
        """The least and the greatest length or number that a value stands for; there is none if they are crossed."""
        low = self.rounding * value - self.minus
        return max(0, -(-low // self.divisor)), (low + self.rounding - 1) // self.divisor


def is_one_number(least: int | Computed, most: int | Computed | None) -> bool:
    """Return True if two bounds are always equal; what a constraint rounds stands for several numbers."""
    is_rounded = isinstance(least, Computed) and least.advice is not None and least.advice.rounding > 1
    return least == most and not is_rounded


def next_chars(slot: GrammarSlot, state: AutomatonState | int) -> CharSet:
    """The characters that a terminal in `state` goes on with; `state` of a literal counts characters."""
    if isinstance(state, AutomatonState):
        return state.next_chars()
    if slot.kind == BIT:
        return CharSet((0x80, 0x100)) if slot.bit else CharSet((0, 0x80))
    return CharSet.of(slot.text[state : state + 1])
