"""The parties of a session: the classes that specs derive theirs from.

A party tells about one side of a protocol who plays it, its address, and what to do with messages on their way. It owns
no socket, and nothing is opened by loading, checking, fuzzing or parsing: `start` and `stop` only note the request. In
a session they, `send` and `receive` go to its `PartyHost`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any, ClassVar
from typing import Protocol as Protocol_

from palaver.addresses import Address, parse_party_address, scheme_named
from palaver.errors import PalaverError
from palaver.lean_dataclasses import replace
from palaver.spec.python_code import short_repr

# For specs that use the pattern of the reference themselves; palaver parses addresses by their schemes.
RE_PARTY = re.compile(
    r"(?:(?P<name>[A-Za-z_]\w*)=)?"
    r"(?:unix:(?P<path>.+)|"
    r"(?:(?P<protocol>tcp|udp|tls):)?(?://)?(?:(?P<host>\[[^\]]*\]|[^:/\[\]]+):)?(?P<port>[0-9]+))",
    re.IGNORECASE,
)


class ConnectionMode(Enum):
    """The player of a party, and the side that opens the connection."""

    OPEN = "open"  # we are this party, and listen
    CONNECT = "connect"  # we are this party, and connect
    EXTERNAL = "external"  # the system under test is this party


class Protocol(Enum):
    """The schemes of addresses that have a name in the language of specs."""

    TCP = "tcp"
    UDP = "udp"
    TLS = "tls"  # TCP, encrypted from the start
    UNIX = "unix"  # a socket with a path in the file system


# By their names; other schemes stand for themselves.
_PROTOCOLS = {protocol.value: protocol for protocol in Protocol}


class IpType(Enum):
    IPV4 = "ipv4"
    IPV6 = "ipv6"


class PartyHost(Protocol_):
    """The session that runs, as parties see it."""

    def start(self, party: Party) -> None:
        """Open the link of a party."""

    def stop(self, party: Party) -> None:
        """Close the link of a party."""

    def secure(self, party: Party, **options: str) -> None:
        """Encrypt the link of a party from here on."""

    def say(self, party: Party, message: Any, recipient: str | None) -> None:
        """Send a message, after the party has changed it as it likes."""

    def hear(self, party: Party, message: Any, sender: str | None) -> None:
        """Take in what a party received, likewise; None: the link was closed."""

    def recast(self) -> None:
        """A party is new, or another one plays it from here on."""


class Party:
    """One side of a protocol. `FandangoParty` is another name for it."""

    # The session that runs. Each spec gets classes with a stage and a registry of their own.
    _stage: ClassVar[PartyHost | None] = None

    # The instances of one spec by name.
    _registry: ClassVar[dict[str, Party]] = {}
    io_instance: ClassVar[PartyIo]

    def __init__(self, *, connection_mode: ConnectionMode, party_name: str | None = None) -> None:
        self.party_name = party_name or type(self).__name__
        self.is_started = False
        self._registry[self.party_name] = self
        self.connection_mode = connection_mode

    @property
    def connection_mode(self) -> ConnectionMode:
        """The player of this party, and the side that opens the connection."""
        return self._connection_mode

    @connection_mode.setter
    def connection_mode(self, mode: ConnectionMode) -> None:
        self._connection_mode = mode
        if self._stage is not None:
            self._stage.recast()

    @classmethod
    def instance(cls, party_name: str | None = None) -> Party:
        """Return the object that plays this party now (or the party of that name), made when first asked for."""
        name = party_name or cls.__name__
        if name in cls._registry:
            return cls._registry[name]
        kinds = [kind for kind in _all_subclasses(cls) if kind.__name__ == name]
        if not kinds:
            raise PalaverError(f"there is no party {name}")
        called_otherwise = [party for party in cls._registry.values() if type(party).__name__ == name]
        # A spec's party class takes no arguments; that is how the language makes instances.
        return called_otherwise[0] if called_otherwise else kinds[-1]()  # type: ignore[call-arg]

    def is_fuzzer_controlled(self) -> bool:
        """Return True if we play this party."""
        return self.connection_mode is not ConnectionMode.EXTERNAL

    @property
    def is_in_session(self) -> bool:
        """True while a message may really be sent, False while one is made up, parsed or fuzzed."""
        return self._stage is not None

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
        """Send a message of this party. It is a tree, or anything that code of the spec made of one."""
        if self._stage is not None:
            self._stage.say(self, message, recipient)

    def receive(self, message: str | bytes | None, sender: str | None) -> None:
        """Receive a piece of data for this party; None says that the connection was closed.

        A party may also call it itself, to answer at once. The default sender is the one that talks to this party.
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
        super().__init__(connection_mode=connection_mode, party_name=parse_party_address(uri).name)
        # The options of `start_tls` for a connection that is encrypted from the start; None if it is not.
        self.tls: Mapping[str, str] | None = None
        # Whoever is called answers from a port of its own, which is its address from then on (UDP, as in TFTP).
        self.fresh_port = False
        self.move(uri)

    def move(self, uri: str) -> None:
        """Use another address from the next start on; the name stays."""
        _, self.protocol_type, self.ip, self.port = split_party_spec(uri)  # `ip` may be a path
        self.tls = (self.tls or {}) if parse_party_address(uri).scheme.over else None

    def start_tls(self, **options: str) -> None:
        """Encrypt the connection from here on. The options are those of `session.interface.Tls`."""
        if self._stage is not None:
            self._stage.secure(self, **options)

    @property
    def ip_type(self) -> IpType:
        return IpType.IPV6 if ":" in self.ip else IpType.IPV4


