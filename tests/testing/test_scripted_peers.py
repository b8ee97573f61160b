"""Peers that follow a script, in memory and on sockets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from palaver.session.interface import Tls
from palaver.testing import (
    Disconnect,
    Expect,
    HalfClose,
    MemoryNetwork,
    Pause,
    Reset,
    ScriptedPeer,
    ScriptStep,
    SocketNetwork,
    StartTls,
    Write,
)
from servers.common import needs_openssl

# Over sockets, a server that encrypts needs a certificate.
encrypted = pytest.mark.parametrize(
    "world", [MemoryNetwork, pytest.param(SocketNetwork, marks=needs_openssl)], indirect=True
)


@pytest.fixture(params=[MemoryNetwork, SocketNetwork])
def world(request: pytest.FixtureRequest) -> Iterator[MemoryNetwork | SocketNetwork]:
    made = request.param()
    yield made
    if isinstance(made, SocketNetwork):
        made.close()


def meet(
    world: MemoryNetwork | SocketNetwork, listening: list[ScriptStep], calling: list[ScriptStep], **options: object
) -> tuple[ScriptedPeer, ScriptedPeer]:
    server = ScriptedPeer(listening, link="server", **options)  # type: ignore[arg-type]
    driver = world.add(server)
    driver.step()
    port = driver.event_loop.port_of("server")
    client = ScriptedPeer(calling, role="connect", address=f"tcp://127.0.0.1:{port}", **options)  # type: ignore[arg-type]
    world.add(client)
    world.run()
    return server, client


def test_a_script_is_followed_step_by_step(world: MemoryNetwork | SocketNetwork) -> None:
    asks: list[ScriptStep] = [Write(b"one, two"), Expect(b"2"), Write(b", three"), Expect(b"3"), Disconnect()]
    answers: list[ScriptStep] = [Expect(b"two"), Write(b"2"), Expect(), Write(b"3")]
    server, client = meet(world, answers, asks)
    assert (server.heard, client.heard) == ([b"one, two, three"], [b"23"])


def test_an_answer_may_depend_on_the_data_received(world: MemoryNetwork | SocketNetwork) -> None:
    echo: list[ScriptStep] = [Expect(b"\n"), Write(lambda heard: heard.upper())]
    _, client = meet(world, echo, [Write(b"hello\n"), Expect(b"\n"), Disconnect()])
    assert client.heard == [b"HELLO\n"]


def test_a_script_begins_anew_for_each_connection(world: MemoryNetwork | SocketNetwork) -> None:
    server, client = meet(world, [Write(b"hi")], [Expect(b"hi"), Write(b"bye"), Disconnect()], times=3)
    assert (server.heard, client.heard) == ([b"bye"] * 3, [b"hi"] * 3)


def test_pieces_and_pauses_are_timed(world: MemoryNetwork | SocketNetwork) -> None:
    begun = world.clock.now()
    says: list[ScriptStep] = [Write(b"abc", size=1, every=0.02), Pause(0.03), Write(b"d")]
    _, client = meet(world, says, [Expect(b"d"), Disconnect()])
    assert client.heard == [b"abcd"]
    assert world.clock.now() - begun >= 0.07


def test_endless_output_ends_with_the_connection(world: MemoryNetwork | SocketNetwork) -> None:
    _, client = meet(world, [Write(b"more", endlessly=True)], [Expect(b"moremoremore"), Disconnect()])
    assert client.heard[0].startswith(b"moremoremore")


def test_a_half_closed_peer_still_receives() -> None:
    with SocketNetwork() as world:
        server, client = meet(world, [Expect(b"now"), Write(b"well")], [Write(b"now"), Expect(b"well"), HalfClose()])
    assert (server.heard, client.heard) == ([b"now"], [b"well"])


@encrypted
def test_a_script_can_start_tls(world: MemoryNetwork | SocketNetwork) -> None:
    secretly: list[ScriptStep] = [Expect(b"go"), Write(b"ok"), StartTls(), Write(b"secret")]
    server, client = meet(world, secretly, [Write(b"go"), Expect(b"ok"), StartTls(), Expect(b"secret"), Disconnect()])
    assert not server.failed
    assert not client.failed
    assert client.heard == [b"oksecret"]


@encrypted
def test_a_script_can_use_tls_from_the_start(world: MemoryNetwork | SocketNetwork) -> None:
    _, client = meet(world, [Write(b"secret")], [Expect(b"secret"), Disconnect()], tls=Tls())
    assert client.heard == [b"secret"]


def test_a_reset_ends_the_connection_at_once(world: MemoryNetwork | SocketNetwork) -> None:
    server, client = meet(world, [Expect(b"!"), Reset()], [Write(b"!"), Expect(b"never")])
    assert server.is_over
    assert client.is_over


def test_two_scripts_that_wait_for_each_other_raise() -> None:
    with pytest.raises(RuntimeError, match="somebody waits"):
        meet(MemoryNetwork(), [Expect(b"you first")], [Expect(b"no, you")])
