"""The definition of a grammar's meaning over bits: the text is a row of zeros and ones, a byte is eight of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product

from naive import Derivations, Naive, Span, Spans
from random_specs import BYTES, as_bits, from_bits

from palaver.spec.ast import Bit, Expr, Literal, Pattern

# Long enough to see whether any of the patterns in `random_specs` can go on.
EXTENSIONS = [bytes(more) for size in (1, 2) for more in product(BYTES, repeat=size)]


class NaiveBits(Naive):
    """The readings of some bytes by one grammar."""

    def __init__(self, rules: Mapping[str, Expr], data: bytes, patience: int = 1_000_000) -> None:
        super().__init__(rules, as_bits(data), patience)

    def ends(self, expr: Expr, start: int, spans: Spans) -> set[int]:
        match expr:
            case Bit(value):
                return {start + 1} if self.text.startswith(str(value), start) else set()
            case Literal(value):
                bits = as_bits(value)
                return {start + len(bits)} if start % 8 == 0 and self.text.startswith(bits, start) else set()
            case Pattern(bytes(source)):
                borders = range(start, len(self.text) + 1, 8) if start % 8 == 0 else ()
                return {end for end in borders if re.fullmatch(source, from_bits(self.text[start:end]))}
        return super().ends(expr, start, spans)

    def _goes_on(self, expr: Expr, start: int, found: set[tuple[str, int]]) -> bool:
        rest = self.text[start:]
        match expr:
            case Bit():
                return not rest
            case Literal(value):
                bits = as_bits(value)
                return start % 8 == 0 and bits.startswith(rest) and len(bits) > len(rest)
            case Pattern(bytes(source)):
                seen = from_bits(rest)
                return start % 8 == 0 and any(re.fullmatch(source, seen + more) for more in EXTENSIONS)
        return super()._goes_on(expr, start, found)

    def _derive(self, expr: Expr, start: int, end: int, span: Span) -> Derivations:
        if not isinstance(expr, Bit | Literal | Pattern):
            yield from super()._derive(expr, start, end, span)
        elif end in self.settled(expr, start):
            yield (expr.value if isinstance(expr, Bit) else from_bits(self.text[start:end]),)
