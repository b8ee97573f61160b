"""What `palaver check` says, word by word: one spec for each kind of objection.

The golden file is written anew as `golden` tells.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import golden

OBJECTIONS = Path(__file__).parent / "objections.txt"
CASES = golden.cases(OBJECTIONS)


@pytest.mark.parametrize("title", CASES)
def test_objections(palaver: Any, title: str) -> None:
    palaver.write(spec_fan=CASES[title][0])
    checked = palaver("check", "spec.fan")
    golden.check_case(OBJECTIONS, title, f"{checked.text}exit {checked.code}")


def test_the_file_of_objections_was_read() -> None:
    assert len(CASES) > 25
