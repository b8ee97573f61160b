"""Sockets that behave badly, or are not there."""

import os
import resource
import socket
import struct
from pathlib import Path

import pytest
from hearing import Ear

from palaver.addresses import Address
from palaver.session.events import Close, Closed, Failed, Open, Opened, Passed, Received, Send
from palaver.transport import Loop, ManualClock


def connect_to(server: socket.socket) -> Open:
    host, port = server.getsockname()[:2]
    return Open("peer", Address("tcp", host, port), "connect")


def connected(loop: Loop, listening: socket.socket) -> tuple[Ear, socket.socket]:
    loop.carry_out([connect_to(listening)])
    ear = Ear(loop)
    ear.wait_for(Opened, "peer")
    return ear, listening.accept()[0]


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_a_reset_is_told(loop: Loop, listening: socket.socket) -> None:
    ear, peer = connected(loop, listening)
    reset(peer)
    assert ear.wait_for(Closed, "peer").trouble == "reset"


def test_what_came_before_a_reset_is_told_first(loop: Loop, listening: socket.socket) -> None:
    ear, peer = connected(loop, listening)
    peer.sendall(b"last words")
    assert ear.bytes_on("peer", 10) == b"last words"
    loop.carry_out([Send("peer", b"unread")])
    peer.close()  # with something unread: this resets as well
    assert ear.wait_for(Closed, "peer").trouble == "reset"


def test_sending_to_somebody_gone_does_no_harm(loop: Loop, listening: socket.socket) -> None:
    ear, peer = connected(loop, listening)
    peer.close()
    assert ear.wait_for(Closed, "peer").trouble is None
    for _ in range(5):
        loop.carry_out([Send("peer", b"hello?")])
        loop.poll()


def test_somebody_who_does_not_read_does_not_stop_us(listening: socket.socket) -> None:
    clock = ManualClock()
    with Loop(clock) as loop:
        ear, peer = connected(loop, listening)
        loop.carry_out([Send("peer", bytes(50_000_000))])
        assert loop.poll() == []
        peer.sendall(b"busy")
        assert ear.bytes_on("peer", 4) == b"busy"
        loop.carry_out([Close("peer")])
        assert loop.poll() == []
        # Patience has an end, and then there is nothing left to wait for.
        clock.advance(1.0)
        assert loop.poll() == []
        with pytest.raises(RuntimeError):
            loop.wait(None)
        peer.close()


def test_nobody_listens(loop: Loop) -> None:
    loop.carry_out([Open("peer", Address("tcp", "127.0.0.1", unused_port()), "connect")])
    failed = Ear(loop).wait_for(Failed, "peer")
    assert failed.trouble == "refused"
    assert failed.reason.endswith("Connection refused")


def test_a_link_that_failed_is_of_no_use_but_does_no_harm(loop: Loop) -> None:
    loop.carry_out([Open("peer", Address("tcp", "127.0.0.1", unused_port()), "connect")])
    Ear(loop).wait_for(Failed, "peer")
    loop.carry_out([Send("peer", b"hello?"), Close("peer")])
    assert loop.poll() == []


def test_a_failure_of_a_link_that_was_closed_is_not_told(loop: Loop) -> None:
    loop.carry_out([Open("peer", Address("tcp", port=70000), "connect"), Close("peer")])
    assert loop.poll() == []


def test_a_server_that_is_starting_is_asked_again() -> None:
    clock, address = ManualClock(), Address("tcp", "127.0.0.1", unused_port())
    with Loop(clock, connect_patience=1.0) as loop:
        loop.carry_out([Open("client", address, "connect")])
        assert loop.poll() == []
        loop.carry_out([Open("server", address, "listen")])
        clock.advance(0.02)
        assert Ear(loop).wait_for(Opened, "client")


def test_a_server_may_be_starting_only_in_the_beginning() -> None:
    clock, address = ManualClock(), Address("tcp", "127.0.0.1", unused_port())
    with Loop(clock, startup_patience=1.0) as loop:
        loop.carry_out([Open("early", address, "connect")])
        clock.advance(0.9)
        assert loop.poll() == []
        clock.advance(0.2)
        assert Ear(loop).wait_for(Failed, "early").trouble == "refused"
        loop.carry_out([Open("late", address, "connect")])
        assert Ear(loop).wait_for(Failed, "late").trouble == "refused"
        assert clock.now() < 1.2


