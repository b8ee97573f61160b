"""The recent tree: the latest part of a session as a tree of its own, of bounded size."""

from __future__ import annotations

from collections.abc import Sequence

from palaver.matching.matching_limits import RECENT_DEPTH, RECENT_WIDTH
from palaver.matching.open_tree import ClosedSubtree, OpenEdge
from palaver.trees.node import Node, NonTerminal, OpenNode, Part, TreePath, new


def recent_tree(edge: OpenEdge, start: NonTerminal, closing: Sequence[Part] | None) -> tuple[Node, TreePath]:
    """A tree with the latest message and those just before it, and the path of the message.

    `closing` are the empty parts that come after the message if it completes its node; None if it does not.

    Open nodes of symbols that matter are complete: constraints compare the first message in such a node with the last.
    Of other nodes around the message the innermost ones are there, each with its latest children. The root is always
    one of the start symbol.
    """
    parts = _latest(edge)
    path = [len(parts) - 1]
    depth = 0
    is_complete = closing is not None
    parts += closing or ()
    while depth < RECENT_DEPTH or edge.place.level:
        parent = edge.place.parent
        if parent is None:
            break
        before = _latest(parent)
        if edge.place.symbol is None:  # a tree that grows from the bottom stands among the children above
            path[-1] += len(before)
        else:
            # A complete node is shown as such if all of it is there.
            kind = Node if is_complete and edge.place.level else OpenNode
            parts = [new(kind, (edge.place.symbol, tuple(parts), (), None))]
            path.append(len(before))
        is_complete = is_complete and edge.place.is_last
        parts = [*before, *parts, *(edge.place.tail if is_complete else ())]
        edge = parent
        depth += 1
    match parts:
        case [Node(symbol) as tree] if symbol == start:
            path.pop()
        case _:
            tree = new(OpenNode, (start, tuple(parts), (), None))
    path.reverse()
    return tree, tuple(path)


def _latest(edge: OpenEdge) -> list[Part]:
    """The latest children of an open node; all of them inside a node that matters."""
    found: list[Part] = []
    children = edge.children
    while children is not None and (edge.place.level or len(found) < RECENT_WIDTH):
        children, item = children
        found.append(item.part if isinstance(item, ClosedSubtree) else item)
    found.reverse()
    return found
