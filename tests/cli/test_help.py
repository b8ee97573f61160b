"""What `--help` says, word by word, 80 columns wide. The golden files are written anew as `golden` tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import golden
from palaver.cli.command_line import palaver as all_commands

HELP = Path(__file__).parent / "help"
COMMANDS = ["palaver", *all_commands.list_commands(None)]  # type: ignore[arg-type]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command(palaver: Any, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    asked = palaver(*([] if command == "palaver" else [command]), "--help")
    assert asked.code == 0
    golden.check(HELP / f"{command}.txt", asked.text)


def test_there_is_no_help_of_a_command_that_is_gone() -> None:
    assert {path.stem for path in HELP.glob("*.txt")} == set(COMMANDS)
