"""A connection as a blocking socket, for libraries that use sockets."""

from __future__ import annotations

import socket
from typing import Any, assert_never

from palaver.addresses import Address
from palaver.session.interface import (
    Close,
    Closed,
    Connected,
    Failed,
    Finish,
    Listening,
    Open,
    Opened,
    Received,
    Secured,
    Send,
    TimePassed,
)
from palaver.transport.driver import EventLoop

LINK = "socket"


class BlockingSocket(socket.socket):
    """A connection of an event loop, used like a connected socket. The socket of the system below stays unused."""

    def __init__(self, loop: EventLoop, address: Address, timeout: float | None) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_DGRAM)
        self.settimeout(timeout)
        self._loop = loop
        self._received = bytearray()
        self._has_ended = False
        self._loop.carry_out([Open(LINK, address, "connect")])

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self._loop.carry_out([Send(LINK, bytes(data))])

    def send(self, data: Any, flags: int = 0, /) -> int:
        self.sendall(data)
        return memoryview(data).nbytes

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Wait for data; b"" at the end. :raises OSError: the connection has failed, or nothing came in time"""
        timeout = self.gettimeout()
        until = None if timeout is None else self._loop.clock.now() + timeout
        while not self._received and not self._has_ended:
            for event in self._loop.wait(until):
                match event:
                    case Received(data=data):
                        self._received += data
                    case Failed(cause="refused", reason=reason):
                        raise ConnectionRefusedError(reason)
                    case Failed(reason=reason):
                        raise OSError(reason)
                    case Closed(cause="reset"):
                        raise ConnectionResetError("the connection was reset")
                    case Closed():
                        self._has_ended = True
                    case TimePassed():
                        raise TimeoutError("no data came in time")
                    case Listening() | Opened() | Connected() | Secured():
                        pass
                    case _:
                        assert_never(event)
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        view = memoryview(buffer).cast("B")
        data = self.recv(size or len(view))
        view[: len(data)] = data
        return len(data)

    def shutdown(self, how: int, /) -> None:
        if how != socket.SHUT_RD:
            self._loop.carry_out([Finish(LINK)])

    def setsockopt(self, *arguments: Any) -> None:
        """Do nothing: no option means anything here."""

    def _real_close(self, *arguments: Any) -> None:
        # Called when nobody uses the socket any more: files made of it may outlive it.
        self._loop.carry_out([Close(LINK)])
        super()._real_close(*arguments)  # type: ignore[misc]  # not in the stubs; SSLSocket overrides it as well
