"""Nonterminals and steps: the small linked tables that a grammar becomes, so that the chart can run it.

How it works
------------
Every rule becomes a `Nonterminal`, and so does every group, repetition and permutation inside a rule; these have no
name and leave no node in a tree. A `GrammarSlot` is a place in a right-hand side: what must come next there, and where that
leads. There are three shapes of nonterminals, told apart by the *mode* of their steps:

plain        alternatives, each a chain of steps
repetition   one step that leads back to itself; the chart counts how often
permutation  a head, and one step per part that leads back to the head; the chart keeps a bit set of used parts

Beside the steps stands what analyses found out about them (`first_follow`, `tables`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from palaver.grammar.automaton import State
from palaver.grammar.charset import EVERY, CharSet
from palaver.grammar.regex import Regex
from palaver.matching.matching_limits import VISITS_BEFORE_COMPILING
from palaver.spec.ast import Expression
from palaver.trees.node import Leaf, NonTerminal, Parties

# Kinds of steps: what comes next.
CALL, LITERAL, PATTERN, BIT, HEAD = range(5)
# Modes of steps: where it leads.
PLAIN, REPETITION, PERMUTATION = range(3)


# What comes next in the input: a character, a bit inside a byte, or None: not known yet.
NextInput: TypeAlias = str | int | None


@dataclass(slots=True, eq=False)
class GrammarSlot:
    """A place in a right-hand side. What the fields of other kinds hold does not matter."""

    kind: int
    owner: Nonterminal
    mode: int = PLAIN
    following: GrammarSlot | None = None  # None: the alternative is complete after this step
    is_last: bool = False  # whether it is the last of an alternative
    is_opening: bool = False  # whether it is the first of several in one
    is_tail: bool = False  # whether it is, a call, and computed bounds have nothing to do with it
    order: int = 0  # among all steps, in the order of the spec
    fits: Mapping[NextInput, bool] = field(init=False)  # whether it can be worth to be here, by what comes next
    # CALL
    target: Nonterminal | None = None
    parties: Parties | None = None
    # LITERAL (`text` as it looks in the buffer), BIT
    text: str = ""
    leaf: Leaf = ""
    bit: int = 0  # also: which part of a permutation this is, as a bit set
    # PATTERN
    regex: Regex | None = None
    start: State | None = None
    verify: Callable[[str], bool] | None = None  # None: the automaton is exact
    follow: FollowTest = field(default_factory=lambda: FollowTest(EVERY))
    ahead: dict[State, Callable[[str, int], re.Match[str] | None]] = field(default_factory=dict)
    # What to call this terminal in messages.
    shown: str = ""

    def run_ahead(self, state: State, buffer: str, at: int) -> int:
        """The first place from `at` on where something other than going round in `state` may happen."""
        run = self.ahead.get(state)
        if run is None:
            state.visits += 1
            if state.visits < VISITS_BEFORE_COMPILING:
                return at
            chars = state.loop_chars()
            if state.accepts:
                # Where the match may end and something may follow, the chart must look closer.
                chars -= self.follow.chars
            run = self.ahead[state] = re.compile(f"[{chars.as_class()}]*" if chars else "").match
        match = run(buffer, at)
        return match.end() if match else at


class FollowTest(dict[str, bool]):
    """Whether a character can follow a terminal, remembered per character."""

    def __init__(self, chars: CharSet) -> None:
        self.chars = chars

    def __missing__(self, char: str) -> bool:
        answer = self[char] = char in self.chars
        return answer


@dataclass(slots=True, eq=False)
class Nonterminal:
    """A rule (`symbol` is its name), or a part of one that leaves no node (`symbol` is None)."""

    symbol: NonTerminal | None
    alternatives: list[GrammarSlot] = field(default_factory=list)  # the first step of each
    parts: list[GrammarSlot] = field(default_factory=list)  # of a permutation
    is_repetition: bool = False
    least: int | Computed = 1  # of a repetition; if it has to be computed once, `least` and `most` are one object
    most: int | Computed | None = 1
    bounds: tuple[int, int | None] | None = (1, 1)  # the same, if they are fixed
    # Analyses. Sets of terminals are bit sets over `FirstFollow.terminals`.
    can_be_empty: bool = False
    first_set: int = 0
    certain_first_set: int = 0  # the same without what stands below computed repetitions
    is_static: bool = True  # whether no computed repetition can come first in it
    following: int = 0
    is_cyclic: bool = False  # whether it can contain itself and nothing else
    is_tracked: bool = False  # whether anything in it reads or sets what computed bounds look at
    is_short: bool = False  # whether it is not, is plain, and has no alternative of more than two steps
    starts: Mapping[NextInput, tuple[GrammarSlot, ...]] = field(init=False)  # the alternatives that fit what comes next
    may_end: Mapping[NextInput, bool] = field(init=False)  # whether what comes next can follow

    def slots(self) -> Iterator[GrammarSlot]:
        """All places in it."""
        yield from self.parts
        for start in self.alternatives:
            yield from chain(start)


def chain(start: GrammarSlot) -> Iterator[GrammarSlot]:
    """The steps of an alternative, as far as they follow each other."""
    slot: GrammarSlot | None = start
    while slot is not None:
        yield slot
        slot = slot.following if slot.mode == PLAIN else None


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A bound to be computed from the node that the path of this number selects (None: from nothing)."""

    expression: Expression
    path: int | None
    is_pure: bool  # whether it depends on what that node serialises to and nothing else
    known: dict[str, int] = field(default_factory=dict)  # if so, what it was for short texts
