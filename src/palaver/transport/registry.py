"""The transports by scheme, and the questions about addresses that only a transport can answer."""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name

from palaver.addresses import DEFAULT_HOST, Address, scheme_named
from palaver.transport.channel import ChannelError, Transport


def transport_for(address: Address) -> Transport:
    """Return the transport that opens an address.

    :raises PalaverError: its scheme is not registered
    :raises ChannelError: its module cannot be read, as when too many files are open
    """
    scheme = scheme_named(address.scheme)
    try:
        transport = _resolved(scheme_named(scheme.over or scheme.name).transport)
    except OSError as error:
        raise ChannelError.of(error, address) from None
    assert isinstance(transport, Transport), f"{address.scheme} names something that is not a transport"
    return transport


@cache
def _resolved(name: str) -> object:
    """The object of a name, kept: each session asks for the same one or two."""
    return resolve_name(name)


def free_port(scheme: str, host: str = DEFAULT_HOST) -> int:
    """Return a port that nobody uses, or 0 if there are none. :raises ChannelError: the address is not ours"""
    return transport_for(Address(scheme)).free_port(host)


def is_listening(scheme: str, port: int, path: str = "") -> bool | None:
    """Return True if a program on this machine listens at a port or path; None if that cannot be told."""
    return transport_for(Address(scheme)).is_listening(Address(scheme, port=port, path=path))
