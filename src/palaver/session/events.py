"""What happens to a session, and what it wants to be done: the only words between it and the world.

A *link* is one way to a peer: a connection, a pair of datagram ends, the pipes of a program. It has the name of the
party that we play on it. Every input tells when it happened, in seconds on some clock that never goes back; the session
knows no other time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

# How a peer is reached: we connect to it, or it connects to us.
Role: TypeAlias = Literal["connect", "listen"]

# Why a link could not be opened, or what broke it.
Trouble: TypeAlias = Literal["refused", "unreachable", "timed out", "in use", "tls", "reset", "not found", "other"]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a peer is. `kind` says what the other fields mean."""

    # A target is a program that is watched, and not talked to by its standard input.
    kind: Literal["tcp", "udp", "unix", "program", "target", "stdio", "stdin", "stdout"]
    host: str = ""
    port: int = 0
    path: str = ""  # of a unix socket
    command: tuple[str, ...] = ()  # of a program or target

    def __str__(self) -> str:
        match self.kind:
            case "tcp" | "udp":
                host = f"[{self.host}]" if ":" in self.host else self.host
                return f"{self.kind}://{host}:{self.port}"
            case "unix":
                return f"unix:{self.path}"
            case "program" | "target":
                return " ".join(self.command)
            case "stdio":
                return "standard input and output"
            case "stdin":
                return "standard input"
            case "stdout":
                return "standard output"


@dataclass(frozen=True, slots=True)
class Tls:
    """How a link is to be encrypted. A server without a certificate gets one made for the occasion."""

    certificate: str = ""  # path of a PEM file, with the key unless `key` names another
    key: str = ""
    authority: str = ""  # path of a PEM file to trust; nothing is checked without one
    server_name: str = ""


# --- Inputs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listening:
    """A link that was to listen at any port, 0, does so at this one."""

    at: float
    link: str
    port: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A link can be used: we are connected, somebody has connected, or the program runs."""

    at: float
    link: str
    port: int = 0  # of a listening end, where it is known only now


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came in. `is_whole` if they are known to be one message: a datagram."""

    at: float
    link: str
    data: bytes
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """The peer will say no more on this link."""

    at: float
    link: str
    trouble: Trouble | None = None  # None: it has closed in good order
    exit_code: int | None = None  # of a program that ended; negative: by that signal


@dataclass(frozen=True, slots=True)
class Failed:
    """A link could not be opened or used."""

    at: float
    link: str
    trouble: Trouble
    reason: str


@dataclass(frozen=True, slots=True)
class Secured:
    """A link is encrypted from here on."""

    at: float
    link: str


@dataclass(frozen=True, slots=True)
class Passed:
    """Nothing has happened, but time has passed: as much as the session asked to be woken after."""

    at: float


Input: TypeAlias = Listening | Opened | Received | Closed | Failed | Secured | Passed


# --- Actions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Open:
    link: str
    address: Address
    role: Role
    tls: Tls | None = None


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
    """Say no more on this link, but listen: the input of a program is closed, or half of a connection."""

    link: str


@dataclass(frozen=True, slots=True)
class Close:
    link: str
    abruptly: bool = False  # as a program does that crashes: the peer sees a reset, and what has not left is lost


Action: TypeAlias = Open | Send | Secure | Finish | Close
