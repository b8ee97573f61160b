"""The latest message, and the nodes that it has finished, each in its place."""

from __future__ import annotations

from collections.abc import Sequence

from palaver.matching.forecaster import Hypothesis
from palaver.trees.node import Node, OpenNode
from palaver.trees.tree import Tree


def in_its_place(hypothesis: Hypothesis) -> Tree:
    """The latest message below its parent, of which only the name is there."""
    around = next(hypothesis.around, None)
    return Tree(hypothesis.newest, Tree(OpenNode(around, ())) if around is not None else None)


def in_recent_tree(hypothesis: Hypothesis) -> Tree:
    """The latest message in a tree of the latest messages."""
    root, path = hypothesis.recent_tree()
    tree = Tree(root)
    for step in path:  # as `at`, but without the neighbours, which are not needed
        assert isinstance(tree.node, Node), "messages stand in nodes"
        tree = Tree(tree.node.children[step], tree, step)
    return tree


def in_their_places(nodes: Sequence[Node], hypothesis: Hypothesis) -> Sequence[Tree]:
    """The nodes that the latest message has finished, each below its parent."""
    if not nodes:
        return ()
    around = next(hypothesis.open_symbols, None)
    parent = None if around is None else Tree(OpenNode(around, ()))
    found: list[Tree] = []
    for node in reversed(nodes):
        holder = next((tree for tree in reversed(found) if _holds(tree, node)), parent)
        found.append(Tree(node, holder))
    found.reverse()
    return found


def _holds(tree: Tree, node: Node) -> bool:
    return isinstance(tree.node, Node) and any(child is node for child in tree.node.children)
