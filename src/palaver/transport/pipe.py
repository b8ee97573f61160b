"""What every kind of pipe can do, and how pipes come to be.

An `Opening` is a pipe that is not there yet: a connection on its way, a listener that nobody has called, a handshake.
It becomes a `Pipe`, or it is `Broken`. Nothing here ever blocks: whoever owns a pipe or an opening waits until one of
the file descriptors of `interests` is ready or the `deadline` has come, and then asks again.

New kinds of pipes live in a module of their own; `loop.py` picks one by the kind of the address.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from palaver.session.events import Trouble

_TROUBLES: Mapping[int, Trouble] = {
    errno.ECONNREFUSED: "refused",
    errno.ENETUNREACH: "unreachable",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETDOWN: "unreachable",
    errno.EHOSTDOWN: "unreachable",
    errno.ETIMEDOUT: "timed out",
    errno.EADDRINUSE: "in use",
    errno.ECONNRESET: "reset",
    errno.ECONNABORTED: "reset",
    errno.EPIPE: "reset",
    errno.ENOENT: "not found",
}


def trouble_of(error: OSError) -> Trouble:
    return _TROUBLES.get(error.errno or 0, "other")


def reason_of(error: OSError) -> str:
    return error.strerror or str(error)


class Broken(Exception):
    """A pipe could not be opened, or cannot be used any more."""

    def __init__(self, trouble: Trouble, reason: str) -> None:
        super().__init__(trouble, reason)
        self.trouble: Trouble = trouble
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Ended:
    """Received instead of data: the peer will say no more."""

    trouble: Trouble | None = None
    exit_code: int | None = None


class Pipe(ABC):
    """An open way to a peer."""

    is_datagram: ClassVar[bool] = False
    # When to ask again although no file descriptor is ready.
    deadline: float | None = None
    # Something can be received although no file descriptor is ready.
    has_news: bool = False
    # What a program has written as errors, if anybody keeps it.
    errors: bytes | bytearray = b""

    @abstractmethod
    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        """File descriptors to watch, each with the events of `selectors`."""

    @abstractmethod
    def receive(self, now: float, limit: int) -> bytes | Ended | None:
        """What has come, or None if nothing has. A datagram is whole and may be empty, other data never is."""

    @abstractmethod
    def send(self, data: memoryview) -> int | None:
        """How many bytes were taken, None if nothing can be taken now. What the peer refuses to read is taken, too."""

    def flush(self) -> bool:
        """Whether everything that was taken has left the process."""
        return True

    @abstractmethod
    def finish(self) -> None:
        """Tell the peer that we shall say no more."""

    def leave(self, now: float) -> bool:
        """Close in good order; False if that takes longer and must be asked for again."""
        self.abandon()
        return True

    def reset(self) -> None:
        """Close at once, so that the peer sees a failure if it can see one."""
        self.abandon()

    @abstractmethod
    def abandon(self) -> None:
        """Close at once, whatever is going on. May be called twice."""


class Opening(ABC):
    """A pipe that is being opened."""

    deadline: float | None = None
    # Where we are listening.
    port: int = 0

    def interests(self) -> dict[int, int]:
        """File descriptors to watch, each with the events of `selectors`."""
        return {}

    @abstractmethod
    def advance(self, now: float) -> Pipe | None:
        """The pipe, if it is open by now.

        :raises Broken: it never will be; nothing is left to be closed
        """

    @abstractmethod
    def abandon(self) -> None:
        """Give it up, at once."""


class Ready(Opening):
    """An opening that takes no time."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def advance(self, now: float) -> Pipe:
        return self._pipe

    def abandon(self) -> None:
        self._pipe.abandon()


class Failing(Opening):
    """An opening of which nothing will come."""

    def __init__(self, broken: Broken) -> None:
        self._broken = broken

    def advance(self, now: float) -> Pipe:
        raise self._broken

    def abandon(self) -> None:
        pass
