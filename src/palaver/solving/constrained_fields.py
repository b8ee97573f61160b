"""Fields that satisfy the constraints on their symbol alone, made before they become part of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import islice
from typing import Any

from palaver.constraints.checks import Check
from palaver.generation.depth import deep, shallow
from palaver.generation.makers import Discarded, MakeNode
from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.solving.assignment import Assigner
from palaver.solving.domains import Domain
from palaver.solving.memetic_search import MemeticSearch, StepBudget
from palaver.solving.nested_nodes import NestedNodes
from palaver.solving.placement import node_of
from palaver.solving.solving_limits import (
    MAX_FIELD_CLIMB_STEPS,
    MAX_FIELD_CLIMBS,
    MAX_FIELD_CRASHES,
    MAX_FIELD_DRAWS,
    MAX_FIELD_SPELLINGS,
)
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.trees.node import Node
from palaver.trees.tree import Tree

# The probability that a node is not drawn from its domain, if that may leave out allowed words.
_IGNORE_DOMAIN = 0.1

# The share of all steps that one node may take: if none is good, a tree may do without it.
_SHARE = 1 / 16

# The duration of a step of a search, compared with drawing and checking a node.
_COST_OF_STEP = 3.0


@dataclass(slots=True)
class _Record:
    """The success of drawing and searching so far. At first one in twenty draws is expected to be good."""

    good_draws: float = 1.0
    draws: float = 20.0
    good_searches: float = 1.0
    steps: float = 30.0

    @property
    def says_search(self) -> bool:
        return self.good_searches / (self.steps * _COST_OF_STEP) > self.good_draws / self.draws


@dataclass(frozen=True)
class ConstrainedField:
    """A symbol with a domain, and with conditions that the domain does not express."""

    symbol: str
    domain: Domain | None
    filters: Sequence[Check]
    conditions: Sequence[Callable[[Tree], Any]]  # those of the filters that are functions of one node
    assigner: Assigner
    search: MemeticSearch | None  # among nodes of this symbol alone; only if there are filters
    chance: RandomSource
    budget: StepBudget
    is_shallow: bool = False  # then its makers call each other no deeper than a spec's own code may
    nested: NestedNodes | None = None  # only if there are filters, and the symbol can occur inside of itself
    _record: _Record = field(default_factory=_Record, repr=False)

    def make(self, plain: MakeNode) -> Node:
        """A node; `plain` makes one without regard to constraints. :raises Discarded: there seems to be none"""
        if self.search is None:
            return self._drawn(plain)
        inner = None if self.nested is None else self.nested.inner(plain)
        if inner is not None:
            return inner
        # Conditions run the spec's own code, inside of makers that call each other as deep as the tree is.
        return shallow(self._found)(self.search, plain if self.is_shallow else deep(plain))

    def _found(self, search: MemeticSearch, plain: MakeNode) -> Node:
        record, searches, crashes = self._record, 0, 0
        enough = self.budget.spent + self.budget.limit * _SHARE
        for number in range(1, MAX_FIELD_DRAWS + 1):
            node = self._drawn(plain) if self.nested is None else self.nested.candidate(lambda: self._drawn(plain))
            if self.nested is not None and self.nested.is_hopeless:
                self.budget.spent += 1
                continue
            record.draws += 1
            if self._is_good(node):
                record.good_draws += 1
                return self._kept(node)
            crashes += self._has_raised
            if crashes == number == MAX_FIELD_CRASHES:
                break
            if record.says_search:
                before = self.budget.spent
                near = search.climb(Tree(node), MAX_FIELD_CLIMB_STEPS)
                record.steps += self.budget.spent - before
                if near.distance == 0 and self._is_good(node := node_of(near.tree)):
                    record.good_searches += 1
                    return self._kept(node)
                searches += 1
            if searches >= MAX_FIELD_CLIMBS or self.budget.spent >= enough:
                break
        raise Discarded(f"no {self.symbol} was found that satisfies its conditions")

    def _kept(self, node: Node) -> Node:
        if self.nested is not None:
            self.nested.keep(node)
        return node

    def _drawn(self, plain: MakeNode) -> Node:
        if self.domain is None or (self.domain.is_guess and self.chance.random() < _IGNORE_DOMAIN):
            return plain()
        node = self._other_spelling() if self.domain.is_single and self.search else None
        node = node or self.assigner.draw(self.domain, self.chance)
        if node is None:
            raise Discarded(f"no {self.symbol} satisfies its conditions")
        return node

    def _other_spelling(self) -> Node | None:
        """A node from a domain that always gives the same word first, which may not be good."""
        assert self.domain is not None, "it is the domain that does so"
        words = list(islice(self.domain.draw(self.chance), MAX_FIELD_SPELLINGS))
        return self.assigner.node(self.symbol, self.chance.pick(words)) if words else None

    def _is_good(self, node: Node) -> bool:
        self.budget.spent += 1
        tree = Tree(node)
        try:
            # Most nodes are not good, and then the conditions alone tell.
            if not all(condition(tree) for condition in self.conditions) and self._has_failed:
                return False
        except SPEC_CODE_RAISES:
            pass
        for check in self.filters:
            failure = check.failure(tree)
            if failure is not None:
                self.budget.failure = failure
                return False
        return True

    @property
    def _has_raised(self) -> bool:
        """True if the latest node was not good because the spec's own code raised."""
        return self.budget.failure is not None and self.budget.failure.error is not None

    @property
    def _has_failed(self) -> bool:
        """True if there is a failure that is not an exception."""
        return self.budget.failure is not None and self.budget.failure.error is None
