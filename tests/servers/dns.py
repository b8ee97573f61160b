"""Name servers for the zone that the DNS specs ask about: BIND, NSD, Knot, PowerDNS, and a small one of dnslib."""

from __future__ import annotations

import os
import socket
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers.common import LIMIT_S, free_port, program, started, written

HERE = Path(__file__).parent
NOBODY = 65534


@dataclass(frozen=True)
class NameServer:
    """A name server on the loopback interface, UDP and TCP."""

    port: int

    def dig(self, *arguments: str) -> list[str]:
        """The command that asks it."""
        return dig(self.port, *arguments)


def dig(port: int, *arguments: str) -> list[str]:
    """The command that asks whoever listens at a port, once."""
    return ["dig", "@127.0.0.1", "-p", str(port), f"+time={LIMIT_S:.0f}", "+tries=1", *arguments]


@contextmanager
def bind() -> Iterator[NameServer]:
    """BIND with the zone; everything it needs and writes is in a folder of its own."""
    port = free_port_of_both()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written("dns", folder, port)
        as_nobody: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        command = [program("named") or "named", "-g", "-n", "1", "-c", str(folder / "named.conf")]
        with started(command, is_ready=lambda: knows_the_zone(port), log=folder / "log", cwd=folder, **as_nobody):
            yield NameServer(port)


def nsd() -> AbstractContextManager[NameServer]:
    """NSD with the zone."""
    return _of_fixture("nsd", "-d", "-c", "{folder}/nsd.conf")


def knot() -> AbstractContextManager[NameServer]:
    """Knot DNS with the zone."""
    return _of_fixture("knotd", "-c", "{folder}/knot.conf")


def powerdns() -> AbstractContextManager[NameServer]:
    """PowerDNS with the zone, which it reads as BIND does."""
    return _of_fixture("pdns_server", "--config-dir={folder}")


@contextmanager
def _of_fixture(name: str, *arguments: str) -> Iterator[NameServer]:
    """A server with its example configuration."""
    port = free_port_of_both()
    with tempfile.TemporaryDirectory(prefix="dns", ignore_cleanup_errors=True) as folder:
        written("dns", Path(folder), port)
        command = [program(name) or name, *(argument.replace("{folder}", folder) for argument in arguments)]
        with started(command, is_ready=lambda: knows_the_zone(port), log=Path(folder) / "log"):
            yield NameServer(port)


@contextmanager
def dnslib() -> Iterator[NameServer]:
    """The server of `dns_dnslib.py` with the zone."""
    port = free_port_of_both()
    with tempfile.TemporaryDirectory() as folder:
        written("dns", Path(folder), port)
        command = [sys.executable, str(HERE / "dns_dnslib.py"), str(port), str(Path(folder) / "zone")]
        with started(command, is_ready=lambda: knows_the_zone(port), log=Path(folder) / "log"):
            yield NameServer(port)


@contextmanager
def small(script: Path = HERE / "dns_small.py", *arguments: str) -> Iterator[NameServer]:
    """The server of `dns_small.py`, or another script that prints the port it has chosen."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        # The folder of the tests, so that a script may use what stands in another folder there.
        environment = {"PYTHONPATH": str(HERE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, str(script), *arguments]
        with started(command, is_ready=lambda: b"\n" in log.read_bytes(), log=log, env=environment):
            yield NameServer(int(log.read_text().splitlines()[0]))


def free_port_of_both() -> int:
    """A port that nobody uses, neither for UDP nor for TCP."""
    while True:
        port = free_port()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


# A name server opens its port before it has loaded its zones, so it is asked for one of them.
_SOA_QUESTION = struct.pack(">6H", 1, 0, 1, 0, 0, 0) + b"\x07example\x04test\x00" + struct.pack(">2H", 6, 1)


def knows_the_zone(port: int) -> bool:
    """Whether a server answers without an error, when it is asked who is responsible for the zone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(min(1.0, LIMIT_S))
        try:
            asking.connect(("127.0.0.1", port))
            asking.send(_SOA_QUESTION)
            answer = asking.recv(4096)
        except OSError:
            return False
        return len(answer) > 12 and answer[3] & 15 == 0
