"""Peers that follow a script, in memory and on sockets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from palaver.session.events import Tls
from palaver.testing import (
    Encrypt,
    HangUp,
    Hear,
    MemoryWorld,
    Pause,
    Reset,
    Say,
    ScriptedPeer,
    SocketWorld,
    Step,
    StopTalking,
)
from servers.common import needs_openssl

# Over sockets, a server that encrypts needs a certificate.
encrypted = pytest.mark.parametrize(
    "world", [MemoryWorld, pytest.param(SocketWorld, marks=needs_openssl)], indirect=True
)


@pytest.fixture(params=[MemoryWorld, SocketWorld])
def world(request: pytest.FixtureRequest) -> Iterator[MemoryWorld | SocketWorld]:
    made = request.param()
    yield made
    if isinstance(made, SocketWorld):
        made.close()


def meet(
    world: MemoryWorld | SocketWorld, listening: list[Step], calling: list[Step], **options: object
) -> tuple[ScriptedPeer, ScriptedPeer]:
    server = ScriptedPeer(listening, link="server", **options)  # type: ignore[arg-type]
    driver = world.add(server)
    driver.step()
    port = driver.carrier.port_of("server")
    client = ScriptedPeer(calling, role="connect", address=f"tcp://127.0.0.1:{port}", **options)  # type: ignore[arg-type]
    world.add(client)
    world.run()
    return server, client


def test_a_script_is_followed_step_by_step(world: MemoryWorld | SocketWorld) -> None:
    asks: list[Step] = [Say(b"one, two"), Hear(b"2"), Say(b", three"), Hear(b"3"), HangUp()]
    answers: list[Step] = [Hear(b"two"), Say(b"2"), Hear(), Say(b"3")]
    server, client = meet(world, answers, asks)
    assert (server.heard, client.heard) == ([b"one, two, three"], [b"23"])


def test_an_answer_may_depend_on_the_data_received(world: MemoryWorld | SocketWorld) -> None:
    echo: list[Step] = [Hear(b"\n"), Say(lambda heard: heard.upper())]
    _, client = meet(world, echo, [Say(b"hello\n"), Hear(b"\n"), HangUp()])
    assert client.heard == [b"HELLO\n"]


def test_a_script_begins_anew_for_each_connection(world: MemoryWorld | SocketWorld) -> None:
    server, client = meet(world, [Say(b"hi")], [Hear(b"hi"), Say(b"bye"), HangUp()], times=3)
    assert (server.heard, client.heard) == ([b"bye"] * 3, [b"hi"] * 3)


def test_pieces_and_pauses_are_timed(world: MemoryWorld | SocketWorld) -> None:
    begun = world.clock.now()
    says: list[Step] = [Say(b"abc", size=1, every=0.02), Pause(0.03), Say(b"d")]
    _, client = meet(world, says, [Hear(b"d"), HangUp()])
    assert client.heard == [b"abcd"]
    assert world.clock.now() - begun >= 0.07


def test_endless_output_ends_with_the_connection(world: MemoryWorld | SocketWorld) -> None:
    _, client = meet(world, [Say(b"more", endlessly=True)], [Hear(b"moremoremore"), HangUp()])
    assert client.heard[0].startswith(b"moremoremore")


def test_a_half_closed_peer_still_receives() -> None:
    with SocketWorld() as world:
        server, client = meet(world, [Hear(b"now"), Say(b"well")], [Say(b"now"), Hear(b"well"), StopTalking()])
    assert (server.heard, client.heard) == ([b"now"], [b"well"])


def test_a_script_can_start_tls(world: MemoryWorld | SocketWorld) -> None:
    secretly: list[Step] = [Hear(b"go"), Say(b"ok"), Encrypt(), Say(b"secret")]
    server, client = meet(world, secretly, [Say(b"go"), Hear(b"ok"), Encrypt(), Hear(b"secret"), HangUp()])
    assert not server.failed
    assert not client.failed
    assert client.heard == [b"oksecret"]


def test_a_script_can_use_tls_from_the_start(world: MemoryWorld | SocketWorld) -> None:
    _, client = meet(world, [Say(b"secret")], [Hear(b"secret"), HangUp()], tls=Tls())
    assert client.heard == [b"secret"]


def test_a_reset_ends_the_connection_at_once(world: MemoryWorld | SocketWorld) -> None:
    server, client = meet(world, [Hear(b"!"), Reset()], [Say(b"!"), Hear(b"never")])
    assert server.is_over
    assert client.is_over


def test_two_scripts_that_wait_for_each_other_raise() -> None:
    with pytest.raises(RuntimeError, match="somebody waits"):
        meet(MemoryWorld(), [Hear(b"you first")], [Hear(b"no, you")])
