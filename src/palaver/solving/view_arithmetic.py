"""Inverse arithmetic of views: the number that gives a value, and the numbers that keep a bound."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from palaver.solving.invertible_views import TURNED, View

HOLDS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def is_number(value: Any) -> bool:
    """True if a value is an integer or a finite float."""
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def inverse(view: View, value: Any) -> int | None:
    """The number n with `times * n ** power + plus == value`; None if there is none."""
    if not is_number(value) or value != int(value):
        return None
    number, rest = divmod(int(value) - view.plus, view.times)
    if rest:
        return None
    if view.power == 1:
        return number
    root = _floor_root(number, view.power)
    return root if root is not None and root**view.power == number else None


def bounds(view: View, operator: str, value: float) -> tuple[int | None, int | None]:
    """The least and the largest n for which `times * n ** power + plus operator value` holds."""
    if view.times < 0:
        operator = TURNED[operator]
    quotient = (Fraction(value) - view.plus) / view.times  # exact, however large the numbers are
    low: int | None = None
    high: int | None = None
    if operator in ("<", "<=", "=="):
        high = math.ceil(quotient) - 1 if operator == "<" else math.floor(quotient)
    if operator in (">", ">=", "=="):
        low = math.floor(quotient) + 1 if operator == ">" else math.ceil(quotient)
    if view.power > 1:
        high = None if high is None else _floor_root(high, view.power) if high >= 0 else -1
        if low is not None and low > 0:
            root = _floor_root(low - 1, view.power)
            assert root is not None, "a root of what is not negative"
            low = root + 1
    return low, high


def _floor_root(number: int, power: int) -> int | None:
    """The largest n with `n ** power <= number`; None below 0."""
    if number < 0:
        return None
    low, high = 0, 1 << (number.bit_length() // power + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**power <= number:
            low = middle
        else:
            high = middle - 1
    return low


def is_signed(layout: str) -> bool:
    """True if numbers in this layout may be negative."""
    return layout not in ("", "big", "little") and layout[-1].islower()


def packed(layout: str, number: int, sizes: Iterable[int]) -> Iterator[str]:
    """A number in bytes, with each of the sizes that are large enough."""
    for size in sizes:
        try:
            data = number.to_bytes(size, "little") if layout == "little" else struct.pack(layout, number)
        except (OverflowError, struct.error):
            continue
        yield data.decode("latin-1")
