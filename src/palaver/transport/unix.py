"""Sockets that have a path in the file system."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from palaver.session.events import Address
from palaver.transport.pipe import Broken, reason_of, trouble_of
from palaver.transport.stream import BACKLOG, Connecting, Listener, new_socket


def connecting(address: Address, *, now: float, timeout: float, patience: float) -> Connecting:
    endpoints = [(socket.AF_UNIX, address.path)]
    return Connecting(endpoints, str(address), now=now, timeout=timeout, patience=patience)


def listener(address: Address) -> Listener:
    """A socket at the path. What a program that was killed has left there is removed.

    :raises Broken: somebody listens there, or the path cannot be
    """
    _remove_if_dead(address.path)
    listening = new_socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(address.path)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise Broken(trouble_of(error), f"{address}: {reason_of(error)}") from None
    return Listener(listening, forget=lambda: _remove(address.path))


def _remove_if_dead(path: str) -> None:
    try:
        is_socket = stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return
    if not is_socket:
        return
    with new_socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        try:
            caller.connect(path)
        except ConnectionRefusedError:
            _remove(path)
        except OSError:
            return


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
