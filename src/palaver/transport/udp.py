"""The transport UDP (RFC 768): every datagram is one message.

Where we listen, a session belongs to the address that its first datagram came from. What others send meanwhile waits
for the next session, and what a peer of an earlier session sends late is not taken for the beginning of one.

In some protocols (TFTP, RFC 1350) whoever is called answers from a port of its own, and that is its address from then
on: `Address.fresh_port`. Then a caller follows the first datagram that it receives, and whoever is called opens a
socket for each caller.
"""

from __future__ import annotations

import socket
from collections import deque
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
from palaver.transport.transport_limits import MAX_DATAGRAM_BYTES, MAX_FORMER_PEERS, MAX_WAITING_DATAGRAMS


class DatagramListener(SocketListener):
    """A socket for datagrams, the peers of earlier sessions, and what others sent during a session."""

    def __init__(self, bound: socket.socket, name: object) -> None:
        super().__init__(bound, name)
        self._former: dict[Any, None] = {}  # the addresses of earlier peers, the latest last
        self._waiting: deque[tuple[bytes, Any]] = deque()

    def receive(self) -> tuple[bytes, Any] | None:
        """A datagram and its sender, if one has come."""
        try:
            return self.socket.recvfrom(MAX_DATAGRAM_BYTES)
        except OSError:  # nothing there, or somebody did not wait for an answer
            return None

    def first(self, *, from_anybody: bool = True) -> tuple[bytes, Any] | None:
        """The first datagram of a session: those of earlier peers that do not begin one are late, and dropped.

        Unless it may be from anybody, so are all of earlier peers.
        """
        while (datagram := self._waiting.popleft() if self._waiting else self.receive()) is not None:
            data, sender = datagram
            begins = from_anybody and (self.begins_session is None or self.begins_session(data))
            if sender not in self._former or begins:
                return datagram
        return None

    def set_aside(self, data: bytes, sender: Any) -> None:
        """Keep a datagram for the next session, as it is not from the peer of this one."""
        if len(self._waiting) < MAX_WAITING_DATAGRAMS:
            self._waiting.append((data, sender))

    def forget_queued(self) -> None:
        self._waiting.clear()
        while self.receive() is not None:
            pass

    def leave(self, peer: Any) -> None:
        """The session with a peer is over."""
        self._former.pop(peer, None)
        self._former[peer] = None
        if len(self._former) > MAX_FORMER_PEERS:
            del self._former[next(iter(self._former))]


class DatagramChannel(Channel):
    """Talks to one peer that we called."""

    is_datagram: ClassVar[bool] = True

    def __init__(self, name: str, connected: socket.socket) -> None:
        self._name = name
        self._socket = connected

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        events = EVENT_READ * reading | EVENT_WRITE * writing
        return {self._socket.fileno(): events} if events else {}

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        try:
            return self._socket.recv(MAX_DATAGRAM_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            raise ChannelError.of(error, self._name) from None

    def send(self, data: memoryview) -> int | None:
        try:
            self._transmit(data)
        except BlockingIOError:
            return None
        except OSError as error:
            raise ChannelError.of(error, self._name) from None
        return len(data)

    def _transmit(self, data: memoryview) -> None:
        self._socket.send(data)

    def finish(self) -> None:
        pass  # a datagram does not say whether it is the last

    def abandon(self) -> None:
        self._socket.close()


class FollowingDatagramChannel(DatagramChannel):
    """Talks to a peer that we called, and that answers from a port of its own."""

    def __init__(self, name: str, unconnected: socket.socket, called: Any) -> None:
        super().__init__(name, unconnected)
        self._called: Any = called  # None when the peer has answered

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        if self._called is None:
            return super().receive(now, limit)
        try:
            data, sender = self._socket.recvfrom(MAX_DATAGRAM_BYTES)
            if sender[0] != self._called[0]:
                return None  # another host
            self._socket.connect(sender)
        except OSError:  # nothing there
            return None
        self._called = None
        return data

    def _transmit(self, data: memoryview) -> None:
        if self._called is None:
            super()._transmit(data)
        else:
            self._socket.sendto(data, self._called)


class MovedDatagramChannel(DatagramChannel):
    """Talks to one peer that called us, from a port that is for this peer alone."""

    def __init__(self, name: str, connected: socket.socket, first: bytes) -> None:
        super().__init__(name, connected)
        self._first = first
        self.has_news = True

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        if self.has_news:
            self.has_news = False
            return self._first
        return super().receive(now, limit)


class CalledDatagramChannel(DatagramChannel):
    """Talks to one peer that called us: the one whose datagram came first."""

    def __init__(self, name: str, pending: PendingChannel, listener: DatagramListener, first: tuple[bytes, Any]):
        super().__init__(name, listener.socket)
        self._first, self._peer = first
        self._pending = pending  # what we listened by
        self._listener = listener
        self._is_left = False
        self.has_news = True

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        if self.has_news:
            self.has_news = False
            return self._first
        while (datagram := self._listener.receive()) is not None:
            data, sender = datagram
            if sender == self._peer:
                return data
            self._listener.set_aside(data, sender)
        return None

    def _transmit(self, data: memoryview) -> None:
        self._socket.sendto(data, self._peer)

    def abandon(self) -> None:
        if not self._is_left:
            self._is_left = True
            self._listener.leave(self._peer)
        self._pending.abandon()


class AwaitingDatagram(Accepting):
    """Waits for the first datagram: only then there is a peer."""

    def __init__(self, listener: Listener, name: str) -> None:
        assert isinstance(listener, DatagramListener), "made by the same transport"
        super().__init__(listener)
        self._datagrams = listener
        self._name = name

    def advance(self, now: float) -> Channel | None:
        first = self._datagrams.first()
        return None if first is None else CalledDatagramChannel(self._name, self, self._datagrams, first)


class AwaitingCaller(AwaitingDatagram):
    """The same, and the peer is answered from another port. It calls from another one next time, too."""

    def advance(self, now: float) -> Channel | None:
        first = self._datagrams.first(from_anybody=False)
        if first is None:
            return None
        data, caller = first
        self._datagrams.leave(caller)
        host = self._datagrams.socket.getsockname()[0]
        moved = new_socket(self._datagrams.socket.family, socket.SOCK_DGRAM)
        try:
            moved.bind((host, 0))
            moved.connect(caller)
        except OSError as error:
            moved.close()
            raise ChannelError.of(error, self._name) from None
        self.abandon()
        return MovedDatagramChannel(self._name, moved, data)


class UdpTransport(InternetTransport):
    kind = socket.SOCK_DGRAM
    table = "udp"
    listening_state = "07"

    def connect(self, address: Address, options: OpenOptions) -> PendingChannel:
        # A connected socket hears nobody but the peer, and is told when there is none.
        family, place = one_socket_address(address, self.kind)
        connected = new_socket(family, self.kind)
        if address.fresh_port:
            return ReadyChannel(FollowingDatagramChannel(str(address), connected, place))
        try:
            connected.connect(place)
        except OSError as error:
            connected.close()
            raise ChannelError.of(error, address) from None
        return ReadyChannel(DatagramChannel(str(address), connected))

    def listen(self, address: Address) -> Listener:
        return DatagramListener(bound(address, self.kind), address)

    def accept(self, address: Address, listener: Listener) -> PendingChannel:
        return (AwaitingCaller if address.fresh_port else AwaitingDatagram)(listener, str(address))


UDP = UdpTransport()
