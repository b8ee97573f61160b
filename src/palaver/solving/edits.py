"""Several nodes of one tree exchanged at once, so that the nodes above them are rebuilt only once.

Places are views of one tree, compared by identity: each node in a tree has one view, which the view above keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from palaver.solving.placement import keeping_parties, node_of
from palaver.trees.node import Node, Part
from palaver.trees.tree import Tree

# A place in a tree, and the node to put there.
Edit: TypeAlias = tuple[Tree, Node]


class Edits:
    """Nodes to put into a tree. Of two, one inside of the other, the outer one counts."""

    __slots__ = ("_below", "_built", "_new", "_root", "symbols")

    def __init__(self, root: Tree) -> None:
        self.symbols: set[str] = set()  # of the nodes that are exchanged
        self._root = root
        self._new: dict[int, Part] = {}
        self._built: dict[int, Part] = {}  # rebuilt nodes, until another write changes them
        self._below: dict[int, dict[int, Tree]] = {}  # the children of a node that change, by their steps

    def __bool__(self) -> bool:
        return bool(self._new)

    def add_all(self, writes: Sequence[Edit]) -> Tree:
        """Add writes, and return the tree, which stays as it is. Places are neither sources nor inside of sources."""
        below, built = self._below, self._built
        for place, node in writes:
            parent = place.parent
            # The place may be a view of the tree after earlier edits.
            place = self._root if parent is None else parent.children[place.step]
            old = node_of(place)
            self.symbols.add(old.symbol)
            self._new[id(place)] = keeping_parties(node, old)
            while parent is not None:
                built.pop(id(parent), None)
                below.setdefault(id(parent), {})[place.step] = place
                place, parent = parent, parent.parent
        return self._root

    def tree(self, tree: Tree) -> Tree:
        """A tree after the edits."""
        if id(tree) not in self._below and id(tree) not in self._new:
            return tree
        return Tree(self._node(tree), tree.parent, tree.step)

    def applied(self) -> Tree:
        """The whole tree after the edits."""
        if not self._new:
            return self._root
        changed = Tree(self._node(self._root))
        todo = [(self._root, changed)]
        while todo:  # unchanged parts need not be serialised again
            before, after = todo.pop()
            if id(before) in self._below and id(before) not in self._new:
                pairs = list(zip(before.children, after.children, strict=True))
                for old, fresh in pairs:
                    fresh.share_serialised(old)
                todo += [pair for pair in pairs if id(pair[0]) in self._below]
        return changed

    def _node(self, tree: Tree) -> Part:
        new, built, below = self._new, self._built, self._below
        order = [tree]
        for each in order:  # which grows meanwhile, parents first
            if id(each) not in new and id(each) not in built:
                order.extend(below[id(each)].values())
        for each in reversed(order):
            if id(each) in new or id(each) in built:
                continue
            node = node_of(each)
            children = list(node.children)
            for step, child in below[id(each)].items():
                children[step] = new[id(child)] if id(child) in new else built[id(child)]
            built[id(each)] = node._replace(children=tuple(children))
        return new[id(tree)] if id(tree) in new else built[id(tree)]