def test_patience_has_an_end() -> None:
    clock, address = ManualClock(), Address("tcp", "127.0.0.1", unused_port())
    with Loop(clock, connect_patience=1.0) as loop:
        loop.carry_out([Open("client", address, "connect")])
        for _ in range(9):
            clock.advance(0.1)
            assert loop.poll() == []
        clock.advance(0.2)
        assert Ear(loop).wait_for(Failed, "client").trouble == "refused"


def test_a_server_that_does_not_accept_is_given_up() -> None:
    clock = ManualClock()
    with socket.socket() as busy, socket.socket() as guest, socket.socket() as another:
        busy.bind(("127.0.0.1", 0))
        busy.listen(0)
        for caller in (guest, another):  # the queue is full now
            caller.setblocking(False)
            caller.connect_ex(busy.getsockname())
        with Loop(clock, connect_timeout=3.0) as loop:
            loop.carry_out([connect_to(busy)])
            assert loop.poll() == []
            clock.advance(3.0)
            assert Ear(loop).wait_for(Failed, "peer").trouble == "timed out"


def test_a_port_that_is_taken(loop: Loop, listening: socket.socket) -> None:
    loop.carry_out([Open("server", Address("tcp", "127.0.0.1", listening.getsockname()[1]), "listen")])
    assert Ear(loop).wait_for(Failed, "server").trouble == "in use"


@pytest.mark.parametrize(
    "address, trouble",
    [
        (Address("tcp", "127.0.0.1", 70000), "other"),
        (Address("tcp", "not..a name", 80), "not found"),
        (Address("udp", "not..a name", 80), "not found"),
    ],
)
@pytest.mark.parametrize("role", ["connect", "listen"])
def test_an_address_that_cannot_be(loop: Loop, address: Address, trouble: str, role: str) -> None:
    loop.carry_out([Open("peer", address, role)])
    assert Ear(loop).wait_for(Failed, "peer").trouble == trouble


def test_the_default_host_is_this_machine(loop: Loop) -> None:
    loop.carry_out([Open("server", Address("tcp"), "listen")])
    with socket.create_connection(("127.0.0.1", loop.port_of("server")), timeout=10):
        assert Ear(loop).wait_for(Opened, "server")


def test_a_name_may_have_several_addresses(loop: Loop) -> None:
    loop.carry_out([Open("server", Address("tcp", "localhost"), "listen")])
    loop.carry_out([Open("client", Address("tcp", "localhost", loop.port_of("server")), "connect")])
    assert Ear(loop).wait_for(Opened, "client")


def test_many_open_files_are_no_problem(loop: Loop, listening: socket.socket) -> None:
    soft_limit = os.sysconf("SC_OPEN_MAX")
    if soft_limit < 1200:
        pytest.skip("not so many files may be open here")
    spare = [os.dup(0) for _ in range(1100)]
    try:
        ear, peer = connected(loop, listening)
        peer.sendall(b"far out")
        assert ear.bytes_on("peer", 7) == b"far out"
        peer.close()
    finally:
        for fd in spare:
            os.close(fd)


@pytest.mark.parametrize("kind", ["tcp", "udp", "unix"])
@pytest.mark.parametrize("role", ["connect", "listen"])
def test_the_system_has_no_more_sockets(loop: Loop, tmp_path: Path, kind: str, role: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, hard))
    try:
        loop.carry_out([Open("peer", Address(kind, "127.0.0.1", 9, str(tmp_path / "socket")), role)])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "Too many open files" in Ear(loop).wait_for(Failed, "peer").reason


def test_places_where_nobody_listens_any_more_are_given_up(loop: Loop) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for number in range(50):
        loop.carry_out([Open(f"server {number}", Address("tcp"), "listen"), Close(f"server {number}")])
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert after - before <= 16


def test_closing_twice_does_no_harm(listening: socket.socket) -> None:
    loop = Loop()
    loop.carry_out([connect_to(listening)])
    loop.close()
    loop.close()


def test_waiting_ends_when_it_should(loop: Loop, listening: socket.socket) -> None:
    _, peer = connected(loop, listening)
    until = loop.clock.now() + 0.02
    (passed,) = loop.wait(until)
    assert isinstance(passed, Passed)
    assert until <= passed.at <= loop.clock.now()
    peer.close()


def test_a_time_that_is_over_does_not_hide_what_has_come(loop: Loop, listening: socket.socket) -> None:
    _, peer = connected(loop, listening)
    peer.sendall(b"in time")
    peer.close()
    heard = [*loop.wait(loop.clock.now() - 1.0), *loop.wait(loop.clock.now() - 1.0)]
    assert [type(happened) for happened in heard] == [Received, Closed]


# --- Unix sockets -----------------------------------------------------------------------------------------------------


