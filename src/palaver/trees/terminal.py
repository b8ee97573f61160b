"""Terminal symbols."""

from __future__ import annotations

from palaver.trees.callable_values import Flag
from palaver.trees.node import Leaf
from palaver.trees.values import TreeValue


class Terminal:
    """The symbol of a leaf: the leaf itself."""

    __slots__ = ("leaf",)

    is_terminal = Flag(True)
    is_non_terminal = Flag(False)

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf

    def name(self) -> str:
        """The leaf as the spec writes it."""
        return repr(self.leaf)

    format_as_spec = name
    __str__ = name

    def value(self) -> TreeValue:
        return TreeValue(self.leaf)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Terminal) and type(self.leaf) is type(other.leaf) and self.leaf == other.leaf

    def __hash__(self) -> int:
        return hash(self.leaf)

    def __repr__(self) -> str:
        return f"Terminal({self.leaf!r})"
