"""A spec, compiled: the door to everything it can do.

A `Spec` never changes; matchers and makers are built when they are first needed and shared from then on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from palaver.chance import Chance
from palaver.compiled.data import as_bytes, as_data
from palaver.compiled.reading import Reading
from palaver.constraints.check import Check, compile_check, compile_goal
from palaver.constraints.select import indexed
from palaver.errors import ConversionError, Diagnostic, SpecCrash
from palaver.generation.makers import Discarded
from palaver.generation.program import Program, SpecCode, compile_program
from palaver.grammar.analyse import Analysis
from palaver.grammar.bounds import Dependence
from palaver.grammar.code import (
    SPEC_CODE_RAISES,
    Function,
    compile_expression,
    describe_crash,
    is_pure,
    raised,
    shorten,
)
from palaver.grammar.ir import Grammar
from palaver.grammar.slice import slice_parties
from palaver.matching.matcher import CompiledShape, Matcher, compile_matcher
from palaver.namespace import Namespace
from palaver.solving.fuzz import BUDGET, MAX_NODES, MAX_REPETITIONS, Fuzz
from palaver.solving.repair import Mender
from palaver.solving.sources import NoSource, Sources
from palaver.spec.ast import Expression, Rule
from palaver.trees.node import Node, same
from palaver.trees.tree import Tree

# What a part that is made anew may spend even in a tree that has spent all it may; with less it would not vary.
_FEWEST_NODES = 20

# How many values are remembered with what they were read as; then all are forgotten, and few are asked for again.
_MOST_READ = 4096


def count(value: Any) -> int:
    """A bound's value as a number of repetitions; below 0 it is none at all.

    :raises TypeError: it is no number
    :raises ValueError: it is a text that is no number
    """
    return max(0, int(value))


@dataclass(frozen=True)
class Spec:
    """A spec that can be used: to make trees, and to read them."""

    grammar: Grammar
    analysis: Analysis
    namespace: Namespace
    warnings: tuple[Diagnostic, ...] = ()
    python: tuple[ast.Module, ...] = ()  # the spec's own code, by file
    # What has been built so far.
    _programs: dict[int, Program] = field(default_factory=dict, init=False, repr=False, compare=False)
    _shapes: dict[str, CompiledShape] = field(default_factory=dict, init=False, repr=False, compare=False)
    _bound_functions: dict[Expression, Function] = field(default_factory=dict, init=False, repr=False, compare=False)
    # Generators and equations ask for the same few values again and again.
    _read: dict[tuple[str, str | bytes], Node | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def start(self) -> str:
        """The symbol everything starts from, with its brackets."""
        return self.grammar.start

    @property
    def python_lines(self) -> int:
        """How many lines of Python the spec contains."""
        statements = (statement for module in self.python for statement in module.body)
        return sum((statement.end_lineno or statement.lineno) - statement.lineno + 1 for statement in statements)

    @cached_property
    def is_binary(self) -> bool:
        """Whether what this spec describes is bytes rather than text."""
        return self.analysis.is_binary

    # --- making ------------------------------------------------------------------------------------------------------

    def fuzz(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        max_nodes: int = MAX_NODES,
        max_repetitions: int = MAX_REPETITIONS,
        budget: int = BUDGET,
        initial: Iterable[str | bytes | Tree] = (),
    ) -> Fuzz:
        """`n` different trees (without end if None), each satisfying every constraint.

        The same seed gives the same trees. `initial` inputs come first, as far as they conform. When the budget of
        checks is spent before `n` trees were found, the iteration ends and `shortfall` on what this returns says why.

        :raises Unsolvable: while iterating, if not even one tree was found
        :raises SpecCrash: while iterating, if a generator of the spec raised
        """
        chance = Chance.fresh() if seed is None else Chance(seed)
        take_turn = partial(self.namespace.take, self.namespace.turn(chance))
        program = self._program(max_repetitions)
        first = (tree for data in initial if (tree := next(self.parses(data), None)) is not None)
        mender = self._mender(program, chance, max_nodes)
        make = partial(program.make_tree, self.start, chance / "fuzz", nodes=max_nodes)
        return Fuzz(n, make, mender, chance / "choose", self._goals, first, take_turn, budget=budget)

    def _program(self, max_repetitions: int) -> Program:
        if max_repetitions not in self._programs:
            code = SpecCode(self._bound_or_discard, self._generate)
            self._programs[max_repetitions] = compile_program(
                self.grammar, self.analysis.sizes, code, binary=self.is_binary, most=max_repetitions
            )
        return self._programs[max_repetitions]

    def _mender(self, program: Program, chance: Chance, max_nodes: int) -> Mender:
        remake = chance / "mend"

        def make(symbol: str, above: tuple[str, ...], given: Mapping[str, Node], elsewhere: int) -> Node:
            # What is mended again and again must not grow again and again.
            nodes = max(_FEWEST_NODES, max_nodes - elsewhere)
            return program.make(symbol, remake, nodes=nodes, above=above, pins=given)

        rules = self.grammar.rules
        names, dependence = self.namespace.names, Dependence(self.analysis)
        return Mender(
            self.checks, names, make, self._made_as, lambda symbol: rules[symbol].generator is not None, dependence
        )

    def _generate(self, rule: Rule, sources: tuple[Node, ...]) -> Node:
        """What a rule's generator makes of its arguments, read as the rule's symbol."""
        generator = rule.generator
        assert generator is not None, "only rules with a generator come here"
        arguments = dict(zip(self.analysis.arguments[rule.symbol], sources, strict=True))
        try:
            value = self._generators[rule.symbol](*(Tree(arguments[each.path.base]) for each in generator.mentions))
        except SPEC_CODE_RAISES as error:
            raise SpecCrash(describe_crash(f"the generator of {rule.symbol}", generator, error)) from error
        try:
            node = self.read_as(rule.symbol, value)
        except (TypeError, ConversionError) as error:
            raise SpecCrash(describe_crash(f"the generator of {rule.symbol}", generator, error)) from error
        if node is None:
            raise Discarded(f"the generator of {rule.symbol} gave {shorten(value)}, which its rule does not match")
        return node

    def _made_as(self, symbol: str, value: Any) -> Node | None:
        """`value` read as `symbol`; None if it is no such thing.

        If the symbol's generator can make it, then with the sources that it makes it from.
        """
        try:
            node = self.read_as(symbol, value)
        except (TypeError, ConversionError):
            return None
        rule = self.grammar.rules[symbol]
        if node is None or not self.analysis.arguments[symbol]:
            return node
        try:
            recovered = self.sources.recover(node)
            again = self._generate(rule, recovered.sources)
        except (NoSource, Discarded, SpecCrash):
            return node
        return recovered if same(again, node) else node

    @cached_property
    def _generators(self) -> dict[str, Function]:
        return {
            rule.symbol: compile_expression(rule.generator, self.namespace.names)
            for rule in self.grammar.rules.values()
            if rule.generator is not None
        }

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The constraints, ready to be asked."""
        names = self.namespace.names
        return tuple(compile_check(constraint, self.analysis, names) for constraint in self.grammar.constraints)

    @cached_property
    def _goals(self) -> tuple[Callable[[Tree], float], ...]:
        return tuple(compile_goal(goal, self.analysis, self.namespace.names) for goal in self.grammar.goals)

    # --- reading -----------------------------------------------------------------------------------------------------

    def parse(self, data: str | bytes | int | Tree, *, reference: bool = False) -> Tree:
        """The first derivation of `data` that satisfies every constraint.

        With `reference`, the general matcher reads alone, without the faster roads. The answer is the same.

        :raises Rejected: there is none; tells where the input goes wrong and what was expected
        """
        reading = Reading(self, data, reference=reference)
        for tree in reading:
            return tree
        raise reading.rejection()

    def parses(
        self, data: str | bytes | int | Tree, *, prefix: bool = False, reference: bool = False
    ) -> Iterator[Tree]:
        """Every derivation of `data` that satisfies every constraint, lazily.

        With `prefix`, also the partial ones of what could still become a whole input. `reference` as for `parse`.
        """
        return iter(Reading(self, data, prefix=prefix, reference=reference))

    def matcher(
        self,
        symbol: str | None = None,
        *,
        binary: bool | None = None,
        whole: bool = True,
        lazy: bool = True,
        reference: bool = False,
    ) -> Matcher:
        """A matcher for one symbol (the start symbol if None); constraints are not its business.

        The options are those of `CompiledShape.matcher`.
        """
        symbol = self.start if symbol is None else symbol
        if symbol not in self._shapes:
            self._shapes[symbol] = compile_matcher(
                self.grammar.bodies,
                symbol,
                bound=self._bound,
                is_pure=lambda expression: is_pure(expression, self.namespace.names),
            )
        return self._shapes[symbol].matcher(binary=binary, whole=whole, lazy=lazy, reference=reference)

    def read_as(self, symbol: str, value: Any) -> Node | None:
        """The first derivation of a value as `symbol`, constraints aside; None if there is none.

        :raises TypeError: the value is neither text nor bytes nor a number nor a tree
        :raises ConversionError: it cannot be written as text or bytes
        """
        data = as_data(value)
        if isinstance(data, str) and self.is_binary:
            data = as_bytes(data)
        key = (symbol, data)
        if key not in self._read:
            if len(self._read) > _MOST_READ:
                self._read.clear()
            matcher = self.matcher(symbol, binary=self.is_binary)
            matcher.finish(data)
            self._read[key] = next(matcher.trees(), None)
        return self._read[key]

    @cached_property
    def sources(self) -> Sources:
        """Finds again what generated parts were made from."""
        return Sources(self.analysis, self._generators, self.read_as)

    def _bound(self, expression: Expression, node: Node | None) -> int:
        function = self._bounds(expression)
        if node is None:
            return count(function())
        return count(function(indexed(Tree(node), expression.mentions[0].path)))

    def _bound_or_discard(self, expression: Expression, node: Node | None) -> int:
        try:
            return self._bound(expression, node)
        except SPEC_CODE_RAISES as error:  # a field that is no number, say
            raise Discarded(f"the bound {{{expression.text}}} {raised(error)}") from error

    def _bounds(self, expression: Expression) -> Function:
        if expression not in self._bound_functions:
            self._bound_functions[expression] = compile_expression(expression, self.namespace.names)
        return self._bound_functions[expression]

    # --- other views -------------------------------------------------------------------------------------------------

    def for_parties(self, parties: Sequence[str]) -> Spec:
        """The same spec with only the messages that these parties send."""
        grammar = slice_parties(self.grammar, parties)
        return replace(self, grammar=grammar, analysis=Analysis(grammar))
