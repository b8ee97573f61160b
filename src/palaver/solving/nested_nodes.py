"""Dynamic programming (Bellman 1957) for recursive symbols with conditions: good nodes are made of good ones.

Every node whose inner nodes are good, too, is made of smaller ones, down to one that contains none. So they are found
from the bottom up: what was found good is used where the symbol occurs inside of itself. To search for all levels at
once would take a time that is exponential in their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from palaver.generation.makers import MakeNode
from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.solving.solving_limits import MAX_KEPT_NODES, MAX_LEAVES_OF_KEPT_NODE
from palaver.trees.node import Node
from palaver.trees.values import leaves_of

# The probability that an inner node is one that was found before, once there are some.
_USE_KEPT = 0.9


@dataclass
class NestedNodes:
    """The good nodes of one recursive symbol so far, and whether one is being made."""

    chance: RandomSource
    is_hopeless: bool = False  # the latest candidate has a node in it that is not good for sure
    _kept: list[Node] = field(default_factory=list)
    _filler: Node | None = None  # stands for inner nodes as long as no good one is known
    _is_open: bool = False

    def candidate(self, make: Callable[[], Node]) -> Node:
        """A node whose inner nodes are good, unless it `is_hopeless`."""
        self._is_open, self.is_hopeless = True, False
        try:
            node = make()
        finally:
            self._is_open = False
        if not self.is_hopeless:
            self._filler = node
        return node

    def inner(self, plain: MakeNode) -> Node | None:
        """The node to be used inside of a candidate; None if no candidate is being made."""
        if not self._is_open:
            return None
        if self._kept and self.chance.random() < _USE_KEPT:
            return self.chance.pick(self._kept)
        self.is_hopeless = True
        return self._filler or plain(0)

    def keep(self, node: Node) -> None:
        """Use a good node inside of others from now on, unless it is large."""
        if len(leaves_of(node)) > MAX_LEAVES_OF_KEPT_NODE or node in self._kept:
            return
        if len(self._kept) >= MAX_KEPT_NODES:
            self._kept.pop(1 + self.chance.below(len(self._kept) - 1))  # the first is mostly the simplest
        self._kept.append(node)
