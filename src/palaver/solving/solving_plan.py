"""The solving plan: domains, bounds propagation (AC-3, Mackworth 1977), and the order of equations (Kahn 1962).

How it works
============

Each constraint is split into clauses, and each clause is classified once. It is used in one of four ways:

- *domain*: it compares every node of a symbol with a constant. All such conditions on a symbol become one `Domain`,
  and nodes of that symbol are drawn from it.
- *filter*: it is another condition on every node of one symbol, and on nothing else. Nodes of that symbol are searched
  for on their own, before they become part of a tree.
- *equation*: a side of it is an invertible view, whose value follows from the other side. Equations are sorted
  topologically (Kahn 1962), so that fields are written before they are read; of two sides that can be written, the one
  is that makes this possible, or is cheaper.
- *search*: the rest is repaired and searched for.

Bounds are propagated through equations between numbers and lengths: like the arcs of AC-3 (Mackworth 1977), equations
are revised until the domains no longer change, or for a limited number of passes. An empty domain, of a symbol that
every tree has, proves that no tree exists; domains know which constraints they come from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, TypeAlias

from palaver.constraints.code_uses import sees_surroundings
from palaver.grammar.analysis import Analysis
from palaver.grammar.symbol_languages import Languages
from palaver.lean_dataclasses import dataclass, replace
from palaver.solving.clauses import Clause, clauses_of
from palaver.solving.domains import Domain
from palaver.solving.invertible_views import OF_SEVERAL_NODES, Relation, View, ViewKind, ViewReader
from palaver.solving.restrict import restricted
from palaver.solving.solving_limits import MAX_DIRECTION_COMBINATIONS, MAX_PROPAGATION_PASSES
from palaver.solving.view_values import lengths_in, numbers_in
from palaver.spec.ast import Constraint, Selector
from palaver.spec.python_code import SpecFunction, compile_expression

# The cost of writing through a view: how much of a tree changes, and how often that fails.
_COSTS = {
    ViewKind.VALUE: 1, ViewKind.NUMBER: 1, ViewKind.LIST: 2, ViewKind.ITEM: 2, ViewKind.SLICE: 2, ViewKind.LENGTH: 4,
    ViewKind.COUNT: 5, ViewKind.SUM: 6, ViewKind.DIFFERENT: 3, ViewKind.DECODED: 2,
}  # fmt: skip
_COST_OF_ARITHMETIC = 4


# A clause, and two symbols with views of them that must be equal.
_EqualViews: TypeAlias = tuple[Clause, str, View, str, View]


@dataclass(frozen=True, eq=False)
class Direction:
    """An equation in one direction: the node of one side's view is written, the nodes of the other side are read."""

    clause: Clause
    relation: Relation
    position: int  # of the view's node, among the arguments of the condition
    written: frozenset[str]
    read: frozenset[str]

    @property
    def cost(self) -> int:
        """The cost of writing, compared with other directions."""
        view = self.relation.view
        is_direct = view.times in (1, -1) and view.power == 1 and not view.modulus
        return _COSTS[view.kind] + (0 if is_direct else _COST_OF_ARITHMETIC)

    @cached_property
    def place(self) -> tuple[frozenset[str], tuple[object, ...]]:
        """The nodes that are written, as a path: two equations may write the same symbol in different places."""
        path = self.clause.path_of(self.relation.view.name)
        return self.clause.symbols_of(Selector(path.base)), path.steps

    @cached_property
    def side(self) -> SpecFunction:
        """The side that is written, as a function of all mentions of the condition."""
        return self._compiled(self.relation.side)

    @cached_property
    def other(self) -> SpecFunction:
        """The other side as a function of all mentions of the condition."""
        return self._compiled(self.relation.other)

    def reads_from(self, others: Iterable[Direction]) -> int:
        """The number of other directions that write what this one reads."""
        return sum(not self.read.isdisjoint(other.written) for other in others)

    def _compiled(self, side: ast.expr) -> SpecFunction:
        expression = self.clause.expression
        assert expression is not None, "a direction is that of a condition"
        return compile_expression(replace(expression, python=side), self.clause.names, self.clause.variables)


