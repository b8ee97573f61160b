"""The interface of transports: how channels to peers are opened, and what every channel can do.

A `Transport` opens the addresses of one scheme. It makes a `PendingChannel` (a connection on its way, a listener that
nobody has called yet, a TLS handshake), which becomes a `Channel` or raises `ChannelError`. Nothing blocks: the owner
waits until one of the file descriptors in `interests` is ready or the `deadline` has come, and then asks again.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

from palaver.addresses import Address
from palaver.lean_dataclasses import dataclass
from palaver.session.interface import FailureCause

_TROUBLES: Mapping[int, FailureCause] = {
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


class ChannelError(Exception):
    """A channel could not be opened, or cannot be used any more."""

    def __init__(self, trouble: FailureCause, reason: str) -> None:
        super().__init__(trouble, reason)
        self.cause: FailureCause = trouble
        self.reason = reason

    @classmethod
    def of(cls, error: OSError, what: object) -> ChannelError:
        """Translate an error of the system. `what` is the address or thing that it happened to."""
        return cls(_TROUBLES.get(error.errno or 0, "other"), f"{what}: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class EndOfStream:
    """Received instead of data: the peer will send no more."""

    cause: FailureCause | None = None
    exit_code: int | None = None

    @classmethod
    def of(cls, error: OSError) -> EndOfStream:
        return cls(ChannelError.of(error, "").cause)


class Channel(ABC):
    """An open channel to a peer."""

    is_datagram: ClassVar[bool] = False
    # When to ask again although no file descriptor is ready.
    deadline: float | None = None
    # Something can be received although no file descriptor is ready.
    has_news: bool = False
    # The process at the other end, if we have started it.
    pid: int = 0

    @abstractmethod
    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        """Return the file descriptors to watch, each with the events of `selectors`."""

    @abstractmethod
    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        """Return data, or None if nothing has come. A datagram is whole and may be empty, other data never is."""

    @abstractmethod
    def send(self, data: memoryview) -> int | None:
        """Return how many bytes were accepted, or None if none can be now. Bytes a peer refuses to read count, too."""

    def flush(self) -> bool:
        """Return True if everything that was accepted has left the process."""
        return True

    @abstractmethod
    def finish(self) -> None:
        """Tell the peer that we send no more."""

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


class PendingChannel(ABC):
    """A channel that is being opened."""

    deadline: float | None = None
    port: int = 0  # where we listen

    def interests(self) -> dict[int, int]:
        """Return the file descriptors to watch, each with the events of `selectors`."""
        return {}

    @abstractmethod
    def advance(self, now: float) -> Channel | None:
        """Return the channel, if it is open by now. :raises ChannelError: it never will be; nothing is left to close"""

    @abstractmethod
    def abandon(self) -> None:
        """Give it up, at once."""


class ReadyChannel(PendingChannel):
    """A channel that takes no time to open, or the reason why there is none."""

    def __init__(self, outcome: Channel | ChannelError) -> None:
        self._outcome = outcome

    def advance(self, now: float) -> Channel:
        if isinstance(self._outcome, ChannelError):
            raise self._outcome
        return self._outcome

    def abandon(self) -> None:
        if isinstance(self._outcome, Channel):
            self._outcome.abandon()


class Listener:
    """A place where peers can connect to. It outlives its connections: clients may come between two sessions."""

    port = 0
    is_taken = False  # some connection waits here for a peer
    # Of the session that waits here: whether a datagram of an earlier peer can begin it; None: any can.
    begins_session: Callable[[bytes], bool] | None = None

    def forget_queued(self) -> None:
        """Close the connections that nobody has accepted yet, and drop datagrams that nobody has read."""

    def close(self) -> None:
        """Close it. May be called while nobody waits here."""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """The settings of the event loop that concern opening a channel. Times are in seconds."""

    now: float
    timeout: float  # for connecting
    patience: float  # for a server that is not there yet
    grace: float  # for a program to end by itself
    standard: tuple[int, int]  # the file descriptors of our own input and output
    error_listener: Callable[[bytes], None] | None = None  # is given the errors of programs that we talk to


class Transport(ABC):
    """Opens the addresses of one scheme. To look up the name of a host is all that may take time."""

    @abstractmethod
    def connect(self, address: Address, options: OpenOptions) -> PendingChannel:
        """Begin to connect to a peer. :raises ChannelError: that is impossible"""

    def listen(self, address: Address) -> Listener:
        """Begin to listen. :raises ChannelError: that is impossible"""
        raise ChannelError("other", f"cannot listen at {address}")

    def accept(self, address: Address, listener: Listener) -> PendingChannel:
        """Wait for a peer to come to a listener of `listen`. :raises ChannelError: another connection waits there"""
        raise NotImplementedError

    def is_listening(self, address: Address) -> bool | None:
        """Return True if a program on this machine listens at an address; None if that cannot be told."""
        return None

    def free_port(self, host: str) -> int:
        """Return a port that is free now, or 0 if the transport has no ports."""
        return 0