def address_of(party: NetworkParty) -> Address:
    """Return the address; code of the spec may have assigned anything to its parts. :raises PalaverError: no port"""
    protocol = party.protocol_type
    scheme = scheme_named(protocol.value if isinstance(protocol, Protocol) else protocol)
    address = scheme.address(party.ip, _port_of(party) if scheme.has_port else 0)
    return replace(address, fresh_port=True) if party.fresh_port and scheme.is_datagram else address


def _port_of(party: NetworkParty) -> int:
    try:
        port = int(party.port)
    except (TypeError, ValueError):
        port = -1
    if not 0 <= port <= 65535:
        raise PalaverError(f"the port of {party.party_name} is {short_repr(party.port)}: it must be from 0 to 65535")
    return port


def split_party_spec(uri: str) -> tuple[str | None, Protocol | str, str, int]:
    """Split a party's address into name, protocol, host or path, and port or 0. :raises PalaverError: it is none"""
    name, scheme, place, port = parse_party_address(uri)
    return name, _PROTOCOLS.get(scheme.name, scheme.name), place, port


# The parties that palaver itself plays: standard input and output of the program under test, our own, and timers.
_BUILT_IN_PARTIES = {
    "In": ConnectionMode.CONNECT,
    "Out": ConnectionMode.EXTERNAL,
    "StdIn": ConnectionMode.EXTERNAL,
    "StdOut": ConnectionMode.CONNECT,
    "TimerControl": ConnectionMode.CONNECT,
    "TimerEvent": ConnectionMode.EXTERNAL,
}


class BuiltInParty(Party):
    """A party that palaver itself plays. `close_post_transmit` of `In` closes the input after a message."""

    mode: ClassVar[ConnectionMode]
    close_post_transmit = False

    def __init__(self) -> None:
        super().__init__(connection_mode=self.mode)


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
        """Let a party send something that is not part of the session."""
        self._base.instance(sender).send(message, recipient)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # Python itself asks whether there is such a method
        raise PalaverError(
            f"FandangoIO has no {name} in palaver: use instance() of a party, and its send() and receive()"
        )


class PartyReference:
    """Stands in the code of a spec for a party without a class: it finds the object that plays the party."""

    def __init__(self, base: type[Party], name: str) -> None:
        self._base = base
        self._name = name

    def instance(self, party_name: str | None = None) -> Party:
        """Return the object that plays this party now, or the party of that name."""
        name = party_name or self._name
        if name not in self._base._registry:
            raise PalaverError(
                f"no session plays {name} now: give it a class, or use --client or --server of palaver talk"
            )
        return self._base._registry[name]


class PartyNames(dict[str, type[Party]]):
    """The party classes of one spec, with a registry that no other spec shares."""

    def __init__(self) -> None:
        base: type[Party] = type("FandangoParty", (Party,), {"_registry": {}, "_stage": None})
        self._base = base
        super().__init__(FandangoParty=base, Party=base)
        self.io = type("FandangoIO", (PartyIo,), {"_base": base})
        base.io_instance = self.io()
        self["NetworkParty"] = type("NetworkParty", (NetworkParty, base), {})
        for name, mode in _BUILT_IN_PARTIES.items():
            self[name] = type(name, (BuiltInParty, base), {"mode": mode})

    def play(self, instances: dict[str, Party], stage: PartyHost | None) -> None:
        """Let `instance` find these objects from now on, and add new ones to them. Sessions of a spec take turns so."""
        base = self._base
        # Setting attributes of a class makes Python drop its caches for it.
        if base._registry is not instances or base._stage is not stage:
            base._registry, base._stage = instances, stage

    @contextmanager
    def rehearsed(self) -> Iterator[None]:
        """Let code of the spec have no effect on parties: for messages that are made up, and never said."""
        base = self._base
        stage, before = base._stage, [(party, dict(vars(party))) for party in base._registry.values()]
        base._stage = None
        try:
            yield
        finally:
            base._stage = stage
            for party, attributes in before:
                vars(party).clear()
                vars(party).update(attributes)

    def named(self, name: str) -> PartyReference:
        """Return the value of a party's name in the code of a spec that has no class of that name."""
        return PartyReference(self["FandangoParty"], name)

    def classes_in(self, names: dict[str, Any]) -> list[str]:
        """Return the names in a spec's namespace that are party classes."""
        base = self["FandangoParty"]
        return [name for name, value in names.items() if isinstance(value, type) and issubclass(value, base)]
