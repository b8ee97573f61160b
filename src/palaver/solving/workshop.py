"""Everything that solving needs to know about one spec, and solvers made from it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol

from palaver.chance import Chance
from palaver.constraints.check import Check, compile_check
from palaver.constraints.distance import Judgement, compile_distance
from palaver.constraints.guided import own_functions
from palaver.constraints.uses import assigned_later
from palaver.generation.makers import Fields, MakeField, Steering
from palaver.generation.measured import Measured
from palaver.generation.measures import Measure
from palaver.generation.program import Program
from palaver.grammar.analyse import Analysis
from palaver.grammar.bounds import Dependence
from palaver.grammar.language import Languages
from palaver.solving.assign import Assigner
from palaver.solving.construct import Constructor
from palaver.solving.fields import Field
from palaver.solving.meter import Meter
from palaver.solving.placing import Placing
from palaver.solving.plan import Plan, make_plan
from palaver.solving.search import DEFAULT_RATES, Rates, Search
from palaver.solving.solver import Solver
from palaver.solving.spelling import Speller
from palaver.solving.views import Reader
from palaver.spec.ast import Constraint
from palaver.trees.node import Node
from palaver.trees.paths import Path
from palaver.trees.tree import Tree

MAX_NODES = 200  # how large a tree may grow before every choice takes its shortest way out
MAX_REPETITIONS = 20  # how far `*` and `+` go beyond their least count
BUDGET = 5_000  # steps per tree: fresh ones, and changes of one

# What a part that is made anew may spend even in a tree that has spent all it may; with less it would not vary.
_FEWEST_NODES = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """How large trees may become, and how long they may be searched for."""

    max_nodes: int = MAX_NODES
    max_repetitions: int = MAX_REPETITIONS
    budget: int = BUDGET
    rates: Rates = DEFAULT_RATES


class Scene(Protocol):
    """A tree with a part missing, such as a conversation before our next message."""

    make: Callable[[str], Node]  # makes nodes of a symbol for it; whoever makes the solver sets it
    history: tuple[Node, ...]  # what computed repetitions in the part may look back at

    def completed(self) -> Tree:
        """The tree with a fresh part."""

    def is_frozen(self, path: Path) -> bool:
        """Whether what stands at a path belongs to what must not change."""


@dataclass(frozen=True)
class Workshop:
    """Makes solvers for the constraints of one spec, or for some of them.

    `program` gives the makers of trees, by how far they repeat and which symbols are made otherwise; `generate` runs
    the generator of a symbol; `read` reads a value as a symbol, `read_bits` a row of 0 and 1.
    """

    analysis: Analysis
    names: dict[str, Any]
    python: Sequence[ast.Module]
    program: Callable[[int, frozenset[str]], Program]
    generate: Callable[[str, tuple[Node, ...]], Node]
    read: Callable[[str, Any], Node | None]
    read_bits: Callable[[str, str], Node | None]
    _plans: dict[tuple[tuple[Constraint, ...], int], Plan] = field(default_factory=dict, repr=False)
    _checks: dict[Constraint, Check] = field(default_factory=dict, repr=False)
    _judges: dict[Constraint, Callable[[Tree], Judgement]] = field(default_factory=dict, repr=False)

    def plan(self, constraints: Iterable[Constraint], spread: int = MAX_REPETITIONS) -> Plan:
        """How to go about these constraints, with endless fields that go so far beyond their least; made once."""
        key = (tuple(constraints), spread)
        if key not in self._plans:
            self._plans[key] = make_plan(key[0], self.analysis, self.names, self._languages, self._changing, spread)
        return self._plans[key]

    def solver(
        self,
        constraints: Sequence[Constraint],
        chance: Chance,
        turn: Chance,
        limits: Limits,
        scene: Scene | None = None,
        steering: Steering | None = None,
    ) -> Solver:
        """A solver for these constraints. `turn` makes fresh trees, `chance` decides all else.

        With a scene it is not whole trees that are made, but what the scene lacks. Fresh ones follow the steering.
        """
        plan = self.plan(constraints, limits.max_repetitions)
        meter = Meter(limits.budget)
        drawn = _drawn(plan)
        program = self._program_for(plan, limits)
        for equation in plan.equations:
            equation.compile()
        fields: dict[str, MakeField] = {}
        is_frozen = None if scene is None else scene.is_frozen
        placing = replace(self._placing(program, fields, chance / "mend", limits, scene), is_frozen=is_frozen)
        measured = _MeasuredOnes(self, limits.max_repetitions, program, fields)
        assigner = Assigner(
            self._languages,
            self._speller,
            plan.domains,
            self.read,
            self.read_bits,
            measured,
            limits.max_repetitions,
        )
        constructor = Constructor(plan, assigner, placing, self._reader, chance / "construct", is_frozen)
        for symbol in drawn:
            fields[symbol] = Field(symbol, plan.domains[symbol], (), (), assigner, None, chance / symbol, meter).make
        # A field that is searched for is not made of fields that are searched for, or there might be no end.
        simple = self._placing(program, dict(fields), chance / "fields", limits, scene) if plan.filters else placing
        for symbol in sorted(plan.filters):
            fields[symbol] = self._searched(symbol, plan, simple, assigner, chance / symbol, meter, limits.rates).make
        search = Search(
            [self._judge(constraint) for constraint in constraints],
            constructor.derive,
            placing,
            assigner,
            chance / "search",
            meter,
            {symbol: each.directions[0].read for each in plan.equations for symbol in sorted(each.written)},
            limits.rates,
            is_frozen,
        )
        if steering is not None:
            steering.leave_out((*drawn, *sorted(self._generated)))
        fresh: Callable[[], Tree]
        fresh = partial(
            program.make_tree,
            self.analysis.grammar.start,
            turn,
            nodes=limits.max_nodes,
            fields=fields,
            steering=steering,
        )
        if scene is not None:
            scene.make = _making(scene, program, turn, limits.max_nodes, fields, steering)
            fresh = scene.completed
        checks = [self.check(constraint) for constraint in constraints]
        return Solver(fresh, checks, plan, constructor, search, meter)

    def prepare(self, constraints: Sequence[Constraint], limits: Limits) -> list[str]:
        """Compile now what would be compiled when the first solver is made, and when it first follows a steering.

        The symbols that values will be read as.
        """
        plan = self.plan(constraints, limits.max_repetitions)
        self._program_for(plan, limits).prepare_steering()
        for equation in plan.equations:
            equation.compile()
        for constraint in constraints:
            self.check(constraint)
        return sorted({symbol for equation in plan.equations for symbol in equation.written} | self._generated)

    def _program_for(self, plan: Plan, limits: Limits) -> Program:
        return self.program(limits.max_repetitions, frozenset(_drawn(plan)) | frozenset(plan.filters))

    def check(self, constraint: Constraint) -> Check:
        """A constraint, ready to be asked, also about trees that are not finished; made once."""
        if constraint not in self._checks:
            self._checks[constraint] = compile_check(constraint, self.analysis, self.names, early=True)
        return self._checks[constraint]

    def _judge(self, constraint: Constraint) -> Callable[[Tree], Judgement]:
        """How far trees are from satisfying a constraint; worked out when it is first asked, which is often never."""

        def judge(tree: Tree) -> Judgement:
            if constraint not in self._judges:
                self._judges[constraint] = compile_distance(constraint, self.analysis, self.names, self._functions)
            return self._judges[constraint](tree)

        return judge

    def _searched(
        self,
        symbol: str,
        plan: Plan,
        placing: Placing,
        assigner: Assigner,
        chance: Chance,
        meter: Meter,
        rates: Rates,
    ) -> Field:
        """A field with conditions that are no limits."""
        clauses = plan.filters[symbol]
        constraints = [clause.as_constraint() for clause in clauses]
        judges, filters = list(map(self._judge, constraints)), list(map(self.check, constraints))
        conditions = [clause.leaf.function for clause in clauses if clause.is_about_one_node]
        search = Search(judges, lambda tree: tree, placing, assigner, chance / "search", meter, {}, rates)
        return Field(symbol, plan.domains.get(symbol), filters, conditions, assigner, search, chance, meter)

    def _placing(
        self, program: Program, fields: Fields, chance: Chance, limits: Limits, scene: Scene | None
    ) -> Placing:
        def make(symbol: str, above: tuple[str, ...], given: Mapping[str, Node], elsewhere: int) -> Node:
            # What is changed again and again must not grow again and again.
            nodes = max(_FEWEST_NODES, limits.max_nodes - elsewhere)
            history = () if scene is None else scene.history
            return program.make(symbol, chance, nodes=nodes, above=above, history=history, pins=given, fields=fields)

        return Placing(make, self.generate, self._generated, self._dependence)

    # --- what never changes -------------------------------------------------------------------------------------------

    @cached_property
    def _languages(self) -> Languages:
        return Languages(self.analysis.grammar.rules, binary=self.analysis.is_binary)

    @cached_property
    def _speller(self) -> Speller:
        return Speller(self.analysis.grammar.rules, self._languages)

    @cached_property
    def _functions(self) -> Mapping[str, ast.FunctionDef]:
        return own_functions(self.python)

    @cached_property
    def _changing(self) -> frozenset[str]:
        """The global names that functions of the spec assign to."""
        return assigned_later(self.python)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.names, self._changing)

    @cached_property
    def _dependence(self) -> Dependence:
        return Dependence(self.analysis)

    @cached_property
    def _generated(self) -> frozenset[str]:
        rules = self.analysis.grammar.rules
        return frozenset(symbol for symbol, rule in rules.items() if rule.generator is not None)


def _making(
    scene: Scene, program: Program, chance: Chance, nodes: int, fields: Fields, steering: Steering | None
) -> Callable[[str], Node]:
    def make(symbol: str) -> Node:
        return program.make(symbol, chance, nodes=nodes, history=scene.history, fields=fields, steering=steering)

    return make


def _drawn(plan: Plan) -> list[str]:
    """The symbols whose fields are drawn from what they may be."""
    return [symbol for symbol in sorted(plan.domains) if symbol not in plan.computed]


class _MeasuredOnes:
    """Derivations by length or count, whose other parts come from one program."""

    def __init__(self, workshop: Workshop, most: int, program: Program, fields: Fields) -> None:
        self._workshop = workshop
        self._most = most
        self._program = program
        self._fields = fields
        self._known: dict[Measure, Measured] = {}

    def __call__(self, measure: Measure) -> Measured:
        if measure not in self._known:
            analysis = self._workshop.analysis
            self._known[measure] = Measured(
                analysis.grammar.rules, measure, binary=analysis.is_binary, most=self._most, make=self._make
            )
        return self._known[measure]

    def _make(self, symbol: str, chance: Chance) -> Node:
        return self._program.make(symbol, chance, nodes=_FEWEST_NODES, fields=self._fields)
