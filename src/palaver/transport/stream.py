"""Connected stream sockets, whatever their addresses look like: connecting, accepting, talking."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Callable, Sequence
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, TypeAlias

from palaver.transport.pipe import Broken, Ended, Opening, Pipe, reason_of, trouble_of

# Family and address as `socket` wants them; the shape of the latter depends on the former.
Endpoint: TypeAlias = tuple[int, Any]

# A server that is just starting refuses, or its unix socket is not there yet. It is asked again after this long.
RETRY_AFTER = 0.01
_WORTH_A_RETRY = {errno.ECONNREFUSED, errno.ENOENT, errno.EAGAIN}

# Clients that have connected while we were talking to another one.
BACKLOG = 128

# What is read at the end so that closing does not reset the connection. A peer that sends more than that without pause
# is not listening anyway.
MAX_DRAINED = 64
DRAINED_AT_ONCE = 65536


class SocketPipe(Pipe):
    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            # Messages are short and wait for answers: holding them back to fill a segment costs 40 ms each.
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._broken_by: OSError | None = None

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        events = EVENT_READ * reading | EVENT_WRITE * writing
        return {self._socket.fileno(): events} if events else {}

    def receive(self, now: float, limit: int) -> bytes | Ended | None:
        try:
            data = self._socket.recv(limit)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            # The peer had closed in good order, and then got something from us.
            return Ended()
        except OSError as error:
            return Ended(trouble_of(error))
        if data:
            return data
        return Ended(trouble_of(self._broken_by) if self._broken_by else None)

    def send(self, data: memoryview) -> int | None:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            return len(data)
        except OSError as error:
            # What the peer said before that can still be read; the trouble is told after it.
            self._broken_by = error
            return len(data)

    def finish(self) -> None:
        # If the connection is broken, receiving will tell.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def leave(self, now: float) -> bool:
        # A socket closed with unread data resets the connection, and our last words may be lost.
        for _ in range(MAX_DRAINED):
            if not isinstance(self.receive(now, DRAINED_AT_ONCE), bytes):
                break
        self.abandon()
        return True

    def reset(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abandon()

    def abandon(self) -> None:
        self._socket.close()


class Connecting(Opening):
    """Tries some endpoints one after the other, all of them again and again while patience lasts."""

    def __init__(
        self, endpoints: Sequence[Endpoint], name: str, *, now: float, timeout: float, patience: float
    ) -> None:
        self._endpoints = endpoints
        self._name = name
        self._untried = list(endpoints)
        self._socket: socket.socket | None = None
        self._patient_until = now + patience
        self._give_up_at = now + max(timeout, patience)
        self._retry_at: float | None = None
        self._last_error = OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        self.deadline = self._give_up_at

    def interests(self) -> dict[int, int]:
        return {} if self._socket is None else {self._socket.fileno(): EVENT_WRITE}

    def advance(self, now: float) -> Pipe | None:
        if self._retry_at is not None and now < self._retry_at:
            return None
        while True:
            if self._socket is None and not self._try_next(now):
                return None
            try:
                is_connected = self._is_connected()
            except OSError as error:
                self._last_error = error
                self.abandon()
                continue
            if is_connected:
                assert self._socket is not None, "it has just been looked at"
                return SocketPipe(self._socket)
            if now >= self._give_up_at:
                self.abandon()
                raise Broken("timed out", f"{self._name} does not answer")
            return None

    def abandon(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _try_next(self, now: float) -> bool:
        """Whether some endpoint is being tried now."""
        while self._untried:
            family, endpoint = self._untried.pop(0)
            self._retry_at = None
            self.deadline = self._give_up_at
            self._socket = new_socket(family, socket.SOCK_STREAM)
            code = _connect(self._socket, endpoint)
            if code in (0, errno.EINPROGRESS):
                return True
            self._last_error = OSError(code, os.strerror(code))
            self.abandon()
        self._come_again(now)
        return False

    def _come_again(self, now: float) -> None:
        retry_at = now + RETRY_AFTER
        if self._last_error.errno not in _WORTH_A_RETRY or retry_at > self._patient_until:
            raise Broken(trouble_of(self._last_error), f"{self._name}: {reason_of(self._last_error)}")
        self._untried = list(self._endpoints)
        self.deadline = self._retry_at = retry_at

    def _is_connected(self) -> bool:
        assert self._socket is not None, "something is being tried"
        if code := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(code, os.strerror(code))
        try:
            peer = self._socket.getpeername()
        except OSError as error:
            if error.errno == errno.ENOTCONN:
                return False
            raise
        # Asked again and again, a port that is free and among those given to clients connects to itself one day.
        if peer and peer == self._socket.getsockname():
            raise OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        return True


def new_socket(family: int, kind: socket.SocketKind) -> socket.socket:
    """A socket that does not block.

    :raises Broken: the system has no more, or does not know that family
    """
    try:
        made = socket.socket(family, kind)
    except OSError as error:
        raise Broken(trouble_of(error), f"no socket: {reason_of(error)}") from None
    made.setblocking(False)
    return made


def _connect(unconnected: socket.socket, endpoint: object) -> int:
    try:
        return unconnected.connect_ex(endpoint)  # type: ignore[arg-type]  # its shape depends on the family
    except OSError as error:  # addresses that do not even reach the system: a path that is too long
        return error.errno or errno.EINVAL


class Listener:
    """A socket that listens. It outlives its connections: clients may come between two sessions."""

    def __init__(self, listening: socket.socket, port: int = 0, forget: Callable[[], None] = lambda: None) -> None:
        self.socket = listening
        self.port = port
        self.is_taken = False
        self._forget = forget

    def close(self) -> None:
        self.socket.close()
        self._forget()


class Accepting(Opening):
    """Waits for one connection."""

    def __init__(self, listener: Listener) -> None:
        if listener.is_taken:
            raise Broken("in use", "another link waits there already")
        listener.is_taken = True
        self._listener = listener
        self.port = listener.port

    def interests(self) -> dict[int, int]:
        return {self._listener.socket.fileno(): EVENT_READ}

    def advance(self, now: float) -> Pipe | None:
        try:
            connected, _ = self._listener.socket.accept()
        except (BlockingIOError, ConnectionError):  # nobody there, or gone again
            return None
        except OSError as error:
            self.abandon()
            raise Broken(trouble_of(error), reason_of(error)) from None
        self.abandon()
        return SocketPipe(connected)

    def abandon(self) -> None:
        self._listener.is_taken = False
