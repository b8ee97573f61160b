"""A compiled spec: it generates, parses and validates; matchers and makers are built when first needed, and shared."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import palaver.spec.ast as syntax
from palaver.compiled.compiled_limits import MAX_CACHED_VALUES
from palaver.compiled.data import as_bytes, as_data
from palaver.compiled.reading import Reading, message_readings
from palaver.constraints.checks import Check, CompiledObjective, compile_check
from palaver.constraints.code_uses import functions_defined_in
from palaver.constraints.node_selectors import indexed
from palaver.errors import ConversionError, Diagnostic, SpecCrash, Undecided
from palaver.generation.makers import Discarded, SpecCode
from palaver.generation.tree_maker import TreeMaker, compile_tree_maker
from palaver.grammar.analysis import Analysis
from palaver.grammar.ir import Grammar
from palaver.grammar.lowering import slice_messages, slice_parties
from palaver.lean_dataclasses import dataclass, replace
from palaver.namespace import Namespace
from palaver.random_source import RandomSource
from palaver.regular.language import Language, Unit, packed
from palaver.solving.generator_sources import NoSource, Sources
from palaver.solving.solver_factory import Solutions, SolverFactory
from palaver.solving.solving_limits import (
    BUDGET,
    DEFAULT_RATES,
    MAX_NODES,
    MAX_REPETITIONS,
    EvolutionRates,
    SolvingLimits,
)
from palaver.source import Source
from palaver.spec.ast import Bit, Expr, Expression, Ref, Rule, Selector
from palaver.spec.python_code import (
    SPEC_CODE_RAISES,
    SpecFunction,
    compile_expression,
    crash_diagnostic,
    describe_error,
    is_pure,
    short_repr,
)
from palaver.spec.spec_files import Parameter, ParameterValue
from palaver.spec.traversal import computed_bounds, step_symbols
from palaver.trees.node import Node, NonTerminal, same_structure
from palaver.trees.tree import Tree

# Parsers are imported when something is read: a spec that only generates does without them.
if TYPE_CHECKING:
    from palaver.compiled.bounded_rules import BoundedRules
    from palaver.matching.forecaster import Forecaster
    from palaver.matching.matcher import CompiledMatcher, LengthBounds, Matcher


def count(value: Any) -> int:
    """A bound's value as a number of repetitions, at least 0. :raises TypeError, ValueError: it is not a number"""
    return max(0, int(value))


@dataclass(frozen=True)
class SpecOrigin:
    """Everything that a spec was made of, included files first: enough to load it again where its files are gone."""

    sources: tuple[Source, ...] = ()
    constraints: tuple[str, ...] = ()
    start: str = "<start>"
    has_library: bool = True
    parameters: tuple[tuple[str, ParameterValue], ...] = ()  # those that a user has set


