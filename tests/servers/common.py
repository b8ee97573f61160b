"""Programs that a test talks to: started on free ports, waited for, and always ended.

A test that needs programs which must be installed says so: `@pytest.mark.servers("curl", "dig")`, with `root=True` if
they need root. `make test` leaves it out; elsewhere it is skipped if a program is missing (see tests/conftest.py).
Python packages of the dev extra are always there, and need no mark.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.fixtures import fixture_of

# Long enough never to be reached unless something is wrong.
LIMIT_S = 20.0

# Set where every server must be there, as in CI: nothing may be skipped then.
ALL_SERVERS = "PALAVER_ALL_SERVERS"


def _with_daemons(path: str) -> str:
    """The search path, with the `sbin` beside each `bin`: Debian's daemons are not on the PATH of ordinary users."""
    folders = path.split(os.pathsep)
    beside = [str(Path(folder).with_name("sbin")) for folder in folders if Path(folder).name == "bin"]
    return os.pathsep.join([*folders, *beside])


PLACES = _with_daemons(os.environ.get("PATH", os.defpath))


class ServerDidNotStart(Exception):
    """With what the server wrote."""


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on, reserved for about a minute.

    A connection that was closed by this side leaves the port in TIME_WAIT. The system then gives it to nobody who asks
    for any port, such as another worker's test, but a server that asks for it by number (with SO_REUSEADDR) gets it.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()):
            server.accept()[0].close()
        port: int = server.getsockname()[1]
        return port


def program(name: str) -> str | None:
    """Where the program is, if it is installed."""
    return shutil.which(name, path=PLACES)


def missing(marks: Iterable[pytest.Mark]) -> list[str]:
    """What these `servers` marks ask for and this machine does not have: programs, and possibly "root"."""
    absent: list[str] = []
    for mark in marks:
        absent += [name for name in mark.args if program(name) is None]
        if mark.kwargs.get("root") and os.geteuid() != 0:
            absent.append("root")
    return absent


def must_all_be_there() -> bool:
    return bool(os.environ.get(ALL_SERVERS))


def written(spec: str, folder: Path, port: int | None = None, **parameters: object) -> Path:
    """The folder, with the fixture of a bundled spec in it."""
    fixture = fixture_of(palaver.load(spec, parameters=parameters))
    assert fixture is not None
    fixture.write(folder, port)
    return folder


# palaver itself makes certificates with this program.
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")


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
