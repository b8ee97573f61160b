"""Which nodes are to blame where a condition fails: those that it looked at."""

from __future__ import annotations

from collections.abc import Iterable

from palaver.constraints.select import Bindings
from palaver.trees.node import Node
from palaver.trees.tree import SliceTree, Tree


def nodes_of(tree: Tree) -> list[Tree]:
    """The nodes to blame for `tree`: of a slice what is in it and what it was cut from, of a leaf what it is in."""
    if isinstance(tree.node, Node) and not isinstance(tree, SliceTree):
        return [tree]
    found: list[Tree] = []
    stack = [tree]
    while stack:
        top = stack.pop()
        if isinstance(top, SliceTree):
            stack += [top.whole, *reversed(top.children)]
        elif isinstance(top.node, Node):
            found.append(top)
        elif top.parent is not None:
            stack.append(top.parent)
    return found


def scope(root: Tree, bound: Bindings) -> list[Tree]:
    """What to blame if no node was looked at: what is bound, else everything."""
    return list(bound.values()) or [root]


def without_repetition(trees: Iterable[Tree]) -> tuple[Tree, ...]:
    """Each place once."""
    # By identity: equal trees in different places are different to blame, and each place has one view.
    return tuple({id(tree): tree for tree in trees}.values())
