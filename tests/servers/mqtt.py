"""Brokers of MQTT: mosquitto, and a small one."""

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
SMALL = HERE / "mqtt_small.py"

needs_mosquitto = pytest.mark.servers("mosquitto")


@contextmanager
def mosquitto() -> Iterator[WebServer]:
    """Without a configuration: it serves the loopback interface, and anybody."""
    with tempfile.TemporaryDirectory(prefix="mosquitto") as name:
        port = free_port()
        command = [shutil.which("mosquitto", path=PLACES) or "mosquitto", "-p", str(port)]
        with started(command, is_ready=partial(greets, port), log=Path(name) / "log"):
            yield WebServer(port)


@contextmanager
def small() -> Iterator[WebServer]:
    """The one that is made wrong elsewhere."""
    with web_server(SMALL) as server:
        yield server
