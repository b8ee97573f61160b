"""Settings of tests in TOML: the file `palaver.toml` of a project, and the table at the head of a spec.

The table is a block of comments at the very beginning of a `.fan` file, so that whoever else reads the file sees
nothing of it:

    # [palaver]
    # target = "python server.py {port}"
    # sessions = 20
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass
from palaver.printable import printable

FILE_NAME: Final = "palaver.toml"
TABLE: Final = "palaver"


class SettingsError(PalaverError):
    """Settings cannot be read, or say something that means nothing."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of values: its name, and the types of TOML that it may have."""

    name: str
    types: tuple[type, ...]

    def fits(self, value: object) -> bool:
        if isinstance(value, bool):
            return bool in self.types
        if isinstance(value, list):
            return list in self.types and all(isinstance(each, str) for each in value)
        return isinstance(value, self.types)


_TEXT = _Kind("a text", (str,))
_TEXTS = _Kind("a text, or a list of texts", (str, list))
_WHOLE = _Kind("a whole number", (int,))
_NUMBER = _Kind("a number", (int, float))
_SWITCH = _Kind("true or false", (bool,))
_PAIRS = _Kind("a table", (dict,))

# The settings that `palaver.talk` has under the same name.
_OF_TALK = {
    **dict.fromkeys(("target", "until", "goal", "known", "ready", "restart", "cwd"), _TEXT),
    **dict.fromkeys(("setup", "reset", "probe", "teardown", "target_memory"), _TEXT),
    **dict.fromkeys(("client", "server", "program"), _TEXTS),
    **dict.fromkeys(("seed", "sessions", "k", "max_messages", "max_message_bytes", "target_cpu"), _WHOLE),
    **dict.fromkeys(("timeout", "patience", "quiet_interval", "wait_for_server", "grace"), _NUMBER),
    **dict.fromkeys(("session_time", "start_timeout"), _NUMBER),
    "env": _PAIRS,
}
# All settings.
SETTINGS: Final[Mapping[str, _Kind]] = {
    "spec": _TEXTS,
    "constraints": _TEXTS,
    "parameters": _PAIRS,
    **_OF_TALK,
    "time": _NUMBER,
    "again": _TEXT,
    "shrink": _SWITCH,
    **dict.fromkeys(("run", "report", "junit", "sarif", "json", "markdown", "github"), _TEXT),
}


def read_settings(text: str, place: str) -> dict[str, Any]:
    """The settings in a text of TOML; hyphens in their names are as good as underscores.

    :raises SettingsError: there is something wrong with it
    """
    import tomllib  # only where there is a file of it: it is slow to import

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{place} is not TOML: {error}") from error
    if isinstance(data.get(TABLE), dict) and len(data) == 1:
        data = data[TABLE]
    settings = {}
    for name, value in data.items():
        key = name.replace("-", "_")
        kind = SETTINGS.get(key)
        if kind is None:
            close = get_close_matches(key, SETTINGS, n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise SettingsError(f"{place}: {hint}{printable(name)} is none of {', '.join(SETTINGS)}")
        if not kind.fits(value):
            raise SettingsError(f"{place}: {name} is {kind.name}, and not {printable(repr(value))}")
        settings[key] = [value] if kind is _TEXTS and isinstance(value, str) else value
    return settings


def read_parameters(file: Path) -> dict[str, Any]:
    """The parameters of a spec in a file of TOML, alone or in a table `[parameters]`.

    :raises SettingsError: they cannot be read
    """
    import tomllib

    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is not TOML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {file}: {error}") from error
    table = data.get("parameters")
    return table if isinstance(table, dict) else data


def project_settings(folder: Path) -> dict[str, Any] | None:
    """The settings of the project in a folder; None if it has none. :raises SettingsError: they are wrong"""
    file = folder / FILE_NAME
    if not file.is_file():
        return None
    try:
        return read_settings(file.read_text(encoding="utf-8"), FILE_NAME)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {file}: {error}") from error


def head_of(text: str) -> str | None:
    """The TOML at the head of a spec; None if there is no table there."""
    first, _, rest = text.partition("\n")
    if first.strip() not in (f"# [{TABLE}]", f"#[{TABLE}]"):
        return None
    lines = [""]  # so that lines have the numbers that they have in the file
    for line in rest.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[1:].removeprefix(" "))
    return "\n".join(lines)


def talk_arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `palaver.talk` that settings give."""
    arguments = {name: value for name, value in settings.items() if name in _OF_TALK}
    if "time" in settings:
        arguments["seconds"] = float(settings["time"])
    return arguments
