"""Sockets that fail, and peers that behave badly."""

import gc
import os
import resource
import socket
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from palaver.addresses import Address
from palaver.session.interface import Close, Closed, Failed, Open, Opened, Received, Role, Send, TimePassed
from palaver.transport.clock import ManualClock
from palaver.transport.connection import Connection
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.unix import UNIX
from transport.recorder import Recorder


def connect_to(server: socket.socket) -> Open:
    host, port = server.getsockname()[:2]
    return Open("peer", Address("tcp", host, port), "connect")


def connected(loop: SelectorEventLoop, listening: socket.socket) -> tuple[Recorder, socket.socket]:
    loop.carry_out([connect_to(listening)])
    recorder = Recorder(loop)
    recorder.wait_for(Opened, "peer")
    return recorder, listening.accept()[0]


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_a_reset_is_reported(loop: SelectorEventLoop, listening: socket.socket) -> None:
    recorder, peer = connected(loop, listening)
    reset(peer)
    assert recorder.wait_for(Closed, "peer").cause == "reset"


def test_data_before_a_reset_is_reported_first(loop: SelectorEventLoop, listening: socket.socket) -> None:
    recorder, peer = connected(loop, listening)
    peer.sendall(b"last words")
    assert recorder.bytes_on("peer", 10) == b"last words"
    loop.carry_out([Send("peer", b"unread")])
    peer.close()  # with something unread: this resets as well
    assert recorder.wait_for(Closed, "peer").cause == "reset"


def test_sending_to_a_closed_peer_is_harmless(loop: SelectorEventLoop, listening: socket.socket) -> None:
    recorder, peer = connected(loop, listening)
    peer.close()
    assert recorder.wait_for(Closed, "peer").cause is None
    for _ in range(5):
        loop.carry_out([Send("peer", b"hello?")])
        loop.poll()


def test_a_peer_that_does_not_read_does_not_block(listening: socket.socket) -> None:
    clock = ManualClock()
    with SelectorEventLoop(clock) as loop:
        recorder, peer = connected(loop, listening)
        loop.carry_out([Send("peer", bytes(50_000_000))])
        assert loop.poll() == []
        peer.sendall(b"busy")
        assert recorder.bytes_on("peer", 4) == b"busy"
        loop.carry_out([Close("peer")])
        assert loop.poll() == []
        # Patience has an end, and then there is nothing left to wait for.
        clock.advance(1.0)
        assert loop.poll() == []
        with pytest.raises(RuntimeError):
            loop.wait(None)
        peer.close()


def test_connecting_to_a_closed_port_is_refused(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("peer", Address("tcp", "127.0.0.1", unused_port()), "connect")])
    failed = Recorder(loop).wait_for(Failed, "peer")
    assert failed.cause == "refused"
    assert failed.reason.endswith("Connection refused")


def test_actions_on_a_failed_link_are_harmless(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("peer", Address("tcp", "127.0.0.1", unused_port()), "connect")])
    Recorder(loop).wait_for(Failed, "peer")
    loop.carry_out([Send("peer", b"hello?"), Close("peer")])
    assert loop.poll() == []


def test_a_failure_of_a_closed_link_is_not_reported(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("peer", Address("tcp", port=70000), "connect"), Close("peer")])
    assert loop.poll() == []


def test_a_refused_connection_is_retried() -> None:
    clock, address = ManualClock(), Address("tcp", "127.0.0.1", unused_port())
    with SelectorEventLoop(clock, connect_patience=1.0) as loop:
        loop.carry_out([Open("client", address, "connect")])
        assert loop.poll() == []
        loop.carry_out([Open("server", address, "listen")])
        clock.advance(0.02)
        assert Recorder(loop).wait_for(Opened, "client")


