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
    Advice,
    Computed,
    GrammarSlot,
    Nonterminal,
)
from palaver.matching.length_bounds import NO_LENGTH_BOUNDS, BoundMeasure, LengthBound, LengthBounds
from palaver.regular.charset import BYTES, EVERY
from palaver.regular.regex import compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Expression, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.spec.traversal import computed_bounds, last_symbol
from palaver.trees.node import Node, NonTerminal

# Computes a bound from the node that the path in it selects, its trailing indices not yet applied (see `together`).
BoundEvaluator: TypeAlias = Callable[[Expression, Node | None], int]


class GrammarTables:
    """A grammar compiled for one kind of input.

    `binary`: the buffer holds bytes as the characters up to U+00FF. `whole`: the input is one sentence, nothing more.
    `is_pure`: tells if a bound depends on the node it is computed from and nothing else. `lengths`: bounds of
    constraints.
    """

    def __init__(
        self,
        rules: Mapping[str, Expr],
        start: str,
        *,
        binary: bool,
        whole: bool,
        is_pure: Callable[[Expression], bool] = lambda _: False,
        lengths: LengthBounds = NO_LENGTH_BOUNDS,
    ) -> None:
        self.binary = binary
        self.has_limits = False  # True if the length of some rule is bounded
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
        stated_paths = len(self.bound_paths.paths)
        self._named = {name: self._nonterminal(_node_symbol(name, lengths)) for name in reachable}
        for name, body in reachable.items():
            self._fill(self._named[name], body)
            bound = lengths.bounds.get(name)
            if bound is not None and all(last_symbol(each.path) in reachable for each in bound.expression.mentions):
                self._limit(self._named[name], bound)
                if bound.is_local:
                    self._keep_inside(bound.expression, stated_paths)
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

    def _keep_inside(self, expression: Expression, stated_paths: int) -> None:
        """Let a path be forgotten at the end of the node that it begins at, if no bound of the grammar follows it."""
        paths = [path for path in self.bound_paths.track_each(expression) if path >= stated_paths]
        for rule in self._named.values():
            if rule.symbol == expression.mentions[0].path.base:
                rule.own_paths = tuple(dict.fromkeys((*rule.own_paths, *paths)))

    def _limit(self, rule: Nonterminal, bound: LengthBound) -> None:
        """Give a rule the bound that a constraint puts on its length, or on the rounds of its repetition."""
        expression = bound.expression
        paths, is_pure = self.bound_paths.track_each(expression), self._is_pure(expression)
        if bound.measure is not BoundMeasure.ROUNDS:
            advice = Advice(bound.minus, bound.divisor, bound.rounding, (0, None))
            rule.length = Computed(expression, paths, is_pure, advice=advice)
            rule.is_total = bound.measure is BoundMeasure.TOTAL
            rule.is_encoded = bound.is_encoded
            self.has_limits = True
            return
        (slot,) = rule.alternatives
        repetition = slot.target
        assert repetition is not None  # only rules that are a repetition have this bound
        assert repetition.bounds is not None
        advice = Advice(bound.minus, bound.divisor, bound.rounding, repetition.bounds)
        repetition.least = repetition.most = Computed(expression, paths, is_pure, advice=advice)
        repetition.bounds = None

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
        if isinstance(bound, int):
            return bound
        path = self.bound_paths.track(bound)
        return Computed(bound, () if path is None else (path,), self._is_pure(bound))

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
                is_free = not nonterminal.is_tracked and not self.has_limits
                slot.is_tail = slot.is_last and slot.kind == CALL and is_free
            nonterminal.is_short = not nonterminal.is_tracked and all(map(_is_short, nonterminal.alternatives))


def _node_symbol(name: str, lengths: LengthBounds) -> NonTerminal | None:
    symbol = lengths.symbols.get(name, name)
    return None if symbol is None else NonTerminal(symbol)


def _looks_back(nonterminal: Nonterminal) -> bool:
    """Return True for a rule or repetition whose bounds are computed from the input."""
    bounds = (nonterminal.least, nonterminal.most, nonterminal.length)
    return any(isinstance(bound, Computed) and bound.paths for bound in bounds)


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
