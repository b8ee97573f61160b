"""The parties of a conversation: the classes that specs derive theirs from.

A party here is what a spec says about one side: who plays it, where it is to be found, and what to do with messages
on their way. It owns no socket, and nothing is opened by loading, checking, fuzzing or parsing: `start` and `stop`
only note what is wanted.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, ClassVar

from palaver.errors import PalaverError

RE_PARTY = re.compile(
    r"(?:(?P<name>[A-Za-z_]\w*)=)?(?:(?P<protocol>tcp|udp):)?(?://)?(?:(?P<host>\[[^\]]*\]|[^:/\[\]]+):)?(?P<port>[0-9]+)",
    re.IGNORECASE,
)


class ConnectionMode(Enum):
    """Who plays a party, and who opens the connection."""

    OPEN = "open"  # we are this party, and listen
    CONNECT = "connect"  # we are this party, and connect
    EXTERNAL = "external"  # the system under test is this party


class Protocol(Enum):
    TCP = "tcp"
    UDP = "udp"


class IpType(Enum):
    IPV4 = "ipv4"
    IPV6 = "ipv6"


class Party:
    """One side of a conversation. `FandangoParty` is another name for it."""

    # The instances of one spec by name; each spec gets classes with a registry of their own.
    _registry: ClassVar[dict[str, Party]] = {}

    def __init__(self, *, connection_mode: ConnectionMode, party_name: str | None = None) -> None:
        self.connection_mode = connection_mode
        self.party_name = party_name or type(self).__name__
        self.is_started = False
        self._registry[self.party_name] = self

    @classmethod
    def instance(cls, party_name: str | None = None) -> Party:
        """The object that plays this party now (or the party of that name); made when first asked for."""
        name = party_name or cls.__name__
        if name not in cls._registry:
            kinds = [kind for kind in _all_subclasses(cls) if kind.__name__ == name] or [cls]
            # A spec's party class takes no arguments; that is how the language makes instances.
            kinds[-1]()  # type: ignore[call-arg]
        return cls._registry[name]

    def is_fuzzer_controlled(self) -> bool:
        """Whether we play this party."""
        return self.connection_mode is not ConnectionMode.EXTERNAL

    def start(self) -> None:
        """Ask for the connection to be opened once a session runs."""
        self.is_started = True

    def stop(self) -> None:
        """Ask for the connection to be closed."""
        self.is_started = False

    def send(self, message: Any, recipient: str | None) -> None:
        """Called with each message this party says."""

    def receive(self, message: str | bytes | None, sender: str | None) -> None:
        """Called with each piece this party is told; None says that the connection was closed."""


def _all_subclasses(kind: type[Party]) -> list[type[Party]]:
    found: list[type[Party]] = []
    todo = [kind]
    while todo:
        found.append(todo.pop(0))
        todo.extend(found[-1].__subclasses__())
    return found


class NetworkParty(Party):
    """A party with an address: `[NAME=][tcp:|udp:][//][HOST:]PORT`."""

    def __init__(self, uri: str, *, connection_mode: ConnectionMode = ConnectionMode.CONNECT) -> None:
        name, protocol, host, port = split_party_spec(uri)
        super().__init__(connection_mode=connection_mode, party_name=name)
        self.protocol_type = protocol
        self.ip = host
        self.port = port

    @property
    def ip_type(self) -> IpType:
        return IpType.IPV6 if ":" in self.ip else IpType.IPV4


def split_party_spec(uri: str) -> tuple[str | None, Protocol, str, int]:
    """Name, protocol, host and port of a party's address.

    :raises PalaverError: it is no such address
    """
    found = RE_PARTY.fullmatch(uri.strip())
    if found is None:
        raise PalaverError(f"{uri!r} is no address of a party: write [NAME=][tcp:|udp:][//][HOST:]PORT")
    protocol = Protocol((found["protocol"] or "tcp").lower())
    host = (found["host"] or "127.0.0.1").strip("[]")
    return found["name"], protocol, host, int(found["port"])


class _Plain(Party):
    """A party that palaver itself knows how to play."""

    mode: ClassVar[ConnectionMode]

    def __init__(self) -> None:
        super().__init__(connection_mode=self.mode)


class In(_Plain):
    """Writes to the standard input of the program under test."""

    mode = ConnectionMode.CONNECT
    close_post_transmit = False


class Out(_Plain):
    """What the program under test writes to its standard output."""

    mode = ConnectionMode.EXTERNAL


class StdIn(_Plain):
    """What we read from our own standard input."""

    mode = ConnectionMode.EXTERNAL


class StdOut(_Plain):
    """What we print."""

    mode = ConnectionMode.CONNECT


class TimerControl(_Plain):
    """Starts and cancels timers."""

    mode = ConnectionMode.CONNECT


class TimerEvent(_Plain):
    """Tells that a timer has expired."""

    mode = ConnectionMode.EXTERNAL


class PartyNames(dict[str, type[Party]]):
    """The party classes as one spec sees them: with a registry that no other spec shares."""

    def __init__(self) -> None:
        base = type("FandangoParty", (Party,), {"_registry": {}})
        super().__init__(FandangoParty=base, Party=base)
        for kind in (NetworkParty, In, Out, StdIn, StdOut, TimerControl, TimerEvent):
            self[kind.__name__] = type(kind.__name__, (kind, base), {})

    def classes_in(self, names: dict[str, Any]) -> list[str]:
        """The names in a spec's namespace that are party classes."""
        base = self["FandangoParty"]
        return [name for name, value in names.items() if isinstance(value, type) and issubclass(value, base)]
