"""Options about the care for a system under test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _read_variables(_: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The variables of the environment, by their names."""
    variables = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param=option)
        variables[name] = value
    return variables


_TARGET_OPTIONS = [
    click.option(
        "--restart",
        type=click.Choice(["session", "crash", "never"]),
        help="Start a server again before every session, when it has ended or hangs (crash, the default), or never.",
    ),
    click.option(
        "--start-timeout",
        type=click.FloatRange(0, min_open=True),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        help="Wait SECONDS for a server to listen, and to be ready.",
    ),
    click.option("--ready", metavar="REGEX", help="Wait for a server until its output matches REGEX as well."),
    click.option(
        "--env",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_read_variables,
        help="Set a variable of the environment, for the target and the commands below.",
    ),
    click.option(
        "--cwd",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Start the target, and the commands below, in DIR.",
    ),
    click.option(
        "--target-memory", metavar="SIZE", help="Limit the address space of each process of the target, such as 512M."
    ),
    click.option(
        "--target-cpu",
        type=click.IntRange(1),
        metavar="SECONDS",
        help="Limit the processor time of each process of the target.",
    ),
    click.option("--setup", metavar="COMMAND", help="Run COMMAND in a shell before the target is first started."),
    click.option("--reset", metavar="COMMAND", help="Run COMMAND before each session but the first."),
    click.option(
        "--probe",
        metavar="COMMAND",
        help="Run COMMAND after each session, to see if a server is alive; 'dialogue': hold the shortest session.",
    ),
    click.option("--teardown", metavar="COMMAND", help="Run COMMAND at the end, when the target has ended."),
]


def target_options(command: F) -> F:
    """Add the options about the care for a system under test."""
    for option in reversed(_TARGET_OPTIONS):
        command = option(command)
    return command
