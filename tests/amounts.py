"""How much of the same a test tries: in `make test` enough to see that something is wrong, in `make test-all` more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

# Set by `make test-all`, and by whoever wants to.
AT_LENGTH = bool(os.environ.get("PALAVER_AT_LENGTH"))


def examples(number: int) -> int:
    """How many of so many random examples are tried, of Hypothesis or by other seeds: all, or the first third."""
    return number if AT_LENGTH else max(2, number // 3)


def few(values: Iterable[Any], fast: int = 1) -> list[Any]:
    """Values of a parameter that differ little, such as seeds: the tests of all but the first are slow ones."""
    return [
        pytest.param(*(value if type(value) is tuple else (value,)), marks=() if at < fast else pytest.mark.slow)
        for at, value in enumerate(values)
    ]
