"""Compilation of grammar expressions into grammar slots, for one kind of input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias, assert_never

from palaver.grammar.analysis import backwards
from palaver.grammar.ir import bodies_below
from palaver.grammar.printing import show_pattern
from palaver.matching.bound_paths import BoundPaths
from palaver.matching.first_follow import FirstFollow
from palaver.matching.grammar_slots import (
    BIT,
    CALL,
    HEAD,
    LITERAL,
    PATTERN,
    PERMUTATION,
    REPETITION,
    Computed,
    GrammarSlot,
    Nonterminal,
)
from palaver.regular.charset import BYTES, EVERY
from palaver.regular.regex import compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Expression, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.spec.traversal import computed_bounds
from palaver.trees.node import Node, NonTerminal

# Computes a bound from the node that the path in it selects, its trailing indices not yet applied.
BoundEvaluator: TypeAlias = Callable[[Expression, Node | None], int]


class GrammarTables:
    """A grammar compiled for one kind of input.

    `binary`: the buffer holds bytes as the characters up to U+00FF. `whole`: the input is one sentence, nothing more.
    `is_pure`: tells if a bound depends on the node it is computed from and nothing else.
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
        self.bound_paths = BoundPaths()
        self.terminals: list[GrammarSlot] = []
        self.nonterminals: list[Nonterminal] = []
        self._slots = 0
        reachable = bodies_below(rules, start)
        for body in reachable.values():
            for expression in computed_bounds(body):
                self.bound_paths.track(expression)
        self._named = {symbol: self._nonterminal(NonTerminal(symbol)) for symbol in reachable}
        for symbol, body in reachable.items():
            self._fill(self._named[symbol], body)
        self.start = self._named[start]
        # Positions count bits only where bits occur.
        self.unit = 8 if any(slot.kind == BIT for slot in self.terminals) else 1
        self.first_follow = FirstFollow(self.nonterminals, self.terminals, self.start, self.alphabet, whole=whole)
        if self.bound_paths.paths:
            self._mark_tracked()
        self._mark_shapes()

    def _nonterminal(self, symbol: NonTerminal | None = None) -> Nonterminal:
        nonterminal = Nonterminal(symbol)
        self.nonterminals.append(nonterminal)
        return nonterminal

    def _fill(self, owner: Nonterminal, body: Expr) -> None:
        for option in _flattened(body, Choice):
            chain = [self._slot(part, owner) for part in _flattened(option, Sequence)]
            for slot, following in pairwise(chain):
                slot.following = following
            chain[-1].is_last = True
            chain[0].is_opening = len(chain) > 1
            owner.alternatives.append(chain[0])

    def _slot(self, part: Expr, owner: Nonterminal) -> GrammarSlot:
        slot = self._new_slot(CALL, owner)
        match part:
            case Ref(symbol):
                slot.target = self._named[symbol]
                slot.parties = part.parties
            case Literal() | Bit() | Pattern():
                self._fill_terminal(slot, part)
                self.terminals.append(slot)
            case Sequence() | Choice():
                slot.target = self._nonterminal()
                self._fill(slot.target, part)
            case Repeat():
                slot.target = self._repetition(part)
            case Permutation(parts):
                slot.target = self._permutation(parts)
            case _:
                assert_never(part)
        return slot

    def _new_slot(self, kind: int, owner: Nonterminal) -> GrammarSlot:
        slot = GrammarSlot(kind, owner, order=self._slots)
        self._slots += 1
        return slot

    def _fill_terminal(self, slot: GrammarSlot, part: Literal | Bit | Pattern) -> None:
        match part:
            case Literal(value):
                slot.kind = LITERAL
                slot.text = _in_buffer(value, binary=self.binary)
                slot.leaf = slot.text.encode("latin-1") if self.binary else slot.text
                slot.shown = repr(value)
            case Bit(value):
                slot.kind = BIT
                slot.leaf = slot.bit = value
                slot.shown = f"bit {value}"
            case Pattern(source):
                regex = compile_pattern(source)
                slot.kind = PATTERN
                slot.regex = regex
                slot.start = (regex.byte_automaton if self.binary else regex.automaton).start
                slot.verify = None if regex.is_plain else regex.verify
                slot.shown = show_pattern(source)
            case _:
                assert_never(part)

    def _repetition(self, part: Repeat) -> Nonterminal:
        repetition = self._nonterminal()
        least = repetition.least = self._bound(part.least)
        most = least if part.most == part.least else None if part.most is None else self._bound(part.most)
        repetition.most = most
        repetition.is_repetition = True
        repetition.bounds = (least, most) if isinstance(least, int) and not isinstance(most, Computed) else None
        slot = self._slot(part.body, repetition)
        slot.mode = REPETITION
        slot.following = slot
        repetition.alternatives.append(slot)
        return repetition

    def _bound(self, bound: int | Expression) -> int | Computed:
        return bound if isinstance(bound, int) else Computed(bound, self.bound_paths.track(bound), self._is_pure(bound))

    def _permutation(self, parts: tuple[Expr, ...]) -> Nonterminal:
        permutation = self._nonterminal()
        head = self._new_slot(HEAD, permutation)
        permutation.alternatives.append(head)
        for number, part in enumerate(parts):
            # A nonterminal of its own for each part, so that `bit` is free for the number of the part.
            slot = self._new_slot(CALL, permutation)
            slot.mode, slot.following, slot.bit = PERMUTATION, head, 1 << number
            slot.target = self._nonterminal()
            self._fill(slot.target, part)
            permutation.parts.append(slot)
        return permutation

    def _mark_tracked(self) -> None:
        last_names = {path.names[-1] for path in self.bound_paths.paths}
        called = {each: [slot.target for slot in each.slots() if slot.target] for each in self.nonterminals}
        callers = backwards(called)
        todo = [each for each in self.nonterminals if _looks_back(each) or each.symbol in last_names]
        while todo:
            nonterminal = todo.pop()
            if not nonterminal.is_tracked:
                nonterminal.is_tracked = True
                todo += callers.get(nonterminal, ())

    def _mark_shapes(self) -> None:
        for nonterminal in self.nonterminals:
            for slot in nonterminal.slots():
                slot.is_tail = slot.is_last and slot.kind == CALL and not nonterminal.is_tracked
            nonterminal.is_short = not nonterminal.is_tracked and all(map(_is_short, nonterminal.alternatives))


def _looks_back(nonterminal: Nonterminal) -> bool:
    """Return True for a repetition whose bounds are computed from the input."""
    bounds = (nonterminal.least, nonterminal.most)
    return any(isinstance(bound, Computed) and bound.path is not None for bound in bounds)


def _is_short(start: GrammarSlot) -> bool:
    following = start.following
    return start.is_last or (start.is_opening and following is not None and following.is_last)


def _flattened(body: Expr, kind: type[Choice | Sequence]) -> Iterator[Expr]:
    """The alternatives of a choice or the parts of a sequence, those of nested ones included."""
    stack = [body]
    while stack:
        here = stack.pop()
        if isinstance(here, kind):
            stack.extend(reversed(here.options if isinstance(here, Choice) else here.parts))
        else:
            yield here


def _in_buffer(value: str | bytes, *, binary: bool) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value.encode("utf-8", "surrogatepass").decode("latin-1") if binary else value
