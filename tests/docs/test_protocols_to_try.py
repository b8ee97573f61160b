"""The commands of docs/protocols.md do what is said there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"
COMMANDS = [shlex.split(line) for line in re.findall(r"^palaver (talk .*)$", PAGE.read_text(), re.MULTILINE)]


def target(command: list[str]) -> str:
    return command[command.index("--target") + 1].split()[0]


@pytest.mark.parametrize(
    "command",
    [pytest.param(each, marks=pytest.mark.servers(target(each)), id=f"{each[1]}-{target(each)}") for each in COMMANDS],
)
def test_a_newcomer_finds_nothing_wrong(palaver: Any, command: list[str]) -> None:
    talked = palaver(*command)
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
