"""Conversion of inputs to text and bytes: from text, bytes, numbers, trees, and trees written as nested tuples."""

from __future__ import annotations

import re
from typing import Any

from palaver.errors import ConversionError
from palaver.spec.python_code import short_repr
from palaver.trees.tree import Tree


def as_data(value: Any) -> str | bytes:
    """The text or the bytes that `value` stands for.

    Of a class derived from these types only the value counts, whatever else it overrides.

    :raises TypeError: it stands for neither
    :raises ConversionError: it is a number with too many digits
    """
    if type(value) is bytes or type(value) is str:  # nearly always
        return value
    match value:
        case str():
            return str.__str__(value)
        case bytes():
            return bytes.__getitem__(value, slice(None))
        case bytearray() | memoryview():
            return bytes(value)
        case bool():
            pass
        case int():
            return _in_digits(value)
        case Tree():
            return value.serialised()
        case (str(), list() | tuple()):
            return _spelled(value)
    raise TypeError(f"{short_repr(value)} is not text, bytes or a whole number")


def _in_digits(number: int) -> str:
    try:
        return int.__repr__(number)
    except ValueError as error:  # Python refuses to do what would take it long
        raise ConversionError(
            f"a number of {number.bit_length()} bits is too large to be written in decimal"
        ) from error


def _spelled(value: tuple[Any, Any]) -> str | bytes:
    """The leaves of a tree written as `(name, [children])`, put together. :raises TypeError: it is not such a tree"""
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
    return b"".join(as_bytes(leaf) if isinstance(leaf, str) else leaf for leaf in found)


def as_bytes(text: str) -> bytes:
    """A text as bytes; lone surrogates are bytes that are no UTF-8. :raises ConversionError: one stands for no byte"""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ConversionError(f"{short_repr(text)} cannot be encoded as UTF-8: {error.reason}") from error


def message_bytes(message: Any) -> bytes:
    """The bytes of a message that is to be sent. :raises ConversionError: it is neither a tree, nor text or bytes"""
    match message:
        case Tree():
            data = message.serialised()
        case str() | bytes():
            data = message
        case bytearray() | memoryview():
            data = bytes(message)
        case _:
            raise ConversionError(f"{type(message).__name__} cannot be sent: a message must be a tree, text or bytes")
    return as_bytes(data) if isinstance(data, str) else data
