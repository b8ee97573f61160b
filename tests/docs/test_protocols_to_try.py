"""The commands of docs/protocols.md do what is said there."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from servers.common import greets, program, started
from servers.dns import free_port_of_both
from servers.ntp import CHRONYD

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"
FIXTURES = [
    shlex.split(line) for line in re.findall(r"^palaver (specs .*--fixture.*)$", PAGE.read_text(), re.MULTILINE)
]
# What a server needs is written, then it is started in the background, and talked to at its port.
BACKGROUND = re.findall(
    r"^palaver (specs \w+ --fixture (\w+))\n((?:.* && )?)(\w+)( .*) &\npalaver (talk \w+ --client )[0-9]+( .*)$",
    PAGE.read_text(),
    re.MULTILINE,
)
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


@pytest.mark.parametrize(
    "steps",
    [pytest.param(each, marks=pytest.mark.servers(each[3], root=True), id=f"{each[0]}") for each in BACKGROUND],
)
def test_nor_does_a_newcomer_who_starts_a_server_in_the_background(palaver: Any, steps: tuple[str, ...]) -> None:
    making, folder, before, server, arguments, talking, options = steps
    port = free_port_of_both()
    with tempfile.TemporaryDirectory(prefix="palaver", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        within = f"{name}/{folder}"
        assert palaver(*shlex.split(making)[:-1], within, "--port", str(port)).code == 0
        command = f"{before}exec {program(server)}{arguments}".replace(f"{folder}/", f"{within}/")
        with started(["sh", "-e", "-c", command], is_ready=partial(greets, port), log=Path(name) / "log"):
            talked = palaver(*talking.split(), str(port), *shlex.split(options))
    assert talked.code == 0, talked.text + talked.said


def test_both_kinds_of_commands_are_found() -> None:
    assert [each[0].split()[1] for each in BACKGROUND] == ["dns", "pop3", "imap"]
