"""Devices of Modbus TCP: one of libmodbus, one of pymodbus, and a small one."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from servers.common import free_port, greets, started
from servers.web import WebServer, web_server

HERE = Path(__file__).parent
SMALL = HERE / "modbus_small.py"

# The library comes with that client.
needs_libmodbus = pytest.mark.servers("mbpoll")

# pymodbus refuses with the function 0x80, not with that of the request (V1.1b3, 7).
WITHOUT_MISTAKES = """\
<exchange> ::= (<Client:read> | <Client:write_coil> | <Client:write_register> | <Client:write_coils>
    | <Client:write_registers> | <Client:mask> | <Client:read_and_write>) <Server:response>
MISTAKEN_COUNTS = []
MISTAKEN_COILS = []
"""


@contextmanager
def _device(script: str) -> Iterator[WebServer]:
    with tempfile.TemporaryDirectory(prefix="modbus") as name:
        port = free_port()
        command = [sys.executable, str(HERE / script), str(port)]
        with started(command, is_ready=partial(greets, port), log=Path(name) / "log"):
            yield WebServer(port)


@contextmanager
def libmodbus() -> Iterator[WebServer]:
    """A device with as many coils and registers as there are addresses."""
    with _device("modbus_libmodbus.py") as server:
        yield server


@contextmanager
def pymodbus() -> Iterator[WebServer]:
    """A device with a hundred coils and registers."""
    with _device("modbus_pymodbus.py") as server:
        yield server


@contextmanager
def small() -> Iterator[WebServer]:
    """The one that is made wrong elsewhere."""
    with web_server(SMALL) as server:
        yield server
