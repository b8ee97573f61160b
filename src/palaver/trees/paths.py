"""Parts by their path: finding one, and putting another in its place.

A path is the steps from a part down to one below it. A step of 0 or more is the position of a child; ``~i`` (so -1 for
the first) is the source at position i.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

from palaver.trees.node import Node, Part

Path: TypeAlias = tuple[int, ...]


def part_at(part: Part, path: Iterable[int]) -> Part:
    """The part at `path` below `part`.

    :raises IndexError: there is none
    """
    for step in path:
        part = _step(part, step)
    return part


def replace_at(part: Part, path: Sequence[int], new: Part) -> Part:
    """`part` with `new` at `path`. Only the spine above it is made anew; everything else is shared.

    :raises IndexError: there is no such path in `part`
    :raises TypeError: `new` is a leaf, and `path` that of a source
    """
    spine: list[Node] = []
    for step in path:
        below = _step(part, step)
        spine.append(cast(Node, part))  # _step has seen that it is one
        part = below
    for node, step in zip(reversed(spine), reversed(path), strict=True):
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
