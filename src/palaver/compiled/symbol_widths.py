"""Lengths of the symbols of a grammar: the least length of each, and its length if that is always the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from palaver.regular.charset import ASCII, BYTES, EVERY
from palaver.regular.regex import character_sets, compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat
from palaver.spec.ast import Sequence as Parts
from palaver.spec.traversal import walk

_BITS = 8  # of a byte, or a character


class SymbolWidths:
    """The widths of a grammar's symbols, in bytes if it is `binary`, else in characters."""

    def __init__(self, bodies: Mapping[str, Expr], *, binary: bool) -> None:
        self._bodies = bodies
        self._binary = binary
        self._fixed: dict[str, int | None] = {}  # in bits
        self._not_empty: set[str] | None = None

    def total(self, parts: Sequence[Expr]) -> int | None:
        """The length of parts together, if it is always the same."""
        bits = 0
        for part in parts:
            width = self._width(part)
            if width is None:
                return None
            bits += width
        return None if bits % _BITS else bits // _BITS

    def _width(self, expr: Expr) -> int | None:
        match expr:
            case Literal(value):
                return _BITS * self._size(value)
            case Bit():
                return 1
            case Pattern(source):
                least, most = compile_pattern(source).width
                return _BITS * least if least == most else None
            case Ref(symbol):
                return self._width_of(symbol)
            case Parts(parts) | Permutation(parts):
                widths = [self._width(part) for part in parts]
                known = [width for width in widths if width is not None]
                return sum(known) if len(known) == len(widths) else None
            case Choice(options):
                found = {self._width(option) for option in options}
                return found.pop() if len(found) == 1 else None
            case Repeat(body, least, most):
                width = self._width(body)
                return width * least if width is not None and isinstance(least, int) and least == most else None
            case _:
                assert_never(expr)

    def _width_of(self, symbol: str) -> int | None:
        if symbol not in self._fixed:
            self._fixed[symbol] = None  # found again here, it is recursive
            body = self._bodies.get(symbol)
            self._fixed[symbol] = None if body is None else self._width(body)
        return self._fixed[symbol]

    def _size(self, value: str | bytes) -> int:
        return len(value.encode("utf-8", "surrogatepass")) if self._binary and isinstance(value, str) else len(value)

    def can_be_empty(self, symbol: str) -> bool:
        """Return True unless a symbol always reads something."""
        if self._not_empty is None:
            self._not_empty = known = set[str]()
            while more := {
                name for name, body in self._bodies.items() if name not in known and not self._is_empty(body, known)
            }:
                known |= more
        return symbol not in self._not_empty

    def _is_empty(self, expr: Expr, known: set[str]) -> bool:
        """Return True if an expression may be empty, given the symbols that are known not to be."""
        match expr:
            case Literal(value):
                return not value
            case Bit():
                return False
            case Pattern(source):
                return compile_pattern(source).width[0] == 0
            case Ref(symbol):
                return symbol not in known
            case Parts(parts) | Permutation(parts):
                return all(self._is_empty(part, known) for part in parts)
            case Choice(options):
                return any(self._is_empty(option, known) for option in options)
            case Repeat(body, least, _):
                return not isinstance(least, int) or least == 0 or self._is_empty(body, known)
            case _:
                assert_never(expr)

    def is_ascii(self, symbol: str) -> bool:
        """Return True if all characters of a symbol are ASCII: then there are as many of them as bytes."""
        seen, todo = {symbol}, [symbol]
        while todo:
            body = self._bodies.get(todo.pop())
            if body is None:
                return False
            for expr in walk(body):
                if isinstance(expr, Ref) and expr.symbol not in seen:
                    seen.add(expr.symbol)
                    todo.append(expr.symbol)
                elif isinstance(expr, Bit) or not self._is_ascii(expr):
                    return False
        return True

    def _is_ascii(self, expr: Expr) -> bool:
        match expr:
            case Literal(str(text)):
                return text.isascii()
            case Literal(bytes(data)):
                return data.isascii()
            case Pattern(source):
                expression = compile_pattern(source).expression(BYTES if isinstance(source, bytes) else EVERY)
                return expression is None or not any(chars - ASCII for chars in character_sets(expression))
        return True
