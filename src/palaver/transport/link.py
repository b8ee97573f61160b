"""One link: what is being opened, what waits to be sent, and when all is over.

How it works. A link first has an `Opening`, then a `Pipe`; to encrypt it turns the pipe into an opening again, the
handshake, until a new pipe comes out. What it is told to do stands in one queue: data, what makes a handshake, and
`_FINISH`. So what was sent before the encryption leaves in clear and what was sent after it does not, however slowly
the peer reads. `close` puts `_FINISH` into the queue and starts a time limit: in good order if possible, and soon in
any case. A link that was closed reports nothing more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from palaver.session.events import Closed, Failed, Input, Opened, Received, Secured
from palaver.transport.pipe import Broken, Ended, Opening, Pipe

# Makes the handshake when everything before it has left. It may raise `Broken`.
Encrypt: TypeAlias = Callable[[Pipe, float], Opening]


class _Finish:
    pass


_FINISH = _Finish()
_Order: TypeAlias = memoryview | Encrypt | _Finish


class Link:
    def __init__(self, name: str, opening: Opening, *, max_read: int, encrypt: Encrypt | None = None) -> None:
        self.name = name
        self.port = opening.port
        self.is_gone = False
        self._opening: Opening | None = opening
        self._pipe: Pipe | None = None
        self._max_read = max_read
        self._encrypt = encrypt
        self._orders: deque[_Order] = deque()
        self._is_flushed = True
        self._was_opened = False
        self._has_finished = False
        self._hears = True
        self._leave_by: float | None = None
        self._is_being_left = False

    # --- What the loop asks -------------------------------------------------------------------------------------------

    @property
    def is_leaving(self) -> bool:
        return self._leave_by is not None

    @property
    def is_being_opened(self) -> bool:
        return self._opening is not None

    @property
    def errors(self) -> bytes:
        return b"" if self._pipe is None else bytes(self._pipe.errors)

    def interests(self) -> dict[int, int]:
        if self.is_gone:
            return {}
        if self._opening is not None:
            return self._opening.interests()
        assert self._pipe is not None, "what is not being opened is open"
        return self._pipe.interests(reading=self._hears, writing=bool(self._orders) or not self._is_flushed)

    @property
    def deadline(self) -> float | None:
        if self.is_gone:
            return None
        source = self._opening or self._pipe
        assert source is not None, "what is not being opened is open"
        if self._leave_by is None or self._is_being_left:
            return source.deadline
        return self._leave_by if source.deadline is None else min(self._leave_by, source.deadline)

    # --- What the session wants ---------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        if not self._has_finished and not self.is_gone:
            self._orders.append(memoryview(data))

    def encrypt(self, encrypt: Encrypt) -> None:
        if not self._has_finished and not self.is_gone:
            self._orders.append(encrypt)

    def finish(self) -> None:
        if not self._has_finished:
            self._has_finished = True
            self._orders.append(_FINISH)

    def close(self, leave_by: float) -> None:
        # A handshake that has begun is brought to its end: to the peer it would look like an attack if it broke off.
        if self._opening is not None and self._pipe is None and not self._orders:
            self.abandon()
        elif not self.is_gone:
            self.finish()
            self._leave_by = leave_by

    def reset(self) -> None:
        """Close at once, and let the peer see that this was not in good order."""
        if self._opening is None and self._pipe is not None and not self.is_gone:
            self._pipe.reset()
        self.abandon()

    def abandon(self) -> None:
        """Close at once."""
        if self.is_gone:
            return
        self.is_gone = True
        if self._opening is not None:
            self._opening.abandon()
        elif self._pipe is not None:
            self._pipe.abandon()

    # --- What happens -------------------------------------------------------------------------------------------------

    def advance(self, now: float, *, can_read: bool = True) -> list[Input]:
        """Do what can be done now, and tell what has happened."""
        heard: list[Input] = []
        try:
            while not self.is_gone and self._go_on(now, heard):
                can_read = True  # a handshake may have read more than belongs to it
            if can_read and self._hears and self._opening is None and not self.is_gone:
                self._read(now, heard)
            if self.is_leaving and not self.is_gone:
                self._leave(now)
        except Broken as broken:
            # The opening that says so has closed itself, and a pipe can be abandoned twice.
            if self._opening is None:
                self.abandon()
            self.is_gone = True
            heard.append(Failed(now, self.name, broken.trouble, broken.reason))
        return [] if self.is_leaving else heard

    def _go_on(self, now: float, heard: list[Input]) -> bool:
        """Open further, or send what waits. Whether there is more of that to be done at once."""
        if self._opening is None:
            return self._write(now)
        pipe = self._opening.advance(now)
        if pipe is None:
            return False
        self._pipe, self._opening = pipe, None
        if self._encrypt is not None:
            encrypt, self._encrypt = self._encrypt, None
            self._opening = encrypt(pipe, now)
            return True
        heard.append(Secured(now, self.name) if self._was_opened else Opened(now, self.name, self.port))
        self._was_opened = True
        return True

    def _write(self, now: float) -> bool:
        """Send what can be sent. Whether a handshake has come up."""
        pipe = self._pipe
        assert pipe is not None, "what is not being opened is open"
        while self._orders:
            order = self._orders[0]
            if isinstance(order, memoryview):
                taken = pipe.send(order)
                if taken is None:
                    break
                if taken < len(order):
                    self._orders[0] = order[taken:]
                    continue
            elif isinstance(order, _Finish):
                pipe.finish()
            elif pipe.flush():
                self._orders.popleft()
                self._opening = order(pipe, now)
                return True
            else:
                break
            self._orders.popleft()
        self._is_flushed = pipe.flush()
        return False

    def _read(self, now: float, heard: list[Input]) -> None:
        pipe = self._pipe
        assert pipe is not None, "what is not being opened is open"
        while True:
            received = pipe.receive(now, self._max_read)
            if isinstance(received, bytes):
                heard.append(Received(now, self.name, received, is_whole=pipe.is_datagram))
            elif received is not None:
                self._end(now, received, heard)
            # Whatever was received in clear must be told before the rest: at most one piece at a time.
            if not isinstance(received, bytes) or not pipe.has_news:
                return

    def _end(self, now: float, ended: Ended, heard: list[Input]) -> None:
        self._hears = False
        heard.append(Closed(now, self.name, ended.trouble, ended.exit_code))
        if ended.trouble is not None or ended.exit_code is not None:
            self.abandon()

    def _leave(self, now: float) -> None:
        assert self._leave_by is not None, "only who was asked to leave leaves"
        is_late = now >= self._leave_by
        if self._opening is not None:
            if is_late:
                self.abandon()
            return
        assert self._pipe is not None, "what is not being opened is open"
        if is_late:
            self._orders.clear()
        if is_late or self._is_being_left or (not self._orders and self._is_flushed):
            self._is_being_left = True
            self.is_gone = self._pipe.leave(now)
