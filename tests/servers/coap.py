"""Servers and clients of CoAP: those of libcoap and aiocoap, and a small server."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from palaver.transport.registry import is_listening
from servers.common import program, started
from servers.dns import free_port_of_both
from servers.web import WebServer, web_server

HERE = Path(__file__).parent
SMALL = HERE / "coap_small.py"
LIBCOAP = "coap-server-notls"
AIOCOAP = str(Path(sys.executable).with_name("aiocoap-fileserver"))

needs_libcoap = pytest.mark.servers(LIBCOAP)

# libcoap 4.3.1 answers some of several quick pings only, and neither 6.xx nor 7.xx with a reset (RFC 7252, 4.2). It
# answers messages of other versions (3), and methods that there are not with 4.04 if there is no such resource (5.8).
# The resources of its server mind neither If-None-Match (5.10.8.2) nor Accept (5.10.4).
LIBCOAP_MISTAKES = "mistakes=class 1,long token,full ping,bare marker,delta 15,length 15,cut option,option"
LIBCOAP_LIMITS = ("--set", "pings=1", "--set", "conditions=no", "--set", "formats=no", "--set", LIBCOAP_MISTAKES)
# aiocoap 0.4.17 does not reset what it cannot read (4.2), and takes tokens of nine bytes and markers without a payload
# (3). Its server takes options that it does not understand (5.4.1).
AIOCOAP_LIMITS = ("--set", "mistakes=version,method")

_URI = "coap://127.0.0.1:{port}/palaver/a"
_AIOCOAP_CLIENT = shlex.quote(str(Path(sys.executable).with_name("aiocoap-client")))
CLIENTS = {
    "coap-client reads": f"coap-client-notls -B 5 -m get {_URI}?q=1",
    "coap-client writes": f"coap-client-notls -B 5 -N -t 0 -m put -e hello {_URI}",
    "aiocoap-client reads": f"{_AIOCOAP_CLIENT} {_URI}",
    "aiocoap-client writes": f"{_AIOCOAP_CLIENT} --non -m PUT --payload hello {_URI}",
    "aiocoap-client deletes": f"{_AIOCOAP_CLIENT} -m DELETE {_URI}",
}


@contextmanager
def libcoap() -> Iterator[WebServer]:
    """As Debian ships it, but for the port; resources may be made."""
    port = free_port_of_both()
    with tempfile.TemporaryDirectory(prefix="coap") as name:
        command = [program(LIBCOAP) or LIBCOAP, "-A", "127.0.0.1", "-p", str(port), "-d", "10"]
        with started(command, is_ready=partial(_listens, port), log=Path(name) / "log"):
            yield WebServer(port)


@contextmanager
def aiocoap() -> Iterator[WebServer]:
    """The server of files that comes with it; they may be written."""
    port = free_port_of_both()
    with tempfile.TemporaryDirectory(prefix="coap") as name:
        files = Path(name) / "files"
        (files / "palaver").mkdir(parents=True)
        command = [AIOCOAP, "--write", "--bind", f"127.0.0.1:{port}", str(files)]
        # Without its other transports, whose ports may be taken.
        environment = {**os.environ, "AIOCOAP_SERVER_TRANSPORT": "udp6"}
        with started(command, is_ready=partial(_listens, port), log=Path(name) / "log", env=environment):
            yield WebServer(port)


def _listens(port: int) -> bool:
    return is_listening("udp", port) is not False


@contextmanager
def small() -> Iterator[WebServer]:
    """The one that is made wrong elsewhere."""
    with web_server(SMALL) as server:
        yield server
