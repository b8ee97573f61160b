"""Diagnostics of wrong specs, word by word. The golden file is written anew as `golden` tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from spec_reading import remarks

import golden

REMARKS = Path(__file__).parent / "remarks.txt"
CASES = golden.cases(REMARKS)


@pytest.mark.parametrize("title", CASES)
def test_remarks(title: str) -> None:
    golden.check_case(REMARKS, title, remarks(CASES[title][0]))


def test_the_file_of_remarks_was_read() -> None:
    assert len(CASES) > 70
