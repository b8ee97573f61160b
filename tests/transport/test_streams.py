"""The shared suite of all transports that carry a stream between a client and a server."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palaver.addresses import Address
from palaver.session.interface import Close, Closed, Failed, Finish, Open, Opened, Received, Send, Tls
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.memory_network import MemoryEventLoop, MemoryNetwork, in_pieces
from servers.common import needs_openssl
from transport.recorder import Recorder

PLENTY = bytes(range(256)) * 8192


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@dataclass
class Pair:
    """A client and a server on one loop."""

    loop: SelectorEventLoop | MemoryEventLoop
    address: Address
    tls: Tls | None = None

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.loop)

    def listen(self, link: str = "server") -> None:
        self.loop.carry_out([Open(link, self.address, "listen", self.tls)])

    def connect(self, link: str = "client") -> None:
        address = self.address
        if address.scheme == "tcp":
            address = Address("tcp", address.host, self.loop.port_of("server"))
        self.loop.carry_out([Open(link, address, "connect", self.tls)])

    def open(self) -> None:
        self.listen()
        self.connect()
        self.recorder.wait_for(Opened, "client")
        self.recorder.wait_for(Opened, "server")


PAIRS: dict[str, Callable[[Path], Pair]] = {
    "tcp": lambda _: Pair(SelectorEventLoop(), Address("tcp", "127.0.0.1")),
    "tcp6": lambda _: Pair(SelectorEventLoop(), Address("tcp", "::1")),
    "unix": lambda folder: Pair(SelectorEventLoop(), Address("unix", path=str(folder / "socket"))),
    "tls": lambda _: Pair(SelectorEventLoop(), Address("tcp", "127.0.0.1"), Tls()),
    "tls over unix": lambda folder: Pair(SelectorEventLoop(), Address("unix", path=str(folder / "socket")), Tls()),
    "memory": lambda _: Pair(MemoryNetwork().loop(), Address("tcp", "127.0.0.1")),
    "memory in pieces": lambda _: Pair(MemoryNetwork(wire=in_pieces(50_000, 0.001)).loop(), Address("unix", path="x")),
}


# A server that encrypts needs a certificate.
@pytest.fixture(params=[pytest.param(name, marks=needs_openssl if name.startswith("tls") else ()) for name in PAIRS])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    if request.param == "tcp6" and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    pair = PAIRS[request.param](tmp_path)
    yield pair
    pair.loop.close()


def test_both_sides_receive_what_the_other_sends(pair: Pair) -> None:
    pair.open()
    pair.loop.carry_out([Send("client", b"ping")])
    assert pair.recorder.bytes_on("server", 4) == b"ping"
    pair.loop.carry_out([Send("server", b"pong")])
    assert pair.recorder.bytes_on("client", 4) == b"pong"


def test_a_listener_reports_its_port_and_a_client_does_not(pair: Pair) -> None:
    pair.listen()
    pair.connect()
    assert pair.recorder.wait_for(Opened, "server").port == pair.loop.port_of("server")
    assert pair.recorder.wait_for(Opened, "client").port == pair.loop.port_of("client") == 0


def test_data_sent_before_the_link_is_open_is_not_lost(pair: Pair) -> None:
    pair.listen()
    pair.loop.carry_out([Send("server", b"welcome")])
    pair.connect()
    pair.loop.carry_out([Send("client", b"hello")])
    assert pair.recorder.bytes_on("client", 7) == b"welcome"
    assert pair.recorder.bytes_on("server", 5) == b"hello"


def test_polling_does_not_wait(pair: Pair) -> None:
    pair.listen()
    assert pair.loop.poll() == []


def test_plenty_of_data_arrives_whole_in_both_directions(pair: Pair) -> None:
    pair.open()
    pair.loop.carry_out([Send("client", PLENTY), Send("server", PLENTY[::-1])])
    assert pair.recorder.bytes_on("server", len(PLENTY)) == PLENTY
    assert pair.recorder.bytes_on("client", len(PLENTY)) == PLENTY[::-1]


def test_a_side_that_has_finished_still_receives(pair: Pair) -> None:
    pair.open()
    pair.loop.carry_out([Send("client", b"that is all"), Finish("client")])
    assert pair.recorder.rest_of("server") == b"that is all"
    pair.loop.carry_out([Send("server", b"understood"), Finish("server")])
    assert pair.recorder.rest_of("client") == b"understood"


def test_nothing_is_sent_after_finish(pair: Pair) -> None:
    pair.open()
    pair.loop.carry_out([Finish("client"), Send("client", b"by the way"), Finish("client"), Close("client")])
    assert pair.recorder.rest_of("server") == b""


@pytest.mark.parametrize("leaver, other", [("client", "server"), ("server", "client")])
def test_data_sent_before_closing_arrives(pair: Pair, leaver: str, other: str) -> None:
    pair.open()
    pair.loop.carry_out([Send(leaver, PLENTY), Close(leaver)])
    assert pair.recorder.rest_of(other) == PLENTY


def test_a_link_that_we_have_closed_reports_nothing_more(pair: Pair) -> None:
    pair.open()
    pair.recorder.unread.clear()  # a link that is encrypted has told of its connection before
    pair.loop.carry_out([Send("server", b"too late"), Close("client"), Send("client", b"lost"), Finish("client")])
    pair.recorder.wait_for(Closed, "server")
    assert [happened for happened in pair.recorder.unread if getattr(happened, "link", None) == "client"] == []


def test_unread_data_does_not_destroy_data_sent_before_closing(pair: Pair) -> None:
    pair.open()
    pair.loop.carry_out([Send("server", b"not listened to"), Send("client", b"goodbye"), Close("client")])
    assert pair.recorder.rest_of("server") == b"goodbye"


def test_a_client_may_come_between_two_sessions(pair: Pair) -> None:
    pair.open()
    pair.loop.carry_out([Close("server"), Close("client")])
    pair.connect()
    pair.loop.carry_out([Send("client", b"anybody?")])
    if pair.tls is None:
        pair.recorder.wait_for(Opened, "client")
    pair.listen()
    assert pair.recorder.wait_for(Opened, "server")
    assert pair.recorder.bytes_on("server", 8) == b"anybody?"


def test_a_second_client_waits_for_its_turn(pair: Pair) -> None:
    pair.open()
    pair.connect("second")
    pair.loop.carry_out([Send("second", b"me too"), Send("client", b"me"), Finish("client")])
    assert pair.recorder.rest_of("server") == b"me"
    pair.listen()
    assert pair.recorder.bytes_on("server", 6) == b"me too"


def test_opening_again_replaces_a_link(pair: Pair) -> None:
    pair.open()
    pair.connect("client")
    assert pair.recorder.rest_of("server") == b""
    if pair.tls is None:
        assert pair.recorder.wait_for(Opened, "client")


def test_two_links_cannot_listen_at_one_address(pair: Pair) -> None:
    pair.listen()
    # A port that the system picks is not the same place.
    address = pair.address
    if pair.address.scheme == "tcp":
        address = Address("tcp", pair.address.host, pair.loop.port_of("server"))
    pair.loop.carry_out([Open("thief", address, "listen", pair.tls)])
    assert pair.recorder.wait_for(Failed, "thief").cause == "in use"


def test_closing_a_listener_without_a_peer_reports_nothing(pair: Pair) -> None:
    pair.listen()
    pair.loop.carry_out([Close("server")])
    assert pair.loop.poll() == []


def test_an_action_on_an_unknown_link_raises(pair: Pair) -> None:
    with pytest.raises(ValueError, match="no link 'nobody'"):
        pair.loop.carry_out([Send("nobody", b"")])


def test_waiting_raises_if_nothing_can_happen(pair: Pair) -> None:
    with pytest.raises(RuntimeError, match="nothing can happen"):
        pair.loop.wait(None)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=2000)), max_size=12))
def test_nothing_is_lost_or_reordered(pair: Pair, said: list[tuple[bool, bytes]]) -> None:
    pair.recorder.unread.clear()
    pair.open()
    pair.loop.carry_out([Send("client" if by_client else "server", data) for by_client, data in said])
    pair.loop.carry_out([Finish("client"), Finish("server")])
    assert pair.recorder.rest_of("server") == b"".join(data for by_client, data in said if by_client)
    assert pair.recorder.rest_of("client") == b"".join(data for by_client, data in said if not by_client)
    pair.loop.carry_out([Close("client"), Close("server")])


def test_data_of_a_stream_is_not_a_whole_message(pair: Pair) -> None:
    pair.open()
    pair.loop.carry_out([Send("client", b"half")])
    assert not pair.recorder.wait_for(Received, "server").is_whole