@dataclass(frozen=True)
class Spec:
    """A spec that can be used: to generate trees, and to parse them."""

    grammar: Grammar
    analysis: Analysis
    namespace: Namespace
    warnings: tuple[Diagnostic, ...] = ()
    python: tuple[ast.Module, ...] = ()  # the spec's own code, by file
    origin: SpecOrigin = field(default=SpecOrigin(), repr=False, compare=False)
    parameters: Mapping[str, Parameter] = field(default_factory=dict, repr=False, compare=False)  # by name, in small
    # Built when they are first needed.
    _programs: dict[tuple[int, frozenset[str]], TreeMaker] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _shapes: dict[tuple[str, bool], CompiledMatcher] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _bound_functions: dict[Expression, SpecFunction] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    # Generators and equations ask for the same few values again and again.
    _read: dict[tuple[str, str | bytes], Node | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def start(self) -> str:
        """The start symbol, with its brackets."""
        return self.grammar.start

    @property
    def python_lines(self) -> int:
        """The number of lines of Python in the spec."""
        statements = (statement for module in self.python for statement in module.body)
        return sum((statement.end_lineno or statement.lineno) - statement.lineno + 1 for statement in statements)

    @cached_property
    def is_binary(self) -> bool:
        """True if this spec describes bytes rather than text."""
        return self.analysis.is_binary

    def fuzz(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        max_nodes: int = MAX_NODES,
        max_repetitions: int = MAX_REPETITIONS,
        budget: int = BUDGET,
        rates: EvolutionRates = DEFAULT_RATES,
        initial: Iterable[str | bytes | Tree] = (),
    ) -> Solutions:
        """`n` different trees (without end if None), each satisfying every constraint.

        The same seed gives the same trees. `initial` inputs come first, as far as they conform. When the budget of
        steps is spent before another tree was found, the iteration ends and `shortfall` on what this returns says why.
        `rates` are those of the evolution that searches where nothing better is known.

        :raises Unsolvable: while iterating, if not even one tree was found
        :raises SpecCrash: while iterating, if a generator of the spec raised
        """
        chance = RandomSource.fresh() if seed is None else RandomSource(seed)
        take_turn = partial(self.namespace.take, self.namespace.turn(chance))
        first = (tree for data in initial if (tree := self._first_tree(data)) is not None)
        limits = SolvingLimits(max_nodes, max_repetitions, budget, rates)
        solver = self.solver_factory.solver(self.grammar.constraints, chance, chance / "fuzz", limits)
        optimizer = self.solver_factory.optimizer(
            self._objectives, self.grammar.constraints, chance / "optimise", limits
        )
        return Solutions(n, solver, optimizer, first, take_turn, partial(self._explain, limits))

    def _explain(self, limits: SolvingLimits, ended: Solutions) -> str:
        """The reason why no more trees were found."""
        from palaver.solving.explanation import Explainer

        return Explainer(self.solver_factory, self.grammar.constraints, limits).explain(ended)

    @cached_property
    def solver_factory(self) -> SolverFactory:
        """The factory of solvers for the constraints."""
        names = self.namespace.names
        makers = self._program, self._generate_again, self._made_as, self._read_bits
        return SolverFactory(self.analysis, names, self.python, *makers)

    def _program(self, max_repetitions: int, fields: frozenset[str]) -> TreeMaker:
        key = (max_repetitions, fields)
        if key not in self._programs:
            code = SpecCode(self._bound_or_discard, self._generate)
            self._programs[key] = compile_tree_maker(
                self.grammar,
                self.analysis.sizes,
                code,
                binary=self.is_binary,
                most=max_repetitions,
                fields=fields,
                values=frozenset(self.analysis.value_symbols),
                is_shallow=self.analysis.is_shallow,
            )
        return self._programs[key]

    def _generate(
        self, rule: Rule, sources: tuple[Node, ...], before: Mapping[Selector, Node] = MappingProxyType({})
    ) -> Node:
        """The result of a rule's generator for its arguments, parsed as the rule's symbol, after what came `before`."""
        generator = rule.generator
        assert generator is not None, "only rules with a generator come here"
        arguments = dict(zip(self.analysis.arguments[rule.symbol], sources, strict=True))
        try:
            value = self._generators[rule.symbol](*(Tree(arguments[each.path.base]) for each in generator.mentions))
        except SPEC_CODE_RAISES as error:
            raise SpecCrash(crash_diagnostic(f"the generator of {rule.symbol}", generator, error)) from error
        try:
            looks_back = before and rule.symbol in self._counted_by_others
            history = [_standing_alone(path, node) for path, node in before.items()] if looks_back else ()
            node = self.read_as(rule.symbol, value, history)
        except (TypeError, ConversionError) as error:
            raise SpecCrash(crash_diagnostic(f"the generator of {rule.symbol}", generator, error)) from error
        if node is None:
            raise Discarded(
                f"the generator of {rule.symbol} returned {short_repr(value)}, which does not match its rule"
            )
        return node

    @cached_property
    def _counted_by_others(self) -> frozenset[str]:
        """The symbols with repetitions inside that are counted by a field, which may be outside."""
        rules = self.grammar.rules.items()
        counted = {name for name, rule in rules if any(bound.mentions for bound in computed_bounds(rule.body))}
        inside = self.analysis.below_including_sources
        return frozenset(name for name, _ in rules if not counted.isdisjoint({name} | inside(name)))

    def _generate_again(self, symbol: str, sources: tuple[Node, ...]) -> Node:
        """The result of a symbol's generator for other sources; if it fails, it is discarded."""
        try:
            return self._generate(self.grammar.rules[symbol], sources)
        except SpecCrash as crash:
            raise Discarded(crash.diagnostic.message) from crash

    def _made_as(self, symbol: str, value: Any) -> Node | None:
        """`value` parsed as `symbol`, with its sources if the generator can make it; None if it cannot be parsed."""
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
        return recovered if same_structure(again, node) else node

    @cached_property
    def _generators(self) -> dict[str, SpecFunction]:
        return {
            rule.symbol: compile_expression(rule.generator, self.namespace.names)
            for rule in self.grammar.rules.values()
            if rule.generator is not None
        }

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The compiled constraints."""
        names = self.namespace.names
        return tuple(compile_check(constraint, self.analysis, names) for constraint in self.grammar.constraints)

    @cached_property
    def remarks(self) -> tuple[Check, ...]:
        """The compiled constraints that have a note."""
        names = self.namespace.names
        return tuple(compile_check(constraint, self.analysis, names) for constraint in self.grammar.remarks)

    @cached_property
    def _objectives(self) -> tuple[CompiledObjective, ...]:
        return tuple(CompiledObjective(each, self.analysis, self.namespace.names) for each in self.grammar.objectives)

    def parse(self, data: str | bytes | int | Tree, *, reference: bool = False) -> Tree:
        """The first derivation of `data` that satisfies every constraint.

        With `reference`, only the Earley parser is used, without its fast paths. The result is the same.

        :raises Rejected: there is none; tells where the input is wrong and what was expected
        :raises Undecided: it takes too much work to find out
        """
        reading = Reading(self, data, reference=reference)
        for tree in reading:
            return tree
        raise reading.rejection()

    def _first_tree(self, data: str | bytes | Tree) -> Tree | None:
        """The first derivation of an input that satisfies every constraint, if one is found."""
        try:
            return next(self.parses(data), None)
        except Undecided:
            return None

    def parses(
        self, data: str | bytes | int | Tree, *, prefix: bool = False, reference: bool = False
    ) -> Iterator[Tree]:
        """Every derivation of `data` that satisfies every constraint, lazily.

        With `prefix`, also the partial ones of what could still become a whole input. `reference` as for `parse`.

        :raises Undecided: while iterating, if it takes too much work to find them all
        """
        return iter(Reading(self, data, prefix=prefix, reference=reference))

    def validate(self, tree: Tree) -> None:
        """Parse the serialised tree again.

        If it has too many derivations to try, the tree itself is the proof that there is one.

        :raises Rejected: it does not conform
        :raises Undecided: its text was not read to the end, and the tree itself is no proof
        """
        try:
            reading = Reading(self, tree)
            for _ in reading:
                return
        except Undecided:
            if any(check.failure(tree) is not None for check in self.checks):
                raise
            return
        raise reading.rejection()

    def matcher(
        self,
        symbol: str | None = None,
        *,
        binary: bool | None = None,
        whole: bool = True,
        history: Sequence[Node] = (),
        lazy: bool = True,
        reference: bool = False,
        bounded: bool = False,
    ) -> Matcher:
        """A matcher for one symbol (None: the start symbol); see `CompiledMatcher.matcher`, and `shape`."""
        shape = self.shape(self.start if symbol is None else symbol, bounded=bounded)
        return shape.matcher(binary=binary, whole=whole, history=history, lazy=lazy, reference=reference)

    def shape(self, symbol: str, *, bounded: bool = False) -> CompiledMatcher:
        """The compiled matcher of a symbol, which gives a fresh matcher for each input.

        It knows nothing of constraints, unless it is `bounded`: then lengths that constraints decide bound it.
        """
        shape = self._shapes.get((symbol, bounded))
        if shape is None:
            if bounded and self.bounded_rules.bounds and symbol in self.grammar.rules:
                shape = self._shape(symbol, self.bounded_rules.bodies, self.bounded_rules.lengths)
            else:
                shape = self.shape(symbol) if bounded else self._shape(symbol, self.grammar.bodies_with_beyond)
            self._shapes[symbol, bounded] = shape
        return shape

    def _shape(self, symbol: str, bodies: Mapping[str, Expr], lengths: LengthBounds | None = None) -> CompiledMatcher:
        from palaver.matching.matcher import NO_LENGTH_BOUNDS, compile_matcher

        names = self.namespace.names
        return compile_matcher(
            bodies,
            symbol,
            bound=self._length if lengths is not None and lengths.bounds else self._bound,
            is_pure=lambda expression: is_pure(expression, names),
            lengths=NO_LENGTH_BOUNDS if lengths is None else lengths,
        )

    @cached_property
    def bounded_rules(self) -> BoundedRules:
        """The rules with the lengths that the constraints decide."""
        from palaver.compiled.bounded_rules import BoundedRules, bounded_rules
        from palaver.compiled.length_equations import length_equations

        functions = functions_defined_in(self.python)
        equations = list(length_equations(self.grammar.constraints, self.analysis, self.namespace.names, functions))
        return bounded_rules(equations, self.analysis) if equations else BoundedRules(self.grammar.bodies)

    def read_as(self, symbol: str, value: Any, history: Sequence[Node] = ()) -> Node | None:
        """The first derivation of a value as `symbol`, constraints aside; None if there is none within the limits.

        `history` are the earlier trees that computed repetitions look back at.

        :raises TypeError: the value is neither text nor bytes nor a number nor a tree
        :raises ConversionError: it cannot be written as text or bytes
        """
        data = as_data(value)
        if isinstance(data, str) and self.is_binary:
            data = as_bytes(data)
        if history:
            return self._first_reading(symbol, data, history)
        key = (symbol, data)
        if key not in self._read:
            if len(self._read) > MAX_CACHED_VALUES:
                self._read.clear()
            self._read[key] = self._first_reading(symbol, data)
        return self._read[key]

    def _first_reading(self, symbol: str, data: str | bytes, history: Sequence[Node] = ()) -> Node | None:
        matcher = self.matcher(symbol, binary=self.is_binary, history=history)
        try:
            matcher.finish(data)
            return next(matcher.trees(), None)
        except Undecided:
            return None

    def random_node(self, symbol: str, chance: RandomSource, nodes: int, repetitions: int) -> Node:
        """A random node of a symbol, whatever the constraints say. :raises Discarded: there is none this time"""
        return self._program(repetitions, frozenset()).make(symbol, chance, nodes=nodes)

    def random_tree(self, symbol: str, chance: RandomSource, *, is_smallest: bool = False) -> Node | None:
        """A random tree of `symbol`, or one with the shortest alternatives and the fewest rounds, constraints aside."""
        most, nodes = (0, 0) if is_smallest else (MAX_REPETITIONS, MAX_NODES)
        try:
            return self._program(most, frozenset()).make(symbol, chance, nodes=nodes)
        except (Discarded, SpecCrash):
            return None

    def tree_with(self, part: Node, symbol: str, chance: RandomSource, history: Sequence[Node] = ()) -> Node | None:
        """A random tree of `symbol` with a part that a repetition in it counts by, constraints aside."""
        try:
            pins: dict[str, Node] = {part.symbol: part}
            program = self._program(MAX_REPETITIONS, frozenset())
            return program.make(symbol, chance, nodes=MAX_NODES, history=history, pins=pins)
        except (Discarded, SpecCrash):
            return None

    def readings(self, symbol: str, data: bytes, history: Sequence[Node] = ()) -> Iterator[Node]:
        """The derivations of a whole message as `symbol`, constraints aside, with the sources of generated parts.

        `history` are the earlier messages that computed repetitions look back at.
        """
        return message_readings(self, symbol, data, history)

    def read_word(self, symbol: str, language: Language, word: str) -> Node | None:
        """A word of the language of a symbol, read as that symbol; None if it cannot be read so."""
        if language.unit is Unit.BITS:
            return self._read_bits(symbol, word)
        return self.read_as(symbol, language.spell(word))

    def _read_bits(self, symbol: str, bits: str) -> Node | None:
        """A string of 0 and 1 parsed as `symbol`; they need not fill whole bytes."""
        data, zeros = packed(bits)
        padded = syntax.Sequence((Ref(symbol), *(Bit(0) for _ in range(zeros))))
        name = f"<{zeros} bits behind {symbol}>"
        key = name, False
        if key not in self._shapes:
            self._shapes[key] = self._shape(name, {**self.grammar.bodies, name: padded})
        matcher = self._shapes[key].matcher(binary=True)
        matcher.finish(data)
        tree = next(matcher.trees(), None)
        return None if tree is None else cast(Node, tree.children[0])

    @cached_property
    def sources(self) -> Sources:
        """The inverses of generators, which recover the sources of generated parts."""
        return Sources(self.analysis, self._generators, self.read_as)

    def _bound(self, expression: Expression, node: Node | None) -> int:
        function = self._bounds(expression)
        if node is None:
            return count(function())
        return count(function(indexed(Tree(node), expression.mentions[0].path)))

    def _length(self, expression: Expression, node: Node | None) -> int:
        """The value of a bound in the grammar, or of a side of an equation. :raises TypeError: it is no whole number"""
        if expression not in self._length_values:
            return self._bound(expression, node)
        if node is None:
            raise TypeError("an equation is about a field")
        nodes = node.children if len(expression.mentions) > 1 else (node,)
        fields = zip(nodes, expression.mentions, strict=True)
        value = self._bounds(expression)(*(indexed(Tree(each), mention.path) for each, mention in fields))
        if not isinstance(value, int):
            raise TypeError(f"{short_repr(value)} is no length")
        return value

    @cached_property
    def _length_values(self) -> frozenset[Expression]:
        return frozenset(bound.expression for bound in self.bounded_rules.bounds.values())

    def _bound_or_discard(self, expression: Expression, node: Node | None) -> int:
        try:
            return self._bound(expression, node)
        except SPEC_CODE_RAISES as error:  # such as a field that is not a number
            raise Discarded(f"the bound {{{expression.text}}} {describe_error(error)}") from error

    def _bounds(self, expression: Expression) -> SpecFunction:
        if expression not in self._bound_functions:
            self._bound_functions[expression] = compile_expression(expression, self.namespace.names)
        return self._bound_functions[expression]

    def for_parties(self, parties: Sequence[str]) -> Spec:
        """The same spec with only the messages that these parties send."""
        grammar = slice_parties(self.grammar, parties)
        return replace(self, grammar=grammar, analysis=Analysis(grammar))

    def seen_by(self, parties: Collection[str]) -> Spec:
        """The same spec without messages that none of these parties sends or receives."""
        if all(_concerns(message, parties) for message in self.analysis.messages):
            return self
        grammar = slice_messages(self.grammar, lambda message: _concerns(message, parties))
        return replace(self, grammar=grammar, analysis=Analysis(grammar))

    def forecaster(self, distinguish: Collection[str] = (), alternative: Expr | None = None) -> Forecaster:
        """The forecaster from the start, or an `alternative`, on; what differs in `distinguish` is kept apart."""
        from palaver.matching.forecaster import Forecaster

        if alternative is not None:
            return Forecaster({**self.grammar.bodies_with_beyond, "<>": alternative}, "<>", bound=self._bound)
        return Forecaster(self.grammar.bodies, self.start, bound=self._bound, distinguish=distinguish)


def _concerns(message: Ref, parties: Collection[str]) -> bool:
    return message.sender in parties or message.recipient is None or message.recipient in parties


def _standing_alone(path: Selector, node: Node) -> Node:
    """A tree in which a path selects a node, and nothing else."""
    for symbol in reversed([path.base, *step_symbols(path)][:-1]):
        node = Node(NonTerminal(symbol), (node,))
    return node
