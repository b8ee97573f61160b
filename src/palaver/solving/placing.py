"""Putting nodes into trees, so that what comes out is a tree of the grammar still.

Most nodes can simply be exchanged. Three cannot. What a generator made is left as it is; it is made anew as a whole, or
not at all. What a generator makes it from can be exchanged, and then the generator runs again. And around a field that
a repetition counts by, everything that counts is made anew, with the wanted field in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palaver.grammar.bounds import Dependence
from palaver.trees.node import Node
from palaver.trees.paths import Path, replace_at
from palaver.trees.tree import SliceTree, Tree

# Makes a node of a symbol below the given ones, with some nodes in it given, next to so many nodes elsewhere.
Make = Callable[[str, tuple[str, ...], Mapping[str, Node], int], Node]


@dataclass(frozen=True, slots=True)
class Placing:
    """Puts nodes into trees of one grammar."""

    make: Make
    generate: Callable[[str, tuple[Node, ...]], Node]  # what the generator of a symbol makes of its sources
    generated: frozenset[str]  # the symbols with generators
    dependence: Dependence
    is_frozen: Callable[[Path], bool] | None = None  # what must stay as it is, even if something in it is exchanged

    @property
    def is_simple(self) -> bool:
        """Whether any node can be exchanged for another, with no regard to the rest of the tree."""
        return not self.generated and not self.dependence.fields

    def can_write(self, tree: Tree, frozen: Callable[[Path], bool] | None = None) -> bool:
        """Whether the node may be exchanged: not if a generator made it as a part of something."""
        if not isinstance(tree.node, Node) or isinstance(tree, SliceTree) or (frozen and frozen(tree.path)):
            return False
        while self.generated and (parent := tree.parent) is not None:
            if tree.step >= 0 and isinstance(parent.node, Node) and parent.node.symbol in self.generated:
                return False
            tree = parent
        return True

    def put(self, root: Tree, target: Tree, node: Node) -> Tree:
        """`root` with `node` in the place of `target`, and everything made anew that has to fit.

        :raises Discarded: it could not be made to fit this time
        """
        assert isinstance(target.node, Node), "only nodes are exchanged"
        node = keeping_parties(node, target.node)
        path = target.path
        if min(path, default=0) < 0:
            return self._with_source(root, path, node)
        whole = self._whole(target)
        if whole is target:
            return put_at(root, path, node)
        return self.remade(root, whole, {node.symbol: node})

    def _with_source(self, root: Tree, path: Path, node: Node) -> Tree:
        """`root` with another source at `path`, or a part of one, and what is generated from it."""
        at = max(position for position, step in enumerate(path) if step < 0)
        made, step = root.at(path[:at]), ~path[at]
        assert isinstance(made.node, Node), "only nodes have sources"
        source = replace_at(made.node.sources[step], path[at + 1 :], node)
        assert isinstance(source, Node), "a source is a node"
        if len(path) == at + 1:
            source = source._replace(sources=())  # what it could be made from is what it makes
        sources = (*made.node.sources[:step], source, *made.node.sources[step + 1 :])
        again = self.generate(made.node.symbol, sources)._replace(sources=sources)
        return self.put(root, made, again)

    def renewed(self, root: Tree, target: Tree) -> Tree:
        """`root` with a fresh node in the place of `target`, or of what is around it.

        :raises Discarded: it could not be made this time
        """
        return self.remade(root, self._whole(self.movable(target)), {})

    def remade(self, root: Tree, target: Tree, given: Mapping[str, Node]) -> Tree:
        """`root` with a fresh node in the place of `target`, with some nodes in it given."""
        assert isinstance(target.node, Node), "only nodes are made"
        fresh = self.fresh(target, root.size() - target.size(), given)
        return put_at(root, target.path, keeping_parties(fresh, target.node))

    def fresh(self, target: Tree, elsewhere: int, given: Mapping[str, Node] | None = None) -> Node:
        """Another node for the place of `target`, next to so many nodes elsewhere.

        :raises Discarded: it could not be made this time
        """
        assert isinstance(target.node, Node), "only nodes are made"
        return self.make(target.node.symbol, _symbols_above(target), given or {}, elsewhere)

    def movable(self, tree: Tree) -> Tree:
        """`tree`, or the outermost generated node it is inside of (as a part or as a source)."""
        found, current = tree, tree.parent
        while current is not None:
            if isinstance(current.node, Node) and current.node.symbol in self.generated:
                found = current
            current = current.parent
        return found

    def _whole(self, tree: Tree) -> Tree:
        """The node that has to be made anew when `tree` changes: itself, unless a repetition counts by it."""
        if not self.dependence.fields:
            return tree
        assert isinstance(tree.node, Node), "only nodes are exchanged"
        for _ in range(self.dependence.to_remake(tree.node.symbol, reversed(_symbols_above(tree)))):
            assert tree.parent is not None, "there is a node for each symbol above"
            if self.is_frozen is not None and self.is_frozen(tree.parent.path):
                break  # of a conversation only the latest message may change, and what counts by it was not said yet
            tree = tree.parent
        return tree


def put_at(root: Tree, path: Path, node: Node) -> Tree:
    """`root` with `node` at `path`."""
    return Tree(replace_at(root.node, path, node))


def keeping_parties(fresh: Node, old: Node) -> Node:
    """A node that is said by the same party, to the same party, as the one whose place it takes."""
    return fresh if old.parties == fresh.parties else fresh._replace(parties=old.parties)


def _symbols_above(tree: Tree) -> tuple[str, ...]:
    above: list[str] = []
    while (parent := tree.parent) is not None:
        assert isinstance(parent.node, Node), "only nodes have children"
        above.append(parent.node.symbol)
        tree = parent
    return tuple(reversed(above))
