"""Placement of nodes into trees, so that the result is still a tree of the grammar.

Most nodes can simply be exchanged. Parts of a generated node cannot: it is regenerated as a whole, or not at all. When
a source of a generator is exchanged, the generator runs again. And when a field is exchanged that a repetition counts
by, everything that counts by it is regenerated, with the new field in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from palaver.grammar.analysis import BoundDependence
from palaver.lean_dataclasses import dataclass
from palaver.trees.node import Node, Part, TreePath, replace_at
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
        # In a session only our next message may change: what counts is in it.
        free = _ancestors(tree, self.is_frozen)
        above = [node_of(each).symbol for each in free]
        is_all = (free[-1] if free else tree).parent is None
        for _ in range(self.dependence.levels_to_remake(node_of(tree).symbol, above, is_all=is_all)):
            assert tree.parent is not None, "there is a node for each symbol above"
            tree = tree.parent
        return tree


def _ancestors(tree: Tree, is_frozen: Callable[[TreePath], bool] | None) -> list[Tree]:
    """The nodes above one that are not frozen, innermost first."""
    found: list[Tree] = []
    while (parent := tree.parent) is not None and not (is_frozen is not None and is_frozen(parent.path)):
        found.append(parent)
        tree = parent
    return found


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


# A place in a tree, and the node to put there.
Edit: TypeAlias = tuple[Tree, Node]


class Edits:
    """Nodes to put into a tree at once, so that those above them are rebuilt only once.

    Of two, one inside of the other, the outer one counts. Places are views of one tree, compared by identity: each node
    in a tree has one view, which the view above keeps.
    """

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
            old = place.node
            assert isinstance(old, Node), "leaves are never exchanged"
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
