"""The nodes that a message has finished, each in its place."""

from __future__ import annotations

from collections.abc import Sequence

from palaver.matching.forecaster import Hypothesis
from palaver.trees.node import Node, OpenNode
from palaver.trees.tree import Tree


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
