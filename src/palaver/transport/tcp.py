"""The transport TCP (RFC 9293)."""

from __future__ import annotations

import socket

from palaver.addresses import Address
from palaver.transport.channel import Listener, OpenOptions, PendingChannel
from palaver.transport.internet import InternetTransport, bound, socket_addresses
from palaver.transport.stream import Accepting, Connecting, SocketListener


class TcpTransport(InternetTransport):
    kind = socket.SOCK_STREAM
    table = "tcp"
    listening_state = "0A"

    def connect(self, address: Address, options: OpenOptions) -> PendingChannel:
        return Connecting(socket_addresses(address, self.kind), str(address), options)

    def listen(self, address: Address) -> Listener:
        return SocketListener(bound(address, self.kind), address)

    def accept(self, address: Address, listener: Listener) -> PendingChannel:
        return Accepting(listener)


TCP = TcpTransport()
