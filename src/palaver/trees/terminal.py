"""Terminal symbols; and values that may also be called, as FANDANGO's manual calls what its code has as properties."""

from __future__ import annotations

from typing import Self, TypeVar

from palaver.trees.node import Leaf
from palaver.trees.values import TreeValue

T = TypeVar("T")


class Flag(int):
    """A truth value that may also be called: `tree.is_terminal` and `tree.is_terminal()` are the same."""

    __slots__ = ()

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__


class CallableList(list[T]):
    """A list that may also be called: `tree.children` and `tree.children()` are the same."""

    __slots__ = ()

    def __call__(self) -> Self:
        return self


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
