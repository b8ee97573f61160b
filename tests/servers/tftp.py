"""Servers of TFTP: two of Debian, and a small one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from palaver.transport.registry import is_listening
from servers.common import program, started
from servers.dns import free_port_of_both
from servers.stock import INSTALLED
from servers.web import WebServer, web_server

HERE = Path(__file__).parent
SMALL = HERE / "tftp_small.py"
ATFTPD = str(INSTALLED / "atftpd/upper/usr/sbin/atftpd")

needs_tftpd = pytest.mark.servers("in.tftpd", root=True)
needs_atftpd = pytest.mark.servers(ATFTPD, root=True)


@contextmanager
def tftpd_hpa() -> Iterator[WebServer]:
    """As Debian starts it, but for the port, and new files may be made and be written again."""
    with _serving(
        [program("in.tftpd") or "in.tftpd", "-L", "-c", "-p", "-u", "nobody", "-a", "127.0.0.1:{port}", "-s"]
    ) as server:
        yield server


@contextmanager
def atftpd() -> Iterator[WebServer]:
    """As Debian starts it, but for the port."""
    options = ["--daemon", "--no-fork", "--port", "{port}", "--bind-address", "127.0.0.1", "--logfile", "-"]
    with _serving([ATFTPD, *options, "--user", "nobody", "--group", "nogroup"]) as server:
        yield server


@contextmanager
def _serving(command: list[str]) -> Iterator[WebServer]:
    """The server of a folder that anybody may write to, whose path is the last argument."""
    port = free_port_of_both()
    with tempfile.TemporaryDirectory(prefix="tftp") as name:
        folder = Path(name) / "files"
        folder.mkdir()
        for each in (folder, folder.parent):
            each.chmod(0o777)
        arguments = [word.replace("{port}", str(port)) for word in command]
        ready = partial(_listens, port)
        with started([*arguments, str(folder)], is_ready=ready, log=Path(name) / "log"):
            yield WebServer(port)


def _listens(port: int) -> bool:
    return is_listening("udp", port) is not False


@contextmanager
def small() -> Iterator[WebServer]:
    """The one that is made wrong elsewhere."""
    with web_server(SMALL) as server:
        yield server
