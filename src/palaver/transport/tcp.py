"""TCP: names and numbers of hosts, connecting, listening."""

from __future__ import annotations

import socket

from palaver.session.events import Address
from palaver.transport.pipe import Broken, reason_of, trouble_of
from palaver.transport.stream import BACKLOG, Connecting, Endpoint, Listener, new_socket

# Who says nothing about the host means this machine, and nobody else.
DEFAULT_HOST = "127.0.0.1"


def endpoints_of(address: Address, kind: socket.SocketKind) -> list[Endpoint]:
    """Where to find `address`. A name is looked up here and now, which may take as long as the resolver likes.

    :raises Broken: there is no such host or port
    """
    if not 0 <= address.port <= 65535:
        raise Broken("other", f"there is no port {address.port}")
    try:
        found = socket.getaddrinfo(address.host or DEFAULT_HOST, address.port, type=kind)
    except (OSError, UnicodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "not a name"
        raise Broken("not found", f"{address}: {reason}") from None
    return [(family, endpoint) for family, _, _, _, endpoint in found]


def endpoint_of(address: Address, kind: socket.SocketKind) -> Endpoint:
    """One endpoint where several would be too many. A name that means both gets IPv4: more programs speak it."""
    return min(endpoints_of(address, kind), key=lambda endpoint: endpoint[0] != socket.AF_INET)


def bound(address: Address, kind: socket.SocketKind) -> socket.socket:
    """A socket at `address`.

    :raises Broken: the port is in use, or this machine does not have the address
    """
    family, endpoint = endpoint_of(address, kind)
    unbound = new_socket(family, kind)
    try:
        if kind == socket.SOCK_STREAM:
            # Or the port would be blocked for minutes after a session. Not for datagrams: there it means sharing.
            unbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            unbound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        unbound.bind(endpoint)
    except OSError as error:
        unbound.close()
        raise Broken(trouble_of(error), f"{address}: {reason_of(error)}") from None
    return unbound


def connecting(address: Address, *, now: float, timeout: float, patience: float) -> Connecting:
    endpoints = endpoints_of(address, socket.SOCK_STREAM)
    return Connecting(endpoints, str(address), now=now, timeout=timeout, patience=patience)


def listener(address: Address) -> Listener:
    listening = bound(address, socket.SOCK_STREAM)
    try:
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise Broken(trouble_of(error), f"{address}: {reason_of(error)}") from None
    return Listener(listening, listening.getsockname()[1])