def test_startup_patience_counts_from_the_beginning() -> None:
    clock, address = ManualClock(), Address("tcp", "127.0.0.1", unused_port())
    with SelectorEventLoop(clock, startup_patience=1.0) as loop:
        loop.carry_out([Open("early", address, "connect")])
        clock.advance(0.9)
        assert loop.poll() == []
        clock.advance(0.2)
        assert Recorder(loop).wait_for(Failed, "early").cause == "refused"
        loop.carry_out([Open("late", address, "connect")])
        assert Recorder(loop).wait_for(Failed, "late").cause == "refused"
        assert clock.now() < 1.2


def test_retries_end_with_the_patience() -> None:
    clock, address = ManualClock(), Address("tcp", "127.0.0.1", unused_port())
    with SelectorEventLoop(clock, connect_patience=1.0) as loop:
        loop.carry_out([Open("client", address, "connect")])
        for _ in range(9):
            clock.advance(0.1)
            assert loop.poll() == []
        clock.advance(0.2)
        assert Recorder(loop).wait_for(Failed, "client").cause == "refused"


def test_connecting_times_out() -> None:
    clock = ManualClock()
    with socket.socket() as busy, socket.socket() as guest, socket.socket() as another:
        busy.bind(("127.0.0.1", 0))
        busy.listen(0)
        for caller in (guest, another):  # the queue is full now
            caller.setblocking(False)
            caller.connect_ex(busy.getsockname())
        with SelectorEventLoop(clock, connect_timeout=3.0) as loop:
            loop.carry_out([connect_to(busy)])
            assert loop.poll() == []
            clock.advance(3.0)
            assert Recorder(loop).wait_for(Failed, "peer").cause == "timed out"


def test_listening_at_a_port_in_use_fails(loop: SelectorEventLoop, listening: socket.socket) -> None:
    loop.carry_out([Open("server", Address("tcp", "127.0.0.1", listening.getsockname()[1]), "listen")])
    assert Recorder(loop).wait_for(Failed, "server").cause == "in use"


@pytest.mark.parametrize(
    "address, trouble",
    [
        (Address("tcp", "127.0.0.1", 70000), "other"),
        (Address("tcp", "not..a name", 80), "not found"),
        (Address("udp", "not..a name", 80), "not found"),
    ],
)
@pytest.mark.parametrize("role", ["connect", "listen"])
def test_an_impossible_address_fails(loop: SelectorEventLoop, address: Address, trouble: str, role: Role) -> None:
    loop.carry_out([Open("peer", address, role)])
    assert Recorder(loop).wait_for(Failed, "peer").cause == trouble


def test_the_default_host_is_this_machine(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("server", Address("tcp"), "listen")])
    with socket.create_connection(("127.0.0.1", loop.port_of("server")), timeout=10):
        assert Recorder(loop).wait_for(Opened, "server")


def test_no_resolver_is_asked_for_an_address(
    loop: SelectorEventLoop, listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_resolver(*_: object, **__: object) -> None:
        raise socket.gaierror("nobody knows")

    monkeypatch.setattr(socket, "getaddrinfo", no_resolver)
    _, accepted = connected(loop, listening)
    accepted.close()
    loop.carry_out([Open("named", Address("tcp", "localhost", 80), "connect")])
    assert Recorder(loop).wait_for(Failed, "named").cause == "not found"


def test_a_name_may_have_several_addresses(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("server", Address("tcp", "localhost"), "listen")])
    loop.carry_out([Open("client", Address("tcp", "localhost", loop.port_of("server")), "connect")])
    assert Recorder(loop).wait_for(Opened, "client")


def test_many_open_files_are_no_problem(loop: SelectorEventLoop, listening: socket.socket) -> None:
    soft_limit = os.sysconf("SC_OPEN_MAX")
    if soft_limit < 1200:
        pytest.skip("not so many files may be open here")
    spare = [os.dup(0) for _ in range(1100)]
    try:
        recorder, peer = connected(loop, listening)
        peer.sendall(b"far out")
        assert recorder.bytes_on("peer", 7) == b"far out"
        peer.close()
    finally:
        for fd in spare:
            os.close(fd)


