"""Derivation trees as plain values: nodes that never change and know no parent, and paths to their parts.

A part of a derivation is a `Node` or a leaf. A leaf is its own value: a `str` is text, a `bytes` is bytes, and
an `int` (0 or 1) is one bit. Nodes are tuples so that a hundred thousand of them are cheap to make, share and throw
away; spec authors and users of the API see a `Tree`, a view of a node in its place.

A path leads from a part down to one below it. A step of 0 or more is the position of a child; ``~i`` (so -1 for the
first) is the source at position i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias, cast


class NonTerminal(str):
    """The name of a symbol, brackets included: ``<start>``. It compares as a plain string."""

    __slots__ = ()

    is_terminal = False
    is_non_terminal = True

    def name(self) -> str:
        """The name with its brackets, as the spec writes it."""
        return str(self)


class Parties(NamedTuple):
    """The sender of a message, and its recipient (None: not stated)."""

    sender: str
    recipient: str | None = None


Leaf: TypeAlias = str | bytes | int
TreePath: TypeAlias = tuple[int, ...]
Nested: TypeAlias = "tuple[Leaf, Sequence[Nested]]"


class Node(NamedTuple):
    """A symbol and the parts it was expanded to.

    `sources` are the arguments of the generator that made (or, on parsing, would have made) this node. `parties` is
    set on messages only.
    """

    symbol: NonTerminal
    children: tuple[Part, ...]
    sources: tuple[Node, ...] = ()
    parties: Parties | None = None


class OpenNode(Node):
    """A node of a partial derivation whose end has not been seen yet."""


class BegunNode(OpenNode):
    """An open node that is not selected, not even where open nodes are."""


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


def same_structure(one: Part, other: Part, equal: Callable[[Leaf, Leaf], bool] = _same_leaf) -> bool:
    """Return True if two parts are equal in symbols, parties and leaves. Sources are ignored."""
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


def part_at(part: Part, path: Iterable[int]) -> Part:
    """The part at `path` below `part`. :raises IndexError: there is none"""
    for step in path:
        part = _step(part, step)
    return part


def replace_at(part: Part, path: Sequence[int], new: Part) -> Part:
    """`part` with `new` at `path`. Only the nodes above it are new; everything else is shared.

    :raises IndexError: there is no such path in `part`
    :raises TypeError: `new` is a leaf, and `path` that of a source
    """
    above: list[Node] = []
    for step in path:
        below = _step(part, step)
        above.append(cast(Node, part))  # _step has seen that it is one
        part = below
    for node, step in zip(reversed(above), reversed(path), strict=True):
        new = _with_child(node, step, new) if step >= 0 else _with_source(node, ~step, new)
    return new


def _step(part: Part, step: int) -> Part:
    if not isinstance(part, Node):
        raise IndexError(f"a path leads below the leaf {part!r}")
    parts: tuple[Part, ...] = part.children if step >= 0 else part.sources
    position = step if step >= 0 else ~step
    if position >= len(parts):
        raise IndexError(f"{part.symbol} has no {'child' if step >= 0 else 'source'} {position}, only {len(parts)}")
    return parts[position]


def _with_child(node: Node, position: int, new: Part) -> Node:
    children = node.children
    return node._replace(children=(*children[:position], new, *children[position + 1 :]))


def _with_source(node: Node, position: int, new: Part) -> Node:
    if not isinstance(new, Node):
        raise TypeError(f"a source of {node.symbol} is a node, not the leaf {new!r}")
    return node._replace(sources=(*node.sources[:position], new, *node.sources[position + 1 :]))


def from_nested(nested: Nested) -> Part:
    """The node, or the leaf, that nested pairs of a name and children describe: ``("<start>", [("abc", [])])``."""
    made: list[Part] = []
    stack: list[Nested | tuple[NonTerminal, int]] = [nested]  # a symbol and a number: a node of the last parts made
    while stack:
        name, inside = stack.pop()
        if isinstance(inside, int):
            first = len(made) - inside
            made[first:] = [Node(cast(NonTerminal, name), tuple(made[first:]))]
        elif isinstance(name, str) and name.startswith("<"):
            stack.append((NonTerminal(name), len(inside)))
            stack.extend(reversed(inside))
        else:
            made.append(name)
    return made[0]
