"""Messages that go on with a list that must become equal to another one (`list_comparisons`).

The fields of a random message are exchanged for nodes of the other list, so that one list is the beginning of the
other. If a list is compared with something else that is made of another one, such as its nodes in their order, what was
said must stay the beginning of that: as long as the other list may change, the least is said; and what is added to it
makes it fit again, if that is possible at once. Whether such a message may be sent is decided by the constraints, as of
any other.
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
    from palaver.session.setup import SessionSetup


class ListProposals:
    """Proposes messages with which lists become equal, or nearly so."""

    def __init__(self, setup: SessionSetup, history: SessionHistory, context: NextMessage) -> None:
        self._setup = setup
        self._history = history
        self._comparisons = setup.monitor.lists.all
        self._context = context

    def messages(self, symbol: str) -> Iterator[Node]:
        """Messages of a symbol whose lists go on as others do, those that bring most of what is missing first."""
        for comparison in self._comparisons:
            for side, other in (comparison.sides, comparison.sides[::-1]):
                if not side.holders or symbol not in side.holders[0] or (lists := self._lists(comparison)) is None:
                    continue
                field = last_symbol(side.expression.mentions[0].path)
                if side.grows:
                    missing = _missing(side, other, lists)
                    if missing:
                        is_final = other.grows or not other.is_ahead(self._ahead())
                        yield from self._proposed(symbol, field, missing, len(missing) if is_final else 0)
                elif other.grows and len(side.holders) == 1:
                    yield from self._fitting(symbol, field, side, other, lists)

    def runs_ahead(self, symbol: str) -> bool:
        """Return True if two lists are equal, and a message of a symbol adds to the one that follows the other."""
        for comparison in self._comparisons:
            has_followed = self._setup.recoveries.has_held(comparison.clause, symbol)
            if comparison.state is not None or not has_followed or self._differs(comparison):
                continue
            for side in comparison.sides:
                field = last_symbol(side.expression.mentions[0].path) if side.grows else ""
                if field and symbol in side.holders[0] and self._setup.spec.analysis.occurs_once_in(field, symbol):
                    return True
        return False

    def _differs(self, comparison: ListComparison) -> bool:
        return self._history.watches[0].checks.outcomes[comparison.clause] is not None

    def _ahead(self) -> frozenset[str]:
        """The messages that may still come after the next one."""
        return self._history.forecast.ahead_after(self._context.move)

    def _fitting(self, symbol: str, field: str, side: ListSide, other: ListSide, lists: Lists) -> Iterator[Node]:
        """Messages with which what is made of a list begins with what was said of it, or will after some more."""
        with suppress(*SPEC_CODE_RAISES):
            (own,) = side.expression.mentions
            nodes, said = lists[own.name], other.value(lists)
            if not said:
                return

            def fits(added: Sequence[Tree]) -> bool:
                return begins_with(side.value({own.name: [*nodes, *added]}), said)

            yield from (
                node
                for node in self._drafts(symbol, field, 1)
                if fits([Tree(node).at(path) for path in _places(node, field)])
            )
            others = [tree for name, trees in lists.items() if name != own.name for tree in trees]
            for number in range(1, min(len(others), MAX_LISTED_NODES) + 1):
                for added in (others[-number:], others[::-1][-number:]):
                    if fits(added):
                        yield from self._proposed(symbol, field, added, len(added))
                        return

    def _proposed(self, symbol: str, field: str, missing: Sequence[Tree], amount: int) -> Iterator[Node]:
        """Messages in which the fields of a symbol, best so many, are those that are missing, or the first of them."""
        drafts = [(node, _places(node, field)) for node in self._drafts(symbol, field, amount)]
        drafts = [(node, paths) for node, paths in drafts if paths or not amount]
        drafts.sort(key=lambda each: abs(amount - len(each[1])))
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
        """The lists as they are now, if that is known."""
        if comparison.state is None:
            return comparison.lists_now(self._history.watches[0])
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
