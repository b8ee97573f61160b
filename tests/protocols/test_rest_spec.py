"""The spec of the quotes API against a real server of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers.common import free_port
from servers.web import WebServer, quotes_api

SPEC = Path(library.__file__).parent / "specs" / "rest.fan"


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with quotes_api() as server:
        yield server


def talk(palaver: Any, *arguments: str) -> Any:
    return palaver("talk", "-f", str(SPEC), "--seed", "1", *arguments)


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "40 rules, 5 constraints, 2 parties, 15 messages" in checked.text


def test_the_api_is_talked_to_without_findings(palaver: Any, server: WebServer) -> None:
    talked = talk(palaver, "--client", str(server.port), "-n", "50", "--until", "forever")
    assert talked.code == 0
    assert talked.summary.endswith("no findings")
    assert talked.summary.startswith("50 sessions, ")


def test_the_environment_may_tell_where_the_api_is(
    palaver: Any, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUOTES_API", f"127.0.0.1:{server.port}")
    assert talk(palaver, "-n", "1").code == 0


def test_the_api_can_be_led_to_everything_that_the_spec_has(palaver: Any, server: WebServer) -> None:
    talked = talk(palaver, "--client", str(server.port), "-n", "50", "--until", "coverage")
    assert talked.code == 0
    assert "covered 713 of 713 5-paths" in talked.text


def test_conversations_that_are_made_up_can_be_read_again(palaver: Any) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "5", "--seed", "1", "--validate")
    assert (made.code, made.said) == (0, "")


# --- servers that are worse than wrong --------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_no_fault_of_the_spec(palaver: Any) -> None:
    talked = talk(palaver, "--client", str(free_port()), "-n", "1")
    assert talked.code == 4
    assert talked.summary.endswith("1 finding (connection refused: 1)")


@contextmanager
def answering(data: bytes) -> Iterator[int]:
    """A server that says the same to everybody, and closes the connection; its port."""

    def serve() -> None:
        # The request fits into one piece. It has to be read, or else the client would see a reset.
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    "data, told",
    [
        (b"220 ready\r\n", "BadStatusLine"),
        (b"", "RemoteDisconnected"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n\xff", "ff"),
    ],
)
def test_a_server_that_does_not_speak_http_is_found_out(palaver: Any, data: bytes, told: str) -> None:
    with answering(data) as port:
        talked = talk(palaver, "--client", str(port), "-n", "1")
    assert talked.code == 1
    assert talked.summary.endswith("1 finding (unexpected response: 1)")
    assert told in talked.text
