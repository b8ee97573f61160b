"""Nodes that satisfy what is asked of their symbol alone, made before they become part of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from palaver.chance import Chance
from palaver.constraints.check import Check
from palaver.generation.depth import shallow
from palaver.generation.makers import Discarded
from palaver.solving.assign import Assigner
from palaver.solving.domains import Domain
from palaver.solving.meter import Meter
from palaver.solving.search import Search
from palaver.trees.node import Node
from palaver.trees.tree import Tree

# So many nodes are drawn before one is searched for, and so many searches are tried.
_DRAWS = 12
_SEARCHES = 4

# But no node may take more than this part of all steps: if there is none that is good, a tree may do without it.
_SHARE = 1 / 16


@dataclass(frozen=True)
class Field:
    """A symbol of which something is asked: a domain, and conditions that are not limits."""

    symbol: str
    domain: Domain | None
    filters: Sequence[Check]
    assigner: Assigner
    search: Search | None  # among nodes of this symbol alone; only if there are filters
    chance: Chance
    meter: Meter

    def make(self, plain: Callable[[], Node]) -> Node:
        """A node; `plain` makes one as if nothing were asked.

        :raises Discarded: there seems to be none
        """
        node = self._drawn(plain)
        if self.search is None:
            return node
        # These run the spec's own code, and inside of makers that call each other as deep as a tree goes.
        is_good, climb = shallow(self._is_good), shallow(self.search.climb)
        enough = self.meter.spent + self.meter.limit * _SHARE
        for _ in range(_DRAWS):
            if is_good(node):
                return node
            node = self._drawn(plain)
        for _ in range(_SEARCHES):
            near = climb(Tree(node))
            assert isinstance(near.tree.node, Node), "a climb ends where it started, at a node"
            if near.distance == 0 and is_good(near.tree.node):
                return near.tree.node
            if self.meter.spent > enough:
                break
            node = self._drawn(plain)
        raise Discarded(f"no {self.symbol} was found that satisfies its conditions")

    def _drawn(self, plain: Callable[[], Node]) -> Node:
        if self.domain is None:
            return plain()
        node = self.assigner.draw(self.domain, self.chance)
        if node is None:
            raise Discarded(f"no {self.symbol} satisfies its conditions")
        return node

    def _is_good(self, node: Node) -> bool:
        self.meter.spent += 1
        tree = Tree(node)
        for check in self.filters:
            failure = check.failure(tree)
            if failure is not None:
                self.meter.failure = failure
                return False
        return True
