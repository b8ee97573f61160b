"""The transport over Unix domain sockets, which have a path in the file system."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

from palaver.addresses import Address
from palaver.transport.channel import ChannelError, Listener, OpenOptions, PendingChannel, Transport
from palaver.transport.stream import Accepting, Connecting, SocketListener, new_socket

# The table of all such sockets, where the system has it. A row is: number, references, protocol, flags, type, state,
# inode, and the path as it was given to `bind`.
_SOCKET_TABLE = Path("/proc/net/unix")
_LISTENS = 0x10000  # the flag of a socket that listens


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

    def is_listening(self, address: Address) -> bool | None:
        # Nobody is connected to for this: some servers have one client in all their life.
        try:
            rows = [line.split(maxsplit=7) for line in _SOCKET_TABLE.read_text(errors="replace").splitlines()[1:]]
        except OSError:
            return None
        try:
            is_there = stat.S_ISSOCK(os.stat(address.path).st_mode)
        except OSError:
            return False
        # The path in the table is relative to the folder of that program, which may not be ours.
        name = os.path.basename(address.path)
        listening = [os.path.basename(row[7]) for row in rows if len(row) == 8 and int(row[3], 16) & _LISTENS]
        return is_there and name in listening


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
