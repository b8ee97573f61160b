"""Placement of nodes into trees, so that the result is still a tree of the grammar.

Most nodes can simply be exchanged. Parts of a generated node cannot: it is regenerated as a whole, or not at all. When
a source of a generator is exchanged, the generator runs again. And when a field is exchanged that a repetition counts
by, everything that counts by it is regenerated, with the new field in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palaver.grammar.analysis import BoundDependence
from palaver.trees.node import Node, TreePath, replace_at
from palaver.trees.tree import SliceTree, Tree

# Makes a node of a symbol below the given symbols, with some nodes in it given, and a number of nodes elsewhere.
Make = Callable[[str, tuple[str, ...], Mapping[str, Node], int], Node]


@dataclass(frozen=True, slots=True)
class Placing:
    """Puts nodes into trees of one grammar."""

    make: Make
    generate: Callable[[str, tuple[Node, ...]], Node]  # runs the generator of a symbol with its sources
    generated: frozenset[str]  # the symbols with generators
    dependence: BoundDependence
    is_frozen: Callable[[TreePath], bool] | None = None  # nodes that must stay, even if a part of them is exchanged

    @property
    def is_simple(self) -> bool:
        """True if any node can be exchanged for another without changing the rest of the tree."""
        return not self.generated and not self.dependence.fields

    def can_write(self, tree: Tree, frozen: Callable[[TreePath], bool] | None = None) -> bool:
        """True if the node may be exchanged: it is not frozen, and not part of a generated node."""
        if not isinstance(tree.node, Node) or isinstance(tree, SliceTree) or (frozen and frozen(tree.path)):
            return False
        while self.generated and (parent := tree.parent) is not None:
            if tree.step >= 0 and isinstance(parent.node, Node) and parent.node.symbol in self.generated:
                return False
            tree = parent
        return True

    def put(self, root: Tree, target: Tree, node: Node) -> Tree:
        """`root` with `node` in the place of `target`, and all that depends on it regenerated.

        :raises Discarded: it could not be made to fit this time
        """
        node = keeping_parties(node, node_of(target))
        path = target.path
        if min(path, default=0) < 0:
            return self._with_source(root, path, node)
        whole = self._whole(target)
        if whole is target:
            return put_at(root, path, node)
        return self.remade(root, whole, {node.symbol: node})

    def _with_source(self, root: Tree, path: TreePath, node: Node) -> Tree:
        """`root` with `node` as a source at `path`, or a part of one, and the node generated from it."""
        at = max(position for position, step in enumerate(path) if step < 0)
        made, step = root.at(path[:at]), ~path[at]
        assert isinstance(made.node, Node), "only nodes have sources"
        source = replace_at(made.node.sources[step], path[at + 1 :], node)
        assert isinstance(source, Node), "a source is a node"
        if len(path) == at + 1:
            source = source._replace(sources=())  # it could only be made from the node that it makes
        sources = (*made.node.sources[:step], source, *made.node.sources[step + 1 :])
        again = self.generate(made.node.symbol, sources)._replace(sources=sources)
        return self.put(root, made, again)

    def renewed(self, root: Tree, target: Tree) -> Tree:
        """`root` with a fresh node in the place of `target`, or of the node around it that has to change with it.

        :raises Discarded: it could not be made this time
        """
        return self.remade(root, self._whole(self.movable(target)), {})

    def remade(self, root: Tree, target: Tree, given: Mapping[str, Node]) -> Tree:
        """`root` with a fresh node in the place of `target`, with some nodes in it given."""
        fresh = self.fresh(target, root.size() - target.size(), given)
        return put_at(root, target.path, keeping_parties(fresh, node_of(target)))

    def fresh(self, target: Tree, elsewhere: int, given: Mapping[str, Node] | None = None) -> Node:
        """Another node for the place of `target`; `elsewhere` is the number of nodes in the rest of the tree.

        :raises Discarded: it could not be made this time
        """
        return self.make(node_of(target).symbol, _symbols_above(target), given or {}, elsewhere)

    def movable(self, tree: Tree) -> Tree:
        """`tree`, or the outermost generated node it is inside of (as a part or as a source)."""
        found, current = tree, tree.parent
        while current is not None:
            if isinstance(current.node, Node) and current.node.symbol in self.generated:
                found = current
            current = current.parent
        return found

    def _whole(self, tree: Tree) -> Tree:
        """The node to regenerate when `tree` changes: itself, unless a repetition counts by it."""
        if not self.dependence.fields:
            return tree
        for _ in range(self.dependence.levels_to_remake(node_of(tree).symbol, reversed(_symbols_above(tree)))):
            assert tree.parent is not None, "there is a node for each symbol above"
            if self.is_frozen is not None and self.is_frozen(tree.parent.path):
                break  # in a session only our next message may change, and nothing counts by it yet
            tree = tree.parent
        return tree


def node_of(tree: Tree) -> Node:
    """The node of a tree that is no leaf."""
    assert isinstance(tree.node, Node), "leaves are never exchanged, and have no parts"
    return tree.node


def put_at(root: Tree, path: TreePath, node: Node) -> Tree:
    """`root` with `node` at `path`."""
    return Tree(replace_at(root.node, path, node))


def keeping_parties(fresh: Node, old: Node) -> Node:
    """A node with the sender and recipient of the one whose place it takes."""
    return fresh if old.parties == fresh.parties else fresh._replace(parties=old.parties)


def _symbols_above(tree: Tree) -> tuple[str, ...]:
    above: list[str] = []
    while (parent := tree.parent) is not None:
        above.append(node_of(parent).symbol)
        tree = parent
    return tuple(reversed(above))
