"""The care for a system under test: when it is started again, what is run around it, when it is ready, its limits."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from os import PathLike
from typing import Any, TypedDict

from palaver.addresses import Address, ProgramSettings
from palaver.campaign.campaign_limits import START_TIMEOUT
from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass
from palaver.spec.diagnostics import did_you_mean

# Stands for the port of the system under test in commands and addresses.
PORT = "{port}"
# Stands for a folder that is there as long as the system under test is needed, in the same places.
FOLDER = "{dir}"

# As a probe: the shortest session of the spec.
DIALOGUE = "dialogue"

_SIZE = re.compile(r"(?P<count>[0-9]+)(?P<unit>[KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class TargetError(PalaverError):
    """The program under test cannot be started, or does not do what is needed of it."""


class TargetNotRestarted(TargetError):
    """The program under test has ended, and was not to be started again."""


class Restart(Enum):
    """When a server under test is ended and started again."""

    SESSION = "session"  # before every session
    CRASH = "crash"  # when it has ended, or does not answer
    NEVER = "never"  # the run is over when it ends


class TargetOptions(TypedDict, total=False):
    """The keywords of `palaver.talk` about the care for the system under test."""

    restart: Restart | str | None
    setup: str | None
    reset: str | None
    teardown: str | None
    probe: str | None
    ready: str | None
    start_timeout: float
    env: Mapping[str, str]
    cwd: str | PathLike[str] | None
    target_memory: int | str | None
    target_cpu: int | None


@dataclass(frozen=True, slots=True)
class TargetCare:
    """All of that, checked. :raises TargetError: an option is of no use"""

    restart: Restart | str | None = None
    setup: str | None = None
    reset: str | None = None
    teardown: str | None = None
    probe: str | None = None
    ready: str | None = None
    start_timeout: float = START_TIMEOUT
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | PathLike[str] | None = None
    target_memory: int | str | None = None
    target_cpu: int | None = None

    def __post_init__(self) -> None:
        _ = self.policy, self.settings, self.ready_pattern  # each checks what it is made of
        if self.start_timeout <= 0:
            raise TargetError(f"the system under test needs time to start, and not {self.start_timeout:g} s")

    @property
    def policy(self) -> Restart:
        """When a server is started again."""
        try:
            return Restart.CRASH if self.restart is None else Restart(self.restart)
        except ValueError:
            choices = ", ".join(repr(each.value) for each in Restart)
            raise TargetError(f"restart is one of {choices}, and not {self.restart!r}") from None

    @property
    def settings(self) -> ProgramSettings:
        """The surroundings in which the system under test, and every command around it, is started."""
        folder = "" if self.cwd is None else os.fspath(self.cwd)
        if folder and not os.path.isdir(folder):
            raise TargetError(f"the system under test cannot be started in {folder}, which is not a folder")
        for name, value in self.env.items():
            if not name or "=" in name or "\0" in name + value:
                raise TargetError(f"{name!r} cannot be the name of a variable of the environment, or has no such value")
        if self.target_cpu is not None and self.target_cpu < 1:
            raise TargetError(f"the limit of processor time is at least 1 s, and not {self.target_cpu}")
        memory = 0 if self.target_memory is None else size_of(self.target_memory)
        return ProgramSettings(folder, tuple(self.env.items()), memory, self.target_cpu or 0)

    @property
    def ready_pattern(self) -> re.Pattern[bytes] | None:
        """The pattern in its output that tells that a server is ready."""
        try:
            return None if self.ready is None else re.compile(self.ready.encode(), re.MULTILINE)
        except re.error as error:
            raise TargetError(f"--ready {self.ready!r} is not a regular expression: {error}") from None

    @property
    def has_commands(self) -> bool:
        """True if commands are to be run also if the system under test is not started by palaver."""
        return any(each is not None for each in (self.setup, self.reset, self.teardown, self.probe))

    @property
    def unused_without_target(self) -> str:
        """The name of an option that means nothing if palaver does not start the system under test, or ""."""
        about_program = {
            "--restart": self.restart,
            "--ready": self.ready,
            "--target-memory": self.target_memory,
            "--target-cpu": self.target_cpu,
        }
        return next((name for name, value in about_program.items() if value is not None), "")

    @property
    def unused_with_client(self) -> str:
        """The name of an option that means nothing if the system under test is a client, or ""."""
        about_server = {"--restart": self.restart, "--ready": self.ready, "--probe": self.probe}
        return next((name for name, value in about_server.items() if value is not None), "")


def in_folder(given: Any, folder: str) -> Any:
    """Texts, alone or in collections, with the folder in the place of `{dir}`."""
    if isinstance(given, str):
        return given.replace(FOLDER, folder)
    if isinstance(given, Mapping):
        return {name: in_folder(value, folder) for name, value in given.items()}
    if isinstance(given, list | tuple):
        return tuple(in_folder(value, folder) for value in given)
    return given


def names_folder(given: Any) -> bool:
    """Return True if one of these texts has `{dir}`."""
    return bool(in_folder(given, "") != in_folder(given, FOLDER))


def size_of(text: int | str) -> int:
    """Read a number of bytes, such as 512M. :raises TargetError: it is none"""
    found = _SIZE.fullmatch(str(text).strip())
    size = int(found["count"]) * _UNITS[found["unit"].lower()] if found else 0
    if size < 1024:
        raise TargetError(f"{text!r} is not a size of at least 1K, such as 512M")
    return size


def command_of(text: str, port: int) -> tuple[str, ...]:
    """The words of a command line, as a shell would divide it, with the port in the place of `{port}`.

    :raises TargetError: a quotation has no end, there is no word at all, or `{port}` is misspelt
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"the command of --target cannot be parsed: {str(error).lower()}") from error
    if not words:
        raise TargetError("the command of --target is empty")
    for name in re.findall(r"\{(\w+)\}", text if PORT not in text else ""):
        if did_you_mean(name, ["port"]):
            raise TargetError(f"the command of --target has {{{name}}}: did you mean {PORT}?")
    return tuple(word.replace(PORT, str(port)) for word in words)


def shell_command(text: str, port: int, settings: ProgramSettings) -> Address:
    """The address of a command that a shell runs around the system under test, without its limits."""
    surroundings = ProgramSettings(settings.folder, settings.environment)
    return Address("helper", command=("sh", "-c", text.replace(PORT, str(port))), settings=surroundings)
