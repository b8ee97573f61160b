"""Libraries that connect by themselves can be let into a network of ours, and see there the same as outside."""

from __future__ import annotations

import http.client
import socket
from contextlib import closing

import pytest

from palaver.addresses import Address
from palaver.session.interface import Open
from palaver.testing import (
    Disconnect,
    Expect,
    MemoryNetwork,
    Reset,
    ScriptedPeer,
    ScriptStep,
    SocketNetwork,
    Write,
    patch_sockets,
)

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def peer(port: int, *script: ScriptStep) -> ScriptedPeer:
    return ScriptedPeer(script, address=f"127.0.0.1:{port}")


def gets_its_answer(world: MemoryNetwork | SocketNetwork) -> None:
    script: list[ScriptStep] = [Expect(b"\r\n\r\n"), Write(ANSWER)]
    driver = world.add(peer(0, *script, *script))
    driver.step()
    with patch_sockets(world):
        connection = http.client.HTTPConnection("127.0.0.1", driver.event_loop.port_of("peer"), timeout=60)
        with closing(connection):
            for _ in range(2):
                connection.request("GET", "/")
                assert connection.getresponse().read() == b"hello"


def test_a_library_gets_its_answer_in_memory() -> None:
    gets_its_answer(MemoryNetwork())


def test_a_library_gets_its_answer_over_sockets() -> None:
    with SocketNetwork() as world:
        gets_its_answer(world)


def test_sockets_are_restored_afterwards() -> None:
    before = socket.create_connection
    with patch_sockets(MemoryNetwork()):
        assert socket.create_connection is not before
    assert socket.create_connection is before


def test_a_library_is_refused_if_nobody_listens() -> None:
    with patch_sockets(MemoryNetwork()), socket.create_connection(("127.0.0.1", 1)) as connection:
        connection.sendall(b"Is anybody there?")
        with pytest.raises(ConnectionRefusedError, match="nobody listens"):
            connection.recv(1)


def test_a_library_keeps_its_timeout() -> None:
    world = MemoryNetwork()
    world.loop().carry_out([Open("Server", Address("tcp", "127.0.0.1", 1), "listen")])
    with patch_sockets(world), socket.create_connection(("127.0.0.1", 1), timeout=7) as connection:
        connection.sendall(b"Is anybody there?")
        with pytest.raises(TimeoutError):
            connection.recv(1)
    assert world.clock.now() == 7


def test_a_library_sees_that_the_peer_has_closed() -> None:
    world = MemoryNetwork()
    world.add(peer(1, Expect(b"1"), Write(b"2345"), Disconnect()))
    with patch_sockets(world), socket.create_connection(("127.0.0.1", 1)) as connection:
        connection.sendall(b"1")
        assert [connection.recv(3), connection.recv(3), connection.recv(3)] == [b"234", b"5", b""]


def test_a_library_sees_a_reset() -> None:
    world = MemoryNetwork()
    world.add(peer(1, Expect(b"1"), Reset()))
    with patch_sockets(world), socket.create_connection(("127.0.0.1", 1)) as connection:
        connection.sendall(b"1")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_the_peer_sees_the_shutdown_of_a_library() -> None:
    world = MemoryNetwork()
    server = world.add(peer(1, Expect(b"1"), Write(b"2"), Expect(b"never said")))
    with patch_sockets(world), socket.create_connection(("127.0.0.1", 1)) as connection:
        connection.sendall(b"1")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b"2"
        world.run()
    assert server.session.is_over
