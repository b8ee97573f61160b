"""Diagnostics of wrong specs, word by word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from spec_reading import remarks

CASES = re.findall(
    r"^=== (.+)\n((?:.*\n)+?)---\n((?:.*\n)+?)(?=\n===|\Z)", (Path(__file__).parent / "remarks.txt").read_text(), re.M
)


@pytest.mark.parametrize("spec, expected", [pytest.param(spec, said, id=title) for title, spec, said in CASES])
def test_remarks(spec: str, expected: str) -> None:
    assert remarks(spec) == expected.rstrip("\n")


def test_the_file_of_remarks_was_read() -> None:
    assert len(CASES) > 70
