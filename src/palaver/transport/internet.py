"""Addresses of hosts and ports, for TCP and UDP: looking up names, binding sockets, finding ports."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import ClassVar

from palaver.addresses import DEFAULT_HOST, Address
from palaver.transport.channel import ChannelError, Transport
from palaver.transport.stream import SocketAddress, new_socket

# Tables of all sockets, where the system has them; a row is: number, local address, remote address, state, and more.
_SOCKET_TABLES = Path("/proc/net")


class InternetTransport(Transport):
    """The part that TCP and UDP have in common."""

    kind: ClassVar[socket.SocketKind]
    table: ClassVar[str]  # the name of the system's table of such sockets
    listening_state: ClassVar[str]  # the state in that table of a socket that listens

    def free_port(self, host: str) -> int:
        with bound(Address(self.table, host), self.kind) as taken:
            port: int = taken.getsockname()[1]
            return port

    def is_listening(self, address: Address) -> bool | None:
        # Nobody is connected to for this: some servers have one client in all their life.
        try:
            rows = [row for table in (self.table, f"{self.table}6") for row in _rows(_SOCKET_TABLES / table)]
        except OSError:
            return None
        wanted = f":{address.port:04X}"
        return any(local.endswith(wanted) and state == self.listening_state for local, state in rows)


def _rows(table: Path) -> list[tuple[str, str]]:
    """Return the local address and the state of each socket in a table; [] if this machine does not know IPv6."""
    if not table.exists() and table.name.endswith("6"):
        return []
    fields = [line.split() for line in table.read_text().splitlines()[1:]]
    return [(each[1], each[3]) for each in fields]


def socket_addresses(address: Address, kind: socket.SocketKind) -> list[SocketAddress]:
    """Look up an address, however long the resolver takes. :raises ChannelError: there is no such host or port"""
    if not 0 <= address.port <= 65535:
        raise ChannelError("other", f"{address.port} is not a port: ports are 0 to 65535")
    host = address.host or DEFAULT_HOST
    if _is_ipv4(host):
        return [(socket.AF_INET, (host, address.port))]
    try:
        found = socket.getaddrinfo(host, address.port, type=kind)
    except (OSError, UnicodeError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else "not a valid host name"
        raise ChannelError("not found", f"{address}: {reason}") from None
    return [(family, place) for family, _, _, _, place in found]


def _is_ipv4(host: str) -> bool:
    """Return True if a host is an address that needs no resolver, which takes longer than all else when we connect."""
    try:
        socket.inet_pton(socket.AF_INET, host)
    except (OSError, ValueError):
        return False
    return True


def one_socket_address(address: Address, kind: socket.SocketKind) -> SocketAddress:
    """Look up an address where one is wanted. A name that means both gets IPv4: more programs speak it."""
    return min(socket_addresses(address, kind), key=lambda found: found[0] != socket.AF_INET)


def bound(address: Address, kind: socket.SocketKind) -> socket.socket:
    """Make a socket at an address of this machine. :raises ChannelError: the port is in use, or the address not ours"""
    family, place = one_socket_address(address, kind)
    unbound = new_socket(family, kind)
    try:
        if kind == socket.SOCK_STREAM:
            # Or the port would be blocked for minutes after a session. Not for datagrams: there it means sharing.
            unbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            unbound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        unbound.bind(place)
    except OSError as error:
        unbound.close()
        raise ChannelError.of(error, address) from None
    return unbound