@dataclass(frozen=True, eq=False)
class Equation:
    """A condition that can be made true by writing a node. The first direction is preferred."""

    clause: Clause
    directions: tuple[Direction, ...]
    is_self_dependent: bool  # the node written is inside of one that is read, or around it

    @property
    def written(self) -> frozenset[str]:
        return self.directions[0].written

    @property
    def regenerates(self) -> bool:
        """True if it writes the number of nodes: the node around them is regenerated, from its parts."""
        return self.directions[0].relation.view.kind is ViewKind.COUNT

    def compile(self) -> None:
        """Compile in advance what every tree needs."""
        _ = self.clause.leaf, self.directions[0].side, self.directions[0].other


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof that no tree satisfies these constraints."""

    constraints: tuple[Constraint, ...]
    why: str


@dataclass(frozen=True)
class SolvingPlan:
    """The constraints, classified by how they are solved."""

    clauses: tuple[Clause, ...]
    domains: Mapping[str, Domain]
    filters: Mapping[str, tuple[Clause, ...]]
    equations: tuple[Equation, ...]
    proof: Proof | None = None
    # The use of each clause: "domain", "filter", "equation" or "search".
    uses: Mapping[Clause, str] = field(default_factory=dict)
    # Fields that equations compute from others, whose bounds keep the result within their own.
    computed: frozenset[str] = frozenset()


class ConstraintPlanner:
    """Makes one plan. Unbounded fields grow by up to `spread` beyond their minimum."""

    def __init__(
        self, analysis: Analysis, names: dict[str, Any], languages: Languages, reader: ViewReader, spread: int
    ) -> None:
        self._spread = spread
        self._analysis = analysis
        self._names = names
        self._languages = languages
        self._reader = reader
        self._domains: dict[str, Domain] = {}
        self._filters: dict[str, list[Clause]] = {}
        self._uses: dict[Clause, str] = {}
        self._proof: Proof | None = None
        self._free: dict[str, Domain | None] = {}
        self._computed: set[str] = set()
        self._limited: dict[Clause, str] = {}  # the symbols whose domains the clauses limit

    def plan(self, constraints: Iterable[Constraint]) -> SolvingPlan:
        """The plan for these constraints, which may be some of the spec's."""
        clauses = [clause for each in constraints for clause in clauses_of(each, self._analysis, self._names)]
        for clause in clauses:
            self._uses[clause] = "search"
        rest = [clause for clause in clauses if not self._is_domain(clause)]
        rest += self._taken_back()
        rest = [clause for clause in rest if not self._is_filter(clause)]
        options = {clause: found for clause in rest if (found := directions_of(clause, self._reader))}
        equations = _EquationOrder(self._analysis, self._domains).equations(options)
        for equation in equations:
            self._uses[equation.clause] = "equation"
        self._propagate(equations)
        self._prove()
        filters = {symbol: tuple(found) for symbol, found in self._filters.items()}
        computed = frozenset(symbol for symbol in self._computed if not self._has_gaps(symbol))
        return SolvingPlan(tuple(clauses), self._domains, filters, equations, self._proof, self._uses, computed)

    def _is_domain(self, clause: Clause, *, exactly: bool = False) -> bool:
        """True if the clause compares every node of a symbol with a constant; the symbol's domain is limited by it.

        With `exactly`, only if the limited domain has all words that the clause allows.
        """
        expression = clause.expression
        if expression is None:
            return False
        value = self._reader.constant(expression.python)
        if value is not None and not value[0] and not clause.quantifiers:
            self._proof = Proof((clause.constraint,), "it is false for every input")
        for relation in self._reader.relations(expression, clause.variables):
            constant = self._reader.constant(relation.other)
            symbol = self._only_symbol(clause, relation.view)
            if constant is None or symbol is None or not self._has_no_other_binders(clause, relation.view):
                continue
            domain = self._domain(symbol)
            limited = None if domain is None else restricted(domain, relation.view, relation.operator, constant[0])
            if limited is not None and (limited.is_exact or not exactly):
                self._limit(symbol, limited, clause)
                self._uses[clause] = "domain"
                self._limited[clause] = symbol
                return True
        return False

    def _taken_back(self) -> list[Clause]:
        """Clauses that are no use as limits: the domain with them is inexact and has no words."""
        hopeless = [symbol for symbol, domain in self._domains.items() if domain.is_hopeless]
        again = [clause for clause, symbol in self._limited.items() if symbol in hopeless]
        for symbol in hopeless:
            del self._domains[symbol]
        for clause in again:
            self._uses[clause] = "search"
        return [clause for clause in again if not self._is_domain(clause, exactly=True)]

    def _only_symbol(self, clause: Clause, view: View) -> str | None:
        """The symbol that a view looks at, if the clause is about every node of it."""
        path = clause.path_of(view.name)
        symbols = clause.symbols_of(path)
        if view.kind in OF_SEVERAL_NODES or len(symbols) != 1 or not clause.is_everywhere(path):
            return None
        (symbol,) = symbols
        return symbol if symbol in self._analysis.grammar.rules else None

    def _has_no_other_binders(self, clause: Clause, *views: View) -> bool:
        """True if every quantifier leads to one of the views: a clause says nothing where another binds no node."""
        used = [clause.binders_of(clause.path_of(view.name)) for view in views]
        return {each.variable for each in clause.quantifiers} <= frozenset().union(*used)

    def _is_filter(self, clause: Clause) -> bool:
        """True if the clause is a condition on every node of one symbol, and looks at nothing else."""
        expression = clause.expression
        if expression is None or sees_surroundings(expression, clause.names):
            return False
        used = {node.id for node in ast.walk(expression.python) if isinstance(node, ast.Name)}
        looked_at = [mention.name for mention in expression.mentions]
        looked_at += [name for name in clause.variables if name in used]
        if len(looked_at) != 1 or any(mention.kind != "each" for mention in expression.mentions):
            return False
        path = clause.path_of(looked_at[0])
        symbols = clause.symbols_of(path)
        if (
            len(symbols) != 1
            or not clause.is_everywhere(path)
            or len(clause.binders_of(path)) < len(clause.quantifiers)
        ):
            return False
        (symbol,) = symbols
        if symbol == self._analysis.grammar.start or self._is_made(symbol):
            return False
        self._filters.setdefault(symbol, []).append(clause)
        self._uses[clause] = "filter"
        return True

    def _is_made(self, symbol: str) -> bool:
        """True if a generator makes nodes of a symbol, or parts of them."""
        inside = self._analysis.below(symbol) | {symbol}
        rules = self._analysis.grammar.rules
        return any(rules[name].generator is not None for name in inside if name in rules)

    def _domain(self, symbol: str) -> Domain | None:
        if symbol in self._domains:
            return self._domains[symbol]
        if symbol not in self._free:
            language = self._languages.of(symbol)
            self._free[symbol] = None if language is None else Domain(symbol, language, spread=self._spread)
        return self._free[symbol]

    def _limit(self, symbol: str, domain: Domain, *clauses: Clause, reasons: Iterable[Constraint] = ()) -> None:
        causes = dict.fromkeys((*domain.reasons, *reasons, *(clause.constraint for clause in clauses)))
        self._domains[symbol] = replace(domain, reasons=tuple(causes))

    def _propagate(self, equations: Sequence[Equation]) -> None:
        """Propagate bounds between numbers and lengths that must be equal."""
        pairs = [pair for equation in equations if (pair := self._pair(equation)) is not None]
        waiting = pairs
        for _ in range(MAX_PROPAGATION_PASSES):
            changed = [pair for pair in waiting if self._revise(*pair)]
            if not changed or self._proof is not None:
                return
            # Pairs with a changed domain are revised again; a pair itself only if its domains have other limits than
            # bounds.
            waiting = [pair for pair in pairs if any(self._concerns(pair, other) for other in changed)]
        if waiting:
            MAX_PROPAGATION_PASSES.reached()

    def _concerns(self, pair: _EqualViews, changed: _EqualViews) -> bool:
        symbols = (changed[1], changed[3])
        if changed is pair:
            return any(map(self._has_gaps, symbols))
        return pair[1] in symbols or pair[3] in symbols

    def _has_gaps(self, symbol: str) -> bool:
        domain = self._domains.get(symbol)
        return domain is not None and (bool(domain.limits) or domain.words is not None or domain.rest is not None)

    def _pair(self, equation: Equation) -> _EqualViews | None:
        """Two views that must be equal in every tree."""
        views = [
            (each.relation.view, self._only_symbol(each.clause, each.relation.view)) for each in equation.directions
        ]
        if equation.directions[0].relation.operator != "==" or len(views) != 2 or equation.is_self_dependent:
            return None
        (left, one), (right, other) = views
        if one is None or other is None or not {one, other} <= self._analysis.always:
            return None
        if not self._has_no_other_binders(equation.clause, left, right):
            return None
        return equation.clause, one, left, other, right

    def _revise(self, clause: Clause, one: str, left: View, other: str, right: View) -> bool:
        """Restrict two domains to the range that their views have in common; True if that changed a domain."""
        spans = [self._span(one, left), self._span(other, right)]
        if spans[0] is None or spans[1] is None:
            return False
        low = max((span[0] for span in spans if span and span[0] is not None), default=None)
        high = min((span[1] for span in spans if span and span[1] is not None), default=None)
        reasons = [each for symbol in (one, other) if symbol in self._domains for each in self._domains[symbol].reasons]
        is_exact = all(self._domains[each].is_exact for each in (one, other) if each in self._domains)
        if low is not None and high is not None and low > high:
            if is_exact:
                why = f"{one} allows {_shown(spans[0])} and {other} allows {_shown(spans[1])}"
                self._proof = Proof(tuple(dict.fromkeys((clause.constraint, *reasons))), why)
            return False
        if other not in self._computed:
            self._computed.add(one)
        changed = False
        for symbol, view, span in ((one, left, spans[0]), (other, right, spans[1])):
            for operator, bound, now in ((">=", low, span[0]), ("<=", high, span[1])):
                domain = self._domain(symbol)
                if bound is None or bound == now or domain is None:
                    continue
                limited = restricted(domain, view, operator, bound)
                if limited is not None:
                    # Words that one domain lacks may now be missing in the other as well.
                    limited = replace(limited, is_exact=limited.is_exact and is_exact)
                    self._limit(symbol, limited, clause, reasons=reasons)
                    changed = True
        return changed

    def _span(self, symbol: str, view: View) -> tuple[int | None, int | None] | None:
        """The bounds of a view of a symbol."""
        domain = self._domain(symbol)
        if domain is None or view.modulus or view.power > 1 or view.times < 0 or domain.rest is not None:
            return None
        if view.kind is ViewKind.LENGTH:
            ends: tuple[int, int | None] | None = lengths_in(domain, view)
        elif view.kind is ViewKind.NUMBER:
            ends = numbers_in(domain, view)
        else:
            return None
        if ends is None:
            return None
        low, high = ends
        return view.times * low + view.plus, None if high is None else view.times * high + view.plus

    def _prove(self) -> None:
        for symbol, domain in self._domains.items():
            if self._proof is None and symbol in self._analysis.always and domain.is_empty:
                all_of_them = "all of them" if len(domain.reasons) > 1 else "it"
                self._proof = Proof(domain.reasons, f"no {symbol} satisfies {all_of_them}")


