"""Grammar expressions as steps that the chart can run, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

from palaver.grammar.charset import BYTES, EVERY
from palaver.grammar.ir import bodies_below, computed_bounds
from palaver.grammar.regex import compile_pattern
from palaver.grammar.show import show_pattern
from palaver.matching.edges import Edges, reach_of
from palaver.matching.steps import (
    BIT,
    CALL,
    HEAD,
    LITERAL,
    PATTERN,
    PERMUTATION,
    REPETITION,
    Computed,
    Nonterminal,
    Step,
)
from palaver.matching.trails import Trails
from palaver.spec.ast import Bit, Choice, Expr, Expression, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.trees.node import Node, NonTerminal, Parties

# Computes a bound from the node that the path in it selects, its trailing indices not yet applied.
BoundEvaluator: TypeAlias = Callable[[Expression, Node | None], int]


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
        self.edges = Edges(self.nonterminals, self.terminals, self.start, self.alphabet, whole=whole)
        if self.trails.paths:
            self._mark_tracked()
        self._mark_shapes()

    # --- Building ---------------------------------------------------------------------------------------------------

    def _nonterminal(self, symbol: NonTerminal | None = None) -> Nonterminal:
        nonterminal = Nonterminal(symbol)
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

    # --- What computed bounds have nothing to do with ----------------------------------------------------------------

    def _mark_tracked(self) -> None:
        last_names = {path.names[-1] for path in self.trails.paths}
        matters = 0
        for number, nonterminal in enumerate(self.nonterminals):
            if _looks_back(nonterminal) or nonterminal.symbol in last_names:
                matters |= 1 << number
        reach = reach_of(self.nonterminals, _called_by)
        for number, nonterminal in enumerate(self.nonterminals):
            nonterminal.is_tracked = bool((reach[number] | 1 << number) & matters)

    def _mark_shapes(self) -> None:
        for nonterminal in self.nonterminals:
            for step in nonterminal.steps():
                step.is_tail = step.is_last and step.kind == CALL and not nonterminal.is_tracked
            nonterminal.is_short = not nonterminal.is_tracked and all(map(_is_short, nonterminal.alternatives))


def _looks_back(nonterminal: Nonterminal) -> bool:
    """Whether it is a repetition whose bounds are computed from something that was read."""
    bounds = (nonterminal.least, nonterminal.most)
    return any(isinstance(bound, Computed) and bound.path is not None for bound in bounds)


def _called_by(nonterminal: Nonterminal) -> Iterator[Nonterminal]:
    return (step.target for step in nonterminal.steps() if step.target is not None)


def _is_short(start: Step) -> bool:
    following = start.following
    return start.is_last or (start.is_opening and following is not None and following.is_last)


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


def _in_buffer(value: str | bytes, *, binary: bool) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value.encode("utf-8", "surrogatepass").decode("latin-1") if binary else value
