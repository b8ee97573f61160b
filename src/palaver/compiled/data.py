"""What can be read as an input: text, bytes, numbers, trees, and trees written as nested tuples."""

from __future__ import annotations

import re
from typing import Any

from palaver.trees.tree import Tree


def as_data(value: Any) -> str | bytes:
    """The text or the bytes that `value` stands for.

    :raises TypeError: it stands for neither
    """
    match value:
        case str() | bytes():
            return value
        case bytearray() | memoryview():
            return bytes(value)
        case bool():
            pass
        case int():
            return str(value)
        case Tree():
            return value.serialised()
        case (str(), list() | tuple()):
            return _spelled(value)
    raise TypeError(f"{shorten(value)} is neither text nor bytes nor a whole number")


def _spelled(value: tuple[Any, Any]) -> str | bytes:
    """What the leaves of a tree written as `(name, [children])` spell; a leaf is a value, alone or with no children.

    :raises TypeError: this is no such tree
    """
    found: list[str | bytes] = []
    pending: list[Any] = [value]
    while pending:
        match pending.pop():
            case (str() as name, list() | tuple() as children) if children or re.fullmatch(r"<\w+>", name):
                pending.extend(reversed(children))
            case (str() | bytes() | int() as leaf, [] | ()) | leaf:
                found.append(as_data(leaf))
    if all(isinstance(leaf, str) for leaf in found):
        return "".join(map(str, found))
    return b"".join(leaf.encode() if isinstance(leaf, str) else leaf for leaf in found)


def shorten(value: object) -> str:
    """How a value is shown in a sentence."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
