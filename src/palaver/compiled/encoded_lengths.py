"""Lengths that are compared in an encoded form: `bytes(<len>) == struct.pack(">H", len(bytes(<data>)))`.

The encoding is undone on both sides: the field is decoded in the same way, which gives the same number. That is a
necessary condition only, as several fields may decode to one number. A function of the spec says by its attribute
`value` how that is done: `varint.value(<len>)` for `<len> == varint(len(bytes(<data>)))`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

_FORMAT = re.compile(r"%?[<>=]?[0 ]?[0-9]*(?P<kind>[dxXo]?)")
_BASES = {"": 10, "d": 10, "x": 16, "X": 16, "o": 8}


def decoded(encoded: ast.expr, field: ast.expr, names: Mapping[str, Any]) -> tuple[ast.expr, ast.expr]:
    """The number that is encoded on one side, and the other side decoded; both as they are if nothing is encoded."""
    match encoded:
        case ast.Call(ast.Name(name) as function, [number], []) if callable(getattr(names.get(name), "value", None)):
            return number, _call(ast.Attribute(function, "value", ast.Load()), _as_bytes(field))
        case ast.Call(ast.Attribute(number, "to_bytes"), arguments, keywords) if len(arguments) + len(keywords) <= 3:
            named = {keyword.arg: keyword.value for keyword in keywords}
            order = arguments[1] if len(arguments) > 1 else named.get("byteorder", ast.Constant("big"))
            return number, _call(ast.Attribute(_name("int"), "from_bytes", ast.Load()), _as_bytes(field), order)
        case ast.Call(ast.Attribute(module, "pack", context), [layout, number], []):
            unpacked = _call(ast.Attribute(module, "unpack", context), layout, _as_bytes(field))
            return number, ast.Subscript(unpacked, ast.Constant(0), ast.Load())
        case ast.Call(ast.Attribute(inner, "encode"), _, _):
            return decoded(inner, _as_text(field), names)
        case ast.Call(ast.Name("str"), [number], []):
            return number, _call(_name("int"), _as_text(field))
        case ast.BinOp(ast.Constant(str() | bytes() as layout), ast.Mod(), number):
            text = layout.decode("latin-1") if isinstance(layout, bytes) else layout
            return _formatted(text, number, field) or (encoded, field)
        case ast.Call(ast.Name("format"), [number, ast.Constant(str(layout))], []):
            return _formatted(layout, number, field) or (encoded, field)
        case ast.JoinedStr([ast.FormattedValue(number, -1, None)]):
            return _formatted("", number, field) or (encoded, field)
        case ast.JoinedStr([ast.FormattedValue(number, -1, ast.JoinedStr([ast.Constant(str(layout))]))]):
            return _formatted(layout, number, field) or (encoded, field)
    # A node that is compared with a number is read as one.
    return encoded, _call(_name("int"), field) if isinstance(field, ast.Name) else field


def _formatted(layout: str, number: ast.expr, field: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    found = _FORMAT.fullmatch(layout)
    if found is None:
        return None
    return number, _call(_name("int"), _as_text(field), ast.Constant(_BASES[found["kind"]]))


def _as_bytes(field: ast.expr) -> ast.expr:
    return _call(_name("bytes"), field) if isinstance(field, ast.Name) else field


def _as_text(field: ast.expr) -> ast.expr:
    match field:
        case ast.Name() as node:
            return _call(_name("str"), node)
        case ast.Call(ast.Name("bytes"), [ast.Name() as node], []):
            return _call(_name("str"), node)
    return field


def _call(function: ast.expr, *arguments: ast.expr) -> ast.Call:
    return ast.Call(function, list(arguments), [])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