def test_there_is_no_such_path(loop: Loop, tmp_path: Path) -> None:
    loop.carry_out([Open("peer", Address("unix", path=str(tmp_path / "nothing")), "connect")])
    assert Ear(loop).wait_for(Failed, "peer").trouble == "not found"


def test_a_path_cannot_be_that_long(loop: Loop) -> None:
    for role in ("connect", "listen"):
        loop.carry_out([Open("peer", Address("unix", path="/tmp/" + "x" * 500), role)])
        assert Ear(loop).wait_for(Failed, "peer").trouble == "other"


def test_a_file_is_in_the_way_and_stays_there(loop: Loop, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("precious")
    loop.carry_out([Open("server", Address("unix", path=str(path)), "listen")])
    assert Ear(loop).wait_for(Failed, "server").trouble == "in use"
    assert path.read_text() == "precious"


def test_what_a_killed_program_has_left_is_no_obstacle(loop: Loop, tmp_path: Path) -> None:
    address = Address("unix", path=str(tmp_path / "socket"))
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(address.path)
    loop.carry_out([Open("server", address, "listen"), Open("client", address, "connect")])
    assert Ear(loop).wait_for(Opened, "server")


def test_a_unix_socket_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with Loop() as loop:
        loop.carry_out([Open("server", Address("unix", path=str(path)), "listen")])
        assert path.exists()
    assert not path.exists()


def test_the_socket_of_somebody_else_is_left_alone(loop: Loop, tmp_path: Path) -> None:
    address = Address("unix", path=str(tmp_path / "socket"))
    with socket.socket(socket.AF_UNIX) as alive:
        alive.bind(address.path)
        alive.listen()
        loop.carry_out([Open("server", address, "listen")])
        assert Ear(loop).wait_for(Failed, "server").trouble == "in use"
    assert Path(address.path).exists()


# --- Datagrams --------------------------------------------------------------------------------------------------------


def datagrams(loop: Loop, host: str = "127.0.0.1") -> Ear:
    loop.carry_out([Open("server", Address("udp", host), "listen")])
    loop.carry_out([Open("client", Address("udp", host, loop.port_of("server")), "connect")])
    return Ear(loop)


@pytest.mark.parametrize("data", [b"ping", b"", bytes(60_000)], ids=len)
def test_a_datagram_is_one_message(loop: Loop, data: bytes) -> None:
    ear = datagrams(loop)
    assert ear.wait_for(Opened, "client").port == 0
    loop.carry_out([Send("client", data), Send("client", b"next")])
    assert ear.wait_for(Opened, "server").port == loop.port_of("server")
    first, second = ear.wait_for(Received, "server"), ear.wait_for(Received, "server")
    assert (first.data, first.is_whole, second.data) == (data, True, b"next")
    loop.carry_out([Send("server", data)])
    assert ear.wait_for(Received, "client").data == data


def test_who_spoke_last_is_answered(loop: Loop) -> None:
    ear = datagrams(loop)
    loop.carry_out([Open("other", Address("udp", "127.0.0.1", loop.port_of("server")), "connect")])
    loop.carry_out([Send("server", b"first"), Send("client", b"a")])
    assert ear.wait_for(Received, "client").data == b"first"
    loop.carry_out([Send("other", b"b")])
    assert [ear.wait_for(Received, "server").data for _ in range(2)] == [b"a", b"b"]
    loop.carry_out([Send("server", b"second")])
    assert ear.wait_for(Received, "other").data == b"second"


def test_nobody_hears_a_datagram(loop: Loop) -> None:
    loop.carry_out([Open("client", Address("udp", "127.0.0.1", unused_port()), "connect"), Send("client", b"hello?")])
    assert Ear(loop).wait_for(Failed, "client").trouble == "refused"


def test_a_datagram_can_be_too_long(loop: Loop) -> None:
    ear = datagrams(loop)
    loop.carry_out([Send("client", bytes(70_000))])
    assert "too long" in ear.wait_for(Failed, "client").reason


def test_one_place_for_datagrams_belongs_to_one_link(loop: Loop) -> None:
    ear = datagrams(loop)
    address = Address("udp", "127.0.0.1", loop.port_of("server"))
    loop.carry_out([Open("thief", address, "listen")])
    assert ear.wait_for(Failed, "thief").trouble == "in use"


def test_a_datagram_may_come_between_two_sessions(loop: Loop) -> None:
    ear = datagrams(loop)
    loop.carry_out([Close("server"), Send("client", b"early")])
    loop.carry_out([Open("server", Address("udp", "127.0.0.1"), "listen")])
    assert ear.wait_for(Received, "server").data == b"early"
