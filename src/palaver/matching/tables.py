"""Grammar expressions as small linked tables that the chart can run.

How it works
------------
Every rule becomes a `Nonterminal`, and so does every group, repetition and permutation inside a rule; these have no
name and leave no node in a tree. A `Step` is a place in a right-hand side: what must come next there, and where that
leads. There are three shapes of nonterminals, told apart by the *mode* of their steps:

plain        alternatives, each a chain of steps
repetition   one step that leads back to itself; the chart counts how often
permutation  a head, and one step per part that leads back to the head; the chart keeps a bit set of used parts

Beside the steps stand the analyses that keep the chart small: which terminals a nonterminal can begin with, whether
it can be empty, and what can follow. They may say too much, never too little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from palaver.grammar.automaton import State
from palaver.grammar.charset import BYTES, EVERY, NO_CHARS, CharSet
from palaver.grammar.ir import bodies_below, computed_bounds
from palaver.grammar.regex import Regex, compile_pattern
from palaver.grammar.show import show_pattern
from palaver.matching.trails import Trails
from palaver.spec.ast import Bit, Choice, Expr, Expression, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.trees.node import Leaf, Node, NonTerminal, Parties

# Kinds of steps: what comes next.
CALL, LITERAL, PATTERN, BIT, HEAD = range(5)
# Modes of steps: where it leads.
PLAIN, REPETITION, PERMUTATION = range(3)

# A pattern's state that has gone round this often gets a compiled way to run ahead; compiling costs about as much as
# a few hundred single moves.
HOT = 200


@dataclass(slots=True, eq=False)
class Step:
    """A place in a right-hand side. What the fields of other kinds hold does not matter."""

    kind: int
    owner: Nonterminal
    mode: int = PLAIN
    following: Step | None = None  # None: the alternative is complete after this step
    is_last: bool = False  # whether it is the last of an alternative
    is_opening: bool = False  # whether it is the first of several in one
    is_tail: bool = False  # whether it is, a call, and computed bounds have nothing to do with it
    order: int = 0  # among all steps, in the order of the spec
    fits: Fits = field(init=False)  # whether it can be worth to be here, by what comes next
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
            if state.visits < HOT:
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
    alternatives: list[Step] = field(default_factory=list)  # the first step of each
    parts: list[Step] = field(default_factory=list)  # of a permutation
    is_repetition: bool = False
    least: int | Computed = 1  # of a repetition; if it has to be computed once, `least` and `most` are one object
    most: int | Computed | None = 1
    bounds: tuple[int, int | None] | None = (1, 1)  # the same, if they are fixed
    # Analyses. Sets of terminals are bit sets over `Tables.terminals`.
    can_be_empty: bool = False
    leading: int = 0
    surely_leading: int = 0  # the same without what stands below computed repetitions
    is_static: bool = True  # whether no computed repetition can come first in it
    following: int = 0
    is_cyclic: bool = False  # whether it can contain itself and nothing else
    is_tracked: bool = False  # whether anything in it reads or sets what computed bounds look at
    is_short: bool = False  # whether it is not, is plain, and has no alternative of more than two steps
    starts: Starts = field(init=False)
    may_end: MayEnd = field(init=False)

    def steps(self) -> Iterator[Step]:
        """All places in it."""
        yield from self.parts
        for start in self.alternatives:
            yield from _chain(start)


# Computes a bound from the node that the path in it selects, its trailing indices not yet applied.
BoundEvaluator: TypeAlias = Callable[[Expression, Node | None], int]


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A bound to be computed from the node that the path of this number selects (None: from nothing)."""

    expression: Expression
    path: int | None
    is_pure: bool  # whether it depends on what that node serialises to and nothing else
    known: dict[str, int] = field(default_factory=dict)  # if so, what it was for short texts


# What comes next in the input: a character, a bit inside a byte, or None: not known yet.
Key: TypeAlias = str | int | None


class Fits(dict[Key, bool]):
    """Whether a step, or what comes after it if it can be empty, can begin with what comes next."""

    def __init__(self, tables: Tables, step: Step) -> None:
        self.tables = tables
        self.step = step

    def __missing__(self, key: Key) -> bool:
        can_be_empty, leading = self.tables.chain_edges(self.step)
        # A repetition or permutation may have come to its end.
        can_be_empty = can_be_empty or self.step.mode == REPETITION or self.step.kind == HEAD
        answer = self[key] = self.tables.can_come(leading, can_be_empty, self.step.owner, key)
        return answer


