"""Inputs and actions: the only interface between a session and the world.

A *link* is the name of a connection to a peer: that of the party that we play on it. Every input tells when it
happened, in seconds on some clock that never goes back; the session knows no other time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal, TypeAlias

from palaver.addresses import Address as Address
from palaver.lean_dataclasses import dataclass

# We connect to the peer, or it connects to us.
Role: TypeAlias = Literal["connect", "listen"]

# The cause why a link could not be opened, or was closed.
FailureCause: TypeAlias = Literal["refused", "unreachable", "timed out", "in use", "tls", "reset", "not found", "other"]


@dataclass(frozen=True, slots=True)
class Tls:
    """The options of TLS. A server without a certificate gets one that is signed by itself."""

    certificate: str = ""  # path of a PEM file, with the key unless `key` names another
    key: str = ""
    authority: str = ""  # path of a PEM file to trust; nothing is checked without one
    server_name: str = ""
    role: str = ""  # "client" or "server" of the handshake; else who connects is the client


@dataclass(frozen=True, slots=True)
class Listening:
    """A link that was opened to listen at port 0, which means any, listens at this one."""

    at: float
    link: str
    port: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A link can be used: we are connected, a peer has connected, or the program runs."""

    at: float
    link: str
    port: int = 0  # of a listening end, where it is known only now


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes have come. `is_whole` if they are known to be one message: a datagram."""

    at: float
    link: str
    data: bytes
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """The peer will send no more on this link."""

    at: float
    link: str
    cause: FailureCause | None = None  # None: it has closed in good order
    exit_code: int | None = None  # of a program that ended; negative: by that signal


@dataclass(frozen=True, slots=True)
class Failed:
    """A link could not be opened or used."""

    at: float
    link: str
    cause: FailureCause
    reason: str


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection is there, and being encrypted; it is `Opened` when that is done."""

    at: float
    link: str


@dataclass(frozen=True, slots=True)
class Secured:
    """A link is encrypted from here on."""

    at: float
    link: str


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Nothing has happened, but the deadline of the session has come."""

    at: float


Input: TypeAlias = Listening | Opened | Received | Closed | Failed | Connected | Secured | TimePassed


@dataclass(frozen=True, slots=True)
class Open:
    link: str
    address: Address
    role: Role
    tls: Tls | None = None
    # Where datagrams are waited for: whether one of an earlier peer begins a session, or is late.
    begins_session: Callable[[bytes], bool] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Send:
    link: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Secure:
    """Encrypt a link that is open."""

    link: str
    role: Role
    tls: Tls


@dataclass(frozen=True, slots=True)
class Finish:
    """Send no more on this link, but receive: the input of a program is closed, or half of a connection."""

    link: str


@dataclass(frozen=True, slots=True)
class Close:
    link: str
    abruptly: bool = False  # the peer sees a reset, and data that has not left is lost


Action: TypeAlias = Open | Send | Secure | Finish | Close


@dataclass(frozen=True, slots=True)
class Heard:
    """The data that code of a party has heard in its own way while it sent a message, or the error that it raised."""

    party: str
    data: bytes | None  # None: the sender sends no more
    sender: str | None
    fault: str = ""  # the name of the kind of finding that the error is; "" if there was none
    told: str = ""  # of the error


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of ours: a message was made, and then sent or dropped; or we let the peer send first.

    A message that a party has sent in its own way is answered when the turn is over: that is told by a second one.
    """

    made_at: float
    at: float  # when it was sent, or dropped
    outcome: Literal["taken", "dropped", "yielded", "answered"]
    heard: tuple[Heard, ...] = ()  # what has answered
