"""The network in memory, where it differs from the real one or can do more."""

from palaver.addresses import Address
from palaver.session.interface import (
    Close,
    Closed,
    Failed,
    Input,
    Open,
    Opened,
    Received,
    Secure,
    Secured,
    Send,
    TimePassed,
    Tls,
)
from palaver.transport.memory_network import MemoryEventLoop, MemoryNetwork, in_pieces
from transport.recorder import Recorder

TCP = Address("tcp", "127.0.0.1", 4000)
UDP = Address("udp", "127.0.0.1", 4000)


def pair(world: MemoryNetwork, address: Address = TCP, tls: Tls | None = None) -> tuple[MemoryEventLoop, Recorder]:
    loop = world.loop()
    loop.carry_out([Open("server", address, "listen", tls), Open("client", address, "connect", tls)])
    return loop, Recorder(loop)


def data_of(heard: list[Input]) -> list[tuple[float, bytes]]:
    return [(happened.at, happened.data) for happened in heard if isinstance(happened, Received)]


def test_data_arrives_when_the_wire_says() -> None:
    loop, recorder = pair(MemoryNetwork(wire=in_pieces(2, 0.25)))
    loop.carry_out([Send("client", b"hello")])
    received = [recorder.wait_for(Received, "server") for _ in range(3)]
    assert data_of([*received]) == [(0.0, b"he"), (0.25, b"ll"), (0.5, b"o")]


def test_a_stream_stays_in_order_but_links_overtake_each_other() -> None:
    delays = {b"slow": 2.0, b"fast": 1.0}
    world = MemoryNetwork(wire=lambda link, data: [(delays[data], data)])
    loop, recorder = pair(world)
    loop.carry_out([Send("client", b"slow"), Send("client", b"fast"), Send("server", b"fast")])
    assert recorder.wait_for(Received, "client").at == 1.0
    assert data_of([recorder.wait_for(Received, "server"), recorder.wait_for(Received, "server")]) == [
        (2.0, b"slow"),
        (2.0, b"fast"),
    ]


def test_datagrams_overtake_are_doubled_and_lost() -> None:
    fate = {b"slow": [2.0], b"fast": [1.0, 1.5], b"lost": []}
    world = MemoryNetwork(wire=lambda link, data: [(delay, data) for delay in fate[data]])
    loop, recorder = pair(world, UDP)
    loop.carry_out([Send("client", data) for data in (b"slow", b"fast", b"lost")])
    received = [recorder.wait_for(Received, "server") for _ in range(3)]
    assert data_of([*received]) == [(1.0, b"fast"), (1.5, b"fast"), (2.0, b"slow")]
    assert all(each.is_whole for each in received)


def test_a_datagram_is_answered_to_its_sender() -> None:
    loop, recorder = pair(MemoryNetwork(), UDP)
    loop.carry_out([Open("other", UDP, "connect"), Send("other", b"ping"), Send("server", b"pong")])
    assert recorder.wait_for(Opened, "server").port == 4000
    assert recorder.wait_for(Received, "other").data == b"pong"


def test_a_datagram_without_listener_is_refused_in_memory() -> None:
    loop = MemoryNetwork().loop()
    loop.carry_out([Open("client", UDP, "connect"), Send("client", b"hello?")])
    assert Recorder(loop).wait_for(Failed, "client").cause == "refused"


def test_connecting_without_listener_is_refused_in_memory() -> None:
    loop = MemoryNetwork(connect_patience=2.0).loop()
    loop.carry_out([Open("client", TCP, "connect")])
    failed = Recorder(loop).wait_for(Failed, "client")
    assert (failed.cause, failed.at) == ("refused", 2.0)


def test_a_client_may_start_before_the_server() -> None:
    world = MemoryNetwork()
    loop = world.loop()
    loop.carry_out([Open("client", TCP, "connect"), Send("client", b"early"), Open("server", TCP, "listen")])
    recorder = Recorder(loop)
    assert recorder.wait_for(Opened, "client").at == 0.0
    assert recorder.bytes_on("server", 5) == b"early"


