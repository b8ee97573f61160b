"""The commands of docs/protocols.md do what is said there."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from servers.ntp import CHRONYD

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"
FIXTURES = [
    shlex.split(line) for line in re.findall(r"^palaver (specs .*--fixture.*)$", PAGE.read_text(), re.MULTILINE)
]
COMMANDS = [shlex.split(line) for line in re.findall(r"^palaver (talk .*--target.*)$", PAGE.read_text(), re.MULTILINE)]


# Programs that are not where Debian would install them; Python with the packages of the developers.
UNPACKED = {"chronyd": CHRONYD, "python3": sys.executable}


def target(command: list[str]) -> str:
    return command[command.index("--target") + 1].split()[0]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(each, marks=pytest.mark.servers(UNPACKED.get(name, name)), id=f"{each[1]}-{name}{number}")
        for number, each in enumerate(COMMANDS)
        if (name := target(each))
    ],
)
def test_a_newcomer_finds_nothing_wrong(palaver: Any, command: list[str]) -> None:
    name = target(command)
    started = [
        word.replace(name, shlex.quote(UNPACKED.get(name, name)), 1) if word.startswith(f"{name} ") else word
        for word in command
    ]
    for making in FIXTURES:
        if any(f"{making[-1]}/" in word for word in started):
            assert palaver(*making).code == 0
    talked = palaver(*started)
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
