"""Servers of Redis: Debian's, one in Python, and a small one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from servers.common import PLACES, free_port, greets, started
from servers.web import WebServer, web_server

HERE = Path(__file__).parent
SMALL = HERE / "redis_small.py"

needs_redis = pytest.mark.servers("redis-server")


@contextmanager
def redis_server() -> Iterator[WebServer]:
    """As Debian configures it, but for the port, and with nothing kept on disk."""
    with tempfile.TemporaryDirectory(prefix="redis") as name:
        port = free_port()
        program = shutil.which("redis-server", path=PLACES) or "redis-server"
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", name]
        with started(command, is_ready=partial(greets, port), log=Path(name) / "log"):
            yield WebServer(port)


@contextmanager
def small() -> Iterator[WebServer]:
    """The one that is made wrong elsewhere."""
    with web_server(SMALL) as server:
        yield server
