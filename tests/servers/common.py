"""Programs that a test talks to: started on free ports, waited for, and always ended."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

# Long enough never to be reached unless something is wrong.
LIMIT_S = 20.0

# Set where every server must be there, as in CI: a missing one then fails instead of being skipped.
ALL_SERVERS = "PALAVER_ALL_SERVERS"

# Debian keeps daemons where ordinary users do not look.
PLACES = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])


class ServerDidNotStart(Exception):
    """With what the server wrote."""


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def program(name: str) -> str | None:
    """Where the program is, if it is installed."""
    return shutil.which(name, path=PLACES)


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skips a test if one of these programs or Python modules, or "root", is missing, unless all must be there."""
    missing = [name for name in programs if not _is_there(name)]
    must_be_there = bool(os.environ.get(ALL_SERVERS))
    return pytest.mark.skipif(bool(missing) and not must_be_there, reason=f"missing: {', '.join(missing)}")


def greets(port: int, first: bytes = b"") -> bool:
    """Whether something listens there and, if `first` is given, begins by saying that."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
            return not first or connection.recv(len(first), socket.MSG_WAITALL) == first
    except OSError:
        return False


@contextmanager
def started(
    command: Sequence[str], *, is_ready: Callable[[], bool], log: Path, **popen: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """The running program, once it is ready. It and everything it has started end with the block."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a group of its own: Ctrl-C is for the tests, which then end it in order
            **popen,
        )
    try:
        _wait_until_ready(process, is_ready, log)
        yield process
    finally:
        _end(process)


def _is_there(name: str) -> bool:
    if name == "root":
        return os.geteuid() == 0
    is_module = name.isidentifier() and importlib.util.find_spec(name) is not None
    return is_module or program(name) is not None


def _wait_until_ready(process: subprocess.Popen[bytes], is_ready: Callable[[], bool], log: Path) -> None:
    # Waiting for its end is also the pause between two questions.
    pause_s = 0.02
    for _ in range(round(LIMIT_S / pause_s)):
        if is_ready():
            return
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(pause_s)
            raise ServerDidNotStart(f"{process.args!r} ended with {code}:\n{_written(log)}")
    raise ServerDidNotStart(f"{process.args!r} is not ready after {LIMIT_S:g} s:\n{_written(log)}")


def _end(process: subprocess.Popen[bytes]) -> None:
    # The group may outlive its leader: some servers leave a process behind for each open connection.
    _signal_group(process, signal.SIGTERM)
    try:
        process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _written(log: Path) -> str:
    return log.read_text(errors="replace")
