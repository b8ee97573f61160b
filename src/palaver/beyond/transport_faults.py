"""Faults below messages: how connections break, and how segments are cut.

A stream may be cut into segments anywhere, so a right message in pieces, or two in one segment, is right, and the
session goes on with the usual verdicts. So it does beside a second connection. A connection that breaks ends its
session: nothing is known of the answer, but the peer must survive it, and serve the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from palaver.beyond.beyond_limits import MAX_PIECES, PIECE_SECONDS


class Delivery(Enum):
    """The way in which right messages of ours are sent."""

    TWO_PIECES = "in two pieces"
    BYTES = "one byte at a time"
    JOINED = "in one segment with what follows"
    SECOND_CONNECTION = "beside a second connection"


class Breakage(Enum):
    """The way in which a connection ends."""

    CLOSED = "closed"
    CLOSED_AT_ANSWER = "closed at the first byte of the answer"
    RESET = "reset"
    FINISHED = "no more sent"
    LEFT = "left when it is answered"


class TransportFault(NamedTuple):
    """A fault after which the session is over: the share of a right message that is sent, and what happens then."""

    what: str
    share: float  # of the bytes of a message; 2: another message behind it
    end: Breakage


_HALF, _WHOLE, _TWO = 0.5, 1.0, 2.0
_FAULTS = (
    TransportFault("cut in the middle, and closed", _HALF, Breakage.CLOSED),
    TransportFault("two in one segment", _TWO, Breakage.LEFT),
    TransportFault("cut in the middle, and reset", _HALF, Breakage.RESET),
    TransportFault("complete, and no more sent", _WHOLE, Breakage.FINISHED),
    TransportFault("complete, and closed before the answer", _WHOLE, Breakage.CLOSED),
    TransportFault("cut in the middle, and no more sent", _HALF, Breakage.FINISHED),
    TransportFault("complete, and closed at the first byte of the answer", _WHOLE, Breakage.CLOSED_AT_ANSWER),
    TransportFault("complete, and reset", _WHOLE, Breakage.RESET),
)
_BY_NAME = {fault.what: fault for fault in _FAULTS}
_DELIVERIES = {delivery.value: delivery for delivery in Delivery}


def fault_called(what: str) -> TransportFault | None:
    """The fault of this name."""
    return _BY_NAME.get(what)


def delivery_called(what: str) -> Delivery | None:
    """The way of sending of this name."""
    return _DELIVERIES.get(what)


def fault_of(turn: int, *, is_program: bool) -> TransportFault:
    """One of the faults, in turn; a program that is talked to by pipes can only be told that no more is sent."""
    faults = [fault for fault in _FAULTS if not is_program or fault.end in (Breakage.FINISHED, Breakage.LEFT)]
    return faults[turn % len(faults)]


def delivery_of(turn: int, *, is_alone: bool) -> Delivery:
    """One of the ways of sending, in turn; a peer that is alone has no second connection."""
    ways = [each for each in Delivery if not is_alone or each is not Delivery.SECOND_CONNECTION]
    return ways[turn % len(ways)]


def cut(data: bytes, fault: TransportFault, other: bytes) -> bytes:
    """The bytes that are sent of a right message, with another one behind it if the fault is about two."""
    if fault.share > 1:
        return data + other
    return data if fault.share == 1 else data[: max(1, int(len(data) * fault.share))]


class OutgoingPieces:
    """Sends messages in pieces, with a little time between them, as soon as it is known how; `send` sends bytes."""

    def __init__(self, send: Callable[[str, bytes], None]) -> None:
        self._send = send
        self.how: Delivery | None = None
        self._rest: deque[tuple[str, bytes]] = deque()
        self.due_at: float | None = None  # for the next piece; None: there is none, or it waits for what follows

    def take(self, now: float, link: str, data: bytes, *, may_join: bool) -> None:
        """Send a message, or its first piece; `may_join` if the next message is ours, too."""
        how = self.how
        if self.is_waiting:
            data = b"".join(piece for _, piece in self._rest) + data
            self._rest.clear()
        self.flush()
        if how is Delivery.JOINED and may_join:
            self._rest.append((link, data))
            return
        pieces = [data]
        if how is Delivery.TWO_PIECES and len(data) > 1:
            pieces = [data[: len(data) // 2], data[len(data) // 2 :]]
        elif how is Delivery.BYTES:
            most = MAX_PIECES - 1
            pieces = [data[at : at + 1] for at in range(min(len(data), most))]
            pieces += [data[most:]] if data[most:] else []
        self._send(link, pieces[0])
        self._rest.extend((link, piece) for piece in pieces[1:])
        self.due_at = now + PIECE_SECONDS if self._rest else None

    def go_on(self, now: float) -> bool:
        """Send the next piece, if it is time; return True if it was."""
        if self.due_at is None or now < self.due_at:
            return False
        self._send(*self._rest.popleft())
        self.due_at = now + PIECE_SECONDS if self._rest else None
        return True

    @property
    def is_waiting(self) -> bool:
        """True if something is held back until the next message."""
        return bool(self._rest) and self.due_at is None

    def flush(self) -> None:
        """Send all that is left at once."""
        while self._rest:
            self._send(*self._rest.popleft())
        self.due_at = None
