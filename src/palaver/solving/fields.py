"""Nodes that satisfy what is asked of their symbol alone, made before they become part of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from palaver.chance import Chance
from palaver.constraints.check import Check
from palaver.generation.depth import deep, shallow
from palaver.generation.makers import Discarded
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.solving.assign import Assigner
from palaver.solving.domains import Domain
from palaver.solving.meter import Meter
from palaver.solving.search import Search
from palaver.trees.node import Node
from palaver.trees.tree import Tree

# How often a node is drawn, and how often one is searched for, before we say that there is none.
_DRAWS = 300
_SEARCHES = 4

# If so many draws in a row made the spec's own code raise, and no other did anything else, we look no further.
_MOST_CRASHES = 3

# How often a node is not drawn from its domain, if that may have left out what is allowed.
_BEYOND = 0.1

# Of so many ways to write one number, one is chosen.
_SPELLINGS = 20

# But no node may take more than this part of all steps: if there is none that is good, a tree may do without it.
_SHARE = 1 / 16

# A step of a search takes about so many times as long as to draw a node and look at it.
_COST_OF_A_STEP = 3.0


@dataclass(slots=True)
class _Record:
    """How drawing and searching have done so far. At first one in twenty draws is expected to be good."""

    good_draws: float = 1.0
    draws: float = 20.0
    good_searches: float = 1.0
    steps: float = 30.0

    @property
    def says_search(self) -> bool:
        return self.good_searches / (self.steps * _COST_OF_A_STEP) > self.good_draws / self.draws


@dataclass(frozen=True)
class Field:
    """A symbol of which something is asked: a domain, and conditions that are not limits."""

    symbol: str
    domain: Domain | None
    filters: Sequence[Check]
    conditions: Sequence[Callable[[Tree], Any]]  # the filters again, as functions of a node; those that are
    assigner: Assigner
    search: Search | None  # among nodes of this symbol alone; only if there are filters
    chance: Chance
    meter: Meter
    _record: _Record = field(default_factory=_Record, repr=False)

    def make(self, plain: Callable[[], Node]) -> Node:
        """A node; `plain` makes one as if nothing were asked.

        :raises Discarded: there seems to be none
        """
        if self.search is None:
            return self._drawn(plain)
        # Conditions run the spec's own code, and that inside of makers that call each other as deep as a tree goes.
        return shallow(self._found)(self.search, deep(plain))

    def _found(self, search: Search, plain: Callable[[], Node]) -> Node:
        record, searches, crashes = self._record, 0, 0
        enough = self.meter.spent + self.meter.limit * _SHARE
        for number in range(1, _DRAWS + 1):
            node = self._drawn(plain)
            record.draws += 1
            if self._is_good(node):
                record.good_draws += 1
                return node
            crashes += self._has_raised
            if crashes == number == _MOST_CRASHES:
                break
            if record.says_search:
                before = self.meter.spent
                near = search.climb(Tree(node))
                record.steps += self.meter.spent - before
                assert isinstance(near.tree.node, Node), "a climb ends where it started, at a node"
                if near.distance == 0 and self._is_good(near.tree.node):
                    record.good_searches += 1
                    return near.tree.node
                searches += 1
            if searches == _SEARCHES or self.meter.spent >= enough:
                break
        raise Discarded(f"no {self.symbol} was found that satisfies its conditions")

    def _drawn(self, plain: Callable[[], Node]) -> Node:
        if self.domain is None or (self.domain.is_guess and self.chance.random() < _BEYOND):
            return plain()
        node = self._other_spelling() if self.domain.is_single and self.search else None
        node = node or self.assigner.draw(self.domain, self.chance)
        if node is None:
            raise Discarded(f"no {self.symbol} satisfies its conditions")
        return node

    def _other_spelling(self) -> Node | None:
        """A node from a domain that always comes up with the same word first, which may not be good."""
        assert self.domain is not None, "it is the domain that does so"
        words = list(islice(self.domain.draw(self.chance), _SPELLINGS))
        return self.assigner.node(self.symbol, self.chance.pick(words)) if words else None

    def _is_good(self, node: Node) -> bool:
        self.meter.spent += 1
        tree = Tree(node)
        try:
            # Most nodes are not good, and then it takes no more to know.
            if not all(condition(tree) for condition in self.conditions) and self._has_failed:
                return False
        except SPEC_CODE_RAISES:
            pass
        for check in self.filters:
            failure = check.failure(tree)
            if failure is not None:
                self.meter.failure = failure
                return False
        return True

    @property
    def _has_raised(self) -> bool:
        """Whether the latest node was no good because the spec's own code raised."""
        return self.meter.failure is not None and self.meter.failure.error is not None

    @property
    def _has_failed(self) -> bool:
        """Whether there is a failure to tell that is not the code's own."""
        return self.meter.failure is not None and self.meter.failure.error is None
