"""The parties of a conversation: the classes that specs derive theirs from.

A party here is what a spec says about one side: who plays it, where it is to be found, and what to do with messages
on their way. It owns no socket, and nothing is opened by loading, checking, fuzzing or parsing: `start` and `stop`
only note what is wanted. In a session they, `send` and `receive` go to its `Stage`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar
from typing import Protocol as Protocol_

from palaver.errors import PalaverError

RE_PARTY = re.compile(
    r"(?:(?P<name>[A-Za-z_]\w*)=)?"
    r"(?:unix:(?P<path>.+)|"
    r"(?:(?P<protocol>tcp|udp|tls):)?(?://)?(?:(?P<host>\[[^\]]*\]|[^:/\[\]]+):)?(?P<port>[0-9]+))",
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
    TLS = "tls"  # TCP, encrypted from the start
    UNIX = "unix"  # a socket with a path in the file system


class IpType(Enum):
    IPV4 = "ipv4"
    IPV6 = "ipv6"


class Stage(Protocol_):
    """What parties act on: the session that runs."""

    def start(self, party: Party) -> None:
        """The party wants its link to be opened."""

    def stop(self, party: Party) -> None:
        """The party wants its link to be closed."""

    def secure(self, party: Party, **options: str) -> None:
        """The party wants its link to be encrypted from here on."""

    def say(self, party: Party, message: Any, recipient: str | None) -> None:
        """What is to be sent, after the party has done to it what it wanted."""

    def hear(self, party: Party, message: Any, sender: str | None) -> None:
        """What was received, likewise; None: the link was closed."""


class Party:
    """One side of a conversation. `FandangoParty` is another name for it."""

    # The session that runs. Each spec gets classes with a stage and a registry of their own.
    _stage: ClassVar[Stage | None] = None

    # The instances of one spec by name.
    _registry: ClassVar[dict[str, Party]] = {}
    io_instance: ClassVar[PartyIo]

    def __init__(self, *, connection_mode: ConnectionMode, party_name: str | None = None) -> None:
        self.connection_mode = connection_mode
        self.party_name = party_name or type(self).__name__
        self.is_started = False
        self._registry[self.party_name] = self

    @classmethod
    def instance(cls, party_name: str | None = None) -> Party:
        """The object that plays this party now (or the party of that name); made when first asked for."""
        name = party_name or cls.__name__
        if name in cls._registry:
            return cls._registry[name]
        kinds = [kind for kind in _all_subclasses(cls) if kind.__name__ == name]
        if not kinds:
            raise PalaverError(f"nobody is called {name}")
        called_otherwise = [party for party in cls._registry.values() if type(party).__name__ == name]
        # A spec's party class takes no arguments; that is how the language makes instances.
        return called_otherwise[0] if called_otherwise else kinds[-1]()  # type: ignore[call-arg]

    def is_fuzzer_controlled(self) -> bool:
        """Whether we play this party."""
        return self.connection_mode is not ConnectionMode.EXTERNAL

    def start(self) -> None:
        """Ask for the connection to be opened: at once if a session runs, else when one begins."""
        self.is_started = True
        if self._stage is not None:
            self._stage.start(self)

    def stop(self) -> None:
        """Ask for the connection to be closed."""
        self.is_started = False
        if self._stage is not None:
            self._stage.stop(self)

    def send(self, message: Any, recipient: str | None) -> None:
        """Called with each message this party says: a tree, or what a party made of it."""
        if self._stage is not None:
            self._stage.say(self, message, recipient)

    def receive(self, message: str | bytes | None, sender: str | None) -> None:
        """Called with each piece this party is told; None says that the connection was closed.

        A party may also call it itself, to answer at once. Without a sender it is the one that speaks to this party.
        """
        if self._stage is not None:
            self._stage.hear(self, message, sender)


def _all_subclasses(kind: type[Party]) -> list[type[Party]]:
    found: list[type[Party]] = []
    todo = [kind]
    while todo:
        found.append(todo.pop(0))
        todo.extend(found[-1].__subclasses__())
    return found


class NetworkParty(Party):
    """A party with an address: `[NAME=][tcp:|udp:|tls:][//][HOST:]PORT` or `[NAME=]unix:PATH`."""

    def __init__(self, uri: str, *, connection_mode: ConnectionMode = ConnectionMode.CONNECT) -> None:
        super().__init__(connection_mode=connection_mode, party_name=split_party_spec(uri)[0])
        # The options of `start_tls` for a connection that is encrypted from the start; None if it is not.
        self.tls: Mapping[str, str] | None = None
        self.move(uri)

    def move(self, uri: str) -> None:
        """Be found at another address from the next start on; the name stays."""
        _, self.protocol_type, self.ip, self.port = split_party_spec(uri)  # of a unix socket, `ip` is the path
        if self.protocol_type is not Protocol.TLS:
            self.tls = None
        elif self.tls is None:
            self.tls = {}

    def start_tls(self, **options: str) -> None:
        """Encrypt the connection from here on. The options are those of `session.events.Tls`."""
        if self._stage is not None:
            self._stage.secure(self, **options)

    @property
    def ip_type(self) -> IpType:
        return IpType.IPV6 if ":" in self.ip else IpType.IPV4


@lru_cache(maxsize=64)  # asked for the same few addresses by each session
def split_party_spec(uri: str) -> tuple[str | None, Protocol, str, int]:
    """Name, protocol, host and port of a party's address; of a unix socket the host is the path, and the port is 0.

    :raises PalaverError: it is no such address
    """
    found = RE_PARTY.fullmatch(uri.strip())
    if found is None:
        ways = "[NAME=][tcp:|udp:|tls:][//][HOST:]PORT or [NAME=]unix:PATH"
        raise PalaverError(f"{uri!r} is no address of a party: write {ways}")
    if found["path"] is not None:
        return found["name"], Protocol.UNIX, found["path"], 0
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


class PartyIo:
    """The parties that play now, for specs that ask for the reference's `FandangoIO`."""

    _base: ClassVar[type[Party]] = Party

    @classmethod
    def instance(cls) -> PartyIo:
        return cls()

    @property
    def parties(self) -> dict[str, Party]:
        return dict(self._base._registry)

    def transmit(self, sender: str, recipient: str | None, message: Any) -> None:
        """Let a party say something that is no part of the conversation."""
        self._base.instance(sender).send(message, recipient)

    def __getattr__(self, name: str) -> Any:
        raise PalaverError(f"FandangoIO has no {name} here: use instance() of a party, and its send() and receive()")