class MayEnd(dict[Key, bool]):
    """Whether a nonterminal can be followed by what comes next."""

    def __init__(self, tables: Tables, nonterminal: Nonterminal) -> None:
        self.tables = tables
        self.nonterminal = nonterminal

    def __missing__(self, key: Key) -> bool:
        following = self.nonterminal.following
        answer = key is None or bool(following & self.tables.anything) or self.tables.any_begins(following, key)
        self[key] = answer
        return answer


class Starts(dict[Key, "tuple[Step, ...]"]):
    """The alternatives of a nonterminal that fit what comes next."""

    def __init__(self, tables: Tables, nonterminal: Nonterminal) -> None:
        self.tables = tables
        self.nonterminal = nonterminal

    def __missing__(self, key: Key) -> tuple[Step, ...]:
        fitting = []
        for start in self.nonterminal.alternatives:
            can_be_empty, leading = self.tables.chain_edges(start)
            if self.tables.can_come(leading, can_be_empty, self.nonterminal, key):
                fitting.append(start)
        self[key] = tuple(fitting)
        return self[key]


class Tables:
    """A grammar for one kind of input.

    `binary`: the buffer holds bytes as the characters up to U+00FF. `whole`: the input is one sentence, nothing more.
    `is_pure`: whether a bound depends on the node it is computed from and nothing else.
    """

    def __init__(
        self,
        rules: Mapping[str, Expr],
        start: str,
        *,
        binary: bool,
        whole: bool,
        is_pure: Callable[[Expression], bool] = lambda _: False,
    ) -> None:
        self.binary = binary
        self._is_pure = is_pure
        self.alphabet = BYTES if binary else EVERY
        self.trails = Trails()
        self.terminals: list[Step] = []
        self.nonterminals: list[Nonterminal] = []
        self._steps = 0
        reachable = bodies_below(rules, start)
        for body in reachable.values():
            for expression in computed_bounds(body):
                self.trails.track(expression)
        self._named = {symbol: self._nonterminal(NonTerminal(symbol)) for symbol in reachable}
        for symbol, body in reachable.items():
            self._fill(self._named[symbol], body)
        self.start = self._named[start]
        # Positions count bits only where bits occur.
        self.unit = 8 if any(step.kind == BIT for step in self.terminals) else 1
        self._analyse(whole)

    # --- Building ---------------------------------------------------------------------------------------------------

    def _nonterminal(self, symbol: NonTerminal | None = None) -> Nonterminal:
        nonterminal = Nonterminal(symbol)
        nonterminal.starts = Starts(self, nonterminal)
        nonterminal.may_end = MayEnd(self, nonterminal)
        self.nonterminals.append(nonterminal)
        return nonterminal

    def _fill(self, owner: Nonterminal, body: Expr) -> None:
        for option in _options(body):
            chain = [self._step(part, owner) for part in _parts(option)]
            for step, following in pairwise(chain):
                step.following = following
            chain[-1].is_last = True
            chain[0].is_opening = len(chain) > 1
            owner.alternatives.append(chain[0])

    def _step(self, part: Expr, owner: Nonterminal) -> Step:
        step = self._new_step(CALL, owner)
        match part:
            case Ref(symbol, sender, recipient):
                step.target = self._named[symbol]
                step.parties = Parties(sender, recipient) if sender is not None else None
            case Literal() | Bit() | Pattern():
                self._fill_terminal(step, part)
                self.terminals.append(step)
            case Sequence() | Choice():
                step.target = self._nonterminal()
                self._fill(step.target, part)
            case Repeat():
                step.target = self._repetition(part)
            case Permutation(parts):
                step.target = self._permutation(parts)
        return step

    def _new_step(self, kind: int, owner: Nonterminal) -> Step:
        step = Step(kind, owner, order=self._steps)
        step.fits = Fits(self, step)
        self._steps += 1
        return step

    def _fill_terminal(self, step: Step, part: Literal | Bit | Pattern) -> None:
        match part:
            case Literal(value):
                step.kind = LITERAL
                step.text = _in_buffer(value, binary=self.binary)
                step.leaf = step.text.encode("latin-1") if self.binary else step.text
                step.shown = repr(value)
            case Bit(value):
                step.kind = BIT
                step.leaf = step.bit = value
                step.shown = f"bit {value}"
            case Pattern(source):
                regex = compile_pattern(source)
                step.kind = PATTERN
                step.regex = regex
                step.start = (regex.byte_automaton if self.binary else regex.automaton).start
                step.verify = None if regex.is_plain else regex.matches
                step.shown = show_pattern(source)

    def _repetition(self, part: Repeat) -> Nonterminal:
        repetition = self._nonterminal()
        least = repetition.least = self._bound(part.least)
        most = least if part.most == part.least else None if part.most is None else self._bound(part.most)
        repetition.most = most
        repetition.is_repetition = True
        repetition.bounds = (least, most) if isinstance(least, int) and not isinstance(most, Computed) else None
        step = self._step(part.body, repetition)
        step.mode = REPETITION
        step.following = step
        repetition.alternatives.append(step)
        return repetition

    def _bound(self, bound: int | Expression) -> int | Computed:
        return bound if isinstance(bound, int) else Computed(bound, self.trails.track(bound), self._is_pure(bound))

    def _permutation(self, parts: tuple[Expr, ...]) -> Nonterminal:
        permutation = self._nonterminal()
        head = self._new_step(HEAD, permutation)
        permutation.alternatives.append(head)
        for number, part in enumerate(parts):
            # A nonterminal of its own for each part, so that `bit` is free to say which part it is.
            step = self._new_step(CALL, permutation)
            step.mode, step.following, step.bit = PERMUTATION, head, 1 << number
            step.target = self._nonterminal()
            self._fill(step.target, part)
            permutation.parts.append(step)
        return permutation

    # --- Analyses ---------------------------------------------------------------------------------------------------

    def _analyse(self, whole: bool) -> None:
        self._place = {step: place for place, step in enumerate(self.terminals)}
        self._first = [_first_chars(step) & self.alphabet for step in self.terminals]
        self._until_stable(self._refine_edges)
        # The start symbol is followed by the end, which no character fits, or by anything at all.
        self.anything = 1 << len(self.terminals)
        self.start.following = 0 if whole else self.anything
        self._until_stable(self._spread_following)
        after = self._after_terminals()
        for step in self.terminals:
            mask = after.get(step, 0)
            step.follow = FollowTest(self._chars(mask))
        self._mark_cyclic()
        if self.trails.paths:
            self._mark_tracked()
        for nonterminal in self.nonterminals:
            for step in nonterminal.steps():
                step.is_tail = step.is_last and step.kind == CALL and not nonterminal.is_tracked
            nonterminal.is_short = not nonterminal.is_tracked and all(map(_is_short, nonterminal.alternatives))

    def chars_after(self, nonterminal: Nonterminal) -> CharSet:
        """What can come right behind a nonterminal; everything, if it can be the last of an input that may go on."""
        return self._chars(nonterminal.following)

    def members(self, mask: int) -> Iterator[Step]:
        """The terminals of a bit set, in the order of the spec."""
        mask &= ~self.anything
        while mask:
            lowest = mask & -mask
            yield self.terminals[lowest.bit_length() - 1]
            mask ^= lowest

    def _chars(self, mask: int) -> CharSet:
        """What the terminals of a bit set can begin with."""
        if mask & self.anything:
            return self.alphabet
        chars = NO_CHARS
        for step in self.members(mask):
            chars |= self._first[self._place[step]]
        return chars

    def can_come(self, leading: int, can_be_empty: bool, owner: Nonterminal, key: Key) -> bool:
        """Whether what comes next fits something that begins so; or, if it can be empty, what follows its owner."""
        if key is None or self.any_begins(leading, key):
            return True
        return can_be_empty and owner.may_end[key]

    def any_begins(self, mask: int, key: str | int) -> bool:
        return any(self.can_begin(step, key) for step in self.members(mask))

    def can_begin(self, step: Step, key: str | int) -> bool:
        """Whether a non-empty match of a terminal can begin with this character, or this bit inside a byte."""
        if isinstance(key, int):
            return step.kind == BIT and step.bit == key
        return key in self._first[self._place[step]]

    def step_edges(self, step: Step) -> tuple[bool, int]:
        """Whether what `step` asks for can be empty, and the terminals it can begin with."""
        if step.kind == HEAD:
            return _combine_permutation([self.step_edges(part) for part in step.owner.parts])
        if step.target is not None:
            return step.target.can_be_empty, step.target.leading
        return _terminal_can_be_empty(step), 1 << self._place[step]

    def chain_edges(self, start: Step) -> tuple[bool, int]:
        """The same for `start` and all that follows it in its alternative."""
        step: Step | None = start
        leading = 0
        if start.mode == REPETITION or start.kind == HEAD:
            can_be_empty, leading = self.step_edges(start)
            least, most = start.owner.least, start.owner.most
            return can_be_empty or not isinstance(least, int) or least < 1, 0 if most == 0 else leading
        while step is not None:
            can_be_empty, edge = self.step_edges(step)
            leading |= edge
            if not can_be_empty:
                return False, leading
            step = step.following
        return True, leading

    def _until_stable(self, refine: Callable[[Nonterminal], bool]) -> None:
        """Refine all, again and again, until nothing changes.

        Forwards and backwards in turn: then a long chain of rules takes few rounds, whichever way it was written.
        """
        nonterminals = list(self.nonterminals)
        while sum(map(refine, nonterminals)):
            nonterminals.reverse()

    def _refine_edges(self, nonterminal: Nonterminal) -> bool:
        before = nonterminal.can_be_empty, nonterminal.leading, nonterminal.surely_leading, nonterminal.is_static
        for start in nonterminal.alternatives:
            can_be_empty, leading = self.chain_edges(start)
            nonterminal.can_be_empty |= can_be_empty
            nonterminal.leading |= leading
            self._refine_left_edge(nonterminal, start)
        if nonterminal.is_repetition and nonterminal.bounds is None:
            nonterminal.surely_leading, nonterminal.is_static = 0, False
        after = nonterminal.can_be_empty, nonterminal.leading, nonterminal.surely_leading, nonterminal.is_static
        return before != after

    def _refine_left_edge(self, nonterminal: Nonterminal, start: Step) -> None:
        for step in self._left_edge(start):
            if step.target is None:
                nonterminal.surely_leading |= 1 << self._place[step]
            else:
                nonterminal.surely_leading |= step.target.surely_leading
                nonterminal.is_static &= step.target.is_static

    def _left_edge(self, start: Step) -> Iterator[Step]:
        """The steps of an alternative that can come first."""
        if start.kind == HEAD:
            yield from start.owner.parts
            return
        if start.mode == REPETITION:
            if start.owner.most != 0:
                yield start
            return
        step: Step | None = start
        while step is not None:
            yield step
            if not self.step_edges(step)[0]:
                return
            step = step.following

    def _steps_and_rests(self, nonterminal: Nonterminal) -> Iterator[tuple[Step, int]]:
        """Each step of a nonterminal with the terminals that can come right after it."""
        for start in nonterminal.alternatives:
            if start.kind == HEAD:
                everything = nonterminal.following | self.step_edges(start)[1]
                yield from ((part, everything) for part in nonterminal.parts)
            elif start.mode == REPETITION:
                yield start, nonterminal.following | self.step_edges(start)[1]
            else:
                step: Step | None = start
                while step is not None:
                    can_be_empty, leading = self.chain_edges(step.following) if step.following else (True, 0)
                    yield step, leading | (nonterminal.following if can_be_empty else 0)
                    step = step.following

    def _spread_following(self, nonterminal: Nonterminal) -> bool:
        changed = False
        for step, following in self._steps_and_rests(nonterminal):
            target = step.target
            if target is not None and following & ~target.following:
                target.following |= following
                changed = True
        return changed

    def _after_terminals(self) -> dict[Step, int]:
        return {
            step: following
            for nonterminal in self.nonterminals
            for step, following in self._steps_and_rests(nonterminal)
            if step.target is None
        }

    def _mark_cyclic(self) -> None:
        """Find the nonterminals that can derive themselves with nothing beside."""
        numbers = {nonterminal: number for number, nonterminal in enumerate(self.nonterminals)}
        reach = [0] * len(numbers)
        for nonterminal, number in numbers.items():
            for alone in self._possibly_alone(nonterminal):
                reach[number] |= 1 << numbers[alone]
        _close(reach)
        for nonterminal, number in numbers.items():
            nonterminal.is_cyclic = bool(reach[number] >> number & 1)

    @cached_property
    def is_left_recursive(self) -> bool:
        """Whether something can begin with itself."""
        numbers = {nonterminal: number for number, nonterminal in enumerate(self.nonterminals)}
        reach = [0] * len(numbers)
        for nonterminal, number in numbers.items():
            for start in nonterminal.alternatives:
                for step in self._left_edge(start):
                    if step.target is not None:
                        reach[number] |= 1 << numbers[step.target]
        _close(reach)
        return any(row >> number & 1 for number, row in enumerate(reach))

    def _possibly_alone(self, nonterminal: Nonterminal) -> Iterator[Nonterminal]:
        for start in nonterminal.alternatives:
            steps = nonterminal.parts if start.kind == HEAD else list(_chain(start))
            solid = [step for step in steps if not self.step_edges(step)[0]]
            for step in steps:
                if step.target is not None and all(other is step for other in solid):
                    yield step.target

    def _mark_tracked(self) -> None:
        numbers = {nonterminal: number for number, nonterminal in enumerate(self.nonterminals)}
        last_names = {path.names[-1] for path in self.trails.paths}
        reach = [0] * len(numbers)
        matters = 0
        for nonterminal, number in numbers.items():
            bounds = (nonterminal.least, nonterminal.most)
            reads = any(isinstance(bound, Computed) and bound.path is not None for bound in bounds)
            if reads or nonterminal.symbol in last_names:
                matters |= 1 << number
            for start in nonterminal.alternatives:
                for step in [*_chain(start), *nonterminal.parts]:
                    if step.target is not None:
                        reach[number] |= 1 << numbers[step.target]
        _close(reach)
        for nonterminal, number in numbers.items():
            nonterminal.is_tracked = bool((reach[number] | 1 << number) & matters)


