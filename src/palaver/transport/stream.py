"""Connected stream sockets of any address family: connecting, accepting, sending and receiving."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Callable, Sequence
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, TypeAlias

from palaver.transport import transport_limits as limits
from palaver.transport.channel import Channel, ChannelError, EndOfStream, Listener, OpenOptions, PendingChannel

# Family and address as `socket` wants them; the shape of the latter depends on the former.
SocketAddress: TypeAlias = tuple[int, Any]

_WORTH_A_RETRY = {errno.ECONNREFUSED, errno.ENOENT, errno.EAGAIN}


class SocketChannel(Channel):
    """A connected stream socket."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            # Messages are short and wait for answers: holding them back to fill a segment costs 40 ms each.
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._end = EndOfStream()  # told when all data has been read

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        events = EVENT_READ * reading | EVENT_WRITE * writing
        return {self._socket.fileno(): events} if events else {}

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        try:
            data = self._socket.recv(limit)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            # The peer had closed in good order, and then got something from us.
            return EndOfStream()
        except OSError as error:
            return EndOfStream.of(error)
        return data or self._end

    def send(self, data: memoryview) -> int | None:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            return len(data)
        except OSError as error:
            # What the peer sent before that can still be read; the error is told after it.
            self._end = EndOfStream.of(error)
            return len(data)

    def finish(self) -> None:
        # If the connection is broken, receiving will tell.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def leave(self, now: float) -> bool:
        # A socket closed with unread data resets the connection, and our last bytes may be lost.
        for _ in range(limits.MAX_DRAIN_READS):
            if not isinstance(self.receive(now, limits.DRAIN_READ_BYTES), bytes):
                break
        self.abandon()
        return True

    def reset(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abandon()

    def abandon(self) -> None:
        self._socket.close()


class Connecting(PendingChannel):
    """Tries some socket addresses one after the other, all of them again and again while patience lasts."""

    def __init__(self, places: Sequence[SocketAddress], name: str, options: OpenOptions) -> None:
        self._places = places
        self._name = name
        self._untried = list(places)
        self._socket: socket.socket | None = None
        self._patient_until = options.now + options.patience
        self._give_up_at = options.now + max(options.timeout, options.patience)
        self._retry_at: float | None = None
        self._last_error = OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        self.deadline = self._give_up_at

    def interests(self) -> dict[int, int]:
        return {} if self._socket is None else {self._socket.fileno(): EVENT_WRITE}

    def advance(self, now: float) -> Channel | None:
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
                return SocketChannel(self._socket)
            if now >= self._give_up_at:
                self.abandon()
                raise ChannelError("timed out", f"{self._name}: no connection in time (--timeout)")
            return None

    def abandon(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _try_next(self, now: float) -> bool:
        """Try the next address; False if none is left, and all are tried again later."""
        while self._untried:
            family, place = self._untried.pop(0)
            self._retry_at = None
            self.deadline = self._give_up_at
            self._socket = new_socket(family, socket.SOCK_STREAM)
            code = _connect(self._socket, place)
            if code in (0, errno.EINPROGRESS):
                return True
            self._last_error = OSError(code, os.strerror(code))
            self.abandon()
        self._schedule_retry(now)
        return False

    def _schedule_retry(self, now: float) -> None:
        retry_at = now + limits.CONNECT_RETRY_SECONDS
        if self._last_error.errno not in _WORTH_A_RETRY or retry_at > self._patient_until:
            raise ChannelError.of(self._last_error, self._name)
        self._untried = list(self._places)
        self.deadline = self._retry_at = retry_at

    def _is_connected(self) -> bool:
        assert self._socket is not None, "some address is being tried"
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
    """Make a socket that does not block. :raises ChannelError: the system has no more, or does not know that family"""
    try:
        made = socket.socket(family, kind)
    except OSError as error:
        raise ChannelError.of(error, "no socket") from None
    made.setblocking(False)
    return made


def _connect(unconnected: socket.socket, place: object) -> int:
    try:
        return unconnected.connect_ex(place)  # type: ignore[arg-type]  # its shape depends on the family
    except OSError as error:  # addresses that do not even reach the system: a path that is too long
        return error.errno or errno.EINVAL


class SocketListener(Listener):
    """A socket that listens. :raises ChannelError: it cannot; then it is closed"""

    def __init__(self, bound: socket.socket, name: object, forget: Callable[[], None] = lambda: None) -> None:
        try:
            if bound.type == socket.SOCK_STREAM:
                bound.listen(limits.LISTEN_BACKLOG)
        except OSError as error:
            bound.close()
            raise ChannelError.of(error, name) from None
        self.socket = bound
        self.port = place[1] if isinstance(place := bound.getsockname(), tuple) else 0
        self._forget = forget

    def forget_queued(self) -> None:
        while (queued := _first_alive(self.socket)) is not None:
            queued.close()

    def close(self) -> None:
        self.socket.close()
        self._forget()


def _first_alive(listening: socket.socket) -> socket.socket | None:
    """The first queued connection whose client is still there; those before it belong to an earlier session."""
    while True:
        try:
            connected, _ = listening.accept()
        except OSError:  # none is queued; what else is wrong is told by whoever waits for one
            return None
        connected.setblocking(False)
        try:
            if connected.recv(1, socket.MSG_PEEK):
                return connected
        except BlockingIOError:
            return connected
        except OSError:
            pass
        connected.close()


class Accepting(PendingChannel):
    """Waits for one connection."""

    def __init__(self, listener: Listener) -> None:
        assert isinstance(listener, SocketListener), "made by the same transport"
        if listener.is_taken:
            raise ChannelError("in use", "another party of this session listens there already")
        listener.is_taken = True
        self._listener = listener
        self._queued = _first_alive(listener.socket)
        self.port = listener.port

    def interests(self) -> dict[int, int]:
        if self._queued is not None:
            return {self._queued.fileno(): EVENT_WRITE}
        return {self._listener.socket.fileno(): EVENT_READ}

    def advance(self, now: float) -> Channel | None:
        queued, self._queued = self._queued, None
        if queued is not None:
            self.abandon()
            return SocketChannel(queued)
        try:
            connected, _ = self._listener.socket.accept()
        except (BlockingIOError, ConnectionError):  # nobody there, or gone again
            return None
        except OSError as error:
            self.abandon()
            raise ChannelError.of(error, "accept") from None
        self.abandon()
        return SocketChannel(connected)

    def abandon(self) -> None:
        self._listener.is_taken = False
        if self._queued is not None:
            self._queued.close()