@pytest.mark.parametrize("kind", ["tcp", "udp", "unix"])
@pytest.mark.parametrize("role", ["connect", "listen"])
def test_too_many_open_files_are_a_failure(loop: SelectorEventLoop, tmp_path: Path, kind: str, role: Role) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, hard))
    try:
        loop.carry_out([Open("peer", Address(kind, "127.0.0.1", 9, str(tmp_path / "socket")), role)])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "Too many open files" in Recorder(loop).wait_for(Failed, "peer").reason


def test_idle_listeners_are_closed(loop: SelectorEventLoop) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for number in range(50):
        loop.carry_out([Open(f"server {number}", Address("tcp"), "listen"), Close(f"server {number}")])
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert after - before <= 16


def test_connections_that_are_closed_are_forgotten(loop: SelectorEventLoop, listening: socket.socket) -> None:
    def connections() -> int:
        return sum(isinstance(each, Connection) for each in gc.get_objects())

    before = connections()
    for _ in range(20):
        _, peer = connected(loop, listening)
        loop.carry_out([Close("peer")])
        peer.close()
        loop.wait(loop.clock.now())
    assert connections() - before <= 1  # the latest: its link has a name


def test_a_client_that_hung_up_before_a_session_began_is_left_out(loop: SelectorEventLoop) -> None:
    address = Address("tcp", "127.0.0.1", unused_port())
    loop.carry_out([Open("server", address, "listen"), Close("server")])
    gone, alive = (socket.create_connection(("127.0.0.1", address.port)) for _ in range(2))
    gone.close()
    loop.carry_out([Open("server", address, "listen")])
    recorder = Recorder(loop)
    recorder.wait_for(Opened, "server")
    alive.sendall(b"hello")
    assert recorder.wait_for(Received, "server").data == b"hello"
    alive.close()


def test_closing_twice_is_harmless(listening: socket.socket) -> None:
    loop = SelectorEventLoop()
    loop.carry_out([connect_to(listening)])
    loop.close()
    loop.close()


def test_waiting_ends_at_its_time_limit(loop: SelectorEventLoop, listening: socket.socket) -> None:
    _, peer = connected(loop, listening)
    until = loop.clock.now() + 0.02
    (passed,) = loop.wait(until)
    assert isinstance(passed, TimePassed)
    assert until <= passed.at <= loop.clock.now()
    peer.close()


def test_input_that_has_come_is_reported_after_the_time_limit(
    loop: SelectorEventLoop, listening: socket.socket
) -> None:
    _, peer = connected(loop, listening)
    peer.sendall(b"in time")
    peer.close()
    heard = [*loop.wait(loop.clock.now() - 1.0), *loop.wait(loop.clock.now() - 1.0)]
    assert [type(happened) for happened in heard] == [Received, Closed]


# --- Unix sockets -----------------------------------------------------------------------------------------------------


def test_connecting_to_a_missing_path_fails(loop: SelectorEventLoop, tmp_path: Path) -> None:
    loop.carry_out([Open("peer", Address("unix", path=str(tmp_path / "nothing")), "connect")])
    assert Recorder(loop).wait_for(Failed, "peer").cause == "not found"


def test_a_path_that_is_too_long_fails(loop: SelectorEventLoop) -> None:
    for role in ("connect", "listen"):
        loop.carry_out([Open("peer", Address("unix", path="/tmp/" + "x" * 500), role)])
        assert Recorder(loop).wait_for(Failed, "peer").cause == "other"


