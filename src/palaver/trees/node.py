"""Derivations as plain values: nodes that never change and know no parent.

A part of a derivation is a `Node` or a leaf. A leaf is its own value: a `str` is text, a `bytes` is bytes, and
an `int` (0 or 1) is one bit. Nodes are tuples so that a hundred thousand of them are cheap to make, share and throw
away; what spec authors and users of the API see is a `Tree`, a view of a node in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias


class NonTerminal(str):
    """The name of a symbol, brackets included: ``<start>``. A plain string to everyone who compares or stores it."""

    __slots__ = ()

    def name(self) -> str:
        """The name with its brackets, as the spec writes it."""
        return str(self)

    @property
    def is_terminal(self) -> bool:
        return False

    @property
    def is_non_terminal(self) -> bool:
        return True


class Parties(NamedTuple):
    """Who says a message, and to whom (None: not said)."""

    sender: str
    recipient: str | None = None


Leaf: TypeAlias = str | bytes | int


class Node(NamedTuple):
    """A symbol and what it was expanded to.

    `sources` are the arguments of the generator that made (or, on parsing, would have made) this node. `parties` is
    set on messages only.
    """

    symbol: NonTerminal
    children: tuple[Part, ...]
    sources: tuple[Node, ...] = ()
    parties: Parties | None = None


class OpenNode(Node):
    """A node of a partial derivation whose end has not been seen yet."""


Part: TypeAlias = Node | Leaf

# `new(Node, (symbol, children, sources, parties))` is `Node(...)` without the cost of a Python-level constructor,
# which matters where nodes are made by the million: the matcher's trees and the generator's.
new = tuple.__new__


def parts_below(part: Part) -> Iterator[Part]:
    """`part` and all below it, parents first, sources left out."""
    stack = [part]
    while stack:
        top = stack.pop()
        yield top
        if isinstance(top, Node):
            stack.extend(reversed(top.children))


def _same_leaf(one: Leaf, other: Leaf) -> bool:
    return type(one) is type(other) and one == other


def same(one: Part, other: Part, equal: Callable[[Leaf, Leaf], bool] = _same_leaf) -> bool:
    """Whether two parts are equal in symbols, parties and leaves. Sources do not count."""
    stack = [(one, other)]
    while stack:
        left, right = stack.pop()
        if left is right:
            continue
        if isinstance(left, Node) and isinstance(right, Node):
            if (
                left.symbol != right.symbol
                or left.parties != right.parties
                or len(left.children) != len(right.children)
            ):
                return False
            stack.extend(zip(left.children, right.children, strict=True))
        elif isinstance(left, Node) or isinstance(right, Node) or not equal(left, right):
            return False
    return True
