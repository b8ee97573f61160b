"""Options about many sessions at once: in one process, in several, or on several machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from palaver.cli.options import count_option

F = TypeVar("F", bound=Callable[..., Any])

_CREW_OPTIONS = [
    count_option(
        "-j", "--jobs", default=1, help="Run up to N sessions at the same time; fewer where more bring no gain."
    ),
    count_option("--workers", default=1, help="Run sessions in N processes, each with a target of its own."),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Run sessions on the cluster whose dask scheduler is at ADDRESS, or on local:N workers here.",
    ),
]


def crew_options(command: F) -> F:
    """Add the options about many sessions at once."""
    for option in reversed(_CREW_OPTIONS):
        command = option(command)
    return command
