"""Addresses of peers, and the registry of address schemes.

An address is written `[NAME=][SCHEME:]REST`, as in `Client=udp://localhost:53`. The scheme says how the rest is written
and which transport opens such addresses. Transports are named as `module:object` and imported when they are first used.
A new transport is a module and one line in `SCHEMES`; other packages call `register` instead.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass, replace

# An address without a host is on this machine, and one without a scheme is of this one.
DEFAULT_HOST = "127.0.0.1"
DEFAULT_SCHEME = "tcp"

_PARTY_ADDRESS = re.compile(r"(?:(?P<name>[A-Za-z_]\w*)=)?(?P<text>(?:(?P<scheme>[A-Za-z][\w+.-]*):)?(?P<rest>.*))")
_HOST_AND_PORT = re.compile(r"(?://)?(?:(?P<host>\[[^\]]*\]|[^:/\[\]]+):)?(?P<port>[0-9]+)")


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """The surroundings of a program that is started: its folder, additions to its environment, and limits."""

    folder: str = ""  # "": ours
    environment: tuple[tuple[str, str], ...] = ()
    memory: int = 0  # bytes of address space of each process; 0: no limit
    cpu: int = 0  # seconds of processor time of each process; 0: no limit


@dataclass(frozen=True, slots=True)
class Address:
    """The place of a peer. Each transport uses the fields that it needs."""

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""
    command: tuple[str, ...] = ()
    settings: ProgramSettings = ProgramSettings()
    fresh_port: bool = False  # of datagrams: whoever is called here answers from a port of its own, as in TFTP

    def __str__(self) -> str:
        if self.command:
            return " ".join(self.command)
        if self.path or not (self.host or self.port):
            return f"{self.scheme}:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


# The forms of the text after a scheme. Who listens at port 0 gets any that is free.
HOST_AND_PORT = "[//][HOST:]PORT"
PATH = "PATH"


@dataclass(frozen=True, slots=True)
class AddressScheme:
    """A kind of address. A form of its own is a subclass that overrides `split` and `address`."""

    name: str
    transport: str = ""  # the `Transport` of such addresses, as "module:object"
    form: str = ""  # "" if such addresses are never written, only made by code
    is_datagram: bool = False  # each message travels as a datagram of its own
    over: str = ""  # the scheme of the stream below, if this one stands for that stream with TLS

    @property
    def has_port(self) -> bool:
        return self.form == HOST_AND_PORT

    def split(self, rest: str) -> tuple[str, int] | None:
        """Split the text after the scheme into a place (a host, or a path) and a port; None if it is malformed."""
        if not self.has_port:
            return (rest, 0) if rest else None
        found = _HOST_AND_PORT.fullmatch(rest)
        return found and ((found["host"] or DEFAULT_HOST).strip("[]"), int(found["port"]))

    def address(self, place: str, port: int) -> Address:
        """Make an address of a place and a port."""
        scheme = self.over or self.name
        return Address(scheme, place, port) if self.has_port else Address(scheme, path=place)

    def write(self, place: str, port: int) -> str:
        """Write an address as `parse_party_address` reads it."""
        return str(replace(self.address(place, port), scheme=self.name))


SCHEMES: dict[str, AddressScheme] = {
    scheme.name: scheme
    for scheme in (
        AddressScheme("tcp", "palaver.transport.tcp:TCP", HOST_AND_PORT),
        AddressScheme("udp", "palaver.transport.udp:UDP", HOST_AND_PORT, is_datagram=True),
        AddressScheme("tls", form=HOST_AND_PORT, over="tcp"),
        AddressScheme("unix", "palaver.transport.unix:UNIX", PATH),
        AddressScheme("program", "palaver.transport.process:PROGRAM"),
        AddressScheme("target", "palaver.transport.process:TARGET"),
        AddressScheme("helper", "palaver.transport.process:HELPER"),
        AddressScheme("stdio", "palaver.transport.stdio:STDIO"),
        AddressScheme("stdin", "palaver.transport.stdio:STDIN"),
        AddressScheme("stdout", "palaver.transport.stdio:STDOUT"),
    )
}


def register(scheme: AddressScheme) -> None:
    """Add a scheme, or replace the one of that name."""
    SCHEMES[scheme.name] = scheme
    parse_party_address.cache_clear()


def scheme_named(name: str) -> AddressScheme:
    """Return a registered scheme. :raises PalaverError: no scheme has that name"""
    if name not in SCHEMES:
        raise PalaverError(f"there is no transport {name!r}; the known ones are: {', '.join(SCHEMES)}")
    return SCHEMES[name]


def picks_port(address: Address) -> bool:
    """Return True if the system picks the port when we listen at an address."""
    return not address.port and scheme_named(address.scheme).has_port


class PartyAddress(NamedTuple):
    """A party's address as it was written. The place is a host, or a path."""

    name: str | None
    scheme: AddressScheme
    place: str
    port: int

    @property
    def address(self) -> Address:
        return self.scheme.address(self.place, self.port)


@lru_cache(maxsize=64)  # each session asks for the same few addresses
def parse_party_address(text: str) -> PartyAddress:
    """Parse `[NAME=][SCHEME:]REST`. :raises PalaverError: it is not an address of any scheme"""
    if found := _PARTY_ADDRESS.fullmatch(text.strip()):
        scheme, rest = SCHEMES.get((found["scheme"] or "").lower()), found["rest"]
        if scheme is None or not scheme.form:  # the word before the colon is a host
            scheme, rest = SCHEMES[DEFAULT_SCHEME], found["text"]
        if parts := scheme.split(rest):
            return PartyAddress(found["name"], scheme, *parts)
    raise PalaverError(f"{text!r} is not a party address: write {_forms()}")


def with_default_scheme(text: str, scheme: AddressScheme) -> str:
    """Write the scheme into an address that has none, if its addresses have ports; others stay as they are."""
    found = _PARTY_ADDRESS.fullmatch(text.strip())
    if found is None or not scheme.has_port or "://" in text or (found["scheme"] or "").lower() in SCHEMES:
        return text
    name = f"{found['name']}=" if found["name"] else ""
    return f"{name}{scheme.name}://{found['text'].removeprefix('//')}"


def _forms() -> str:
    default = SCHEMES[DEFAULT_SCHEME].form
    schemes = [scheme for scheme in SCHEMES.values() if scheme.form]
    ways = [f"[NAME=][{'|'.join(f'{scheme.name}:' for scheme in schemes if scheme.form == default)}]{default}"]
    ways += [f"[NAME=]{scheme.name}:{scheme.form}" for scheme in schemes if scheme.form != default]
    return " or ".join(ways)
