"""A world on loopback sockets, closed in the end, and the command line inside of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from palaver.testing import ScriptedPeer, SocketNetwork


@pytest.fixture
def world() -> Iterator[SocketNetwork]:
    with SocketNetwork() as world:
        yield world


@pytest.fixture
def talk(palaver: Any, world: SocketNetwork, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`palaver talk -f talk.fan` in the same world as its peers."""
    monkeypatch.setattr("palaver.campaign.campaign_factory.SelectorEventLoop", lambda **_: world.loop())

    def run(spec: str, *arguments: str) -> Any:
        palaver.write(talk_fan=spec)
        return palaver("talk", "-f", "talk.fan", "--seed", "1", "--unguided", "-n", "1", *arguments)

    return run


@pytest.fixture
def talk_to(talk: Callable[..., Any], world: SocketNetwork) -> Callable[..., Any]:
    """The same, as the client of a scripted server."""

    def run(peer: ScriptedPeer, spec: str, *arguments: str, scheme: str = "tcp") -> Any:
        world.add(peer)
        return talk(spec, "--client", f"{scheme}://127.0.0.1:{world.port_of(peer.link)}", *arguments)

    return run
