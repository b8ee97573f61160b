"""UDP: every datagram is one message."""

from __future__ import annotations

import socket
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, ClassVar

from palaver.session.events import Address
from palaver.transport.pipe import Broken, Ended, Opening, Pipe, Ready, reason_of, trouble_of
from palaver.transport.stream import Listener, new_socket
from palaver.transport.tcp import bound, endpoint_of

# No datagram is longer, and what is not read of one is lost.
MAX_DATAGRAM = 65535


class DatagramPipe(Pipe):
    """Talks to one peer: the one we called, or the one who called us last."""

    is_datagram: ClassVar[bool] = True

    def __init__(self, name: str, own: socket.socket, *, peer: Any = None, listening: Listening | None = None) -> None:
        self._name = name
        self._socket = own
        self._peer = peer
        self._listening = listening

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        events = EVENT_READ * reading | EVENT_WRITE * writing
        return {self._socket.fileno(): events} if events else {}

    def receive(self, now: float, limit: int) -> bytes | Ended | None:
        try:
            data, sender = self._socket.recvfrom(MAX_DATAGRAM)
        except BlockingIOError:
            return None
        except OSError as error:
            if self._listening is not None:  # somebody did not wait for the answer; others may still call
                return None
            raise self._broken(error) from None
        self._peer = sender
        return data

    def send(self, data: memoryview) -> int | None:
        try:
            if self._listening is None:
                self._socket.send(data)
            else:
                self._socket.sendto(data, self._peer)
        except BlockingIOError:
            return None
        except OSError as error:
            raise self._broken(error) from None
        return len(data)

    def finish(self) -> None:
        pass  # a datagram does not say whether it is the last

    def abandon(self) -> None:
        if self._listening is not None:
            self._listening.abandon()
        else:
            self._socket.close()

    def _broken(self, error: OSError) -> Broken:
        return Broken(trouble_of(error), f"{self._name}: {reason_of(error)}")


class Listening(Opening):
    """Waits until somebody sends a datagram: only then there is a peer."""

    def __init__(self, address: Address, listener: Listener) -> None:
        if listener.is_taken:
            raise Broken("in use", "another link listens there already")
        listener.is_taken = True
        self._name = str(address)
        self._listener = listener
        self.port = listener.port

    def interests(self) -> dict[int, int]:
        return {self._listener.socket.fileno(): EVENT_READ}

    def advance(self, now: float) -> Pipe | None:
        try:
            _, peer = self._listener.socket.recvfrom(1, socket.MSG_PEEK)
        except OSError:  # nothing there, or somebody did not wait for an answer
            return None
        return DatagramPipe(self._name, self._listener.socket, peer=peer, listening=self)

    def abandon(self) -> None:
        self._listener.is_taken = False


def connecting(address: Address) -> Opening:
    """A socket that hears nobody but the peer, and is told when there is none."""
    family, endpoint = endpoint_of(address, socket.SOCK_DGRAM)
    connected = new_socket(family, socket.SOCK_DGRAM)
    try:
        connected.connect(endpoint)
    except OSError as error:
        connected.close()
        raise Broken(trouble_of(error), f"{address}: {reason_of(error)}") from None
    return Ready(DatagramPipe(str(address), connected))


def listener(address: Address) -> Listener:
    listening = bound(address, socket.SOCK_DGRAM)
    return Listener(listening, listening.getsockname()[1])
