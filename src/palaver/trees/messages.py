"""The messages of a tree, in the order of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from palaver.trees.node import Node

if TYPE_CHECKING:
    from palaver.trees.tree import Tree


class ProtocolMessage(NamedTuple):
    """One message of a session: its sender, its recipient (None: not stated), and its tree."""

    sender: str
    recipient: str | None
    msg: Tree


class Messages(list[ProtocolMessage]):
    """The messages of a tree, to index, slice and iterate; `next()` returns them one by one, as an iterator does."""

    _taken = 0

    def __next__(self) -> ProtocolMessage:
        if self._taken == len(self):
            raise StopIteration
        self._taken += 1
        return self[self._taken - 1]


def messages_in(tree: Tree) -> Messages:
    """The messages in order of the session."""
    found = Messages()
    stack = [tree]
    while stack:
        top = stack.pop()
        node = top.node
        if not isinstance(node, Node):
            continue
        if node.parties is None:
            stack.extend(reversed(top.children))
        else:  # a message holds no further ones
            found.append(ProtocolMessage(node.parties.sender, node.parties.recipient, top))
    return found
