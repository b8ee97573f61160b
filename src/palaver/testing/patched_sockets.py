"""Client libraries, such as `http.client`, on a network of ours.

How it works. A library blocks its thread until the answer comes. So it gets a socket that waits in the network: then
the sessions there go on, and one of them answers. They must be of another `Spec` than the one whose party waits, even
if of the same file: code of a spec acts on one session at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from palaver.addresses import Address
from palaver.testing.socket_network import SocketNetwork
from palaver.transport.blocking import BlockingSocket
from palaver.transport.memory_network import MemoryNetwork


@contextmanager
def patch_sockets(world: MemoryNetwork | SocketNetwork) -> Iterator[None]:
    """Within a `with` block, let `socket.create_connection` connect in the network."""

    def connect(address: tuple[str, int], timeout: Any = None, *arguments: Any, **options: Any) -> BlockingSocket:
        host, port = address
        patience = timeout if isinstance(timeout, int | float) else None  # the default is an object of no class
        return BlockingSocket(world.loop(), Address("tcp", host=host, port=port), patience)

    with mock.patch("socket.create_connection", connect):
        yield
