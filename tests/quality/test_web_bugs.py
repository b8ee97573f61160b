"""Servers that are wrong in one thing are found out, as what they are, and the right ones are not suspected."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import http_bugs
import llm_bugs
import pytest
import rest_bugs

from servers.common import LIMIT_S, needs
from servers.web import WebServer, language_model, quotes_api, web_server

SPECS = Path(rest_bugs.__file__).parents[2] / "src" / "palaver" / "specs"
PEERS_FAULTS = ("constraint broken", "unparseable")


@pytest.fixture
def model_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[WebServer], None]:
    """Tells the client of OpenAI where the model is."""

    def set_up(server: WebServer) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "the_password")

    return set_up


def talk(palaver: Any, spec: str, sessions: int, *arguments: str) -> Any:
    how_long = ("-n", str(sessions), "--until", "forever")
    return palaver("talk", "-f", str(SPECS / spec), *how_long, "--seed", "1", *arguments)


def kinds(summary: str) -> list[str]:
    """The kinds of findings in a line like `9 sessions, 40 messages sent, 35 received, 5 unparseable`."""
    return [each.strip().partition(" ")[2] for each in summary.split(",")[3:]]


@pytest.mark.parametrize("bug", rest_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_wrong_api_is_found_out(palaver: Any, bug: rest_bugs.Bug) -> None:
    with web_server(Path(rest_bugs.__file__), bug.name) as server:
        talked = talk(palaver, "rest.fan", bug.sessions, "--client", str(server.port))
    assert talked.code == 1
    assert bug.finding in kinds(talked.summary)
    # We neither run out of words, nor does the spec fail.
    assert all(kind in PEERS_FAULTS for kind in kinds(talked.summary))


def test_no_wrong_api_is_found_where_there_is_none(palaver: Any) -> None:
    most = max(bug.sessions for bug in rest_bugs.BUGS)
    with quotes_api() as server:
        talked = talk(palaver, "rest.fan", most, "--client", str(server.port))
    assert talked.code == 0
    assert talked.summary.endswith("no findings")


@needs("openai")
@pytest.mark.parametrize("bug", llm_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_model_that_breaks_rules_is_found_out(palaver: Any, bug: llm_bugs.Bug, model_at: Any) -> None:
    with language_model(*bug.rules) as server:
        model_at(server)
        talked = talk(palaver, "llm.fan", bug.sessions)
    assert talked.code == 1
    assert kinds(talked.summary) == [bug.finding]
    for broken in bug.broken:
        assert broken in talked.said


@needs("openai")
def test_a_model_that_does_as_it_is_told_is_not_suspected(palaver: Any, model_at: Any) -> None:
    with language_model() as server:
        model_at(server)
        most = max(bug.sessions for bug in llm_bugs.BUGS)
        talked = talk(palaver, "llm.fan", most)
    assert talked.code == 0
    assert talked.summary.endswith("no findings")


def answers(palaver: Any, sent: bytes) -> tuple[int, str]:
    """What palaver, as a server of HTTP, finds out about a client that sends this and then listens."""
    arguments = ("talk", "-f", str(SPECS / "http.fan"), "--server", "0", "-n", "1", "--seed", "1")
    talking = palaver.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        port = int(talking.stdout.readline().split()[-1])  # Server listens at port 43210
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            said, _ = talking.communicate(timeout=LIMIT_S)
    finally:
        talking.kill()
        talking.communicate()
    return talking.returncode, said.decode()


@pytest.mark.parametrize("bug", http_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_wrong_client_of_http_is_found_out(palaver: Any, bug: http_bugs.Bug) -> None:
    code, said = answers(palaver, bug.sent)
    assert code == 1, said
    assert f"1 {bug.finding}" in said


def test_a_right_client_of_http_is_not_suspected(palaver: Any) -> None:
    code, said = answers(palaver, http_bugs.RIGHT)
    assert code == 0, said
    assert "no findings" in said