def _options(body: Expr) -> Iterator[Expr]:
    """The alternatives of an expression, those of groups included: a choice in a choice is one choice."""
    stack = [body]
    while stack:
        here = stack.pop()
        if isinstance(here, Choice):
            stack.extend(reversed(here.options))
        else:
            yield here


def _parts(body: Expr) -> Iterator[Expr]:
    stack = [body]
    while stack:
        here = stack.pop()
        if isinstance(here, Sequence):
            stack.extend(reversed(here.parts))
        else:
            yield here


def _chain(start: Step) -> Iterator[Step]:
    step: Step | None = start
    while step is not None:
        yield step
        step = step.following if step.mode == PLAIN else None


def _is_short(start: Step) -> bool:
    following = start.following
    return start.is_last or (start.is_opening and following is not None and following.is_last)


def _in_buffer(value: str | bytes, *, binary: bool) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value.encode("utf-8", "surrogatepass").decode("latin-1") if binary else value


def _first_chars(step: Step) -> CharSet:
    if step.kind == LITERAL:
        return CharSet.of(step.text[:1])
    if step.kind == BIT:
        return CharSet((0x80, 0x100)) if step.bit else CharSet((0, 0x80))
    assert step.start is not None  # every pattern has its automaton
    return step.start.next_chars()


def _terminal_can_be_empty(step: Step) -> bool:
    if step.kind == LITERAL:
        return not step.text
    return step.start is not None and step.start.accepts


def _combine_permutation(edges: list[tuple[bool, int]]) -> tuple[bool, int]:
    leading = 0
    for _, edge in edges:
        leading |= edge
    return all(can_be_empty for can_be_empty, _ in edges), leading


def _close(reach: list[int]) -> None:
    """Make a relation transitive; row i is the bit set of what i leads to."""
    for middle in range(len(reach)):
        bit, row = 1 << middle, reach[middle]
        for number, other in enumerate(reach):
            if other & bit:
                reach[number] = other | row
