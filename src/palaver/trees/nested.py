"""Nested pairs of a name and children, ``("<start>", [("abc", [])])``, made into parts of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from palaver.trees.node import Node, NonTerminal, Part

Nested: TypeAlias = "tuple[str | bytes | int, Sequence[Nested]]"


@dataclass(frozen=True, slots=True)
class _Closing:
    """The end of a node whose children are the last so many parts made."""

    symbol: NonTerminal
    count: int


def from_nested(nested: Nested) -> Part:
    """The node that a pair describes, or the leaf."""
    made: list[Part] = []
    stack: list[Nested | _Closing] = [nested]
    while stack:
        top = stack.pop()
        if isinstance(top, _Closing):
            first = len(made) - top.count
            made[first:] = [Node(top.symbol, tuple(made[first:]))]
            continue
        name, inside = top
        if isinstance(name, str) and name.startswith("<"):
            stack.append(_Closing(NonTerminal(name), len(inside)))
            stack.extend(reversed(inside))
        else:
            made.append(name)
    return made[0]