def test_a_crash_of_the_peer_is_a_reset() -> None:
    loop, recorder = pair(MemoryNetwork())
    recorder.wait_for(Opened, "client")
    loop.carry_out([Send("server", b"aah"), Close("server", abruptly=True)])
    assert recorder.wait_for(Received, "client").data == b"aah"
    assert recorder.wait_for(Closed, "client").cause == "reset"


def test_a_link_is_secured_when_both_ends_have_asked() -> None:
    loop, recorder = pair(MemoryNetwork())
    loop.carry_out([Send("server", b"go"), Secure("server", "listen", Tls()), Send("server", b"hello")])
    assert recorder.wait_for(Received, "client").data == b"go"
    loop.carry_out([Secure("client", "connect", Tls()), Send("client", b"me too")])
    assert recorder.wait_for(Secured, "client")
    assert recorder.bytes_on("client", 5) == b"hello"
    assert recorder.bytes_on("server", 6) == b"me too"


def test_clear_text_on_a_secured_link_fails() -> None:
    loop, recorder = pair(MemoryNetwork())
    loop.carry_out([Secure("server", "listen", Tls()), Send("client", b"what?")])
    assert recorder.wait_for(Failed, "server").cause == "tls"
    assert recorder.wait_for(Closed, "client")


def test_clear_text_in_a_handshake_breaks_it() -> None:
    world = MemoryNetwork(wire=in_pieces(100, 0.0))
    loop, recorder = pair(world)
    loop.carry_out([Send("client", b"too late"), Secure("server", "listen", Tls())])
    assert recorder.wait_for(Failed, "server").cause == "tls"


def test_both_ends_must_encrypt_from_the_start() -> None:
    world = MemoryNetwork()
    loop = world.loop()
    loop.carry_out([Open("server", TCP, "listen"), Open("client", TCP, "connect", Tls())])
    recorder = Recorder(loop)
    assert recorder.wait_for(Failed, "client").cause == "tls"
    assert recorder.wait_for(Closed, "server").cause is None


def test_several_event_loops_share_one_network() -> None:
    world = MemoryNetwork()
    here, there = world.loop(), world.loop()
    here.carry_out([Open("link", TCP, "listen")])
    there.carry_out([Open("link", TCP, "connect"), Send("link", b"hello")])
    assert Recorder(here).bytes_on("link", 5) == b"hello"
    there.close()
    assert Recorder(here).wait_for(Closed, "link")


def test_nothing_arrives_at_a_link_that_was_closed() -> None:
    loop, recorder = pair(MemoryNetwork(wire=in_pieces(100, 0.5)))
    other = Address("tcp", "127.0.0.1", 4001)
    loop.carry_out([Open("listener", other, "listen"), Open("caller", other, "connect")])
    recorder.wait_for(Opened, "client")
    loop.carry_out([Send("client", b"lost"), Close("server"), Send("client", b"in vain"), Send("caller", b"hello")])
    assert recorder.bytes_on("listener", 5) == b"hello"
    assert recorder.wait_for(Closed, "client").cause is None
    assert loop.wait(10.0) == [TimePassed(10.0)]
    assert [each for each in recorder.unread if isinstance(each, Received)] == []


def test_an_address_is_free_again_when_its_listener_is_closed() -> None:
    loop = MemoryNetwork().loop()
    loop.carry_out([Open("server", TCP, "listen"), Close("server"), Open("next", TCP, "listen")])
    loop.carry_out([Open("client", TCP, "connect"), Send("client", b"hello")])
    assert Recorder(loop).bytes_on("next", 5) == b"hello"


def test_closing_another_link_does_not_free_the_address_of_a_listener() -> None:
    loop = MemoryNetwork().loop()
    loop.carry_out([Open("server", UDP, "listen"), Open("client", UDP, "connect"), Close("client")])
    loop.carry_out([Open("other", UDP, "connect"), Send("other", b"hello")])
    assert Recorder(loop).bytes_on("server", 5) == b"hello"
