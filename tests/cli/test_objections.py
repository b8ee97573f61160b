"""What `palaver check` says, word by word: one spec for each kind of objection."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

CASES = re.findall(
    r"^=== (.+)\n((?:.*\n)+?)---\n((?:.*\n)+?)(?=\n===|\Z)",
    (Path(__file__).parent / "objections.txt").read_text(),
    re.M,
)


@pytest.mark.parametrize("spec, expected", [pytest.param(spec, said, id=title) for title, spec, said in CASES])
def test_objections(palaver: Any, spec: str, expected: str) -> None:
    palaver.write(spec_fan=spec)
    checked = palaver("check", "spec.fan")
    assert f"{checked.text}exit {checked.code}" == expected.rstrip("\n")


def test_the_file_of_objections_was_read() -> None:
    assert len(CASES) > 25
