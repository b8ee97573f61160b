"""Golden files: texts for users as they were read and found good.

`UPDATE_GOLDEN=1 pytest tests/cli tests/spec tests/session` writes what palaver says now into the files. Read the
difference aloud.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

UPDATES = "UPDATE_GOLDEN" in os.environ

_CASE = re.compile(r"^=== (.+)\n((?:.*\n)*?)---\n((?:.*\n)+?)(?=\n===|\Z)", re.M)


def check(path: Path, text: str) -> None:
    """Compare a text with its file."""
    if UPDATES:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def cases(path: Path) -> dict[str, tuple[str, str]]:
    """The cases of a file by title: each a given text, and what is said about it."""
    return {title: (given, said.rstrip("\n")) for title, given, said in _CASE.findall(path.read_text())}


def check_case(path: Path, title: str, said: str) -> None:
    """Compare what is said with one case of a file."""
    if UPDATES:
        path.write_text(
            _CASE.sub(
                lambda case: f"=== {title}\n{case[2]}---\n{said}\n" if case[1] == title else case[0], path.read_text()
            )
        )
    assert said == cases(path)[title][1]
