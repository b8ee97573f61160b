"""Where parties are, and what the command line changes about that."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver.addresses import Address
from palaver.errors import PalaverError
from palaver.party import ConnectionMode, Protocol, split_party_spec
from palaver.session.roles import Roles
from palaver.session.setup import RoleAssignment


@pytest.mark.parametrize(
    ("uri", "parts"),
    [
        ("4711", (None, Protocol.TCP, "127.0.0.1", 4711)),
        ("Keeper=udp://[::1]:4711", ("Keeper", Protocol.UDP, "::1", 4711)),
        ("tls://example.org:443", (None, Protocol.TLS, "example.org", 443)),
        ("TLS:443", (None, Protocol.TLS, "127.0.0.1", 443)),
        ("unix:/a=b:1", (None, Protocol.UNIX, "/a=b:1", 0)),
        ("Keeper=unix:relative", ("Keeper", Protocol.UNIX, "relative", 0)),
    ],
)
def test_an_address_is_split_into_parts(uri: str, parts: tuple[object, ...]) -> None:
    assert split_party_spec(uri) == parts


@pytest.mark.parametrize("uri", ["", "unix:", "tls://host", "http://host:80", "1 2"])
def test_malformed_addresses_are_errors(uri: str) -> None:
    with pytest.raises(PalaverError, match="is not a party address"):
        split_party_spec(uri)


SPEC = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= "a"
<answer> ::= "b"

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://example.org:1", connection_mode=ConnectionMode.CONNECT)
        self.has_been_made_by_the_spec = True
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://example.org:1", connection_mode=ConnectionMode.EXTERNAL)

    def client(self):
        return Client.instance()
"""


def roles_of(**networks: tuple[str, ConnectionMode]) -> Roles:
    return Roles(palaver.loads(SPEC), RoleAssignment(networks))


def test_the_command_line_moves_a_party_that_stays_what_the_spec_made_it() -> None:
    client: Any = roles_of(Client=("Client=unix:/a=b", ConnectionMode.CONNECT)).parties["Client"]
    assert client.has_been_made_by_the_spec
    assert client.is_started
    assert (client.party_name, client.ip) == ("Client", "/a=b")


def test_a_party_played_by_the_peer_has_no_link() -> None:
    chosen = roles_of(Client=("5", ConnectionMode.EXTERNAL), Server=("tls:5", ConnectionMode.OPEN))
    client, server = chosen.parties["Client"], chosen.parties["Server"]
    assert not client.is_started
    assert chosen.link(client) is None
    assert chosen.link(server) == (Address("tcp", "127.0.0.1", 5), "listen")
    assert server.tls == {}  # type: ignore[attr-defined]  # it has an address


def test_two_sessions_of_one_spec_have_parties_of_their_own() -> None:
    spec = palaver.loads(SPEC)
    first, second = Roles(spec, RoleAssignment()), Roles(spec, RoleAssignment())
    for each in (first, second, first):
        each.activate_parties()
        assert each.parties["Server"].client() is each.parties["Client"]  # type: ignore[attr-defined]  # of the spec
