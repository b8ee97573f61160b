"""A link as a socket, for code that knows how to wait for sockets only."""

from __future__ import annotations

import socket
from typing import Any

from palaver.session.events import Address, Close, Closed, Failed, Finish, Open, Passed, Received, Send
from palaver.transport.drive import Carrier

LINK = "socket"


class LinkSocket(socket.socket):
    """One end of a link. Libraries ask the system whether there is something to read; there, there never is."""

    def __init__(self, carrier: Carrier, address: Address, timeout: float | None) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_DGRAM)
        self.settimeout(timeout)
        self._carrier = carrier
        self._heard = bytearray()
        self._has_ended = False
        self._carrier.carry_out([Open(LINK, address, "connect")])

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self._carrier.carry_out([Send(LINK, bytes(data))])

    def send(self, data: Any, flags: int = 0, /) -> int:
        self.sendall(data)
        return memoryview(data).nbytes

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """What has come, as soon as something has; b"" at the end.

        :raises OSError: the link has failed, or nothing came in time
        """
        timeout = self.gettimeout()
        until = None if timeout is None else self._carrier.clock.now() + timeout
        while not self._heard and not self._has_ended:
            for happened in self._carrier.wait(until):
                match happened:
                    case Received(data=data):
                        self._heard += data
                    case Failed(trouble="refused", reason=reason):
                        raise ConnectionRefusedError(reason)
                    case Failed(reason=reason):
                        raise OSError(reason)
                    case Closed(trouble="reset"):
                        raise ConnectionResetError("the connection was reset")
                    case Closed():
                        self._has_ended = True
                    case Passed():
                        raise TimeoutError("nothing came in time")
        taken = bytes(self._heard[:size])
        del self._heard[:size]
        return taken

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        view = memoryview(buffer).cast("B")
        data = self.recv(size or len(view))
        view[: len(data)] = data
        return len(data)

    def shutdown(self, how: int, /) -> None:
        if how != socket.SHUT_RD:
            self._carrier.carry_out([Finish(LINK)])

    def setsockopt(self, *arguments: Any) -> None:
        """There is no option that would mean anything here."""

    def _real_close(self, *arguments: Any) -> None:
        # Called when nobody uses the socket any more: files made of it may live longer than itself.
        self._carrier.carry_out([Close(LINK)])
        super()._real_close(*arguments)  # type: ignore[misc]  # not in the stubs; SSLSocket overrides it as well
