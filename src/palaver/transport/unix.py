"""The transport over Unix domain sockets, which have a path in the file system."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from palaver.addresses import Address
from palaver.transport.channel import ChannelError, Listener, OpenOptions, PendingChannel, Transport
from palaver.transport.stream import Accepting, Connecting, SocketListener, new_socket


class UnixTransport(Transport):
    def connect(self, address: Address, options: OpenOptions) -> PendingChannel:
        return Connecting([(socket.AF_UNIX, address.path)], str(address), options)

    def listen(self, address: Address) -> Listener:
        """Listen at a path. A socket that a killed program has left there is removed."""
        _remove_if_dead(address.path)
        listening = new_socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(address.path)
        except OSError as error:
            listening.close()
            raise ChannelError.of(error, address) from None
        return SocketListener(listening, address, forget=lambda: _remove(address.path))

    def accept(self, address: Address, listener: Listener) -> PendingChannel:
        return Accepting(listener)


UNIX = UnixTransport()


def _remove_if_dead(path: str) -> None:
    try:
        if stat.S_ISSOCK(os.stat(path).st_mode):
            with new_socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
                caller.connect(path)
    except ConnectionRefusedError:
        _remove(path)
    except OSError:
        return


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
