"""The spec of WebSocket against echo servers, and as the server of real clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers import websocket

SPEC = Path(library.__file__).parent / "specs" / "websocket.fan"


def talk(palaver: Any, port: int, sessions: int, *more: str) -> Any:
    options = ("-n", str(sessions), "--seed", "1", "--unguided")
    return palaver("talk", "websocket", *more, "--client", str(port), *options)


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "1433 5-paths" in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Server")])
def test_conversations_are_made_up(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", *(only or ["--validate"]))
    assert (made.code, made.said) == (0, "")


def test_a_small_echo_is_talked_to_without_findings(palaver: Any) -> None:
    with websocket.small() as server:
        talked = talk(palaver, server.port, 3)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


def test_an_echo_need_not_end_a_long_session(palaver: Any) -> None:
    with websocket.small() as server:
        talked = palaver("talk", "websocket", "--client", str(server.port), "-n", "8", "--seed", "1")
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


def test_websockets_is_talked_to_without_findings(palaver: Any) -> None:
    with websocket.websockets() as server:
        talked = talk(palaver, server.port, 3)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.servers("node")
@websocket.has_node_ws
def test_ws_is_talked_to_without_findings(palaver: Any) -> None:
    with websocket.node_ws() as server:
        talked = talk(palaver, server.port, 10)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.servers("websocketd")
def test_websocketd_is_talked_to_without_findings(palaver: Any) -> None:
    with websocket.websocketd() as server:
        talked = talk(palaver, server.port, 10, *websocket.IS_TEXT)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize("command", [websocket.WEBSOCKETS, websocket.WEBSOCKET_CLIENT], ids=["websockets", "other"])
def test_a_real_client_talks_to_a_server_of_the_spec(palaver: Any, command: str) -> None:
    talked = palaver("talk", "websocket", "--server", "{port}", "--target", command, "-n", "5", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
