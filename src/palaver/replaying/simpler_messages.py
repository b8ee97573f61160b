"""Simpler trees: the same message with smaller subtrees, fewer rounds, and shorter and plainer values.

Everything that is proposed is a tree of the grammar. Constraints are left to the session that sends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from palaver.compiled import Spec
from palaver.errors import ConversionError
from palaver.random_source import RandomSource
from palaver.replaying.replaying_limits import MAX_UNREADABLE_CHANGES
from palaver.trees.node import Node, Part, TreePath, replace_at, same_structure
from palaver.trees.tree import Tree
from palaver.trees.values import leaves_of

# The character that stands for all of a kind.
_PLAIN_LETTER, _PLAIN_CAPITAL, _PLAIN_DIGIT = "a", "A", "0"


class MessageSize(NamedTuple):
    """The size of a message: what is smaller is simpler."""

    length: int
    nodes: int
    oddness: int  # of characters that are not the plainest of their kind, and of cases that are mixed


def size_of(node: Node) -> MessageSize:
    """The size of a message, or of a part of it. Bits that are set are odd."""
    leaves = leaves_of(node)
    bits = [leaf for leaf in leaves if isinstance(leaf, int)]
    texts = [leaf for leaf in leaves if not isinstance(leaf, int)]
    chars = "".join(leaf.decode("latin-1") if isinstance(leaf, bytes) else leaf for leaf in texts)
    count, stack = 0, [node]
    while stack:
        each = stack.pop()
        count += 1
        stack += [child for child in each.children if isinstance(child, Node)]
    length = len(chars) + (len(bits) + 7) // 8
    return MessageSize(length, count, oddness_of(chars) + sum(bits))


def oddness_of(text: str) -> int:
    """The number of characters that are not the plainest of their kind, and of letters beside those of another case."""
    is_mixed = (one.isalpha() and two.isalpha() and one.isupper() != two.isupper() for one, two in pairwise(text))
    return sum(char != _plain(char) for char in text) + sum(is_mixed)


def _plain(char: str) -> str:
    if char.isascii() and char.isalpha():
        return _PLAIN_CAPITAL if char.isupper() else _PLAIN_LETTER
    return _PLAIN_DIGIT if char.isascii() and char.isdigit() else char


class SimplerMessage(NamedTuple):
    """A message that is simpler in one place."""

    node: Node
    path: TreePath


class Simplifier:
    """Proposes simpler trees, the ones that save most first."""

    def __init__(self, spec: Spec, chance: RandomSource) -> None:
        self._spec = spec
        self._chance = chance
        self._smallest: dict[str, Node | None] = {}

    def subtrees(self, root: Node) -> Iterator[SimplerMessage]:
        """The message with one subtree replaced by the smallest of its symbol, or by one that is inside of it."""
        yield from self._words(root, self._with_subtrees(root))

    def _with_subtrees(self, root: Node) -> Iterator[SimplerMessage]:
        for path, node in _editable(root):
            for other in (self._smallest_of(node.symbol), *_inside(node)):
                if other is not None and not same_structure(other, node) and size_of(other) < size_of(node):
                    yield SimplerMessage(_with(root, path, other), path)

    def rounds(self, root: Node) -> Iterator[SimplerMessage]:
        """The message with some neighbouring parts of a node left out."""
        yield from self._words(root, self._with_fewer_parts(root))

    def _with_fewer_parts(self, root: Node) -> Iterator[SimplerMessage]:
        for path, node in _editable(root):
            if len(node.children) > 1 and any(isinstance(child, Node) for child in node.children):
                for fewer in shorter(node.children):
                    yield from self._read(root, path, node, node._replace(children=fewer))

    def values(self, root: Node) -> Iterator[SimplerMessage]:
        """The message with one text in it shorter, or plainer."""
        yield from self._words(root, self._with_texts(root))

    def _with_texts(self, root: Node) -> Iterator[SimplerMessage]:
        for path, node in _editable(root):
            if _has_bits(node):
                continue
            if any(isinstance(child, Node) for child in node.children):
                for fewer in _simpler_leaves(node):
                    yield from self._read(root, path, node, fewer)
            else:
                for other in _simpler_texts(Tree(node).serialised()):
                    yield from self._read(root, path, node, other)

    def _words(self, root: Node, proposed: Iterator[SimplerMessage]) -> Iterator[SimplerMessage]:
        """Those that the grammar allows: a part may say how often another is repeated.

        What cannot be judged without earlier messages is left to the session.
        """
        is_judged, unreadable = self._is_read(root), 0
        for each in proposed:
            if not is_judged or self._is_read(each.node):
                yield each
                continue
            unreadable += 1
            if unreadable == MAX_UNREADABLE_CHANGES:
                return

    def _is_read(self, root: Node) -> bool:
        try:
            return self._spec.read_as(root.symbol, Tree(root).serialised()) is not None
        except ConversionError:  # its bits fill no whole bytes
            return False

    def _read(self, root: Node, path: TreePath, node: Node, value: Node | str | bytes) -> Iterator[SimplerMessage]:
        if isinstance(value, Node):
            if _has_bits(value):
                return
            value = Tree(value).serialised()
        read = self._spec.read_as(node.symbol, value)
        if read is not None:
            yield SimplerMessage(_with(root, path, read), path)

    def _smallest_of(self, symbol: str) -> Node | None:
        if symbol not in self._smallest:
            self._smallest[symbol] = self._spec.random_tree(symbol, self._chance / symbol, is_smallest=True)
        return self._smallest[symbol]


def _with(root: Node, path: TreePath, part: Part) -> Node:
    whole = replace_at(root, path, part)
    assert isinstance(whole, Node), "a message is a node"
    return whole._replace(parties=root.parties)


def _editable(root: Node) -> list[tuple[TreePath, Node]]:
    """All nodes with their paths, those with the longest text first; not what a generator has made of something."""
    found: list[tuple[TreePath, Node]] = []
    stack: list[tuple[TreePath, Node]] = [((), root)]
    while stack:
        path, node = stack.pop()
        found.append((path, node))
        if not node.sources:
            stack += [((*path, at), child) for at, child in enumerate(node.children) if isinstance(child, Node)]
    found.sort(key=lambda each: (-len(Tree(each[1]).serialised()) if not _has_bits(each[1]) else 0, each[0]))
    return found


def _inside(node: Node) -> Iterator[Node]:
    """The nodes of the same symbol below a node."""
    stack: list[Part] = list(reversed(node.children))
    while stack:
        part = stack.pop()
        if isinstance(part, Node):
            if part.symbol == node.symbol:
                yield part
            else:
                stack += reversed(part.children)


def _simpler_leaves(node: Node) -> Iterator[Node]:
    """The node with one of the texts in it, which stand beside other nodes, simpler."""
    for at, child in enumerate(node.children):
        if isinstance(child, str | bytes):
            for other in _simpler_texts(child):
                yield node._replace(children=(*node.children[:at], other, *node.children[at + 1 :]))


def _has_bits(node: Node) -> bool:
    return any(isinstance(leaf, int) for leaf in leaves_of(node))


def shorter(parts: Sequence[Part]) -> Iterator[tuple[Part, ...]]:
    """Sequences with some neighbours left out: half of them, a quarter, and so on down to one."""
    size = len(parts) // 2
    while size:
        for start in range(0, len(parts), size):
            yield (*parts[:start], *parts[start + size :])
        size //= 2


def _simpler_texts(text: str | bytes) -> Iterator[str | bytes]:
    """Shorter and plainer texts, what saves most first."""
    chars = text.decode("latin-1") if isinstance(text, bytes) else text
    plain = "".join(map(_plain, chars))
    # Of bytes, only ASCII has cases: those of other letters may not be one byte.
    cases = [text.upper(), text.lower()]
    in_one_case = [each.decode("latin-1") if isinstance(each, bytes) else each for each in cases]
    for other in dict.fromkeys((plain, *in_one_case, *_shorter_texts(chars), *_plainer_texts(chars))):
        if other != chars:
            yield other.encode("latin-1") if isinstance(text, bytes) else other


def _shorter_texts(chars: str) -> Iterator[str]:
    size = len(chars)
    while size:
        for start in range(0, len(chars), size):
            yield chars[:start] + chars[start + size :]
        size //= 2


def _plainer_texts(chars: str) -> Iterator[str]:
    for at, char in enumerate(chars):
        yield chars[:at] + _plain(char) + chars[at + 1 :]