class Named:
    """What code of a spec means by the name of a party that has no class: whoever plays it."""

    def __init__(self, base: type[Party], name: str) -> None:
        self._base = base
        self._name = name

    def instance(self, party_name: str | None = None) -> Party:
        """The object that plays this party now, or the party of that name."""
        name = party_name or self._name
        if name not in self._base._registry:
            raise PalaverError(f"nobody plays {name} now: give it a class, or use --client or --server of palaver talk")
        return self._base._registry[name]


class PartyNames(dict[str, type[Party]]):
    """The party classes as one spec sees them: with a registry that no other spec shares."""

    def __init__(self) -> None:
        base: type[Party] = type("FandangoParty", (Party,), {"_registry": {}, "_stage": None})
        self._base = base
        super().__init__(FandangoParty=base, Party=base)
        self.io = type("FandangoIO", (PartyIo,), {"_base": base})
        base.io_instance = self.io()
        for kind in (NetworkParty, In, Out, StdIn, StdOut, TimerControl, TimerEvent):
            self[kind.__name__] = type(kind.__name__, (kind, base), {})

    @property
    def instances(self) -> dict[str, Party]:
        """The objects that play parties of this spec now, by name."""
        return self["FandangoParty"]._registry

    def play(self, instances: dict[str, Party], stage: Stage | None) -> None:
        """Let these objects play from now on; those that are made join them. Sessions of one spec take turns so."""
        base = self._base
        # Python forgets what it knows of a class whenever something of it is set.
        if base._registry is not instances or base._stage is not stage:
            base._registry, base._stage = instances, stage

    def named(self, name: str) -> Named:
        """What the name of a party stands for if there is no class of that name."""
        return Named(self["FandangoParty"], name)

    def classes_in(self, names: dict[str, Any]) -> list[str]:
        """The names in a spec's namespace that are party classes."""
        base = self["FandangoParty"]
        return [name for name, value in names.items() if isinstance(value, type) and issubclass(value, base)]
