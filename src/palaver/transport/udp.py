"""The transport UDP (RFC 768): every datagram is one message."""

from __future__ import annotations

import socket
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, ClassVar

from palaver.addresses import Address
from palaver.transport.channel import (
    Channel,
    ChannelError,
    EndOfStream,
    Listener,
    OpenOptions,
    PendingChannel,
    ReadyChannel,
)
from palaver.transport.internet import InternetTransport, bound, one_socket_address
from palaver.transport.stream import Accepting, SocketListener, new_socket
from palaver.transport.transport_limits import MAX_DATAGRAM_BYTES


class DatagramChannel(Channel):
    """Talks to one peer: the one we called, or the one who called us last."""

    is_datagram: ClassVar[bool] = True

    def __init__(self, name: str, own: socket.socket, *, peer: Any = None, pending: PendingChannel | None = None):
        self._name = name
        self._socket = own
        self._peer = peer
        self._pending = pending  # what we listened by; None if we have connected

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        events = EVENT_READ * reading | EVENT_WRITE * writing
        return {self._socket.fileno(): events} if events else {}

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        try:
            data, self._peer = self._socket.recvfrom(MAX_DATAGRAM_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            if self._pending is not None:  # somebody did not wait for the answer; others may still call
                return None
            raise ChannelError.of(error, self._name) from None
        return data

    def send(self, data: memoryview) -> int | None:
        try:
            if self._pending is None:
                self._socket.send(data)
            else:
                self._socket.sendto(data, self._peer)
        except BlockingIOError:
            return None
        except OSError as error:
            raise ChannelError.of(error, self._name) from None
        return len(data)

    def finish(self) -> None:
        pass  # a datagram does not say whether it is the last

    def abandon(self) -> None:
        if self._pending is not None:
            self._pending.abandon()
        else:
            self._socket.close()


class AwaitingDatagram(Accepting):
    """Waits for the first datagram: only then there is a peer."""

    def __init__(self, listener: Listener, name: str) -> None:
        super().__init__(listener)
        self._name = name

    def advance(self, now: float) -> Channel | None:
        own = self._listener.socket
        try:
            _, peer = own.recvfrom(1, socket.MSG_PEEK)
        except OSError:  # nothing there, or somebody did not wait for an answer
            return None
        return DatagramChannel(self._name, own, peer=peer, pending=self)


class UdpTransport(InternetTransport):
    kind = socket.SOCK_DGRAM
    table = "udp"
    listening_state = "07"

    def connect(self, address: Address, options: OpenOptions) -> PendingChannel:
        # A connected socket hears nobody but the peer, and is told when there is none.
        family, place = one_socket_address(address, self.kind)
        connected = new_socket(family, self.kind)
        try:
            connected.connect(place)
        except OSError as error:
            connected.close()
            raise ChannelError.of(error, address) from None
        return ReadyChannel(DatagramChannel(str(address), connected))

    def listen(self, address: Address) -> Listener:
        return SocketListener(bound(address, self.kind), address)

    def accept(self, address: Address, listener: Listener) -> PendingChannel:
        return AwaitingDatagram(listener, str(address))


UDP = UdpTransport()
