"""Libraries that parties speak through can be let into a world of ours.

How it works. A library waits for its answer, and as long as it waits nothing else happens in its thread. So it gets a
socket that waits in the world: then the other sessions that live there go on, and one of them answers. They must be of
another `Spec` than the one whose party waits, even if of the same file: code of a spec acts on one session at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from palaver.session.events import Address
from palaver.testing.sockets import SocketWorld
from palaver.transport.blocking import LinkSocket
from palaver.transport.memory import MemoryWorld


@contextmanager
def libraries_in(world: MemoryWorld | SocketWorld) -> Iterator[None]:
    """For the time of a `with` block, whatever is connected by `socket.create_connection` is connected in the world."""

    def connect(address: tuple[str, int], timeout: Any = None, *arguments: Any, **options: Any) -> LinkSocket:
        host, port = address
        patience = timeout if isinstance(timeout, int | float) else None  # the default is an object of no class
        return LinkSocket(world.loop(), Address("tcp", host=host, port=port), patience)

    with mock.patch("socket.create_connection", connect):
        yield
