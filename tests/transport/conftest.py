"""Event loops that are closed in the end, with nothing left open."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.strays import new_mark


def open_files() -> set[str]:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        return set()
    # Names, not numbers alone: a number that was given back and taken again is no leak of the same thing.
    found = set()
    for entry in list(folder.iterdir()):
        try:
            found.add(f"{entry.name} {os.readlink(entry)}")
        except FileNotFoundError:  # the folder itself, while it was read
            continue
    return found


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    new_mark()  # with the first one a process gets a guard, and a pipe to it
    before = open_files()
    yield
    assert open_files() <= before


@pytest.fixture
def loop() -> Iterator[SelectorEventLoop]:
    with SelectorEventLoop() as loop:
        yield loop


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A listening socket without palaver."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        yield server