def test_an_ordinary_file_at_the_path_is_kept(loop: SelectorEventLoop, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("precious")
    loop.carry_out([Open("server", Address("unix", path=str(path)), "listen")])
    assert Recorder(loop).wait_for(Failed, "server").cause == "in use"
    assert path.read_text() == "precious"


def test_the_socket_of_a_killed_program_is_replaced(loop: SelectorEventLoop, tmp_path: Path) -> None:
    address = Address("unix", path=str(tmp_path / "socket"))
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(address.path)
    loop.carry_out([Open("server", address, "listen"), Open("client", address, "connect")])
    assert Recorder(loop).wait_for(Opened, "server")


def test_a_unix_socket_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with SelectorEventLoop() as loop:
        loop.carry_out([Open("server", Address("unix", path=str(path)), "listen")])
        assert path.exists()
    assert not path.exists()


def test_the_socket_of_a_running_program_is_kept(loop: SelectorEventLoop, tmp_path: Path) -> None:
    address = Address("unix", path=str(tmp_path / "socket"))
    with socket.socket(socket.AF_UNIX) as alive:
        alive.bind(address.path)
        alive.listen()
        loop.carry_out([Open("server", address, "listen")])
        assert Recorder(loop).wait_for(Failed, "server").cause == "in use"
    assert Path(address.path).exists()


# --- Datagrams --------------------------------------------------------------------------------------------------------


def datagrams(loop: SelectorEventLoop, host: str = "127.0.0.1") -> Recorder:
    loop.carry_out([Open("server", Address("udp", host), "listen")])
    loop.carry_out([Open("client", Address("udp", host, loop.port_of("server")), "connect")])
    return Recorder(loop)


@pytest.mark.parametrize("data", [b"ping", b"", bytes(60_000)], ids=len)
def test_a_datagram_is_one_message(loop: SelectorEventLoop, data: bytes) -> None:
    recorder = datagrams(loop)
    assert recorder.wait_for(Opened, "client").port == 0
    loop.carry_out([Send("client", data), Send("client", b"next")])
    assert recorder.wait_for(Opened, "server").port == loop.port_of("server")
    first, second = recorder.wait_for(Received, "server"), recorder.wait_for(Received, "server")
    assert (first.data, first.is_whole, second.data) == (data, True, b"next")
    loop.carry_out([Send("server", data)])
    assert recorder.wait_for(Received, "client").data == data


def test_a_session_belongs_to_the_address_of_its_first_datagram(loop: SelectorEventLoop) -> None:
    recorder = datagrams(loop)
    address = Address("udp", "127.0.0.1", loop.port_of("server"))
    loop.carry_out([Open("other", address, "connect"), Send("client", b"a")])
    assert recorder.wait_for(Received, "server").data == b"a"
    loop.carry_out([Send("other", b"from another"), Send("client", b"b")])
    assert recorder.wait_for(Received, "server").data == b"b"
    loop.carry_out([Send("server", b"answer")])
    assert recorder.wait_for(Received, "client").data == b"answer"
    # The other one waits for the next session.
    loop.carry_out([Close("server"), Open("server", Address("udp", "127.0.0.1"), "listen")])
    assert recorder.wait_for(Received, "server").data == b"from another"
    loop.carry_out([Send("server", b"hello, other")])
    assert recorder.wait_for(Received, "other").data == b"hello, other"


def test_what_an_earlier_peer_sends_late_begins_no_session(loop: SelectorEventLoop) -> None:
    recorder = datagrams(loop)
    address = Address("udp", "127.0.0.1", loop.port_of("server"))
    loop.carry_out([Open("other", address, "connect"), Send("client", b"hello")])
    assert recorder.wait_for(Received, "server").data == b"hello"
    loop.carry_out([Close("server"), Send("client", b"late"), Send("other", b"hi")])
    loop.carry_out(
        [Open("server", Address("udp", "127.0.0.1"), "listen", begins_session=lambda data: data == b"hello")]
    )
    assert recorder.wait_for(Received, "server").data == b"hi"  # whoever is new may send anything
    loop.carry_out([Close("server"), Send("client", b"hello"), Send("other", b"late")])
    loop.carry_out(
        [Open("server", Address("udp", "127.0.0.1"), "listen", begins_session=lambda data: data == b"hello")]
    )
    assert recorder.wait_for(Received, "server").data == b"hello"
    loop.carry_out([Send("server", b"again")])
    assert recorder.wait_for(Received, "client").data == b"again"


def test_whoever_is_called_may_answer_from_a_port_of_its_own(loop: SelectorEventLoop) -> None:
    recorder = Recorder(loop)
    loop.carry_out([Open("server", Address("udp", "127.0.0.1", fresh_port=True), "listen")])
    called = Address("udp", "127.0.0.1", loop.port_of("server"), fresh_port=True)
    loop.carry_out([Open("client", called, "connect"), Open("other", called, "connect"), Send("client", b"a")])
    assert recorder.wait_for(Received, "server").data == b"a"
    # The other one waits for the next session; the answer comes from another port, and the caller stays with that.
    loop.carry_out([Send("other", b"b"), Send("server", b"answer")])
    assert recorder.wait_for(Received, "client").data == b"answer"
    loop.carry_out([Send("client", b"more")])
    assert recorder.wait_for(Received, "server").data == b"more"
    # A request that was sent again comes late, and begins no session: the next one calls from another port.
    loop.carry_out([Close("client"), Close("server"), Open("server", replace(called, port=0), "listen")])
    assert recorder.wait_for(Received, "server").data == b"b"
    loop.carry_out([Send("server", b"for another")])
    assert recorder.wait_for(Received, "other").data == b"for another"


def test_a_datagram_to_a_closed_port_is_refused(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("client", Address("udp", "127.0.0.1", unused_port()), "connect"), Send("client", b"hello?")])
    assert Recorder(loop).wait_for(Failed, "client").cause == "refused"


