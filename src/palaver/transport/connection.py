"""One connection: the channel that is being opened, the output that waits, and the end.

How it works. A connection first has a `PendingChannel`, then a `Channel`; to encrypt it turns the channel into a
pending one again, the handshake, until a new channel comes out. All output stands in one queue: data, handshakes, and
`_END`. So what was sent before the encryption leaves in clear and what was sent after it does not, however slowly the
peer reads. `close` puts `_END` into the queue and starts a time limit: in good order if possible, and soon in any case.
A connection that was closed reports nothing more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from palaver.session.interface import Closed, Connected, Failed, Input, Opened, Received, Secured
from palaver.transport.channel import Channel, ChannelError, EndOfStream, PendingChannel
from palaver.transport.transport_limits import MAX_READ_BYTES

# Begins a TLS handshake when all output before it has left. It may raise `ChannelError`.
StartHandshake: TypeAlias = Callable[[Channel, float], PendingChannel]


class _EndOfOutput:
    pass


_END = _EndOfOutput()
_Outgoing: TypeAlias = memoryview | StartHandshake | _EndOfOutput


class Connection:
    """A connection to one peer, advanced by the event loop."""

    def __init__(self, name: str, pending: PendingChannel, encrypt: StartHandshake | None = None) -> None:
        self.name = name
        self.port = pending.port
        self.is_closed = False
        self._pending: PendingChannel | None = pending
        self._channel: Channel | None = None
        self._encrypt = encrypt
        self._outgoing: deque[_Outgoing] = deque()
        self._is_flushed = True
        self._was_opened = False
        self._has_finished = False
        self._is_reading = True
        self._close_by: float | None = None
        self._is_being_closed = False

    @property
    def pid(self) -> int:
        """The process at the other end, if we have started it and it is open; else 0."""
        return 0 if self._channel is None else self._channel.pid

    @property
    def is_closing(self) -> bool:
        return self._close_by is not None

    @property
    def is_being_opened(self) -> bool:
        return self._pending is not None

    def interests(self) -> dict[int, int]:
        if self.is_closed:
            return {}
        if self._pending is not None:
            return self._pending.interests()
        assert self._channel is not None, "it is open unless it is pending"
        return self._channel.interests(reading=self._is_reading, writing=bool(self._outgoing) or not self._is_flushed)

    @property
    def deadline(self) -> float | None:
        if self.is_closed:
            return None
        source = self._pending or self._channel
        assert source is not None, "it is open unless it is pending"
        if self._close_by is None or self._is_being_closed:
            return source.deadline
        return self._close_by if source.deadline is None else min(self._close_by, source.deadline)

    def send(self, data: bytes) -> None:
        if not self._has_finished and not self.is_closed:
            self._outgoing.append(memoryview(data))

    def encrypt(self, encrypt: StartHandshake) -> None:
        if not self._has_finished and not self.is_closed:
            self._outgoing.append(encrypt)

    def finish(self) -> None:
        if not self._has_finished:
            self._has_finished = True
            self._outgoing.append(_END)

    def close(self, close_by: float) -> None:
        # A handshake that has begun is completed: to the peer it would look like an attack if it broke off.
        if self._pending is not None and self._channel is None and not self._outgoing:
            self.abandon()
        elif not self.is_closed:
            self.finish()
            self._close_by = close_by

    def reset(self) -> None:
        """Close at once, and let the peer see that this was not in good order."""
        if self._pending is None and self._channel is not None and not self.is_closed:
            self._channel.reset()
        self.abandon()

    def abandon(self) -> None:
        """Close at once."""
        if self.is_closed:
            return
        self.is_closed = True
        if self._pending is not None:
            self._pending.abandon()
        elif self._channel is not None:
            self._channel.abandon()

    def advance(self, now: float, *, can_read: bool = True) -> list[Input]:
        """Do what can be done now, and return what has happened."""
        inputs: list[Input] = []
        try:
            while not self.is_closed and self._go_on(now, inputs):
                can_read = True  # a handshake may have read more than belongs to it
            if can_read and self._is_reading and self._pending is None and not self.is_closed:
                self._read(now, inputs)
            if self.is_closing and not self.is_closed:
                self._close_channel(now)
        except ChannelError as error:
            # A pending channel that fails has closed itself, and a channel can be abandoned twice.
            if self._pending is None:
                self.abandon()
            self.is_closed = True
            inputs.append(Failed(now, self.name, error.cause, error.reason))
        return [] if self.is_closing else inputs

    def _go_on(self, now: float, inputs: list[Input]) -> bool:
        """Open further, or send what waits; True if there is more of that to do at once."""
        if self._pending is None:
            return self._write(now)
        channel = self._pending.advance(now)
        if channel is None:
            return False
        self._channel, self._pending = channel, None
        if self._encrypt is not None:
            encrypt, self._encrypt = self._encrypt, None
            self._pending = encrypt(channel, now)
            inputs.append(Connected(now, self.name))
            return True
        inputs.append(Secured(now, self.name) if self._was_opened else Opened(now, self.name, self.port))
        self._was_opened = True
        return True

    def _write(self, now: float) -> bool:
        """Send what can be sent; True if a handshake has begun."""
        channel = self._channel
        assert channel is not None, "it is open unless it is pending"
        while self._outgoing:
            item = self._outgoing[0]
            if isinstance(item, memoryview):
                taken = channel.send(item)
                if taken is None:
                    break
                if taken < len(item):
                    self._outgoing[0] = item[taken:]
                    continue
            elif isinstance(item, _EndOfOutput):
                channel.finish()
            elif channel.flush():
                self._outgoing.popleft()
                self._pending = item(channel, now)
                return True
            else:
                break
            self._outgoing.popleft()
        self._is_flushed = channel.flush()
        return False

    def _read(self, now: float, inputs: list[Input]) -> None:
        channel = self._channel
        assert channel is not None, "it is open unless it is pending"
        while True:
            received = channel.receive(now, MAX_READ_BYTES)
            if isinstance(received, bytes):
                inputs.append(Received(now, self.name, received, is_whole=channel.is_datagram))
            elif received is not None:
                self._end(now, received, inputs)
            # At most one piece at a time: a handshake may follow what was received in clear.
            if not isinstance(received, bytes) or not channel.has_news:
                return

    def _end(self, now: float, ended: EndOfStream, inputs: list[Input]) -> None:
        self._is_reading = False
        inputs.append(Closed(now, self.name, ended.cause, ended.exit_code))
        if ended.cause is not None or ended.exit_code is not None:
            self.abandon()

    def _close_channel(self, now: float) -> None:
        assert self._close_by is not None, "it was asked to close"
        is_late = now >= self._close_by
        if self._pending is not None:
            if is_late:
                self.abandon()
            return
        assert self._channel is not None, "it is open unless it is pending"
        if is_late:
            self._outgoing.clear()
        if is_late or self._is_being_closed or (not self._outgoing and self._is_flushed):
            self._is_being_closed = True
            self.is_closed = self._channel.leave(now)
