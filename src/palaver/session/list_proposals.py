"""Messages that go on with a list that must become equal to another one (`list_comparisons`).

The fields of a random message are exchanged for nodes of the other list, so that one list is the beginning of the
other. Whether such a message may be sent is decided by the constraints, as of any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from palaver.generation.makers import Discarded
from palaver.session.list_comparisons import ListComparison, Lists, ListSide, begins_with, open_nodes
from palaver.session.next_message import NextMessage
from palaver.session.session_limits import MAX_LIST_DRAFTS, MAX_LISTED_NODES
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.spec.traversal import last_symbol
from palaver.trees.node import Node, Part, TreePath, replace_at
from palaver.trees.tree import Tree

if TYPE_CHECKING:
    from palaver.session.history import SessionHistory


class ListProposals:
    """Proposes messages with which lists become equal, or nearly so."""

    def __init__(self, history: SessionHistory, comparisons: Sequence[ListComparison], context: NextMessage) -> None:
        self._history = history
        self._comparisons = comparisons
        self._context = context

    def messages(self, symbol: str) -> Iterator[Node]:
        """Messages of a symbol whose lists go on as others do, those that bring most of what is missing first."""
        for comparison in self._comparisons:
            for side, other in (comparison.sides, comparison.sides[::-1]):
                if side.grows and symbol in side.holders[0]:
                    lists = self._lists(comparison)
                    missing = () if lists is None else _missing(side, other, lists)
                    if missing:
                        yield from self._proposed(symbol, last_symbol(side.expression.mentions[0].path), missing)

    def _proposed(self, symbol: str, field: str, missing: Sequence[Tree]) -> Iterator[Node]:
        """Messages in which the fields of a symbol are those that are missing, or the first of them."""
        drafts = [
            (node, paths) for node in self._drafts(symbol, field, len(missing)) if (paths := _places(node, field))
        ]
        drafts.sort(key=lambda each: abs(len(missing) - len(each[1])))
        for node, paths in drafts:
            for path, tree in zip(paths, missing, strict=False):
                node = _replaced(node, path, tree)
            yield node

    def _drafts(self, symbol: str, field: str, amount: int) -> Iterator[Node]:
        for _ in range(MAX_LIST_DRAFTS):
            with suppress(Discarded):
                node = self._context.make(symbol, self._context.history)
                more = amount - len(_places(node, field))
                yield node
                if more and (counted := self._context.counted(node, field, more)) is not None:
                    yield counted

    def _lists(self, comparison: ListComparison) -> Lists | None:
        """The lists as they are now, if they differ."""
        if comparison.state is None:
            failure = self._history.watches[0].checks.outcomes[comparison.clause]
            return None if failure is None else comparison.lists_of(failure)
        if not self._history.number:
            return None
        root, path = self._history.forecast.hypotheses[0].recent_tree()
        node = next(open_nodes(Tree(root).at(path), comparison.state), None)
        return None if node is None else comparison.lists_in(node)


def _missing(side: ListSide, other: ListSide, lists: Lists) -> Sequence[Tree]:
    """The nodes of the other lists that this one lacks, in the order in which it needs them."""
    if any(mention.name not in lists for each in (side, other) for mention in each.expression.mentions):
        return ()
    (own,) = side.expression.mentions
    candidates = [tree for mention in other.expression.mentions for tree in lists[mention.name]]
    chosen = list(lists[own.name])
    start = len(chosen)
    try:
        wanted, value = other.value(lists), side.value(lists)
        if not begins_with(wanted, value):
            return ()
        while len(chosen) < start + MAX_LISTED_NODES and value != wanted:
            following = _next_of(side, [*candidates[len(chosen) : len(chosen) + 1], *candidates], chosen, wanted, value)
            if following is None:
                break
            chosen.append(following)
            value = side.value({own.name: chosen})
    except SPEC_CODE_RAISES:
        return ()
    return chosen[start:]


def _next_of(
    side: ListSide, candidates: Sequence[Tree], chosen: Sequence[Tree], wanted: Any, value: Any
) -> Tree | None:
    (own,) = side.expression.mentions
    for tree in candidates:
        longer = side.value({own.name: [*chosen, tree]})
        if longer != value and begins_with(wanted, longer):
            return tree
    return None


def _places(node: Node, symbol: str) -> list[TreePath]:
    """The places of the parts of a message that have a symbol, in document order."""
    if node.symbol == symbol:
        return [()]
    found: list[TreePath] = []
    todo: list[tuple[TreePath, Part]] = [((), node)]
    while todo:
        path, part = todo.pop()
        if not isinstance(part, Node):
            continue
        if part.symbol == symbol:
            found.append(path)
        else:
            todo.extend(((*path, at), child) for at, child in reversed(list(enumerate(part.children))))
    return found


def _replaced(node: Node, path: TreePath, tree: Tree) -> Node:
    """A message with another node in one place, if it is one of the same symbol."""
    below: Part = node
    for step in path:
        assert isinstance(below, Node), "what has children is a node"
        below = below.children[step]
    if not isinstance(tree.node, Node) or not isinstance(below, Node) or tree.node.symbol != below.symbol:
        return node
    changed = replace_at(node, path, tree.node)
    assert isinstance(changed, Node), "a part of a node was exchanged"
    return changed