def test_a_datagram_that_is_too_long_fails(loop: SelectorEventLoop) -> None:
    recorder = datagrams(loop)
    loop.carry_out([Send("client", bytes(70_000))])
    assert "too long" in recorder.wait_for(Failed, "client").reason


def test_two_links_cannot_listen_at_one_udp_port(loop: SelectorEventLoop) -> None:
    recorder = datagrams(loop)
    address = Address("udp", "127.0.0.1", loop.port_of("server"))
    loop.carry_out([Open("thief", address, "listen")])
    assert recorder.wait_for(Failed, "thief").cause == "in use"


def test_a_datagram_may_come_between_two_sessions(loop: SelectorEventLoop) -> None:
    recorder = datagrams(loop)
    loop.carry_out([Close("server"), Send("client", b"early")])
    loop.carry_out([Open("server", Address("udp", "127.0.0.1"), "listen")])
    assert recorder.wait_for(Received, "server").data == b"early"


def test_datagrams_of_a_client_that_has_ended_can_be_forgotten(loop: SelectorEventLoop) -> None:
    recorder = datagrams(loop)
    address = Address("udp", "127.0.0.1", loop.port_of("server"))
    loop.carry_out([Open("other", address, "connect"), Send("client", b"a"), Send("other", b"set aside")])
    assert recorder.wait_for(Received, "server").data == b"a"
    loop.carry_out([Send("client", b"b")])
    assert recorder.wait_for(Received, "server").data == b"b"
    loop.carry_out([Send("other", b"not read yet"), Close("server")])
    loop.forget_queued()
    loop.carry_out([Open("server", Address("udp", "127.0.0.1"), "listen"), Send("other", b"new")])
    assert recorder.wait_for(Received, "server").data == b"new"


def test_it_is_known_who_listens_at_a_path(tmp_path: Path) -> None:
    place = Address("unix", path=str(tmp_path / "socket"))
    assert UNIX.is_listening(place) is False
    (tmp_path / "file").write_text("")
    assert UNIX.is_listening(Address("unix", path=str(tmp_path / "file"))) is False
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place.path)
        assert UNIX.is_listening(place) is False
        server.listen()
        assert UNIX.is_listening(place) is True
