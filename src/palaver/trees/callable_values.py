"""Values that may also be called: FANDANGO's manual calls some attributes that its code has as properties."""

from __future__ import annotations

from typing import Self, TypeVar

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
