"""Ports of this machine: free ones, and whether somebody listens at one."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Literal

from palaver.session.events import Address
from palaver.transport.tcp import DEFAULT_HOST, bound

# Tables of all sockets, where the system has them; a row is: number, local address, remote address, state, and more.
_TABLES = {"tcp": ("tcp", "tcp6"), "udp": ("udp", "udp6")}
_FOLDER = Path("/proc/net")
_LISTENS = {"tcp": "0A", "udp": "07"}


def free_port(kind: Literal["tcp", "udp"], host: str = DEFAULT_HOST) -> int:
    """A port that nobody uses; soon taken, nobody else will in the meantime.

    :raises Broken: this machine does not have the address
    """
    with bound(Address(kind, host), socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as taken:
        port: int = taken.getsockname()[1]
        return port


def is_listening(kind: Literal["tcp", "udp"], port: int) -> bool | None:
    """Whether somebody on this machine listens at a port; None if the system does not tell.

    Nobody is connected to for this: some servers have one client in all their life.
    """
    try:
        rows = [row for table in _TABLES[kind] for row in _rows(_FOLDER / table)]
    except OSError:
        return None
    wanted = f":{port:04X}"
    return any(local.endswith(wanted) and state == _LISTENS[kind] for local, state in rows)


def _rows(table: Path) -> list[tuple[str, str]]:
    """The local address and the state of each socket in a table; none if this machine does not have such sockets."""
    if not table.exists() and table.name.endswith("6"):
        return []
    fields = [line.split() for line in table.read_text().splitlines()[1:]]
    return [(each[1], each[3]) for each in fields]
