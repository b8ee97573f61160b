"""The bundled specs of DNS: against real name servers and a real client, against each other, and with hostile names."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver as palaver_
from amounts import few
from listening import listening
from palaver.testing import MemoryNetwork, in_pieces, run_pair
from servers.dns import NameServer, bind, dig, dnslib, knot, nsd, powerdns, small

SPECS = Path(palaver_.__file__).parent / "specs"
SPEC_OF = {"udp": SPECS / "dns.fan", "tcp": SPECS / "dns_tcp.fan"}

spec = palaver_.load(SPEC_OF["udp"])
response = palaver_.load(SPEC_OF["udp"], start="<response>")
in_full: Callable[[bytes], bytes] = spec.namespace.names["in_full"]
shortened: Callable[[bytes], bytes] = spec.namespace.names["shortened"]


@pytest.mark.parametrize("protocol", SPEC_OF)
def test_nothing_can_be_said_against_the_spec(palaver: Any, protocol: str) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC_OF[protocol]))
    assert (checked.code, checked.said) == (0, "")


# --- real servers -----------------------------------------------------------------------------------------------------


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((bind, 99), marks=pytest.mark.servers("named"), id="BIND"),
        # It gives neither cookies nor reasons for errors.
        pytest.param((dnslib, 93), id="dnslib"),
        pytest.param((small, 93), id="small"),
    ],
)
def server_and_share(request: pytest.FixtureRequest) -> Iterator[tuple[NameServer, int]]:
    """A running server, and how many of a hundred k-paths it must show."""
    start, share = request.param
    with start() as server:
        yield server, share


@pytest.mark.parametrize("protocol", SPEC_OF)
def test_random_conversations_with_a_real_server_have_no_findings(
    palaver: Any, server_and_share: tuple[NameServer, int], protocol: str
) -> None:
    server, share = server_and_share
    place = f"{protocol}:{server.port}"
    how_long = ("-n", "60", "--until", "forever", "--unguided", "--seed", "1")
    talked = palaver("talk", "-f", str(SPEC_OF[protocol]), "--client", place, *how_long)
    assert talked.code == 0, talked.said
    assert talked.summary.endswith("no findings")
    covered = re.search(r"covered (\d+) of (\d+) 5-paths$", talked.text, re.MULTILINE)
    assert covered is not None
    assert 100 * int(covered[1]) >= share * int(covered[2])


@pytest.mark.parametrize(
    "start, notes",
    [
        pytest.param(nsd, True, marks=pytest.mark.servers("nsd"), id="NSD"),
        pytest.param(knot, True, marks=pytest.mark.servers("knotd"), id="Knot"),
        pytest.param(powerdns, False, marks=pytest.mark.servers("pdns_server"), id="PowerDNS"),
    ],
)
def test_servers_differ_in_what_they_say_of_aliases_in_a_circle(palaver: Any, start: Any, notes: bool) -> None:
    with start() as server:
        for name in ("dns", "dns_tcp"):
            talked = palaver("talk", name, "--client", str(server.port), "-n", "20", "--seed", "1")
            assert talked.code == 0, talked.text
            assert ("RFC 1034 (3.6.2)" in talked.text) == notes


@pytest.mark.parametrize("address", ["{}", "127.0.0.1:{}", "Client={}", "udp:{}", "Client=udp://127.0.0.1:{}"])
def test_who_names_no_transport_gets_that_of_the_spec(palaver: Any, address: str) -> None:
    with small() as server:
        talked = palaver("talk", "dns", "--client", address.format(server.port), "-n", "1", "--seed", "1", "--unguided")
    assert (talked.code, talked.summary.endswith("no findings")) == (0, True)


def test_who_names_a_transport_gets_that_one(palaver: Any) -> None:
    talked = palaver("talk", "dns", "--client", "tcp:1", "-n", "1", "--wait-for-server", "0")
    assert "tcp://127.0.0.1:1" in talked.text


@pytest.mark.servers("dig")
def test_the_zone_is_what_the_spec_says(server_and_share: tuple[NameServer, int]) -> None:
    server, _ = server_and_share
    asked = subprocess.run(server.dig("+short", "A", "chain.example.test"), capture_output=True, text=True, check=True)
    assert asked.stdout.split() == [
        "chain2.example.test.",
        "chain3.example.test.",
        "mail.example.test.",
        "127.0.0.3",
    ]


# --- a real client ----------------------------------------------------------------------------------------------------


@pytest.mark.servers("dig")
@pytest.mark.parametrize("protocol, option", [("udp", "+notcp"), ("tcp", "+tcp")])
def test_dig_gets_an_answer_from_us(palaver: Any, protocol: str, option: str) -> None:
    names = ["example.test", "www.example.test", "chain.example.test", "mail.example.test"]
    # After two messages a conversation is over, so that each question has one of its own.
    how_long = ("-n", str(len(names)), "--max-messages", "2", "--until", "forever", "--seed", "1")
    with listening(palaver, SPEC_OF[protocol], f"{protocol}:0", *how_long) as server:
        for name in names:
            asked = subprocess.run(dig(server.port, option, "A", name), capture_output=True, text=True, check=False)
            assert asked.returncode == 0, asked.stdout
            assert "status: NOERROR" in asked.stdout
            assert re.search(r"ANSWER: [1-7],", asked.stdout)
            assert "WARNING: Message parser reports malformed" not in asked.stdout
        code, said = server.conclude()
    assert code == 0, said
    assert "no findings" in said


@pytest.mark.parametrize("host", ['b"\\x06no-abc"', 'b"\\x08dangling"', 'b"\\x05chain"'])
def test_who_asks_for_what_needs_a_certain_record_gets_it(host: str) -> None:
    """A denial, or an alias: few responses that are made at random have it."""
    asks = f"<asked_name> ::= {host} <zone>\n<asked_type> ::= <type_mx>\n<exchange> ::= <plain_exchange>\n"
    asking = palaver_.loads(f'include("{SPEC_OF["udp"]}")\n{asks}<start> ::= <exchange>\n')
    for seed in range(20):
        client, server = run_pair(asking, address="udp://127.0.0.1:0", seed=seed)
        assert client.findings == server.findings == []
        assert [each.symbol for each in client.said] == ["<query>", "<response>"]


# --- both sides -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(4)))
def test_both_sides_of_the_spec_understand_each_other(seed: int) -> None:
    client, server = run_pair(spec, address="udp://127.0.0.1:0", seed=seed)
    assert client.findings == server.findings == []
    assert [each.symbol for each in client.said] == [each.symbol for each in server.said]


@pytest.mark.parametrize("piece", few([7, 1, 1000]))
def test_over_a_stream_it_makes_no_difference_how_messages_are_cut(piece: int) -> None:
    client, server = run_pair(palaver_.load(SPEC_OF["tcp"]), world=MemoryNetwork(wire=in_pieces(piece)), seed=1)
    assert client.findings == server.findings == []


# --- names on the wire ------------------------------------------------------------------------------------------------

ANSWERED = bytes.fromhex("0001 8400 0001 0001 0000 0000")
QUESTION = b"\x03www\x07example\x04test\x00\x00\x05\x00\x01"


def answered(name: bytes, target: bytes, *, size: int | None = None) -> bytes:
    """A response that says what a name is an alias of."""
    record = b"\x00\x05\x00\x01\x00\x00\x0e\x10" + (len(target) if size is None else size).to_bytes(2, "big")
    return ANSWERED + QUESTION + name + record + target


def test_pointers_are_replaced_by_what_they_point_to() -> None:
    in_short = answered(b"\xc0\x0c", b"\xc0\x10")
    assert not list(response.parses(in_short))
    at_length = answered(b"\x03www\x07example\x04test\x00", b"\x07example\x04test\x00")
    assert in_full(in_short) == at_length
    assert list(response.parses(at_length))
    assert shortened(at_length) == in_short


@pytest.mark.parametrize(
    "name, target",
    [
        (b"\xc0\x22", b"\xc0\x0c"),  # to itself
        (b"\x01a\xc0\x22", b"\xc0\x0c"),  # to its own beginning
        (b"\xc0\x2e", b"\xc0\x0c"),  # forwards
        (b"\xc0\x0c", b"\xff\xff"),  # out of the message
        (b"\xc0\x04", b"\xc0\x0c"),  # into the header
        (b"\xc0\x0c", b"\xc0"),  # half of one
        (b"\x40a\x00", b"\xc0\x0c"),  # neither a label nor a pointer
        (b"\xc0\x0c", b"\x3fab"),  # a label that ends behind the message
        (b"\x3f" + b"a" * 63 + b"\x3f" + b"a" * 63 + b"\x3f" + b"a" * 63 + b"\x3f" + b"a" * 63 + b"\x00", b"\xc0\x0c"),
    ],
)
def test_a_message_with_a_hostile_name_stays_as_it_is_and_is_not_understood(name: bytes, target: bytes) -> None:
    message = answered(name, target)
    assert in_full(message) == message
    assert not list(response.parses(message))


def test_a_message_that_says_of_a_record_that_it_ends_elsewhere_stays_as_it_is() -> None:
    for size in (0, 1, 3, 65535):
        message = answered(b"\xc0\x0c", b"\xc0\x10", size=size)
        assert in_full(message) == message


def test_pointers_do_not_make_a_message_longer_than_any_can_be() -> None:
    # Each record has two bytes for a name of more than two hundred.
    name = (b"\x3f" + b"a" * 63) * 3 + b"\x00"
    count = 500
    record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00"
    header = b"\x00\x01\x84\x00\x00\x01" + count.to_bytes(2, "big") + b"\x00\x00\x00\x00"
    message = header + name + b"\x00\x01\x00\x01" + record * count
    assert in_full(message) == message


@given(st.binary(max_size=60), st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_whatever_comes_is_survived(rest: bytes, counts: list[int]) -> None:
    message = b"\x00\x01\x84\x00" + b"".join(count.to_bytes(2, "big") for count in counts) + rest
    # Names that are written out stay written out.
    assert in_full(in_full(message)) == in_full(message)
    assert in_full(rest) is not None


@given(st.lists(st.lists(st.sampled_from([b"a", b"bc", b"example"]), max_size=5), min_size=1, max_size=6))
def test_names_are_the_same_after_they_were_shortened(names: list[list[bytes]]) -> None:
    fixed = b"\x00\x02\x00\x01\x00\x00\x00\x00"
    message = b"\x00\x01\x84\x00\x00\x00" + len(names).to_bytes(2, "big") + b"\x00\x00\x00\x00"
    for labels in names:
        name = b"".join(bytes((len(label),)) + label for label in labels) + b"\x00"
        message += name + fixed + len(name).to_bytes(2, "big") + name
    assert in_full(shortened(message)) == message
    assert len(shortened(message)) <= len(message)
