"""The solver factory: all that solving needs to know about one spec, and solvers made from it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property, partial
from itertools import count
from typing import Any, Protocol

from palaver.constraints.checks import Check, CompiledObjective, compile_check
from palaver.constraints.code_uses import functions_defined_in, reassigned_globals
from palaver.constraints.distance import Fitness, compile_distance
from palaver.generation.generation_limits import MAX_SHALLOW_PARTS
from palaver.generation.makers import FieldMakers, MakeField, MakeNode, Steering, ValueSource, smaller
from palaver.generation.measured_derivations import Measure, MeasuredDerivations
from palaver.generation.tree_maker import TreeMaker
from palaver.grammar.analysis import Analysis, BoundDependence
from palaver.grammar.symbol_languages import Languages
from palaver.lean_dataclasses import dataclass, replace
from palaver.random_source import RandomSource
from palaver.solving.assignment import Assigner
from palaver.solving.constrained_fields import ConstrainedField
from palaver.solving.construction import Constructor
from palaver.solving.copied_values import ValueCopier
from palaver.solving.counting_fields import counting_domains
from palaver.solving.domains import Domain
from palaver.solving.invertible_views import ViewReader
from palaver.solving.memetic_search import MemeticSearch, StepBudget
from palaver.solving.nested_nodes import NestedNodes
from palaver.solving.optimisation import Optimizer
from palaver.solving.placement import Placing
from palaver.solving.solutions import Solutions
from palaver.solving.solver import Solver, SolverParts
from palaver.solving.solving_limits import (
    MAX_OPTIMISATION_STEPS,
    MAX_REPETITIONS,
    MIN_RENEWED_NODES,
    STEPS_BEFORE_SMALLER_TREES,
    EvolutionRates,
    SolvingLimits,
)
from palaver.solving.solving_plan import ConstraintPlanner, SolvingPlan
from palaver.solving.spelling import Speller
from palaver.spec.ast import Constraint
from palaver.trees.node import Node, TreePath
from palaver.trees.tree import Tree

# The types of what the factory makes, and of what is made with that, are part of this door.
__all__ = ["IncompleteTree", "Solutions", "Solver", "SolverFactory", "SolvingPlan"]


class IncompleteTree(Protocol):
    """A tree with a part missing, such as a session before our next message."""

    make: Callable[[str, tuple[Node, ...]], Node]  # makes a node of a symbol, given the history; set by the factory
    counted: Callable[[Node, str, int], Node | None]  # one like a node, with so many more nodes of a symbol; likewise
    history: tuple[Node, ...]  # the messages that computed repetitions in the part may count by

    def completed(self) -> Tree:
        """The tree with a fresh part."""

    def is_frozen(self, path: TreePath) -> bool:
        """True if the node at `path` must not change."""


@dataclass(frozen=True)
class SolverFactory:
    """Makes solvers for the constraints of one spec, or for some of them.

    `program` gives the makers of trees, by the number of repetitions and the symbols that are made otherwise;
    `generate` runs the generator of a symbol; `read` reads a value as a symbol, `read_bits` a string of 0 and 1.
    """

    analysis: Analysis
    names: dict[str, Any]
    python: Sequence[ast.Module]
    program: Callable[[int, frozenset[str]], TreeMaker]
    generate: Callable[[str, tuple[Node, ...]], Node]
    read: Callable[[str, Any], Node | None]
    read_bits: Callable[[str, str], Node | None]
    _plans: dict[tuple[tuple[Constraint, ...], int], SolvingPlan] = field(default_factory=dict, repr=False)
    # By plan and number of nodes: the domains that fields are drawn from. With the plan, so that its identity lasts.
    _domains: dict[tuple[int, int, int], tuple[SolvingPlan, dict[str, Domain]]] = field(
        default_factory=dict, repr=False
    )
    # By constraint; the key's second part is True if open nodes count as complete.
    _checks: dict[tuple[Constraint, bool], Check] = field(default_factory=dict, repr=False)
    _distances: dict[tuple[Constraint, bool], Callable[[Tree], Fitness]] = field(default_factory=dict, repr=False)

    def plan(self, constraints: Iterable[Constraint], spread: int = MAX_REPETITIONS) -> SolvingPlan:
        """The plan for these constraints, made once; unbounded fields grow by up to `spread` beyond their minimum."""
        key = (tuple(constraints), spread)
        if key not in self._plans:
            planner = ConstraintPlanner(self.analysis, self.names, self._languages, self._reader, spread)
            self._plans[key] = planner.plan(key[0])
        return self._plans[key]

    def solver(
        self,
        constraints: Sequence[Constraint],
        chance: RandomSource,
        turn: RandomSource,
        limits: SolvingLimits,
        incomplete: IncompleteTree | None = None,
        steering: Steering | None = None,
        values: ValueSource | None = None,
        presumed: frozenset[int] = frozenset(),
    ) -> Solver:
        """A solver for these constraints. `turn` makes fresh trees, `random_source` decides all else.

        With an incomplete tree, it is the missing part that is made. Fresh trees follow the steering, and may have
        known values in them. For the constraints that are `presumed`, by their places, open nodes count as complete.
        """
        plan = self.plan(constraints, limits.max_repetitions)
        budget = StepBudget(limits.budget)
        drawn = self._drawn(plan, limits)
        program = self._program_for(plan, limits)
        fields: dict[str, MakeField] = {}
        is_frozen = None if incomplete is None else incomplete.is_frozen
        measured = self._measured(limits.max_repetitions, program, fields)
        assigner = Assigner(
            self._languages, self._speller, plan.domains, self.read, self.read_bits, measured, limits.max_repetitions
        )
        for symbol, domain in drawn.items():
            fields[symbol] = ConstrainedField(symbol, domain, (), (), assigner, None, chance / symbol, budget).make
        # A field that is searched for is not made of others that are, or there might be no end.
        drawn_only, stream = dict(fields), chance / "fields"

        def searched(symbol: str) -> ConstrainedField:
            simple = self._placing(program, drawn_only, stream, limits, incomplete)
            return self._searched(symbol, plan, simple, assigner, chance / symbol, budget, limits.rates)

        for symbol in sorted(plan.filters):
            fields[symbol] = _once_wanted(partial(searched, symbol))

        def parts() -> SolverParts:
            placing = replace(self._placing(program, fields, chance / "mend", limits, incomplete), is_frozen=is_frozen)
            return self._parts(plan, constraints, presumed, placing, assigner, chance, budget, limits.rates)

        if steering is not None:
            steering.leave_out((*drawn, *sorted(self._generated)))
        start, nodes = self.analysis.grammar.start, limits.max_nodes
        attempts, counting = count(), chance / "counted"

        def size() -> int:
            return nodes if budget.spent < STEPS_BEFORE_SMALLER_TREES else smaller(nodes, next(attempts))

        def fresh() -> Tree:
            most = nodes if budget.spent < STEPS_BEFORE_SMALLER_TREES else size()
            return program.make_tree(start, turn, nodes=most, fields=fields, steering=steering, values=values)

        if incomplete is not None:
            incomplete.make = lambda symbol, history: program.make(
                symbol, turn, nodes=size(), history=history, fields=fields, steering=steering, values=values
            )
            incomplete.counted = lambda node, symbol, more: assigner.counted(Tree(node), symbol, more, counting)
        make = fresh if incomplete is None else incomplete.completed
        return Solver(make, parts, plan, budget, limits.rates)

    def _parts(
        self,
        plan: SolvingPlan,
        constraints: Sequence[Constraint],
        presumed: frozenset[int],
        placing: Placing,
        assigner: Assigner,
        chance: RandomSource,
        budget: StepBudget,
        rates: EvolutionRates,
    ) -> SolverParts:
        for equation in plan.equations:
            equation.compile()
        is_frozen = placing.is_frozen
        constructor = Constructor(plan, assigner, placing, self._reader, chance / "construct", is_frozen)
        search = MemeticSearch(
            [self.distance(constraint, every=at in presumed) for at, constraint in enumerate(constraints)],
            constructor.derive,
            placing,
            assigner,
            chance / "search",
            budget,
            {symbol: each.directions[0].read for each in plan.equations for symbol in sorted(each.written)},
            rates,
            is_frozen,
        )
        checks = [self.check(constraint, every=at in presumed) for at, constraint in enumerate(constraints)]
        copier = None
        # Where fields count others, or are computed, a copy in one place would have to change the places around it.
        if is_frozen is not None and placing.is_simple:
            copier = ValueCopier(placing, assigner, chance / "copies", is_frozen)
        return SolverParts(checks, constructor, search, copier)

    def optimizer(
        self,
        objectives: Sequence[CompiledObjective],
        constraints: Sequence[Constraint],
        chance: RandomSource,
        limits: SolvingLimits,
    ) -> Optimizer:
        """The optimizer of these objectives, among the trees that satisfy the constraints."""
        limits = replace(limits, budget=min(MAX_OPTIMISATION_STEPS, limits.budget))

        earlier: list[Constraint] = []
        streams = (chance / str(number) for number in count())

        def solver_for(bounds: Sequence[Constraint]) -> Solver:
            self._forget(earlier)
            earlier[:] = bounds
            stream = next(streams)
            return self.solver([*constraints, *bounds], stream, stream / "fuzz", limits)

        return Optimizer(objectives, solver_for)

    def _forget(self, constraints: Sequence[Constraint]) -> None:
        """Drop what is kept for constraints that do not come again."""
        for key in [key for key in self._plans if not set(constraints).isdisjoint(key[0])]:
            plan = self._plans.pop(key)
            for known in [known for known in self._domains if known[0] == id(plan)]:
                del self._domains[known]
        for constraint in constraints:
            self._checks.pop((constraint, False), None)
            self._distances.pop((constraint, False), None)

    def prepare(self, constraints: Sequence[Constraint], limits: SolvingLimits) -> list[str]:
        """Compile in advance what the first solver and its steering need; the symbols that values will be read as."""
        plan = self.plan(constraints, limits.max_repetitions)
        self._program_for(plan, limits).prepare_steering()
        for equation in plan.equations:
            equation.compile()
        for constraint in constraints:
            self.check(constraint)
        return sorted({symbol for equation in plan.equations for symbol in equation.written} | self._generated)

    def _program_for(self, plan: SolvingPlan, limits: SolvingLimits) -> TreeMaker:
        return self.program(limits.max_repetitions, frozenset(self._drawn(plan, limits)) | frozenset(plan.filters))

    def _drawn(self, plan: SolvingPlan, limits: SolvingLimits) -> dict[str, Domain]:
        """The symbols whose fields are drawn, with the domains that they are drawn from; found out once."""
        key = (id(plan), limits.max_repetitions, limits.max_nodes)
        if key not in self._domains:
            self._domains[key] = (plan, self._find_drawn(plan, limits))
        return self._domains[key][1]

    def _find_drawn(self, plan: SolvingPlan, limits: SolvingLimits) -> dict[str, Domain]:
        drawn = {symbol: plan.domains[symbol] for symbol in sorted(plan.domains) if symbol not in plan.computed}
        if not self._dependence.fields:
            return drawn

        def domain_of(symbol: str) -> Domain | None:
            language = self._languages.of(symbol)
            if symbol in plan.computed or symbol in plan.filters or symbol in self._generated or language is None:
                return None
            return drawn.get(symbol) or Domain(symbol, language, spread=limits.max_repetitions)

        return drawn | counting_domains(self.analysis, self._reader, domain_of, limits.max_nodes)

    def check(self, constraint: Constraint, *, every: bool = False) -> Check:
        """The check of a constraint, also for trees that are not finished; made once."""
        key = (constraint, every)
        if key not in self._checks:
            self._checks[key] = compile_check(constraint, self.analysis, self.names, early=not every, every=every)
        return self._checks[key]

    def distance(self, constraint: Constraint, *, every: bool = False) -> Callable[[Tree], Fitness]:
        """The distance of trees from satisfying a constraint; compiled when first called, which is often never."""

        def distance(tree: Tree) -> Fitness:
            key = (constraint, every)
            if key not in self._distances:
                self._distances[key] = compile_distance(
                    constraint, self.analysis, self.names, self._functions, every=every
                )
            return self._distances[key](tree)

        return distance

    def _searched(
        self,
        symbol: str,
        plan: SolvingPlan,
        placing: Placing,
        assigner: Assigner,
        chance: RandomSource,
        budget: StepBudget,
        rates: EvolutionRates,
    ) -> ConstrainedField:
        """A field with conditions that its domain does not express."""
        clauses = plan.filters[symbol]
        constraints = [clause.as_constraint() for clause in clauses]
        distances, filters = list(map(self.distance, constraints)), list(map(self.check, constraints))
        conditions = [clause.leaf.function for clause in clauses if clause.is_about_one_node]
        search = MemeticSearch(distances, lambda tree: tree, placing, assigner, chance / "search", budget, {}, rates)
        domain, is_shallow = plan.domains.get(symbol), self.analysis.is_shallow(symbol, MAX_SHALLOW_PARTS)
        nested = NestedNodes(chance / "nested") if symbol in self.analysis.below(symbol) else None
        return ConstrainedField(
            symbol, domain, filters, conditions, assigner, search, chance, budget, is_shallow, nested
        )

    def _placing(
        self,
        program: TreeMaker,
        fields: FieldMakers,
        chance: RandomSource,
        limits: SolvingLimits,
        incomplete: IncompleteTree | None,
    ) -> Placing:
        def make(symbol: str, above: tuple[str, ...], given: Mapping[str, Node], elsewhere: int) -> Node:
            # A part that is renewed again and again must not grow each time.
            nodes = max(MIN_RENEWED_NODES, limits.max_nodes - elsewhere)
            history = () if incomplete is None else incomplete.history
            return program.make(symbol, chance, nodes=nodes, above=above, history=history, pins=given, fields=fields)

        return Placing(make, self.generate, self._generated, self._dependence)

    def _measured(self, most: int, program: TreeMaker, fields: FieldMakers) -> Callable[[Measure], MeasuredDerivations]:
        """Derivations of a given length or count, whose other parts come from one program."""

        def make(symbol: str, chance: RandomSource) -> Node:
            return program.make(symbol, chance, nodes=MIN_RENEWED_NODES, fields=fields)

        @cache
        def measured(measure: Measure) -> MeasuredDerivations:
            rules = self.analysis.grammar.rules
            return MeasuredDerivations(rules, measure, binary=self.analysis.is_binary, most=most, make=make)

        return measured

    @cached_property
    def _languages(self) -> Languages:
        return Languages(self.analysis.grammar.rules, binary=self.analysis.is_binary)

    @cached_property
    def _speller(self) -> Speller:
        return Speller(self.analysis.grammar.rules, self._languages)

    @cached_property
    def _functions(self) -> Mapping[str, ast.FunctionDef]:
        return functions_defined_in(self.python)

    @cached_property
    def _reader(self) -> ViewReader:
        return ViewReader(self.names, reassigned_globals(self.python))

    @cached_property
    def _dependence(self) -> BoundDependence:
        return BoundDependence(self.analysis)

    @cached_property
    def _generated(self) -> frozenset[str]:
        rules = self.analysis.grammar.rules
        return frozenset(symbol for symbol, rule in rules.items() if rule.generator is not None)


def _once_wanted(put_together: Callable[[], ConstrainedField]) -> MakeField:
    """The maker of a field that is put together when the first one is wanted: few sessions want each."""
    made: list[ConstrainedField] = []

    def make(plain: MakeNode) -> Node:
        if not made:
            made.append(put_together())
        return made[0].make(plain)

    return make
