"""Compiler of expressions to plans (`amount_plans`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from palaver.generation.amount_plans import (
    AmountPlan,
    Attempt,
    CharactersPlan,
    ChoicePlan,
    FixedPlan,
    PatternPlan,
    RepetitionPlan,
    SequencePlan,
    SymbolAmounts,
    SymbolPlan,
)
from palaver.generation.measures import MeasuredRules
from palaver.grammar.analysis import can_be_empty
from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.regular.bitsets import BoundedSums
from palaver.regular.language import Unit
from palaver.regular.regex import (
    Alternation,
    CharacterClass,
    Concatenation,
    Regex,
    RegularExpression,
    Repetition,
    compile_pattern,
)
from palaver.regular.words import compile_draw
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.trees.node import Leaf, Node, Part
from palaver.trees.values import leaves_of


@dataclass(frozen=True)
class Usual:
    """The usual way to make everything that the measure leaves open."""

    make: Callable[[str, RandomSource], Node]  # a node of a symbol that the measure does not care about
    most: int  # what adds nothing is repeated no more often than this, if there is no other limit


class AmountPlanner:
    """Makes plans that share a sums, over symbols that share a time."""

    def __init__(
        self, rules: MeasuredRules, usual: Usual, symbols: Mapping[str, SymbolAmounts], sums: BoundedSums, unit: Unit
    ) -> None:
        self.is_exact = True  # True if the amounts of all plans so far are possible for sure
        self._rules = rules
        self._usual = usual
        self._symbols = symbols
        self._sums = sums
        self._char_size = 8 if unit is Unit.BITS else 1

    def plan(self, expr: Expr) -> AmountPlan:
        match expr:
            case Literal() | Bit():
                return self._terminal(expr)
            case Pattern():
                return self._pattern(expr)
            case Ref():
                return self._child(expr)
            case Choice(options):
                return ChoicePlan(self._weighed(options))
            case Sequence(parts):
                return SequencePlan(self._sums, self._weighed(parts), any_order=False)
            case Permutation(parts):
                return SequencePlan(self._sums, self._weighed(parts), any_order=True)
            case Repeat(body, least, most):
                assert isinstance(least, int), "no bound is computed here"
                assert most is None or isinstance(most, int), "no bound is computed here"
                if self._rules.counted is None:
                    return self._times(self.plan(body), least, most)
                is_nullable = can_be_empty(body, self._rules.nullable)
                return self._times(self.plan(body), least, most, self._usual.most, not_empty=is_nullable)
            case _:
                assert_never(expr)

    def _times(
        self, body: AmountPlan, least: int, most: int | None, extra: int | None = None, *, not_empty: bool = False
    ) -> AmountPlan:
        return RepetitionPlan(self._sums, body, least, most, extra=extra, not_empty=not_empty)

    def _weighed(self, parts: tuple[Expr, ...]) -> list[AmountPlan]:
        """Plans weighed by richness: a length is not to be filled with blanks."""
        plans = [self.plan(part) for part in parts]
        if self._rules.counted is None:
            for part, plan in zip(parts, plans, strict=True):
                if not isinstance(plan, FixedPlan):
                    plan.weight = self._rules.richness.of(part)
        return plans

    def _child(self, ref: Ref) -> AmountPlan:
        name, parties = ref.symbol, ref.parties
        if self._rules.is_expanded(name):
            is_cyclic = self._rules.counted is None and name in self._rules.cyclic
            return SymbolPlan(self._symbols[name], parties, is_cyclic)
        make = self._usual.make

        def other(attempt: Attempt) -> Part:
            node = attempt.next_kept(name) or make(name, attempt.chance)
            attempt.left -= 1 + len(leaves_of(node))
            return node if parties is None else node._replace(parties=parties)

        return FixedPlan(self._sums, int(name == self._rules.counted), other)

    def _terminal(self, expr: Literal | Bit) -> AmountPlan:
        leaf: Leaf = expr.value
        if isinstance(leaf, str) and self._rules.binary:
            leaf = leaf.encode()
        if self._rules.counted is not None:
            amount = 0
        else:
            amount = 1 if isinstance(leaf, int) else self._char_size * len(leaf)
        return FixedPlan(self._sums, amount, lambda attempt: leaf)

    def _pattern(self, pattern: Pattern) -> AmountPlan:
        regex, binary = compile_pattern(pattern.source), self._rules.binary
        if self._rules.counted is not None:
            draw = compile_draw(regex, binary=binary, most=self._usual.most)
            return FixedPlan(self._sums, 0, lambda attempt: draw(attempt.chance))
        if not regex.is_plain:
            self.is_exact = False
        expression = regex.expression(self._rules.alphabet)
        inner = ChoicePlan([]) if expression is None else self._expression(expression)
        return PatternPlan(inner, lambda text, attempt: _checked(text, regex, binary, attempt))

    def _expression(self, expression: RegularExpression) -> AmountPlan:
        match expression:
            case CharacterClass(chars):
                return CharactersPlan(self._sums, chars, 1, 1, self._char_size)
            case Repetition(CharacterClass(chars), least, most):
                return CharactersPlan(self._sums, chars, least, most, self._char_size)
            case Repetition(body, least, most):
                return self._times(self._expression(body), least, most)
            case Alternation(options):
                return ChoicePlan([self._expression(option) for option in options])
            case Concatenation(parts):
                return SequencePlan(self._sums, [self._expression(part) for part in parts], any_order=False)
            case _:
                assert_never(expression)


def _checked(text: Callable[[], str], regex: Regex, binary: bool, attempt: Attempt) -> Leaf:
    drawn = text()
    while not (regex.is_plain or regex.matches(drawn)):
        attempt.try_again()
        drawn = text()
    return drawn.encode("latin-1") if binary else drawn
