"""The settings in `palaver.toml`, as values of the options of `palaver talk`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from palaver.project_settings import SettingsError, project_settings

# The options behind settings that are called otherwise.
_CALLED = {
    "spec": "files",
    "client": "clients",
    "server": "servers",
    "target": "command_line",
    "sessions": "count",
    "time": "seconds",
    "shrink": "shrinks",
    **{name: f"{name}_file" for name in ("report", "junit", "sarif", "json", "markdown", "github")},
}


def project_defaults() -> dict[str, Any] | None:
    """The values of options in this folder; None if it has no `palaver.toml`. :raises UsageError: it is wrong"""
    try:
        settings = project_settings(Path())
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    if settings is None:
        return None
    if "env" in settings:
        settings["env"] = [f"{name}={value}" for name, value in settings["env"].items()]
    if "parameters" in settings:
        settings["parameters"] = [(name, value) for name, value in settings["parameters"].items()]
    return {_CALLED.get(name, name): value for name, value in settings.items()}