def _shown(span: tuple[int | None, int | None]) -> str:
    low, high = span
    if low is not None and high is not None and low > high:
        return "nothing"
    return f"{'any number' if low is None else low} and more" if high is None else f"{low} to {high}"


def directions_of(clause: Clause, reader: ViewReader) -> list[Direction]:
    """The ways in which a condition can be made true by writing a node."""
    expression = clause.expression
    if expression is None:
        return []
    names = [mention.name for mention in expression.mentions] + list(clause.variables)
    symbols = {name: clause.symbols_of(clause.path_of(name)) for name in names}
    found = []
    for relation in reader.relations(expression, clause.variables):
        used = {node.id for node in ast.walk(relation.other) if isinstance(node, ast.Name)}
        read = frozenset(symbol for name in names if name in used for symbol in symbols[name])
        written = symbols[relation.view.name]
        found.append(Direction(clause, relation, names.index(relation.view.name), written, read))
    return found


@dataclass(frozen=True)
class _EquationOrder:
    """Sorts equations so that fields are written before they are read, as far as possible."""

    analysis: Analysis
    domains: Mapping[str, Domain]

    def equations(self, options: Mapping[Clause, list[Direction]]) -> tuple[Equation, ...]:
        """All equations, each in the direction that fits best."""
        best: tuple[tuple[int, int, int], list[Direction]] | None = None
        for chosen in self._combinations(list(options.values())):
            order, cycles = self._in_order(chosen)
            written = [symbol for each in chosen for symbol in sorted(each.written)]
            cost = sum(each.cost for each in chosen) + sum(symbol in self.domains for symbol in written)
            places = [each.place for each in chosen]
            score = (cycles, len(places) - len(set(places)), cost)
            if best is None or score < best[0]:
                best = (score, order)
        return tuple(map(self._equation, best[1], ([*options[each.clause]] for each in best[1]))) if best else ()

    def _combinations(self, options: Sequence[Sequence[Direction]]) -> Iterable[tuple[Direction, ...]]:
        if prod(map(len, options)) <= MAX_DIRECTION_COMBINATIONS:
            return product(*options)
        return [tuple(min(found, key=lambda direction: direction.cost) for found in options)]

    def _equation(self, first: Direction, directions: list[Direction]) -> Equation:
        others = (each for each in directions if each is not first)
        is_self_dependent = any(self._touches(one, other) for one in first.written for other in first.read)
        return Equation(first.clause, (first, *others), is_self_dependent)

    def _in_order(self, directions: Sequence[Direction]) -> tuple[list[Direction], int]:
        """The directions, sorted topologically, and the number of cycles that were broken for it."""
        # A direction that regenerates a large part goes before those that write a field in it.
        waiting = sorted(directions, key=lambda each: -each.cost if each.relation.view.kind is ViewKind.COUNT else 0)
        needs = {each: {other for other in waiting if self._comes_first(other, each)} for each in waiting}
        order: list[Direction] = []
        cycles = 0
        while needs:
            ready = next((each for each, before in needs.items() if not before), None)
            if ready is None:
                cycles += 1
                # A direction that only reads a node around another's, for its length say, is the one most likely to do
                # without the others.
                ready = min(needs, key=lambda each: (each.reads_from(needs[each]), len(needs[each])))
            order.append(ready)
            del needs[ready]
            for before in needs.values():
                before.discard(ready)
        return order, cycles

    def _comes_first(self, one: Direction, other: Direction) -> bool:
        """True if `other` reads what `one` writes, or writes inside of it."""
        if one is other:
            return False
        below = self.analysis.below
        return any(self._touches(written, read) for written in one.written for read in other.read) or any(
            inner in below(outer) and outer not in below(inner) for outer in one.written for inner in other.written
        )

    def _touches(self, one: str, other: str) -> bool:
        return one == other or other in self.analysis.below(one) or one in self.analysis.below(other)
