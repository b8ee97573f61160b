"""Servers that are wrong in one thing are found out, as what they are, and the right ones are not suspected."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import http_bugs
import llm_bugs
import pytest
import rest_bugs
from catalogue import Bug, WrongMessage, kinds

import palaver as palaver_
from amounts import few
from palaver.campaign.events import PortBound
from palaver.campaign.run import Campaign
from palaver.compiled import Spec
from palaver.session.findings import Severity, Verdict
from servers.common import LIMIT_S
from servers.web import WebServer, language_model, quotes_api, web_server

SPECS = Path(rest_bugs.__file__).parents[2] / "src" / "palaver" / "specs"
# What is found must be about the API, as in the catalogue. Even a wrong one answers: it is not silent or gone.
FAULTS_OF_APIS = {"constraint violated", "unexpected response"}


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


@pytest.mark.parametrize("bug", few(rest_bugs.BUGS, 3), ids=lambda bug: bug.name)
def test_a_wrong_api_is_found_out(palaver: Any, bug: Bug) -> None:
    with web_server(Path(rest_bugs.__file__), bug.name) as server:
        talked = talk(palaver, "rest.fan", bug.sessions, "--client", str(server.port))
    assert talked.code == 1
    assert bug.finding in kinds(talked.summary)
    assert set(kinds(talked.summary)) <= FAULTS_OF_APIS


def test_no_wrong_api_is_found_where_there_is_none(palaver: Any) -> None:
    most = max(bug.sessions for bug in rest_bugs.BUGS)
    with quotes_api() as server:
        talked = talk(palaver, "rest.fan", most, "--client", str(server.port))
    assert talked.code == 0
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize("bug", few(llm_bugs.BUGS, 3), ids=lambda bug: bug.name)
def test_a_model_that_breaks_rules_is_found_out(palaver: Any, bug: llm_bugs.Bug, model_at: Any) -> None:
    with language_model(*bug.rules) as server:
        model_at(server)
        talked = talk(palaver, "llm.fan", bug.sessions)
    assert talked.code == 1
    assert kinds(talked.summary) == [bug.finding]
    for broken in bug.broken:
        assert broken in talked.text


def test_a_model_that_does_as_it_is_told_is_not_suspected(palaver: Any, model_at: Any) -> None:
    with language_model() as server:
        model_at(server)
        most = max(bug.sessions for bug in llm_bugs.BUGS)
        talked = talk(palaver, "llm.fan", most)
    assert talked.code == 0
    assert talked.summary.endswith("no findings")


@pytest.fixture(scope="module")
def http() -> Spec:
    return palaver_.load(SPECS / "http.fan")


def answered(spec: Spec, sent: bytes) -> Campaign:
    """A campaign as a server of HTTP, whose client sends this and then listens."""
    campaign = palaver_.talk(spec, server="0", seed=1, sessions=1)
    with ExitStack() as connections:
        for event in campaign:
            if isinstance(event, PortBound):
                address = ("127.0.0.1", event.port)
                client = connections.enter_context(socket.create_connection(address, timeout=LIMIT_S))
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
    return campaign


@pytest.mark.parametrize("bug", http_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_wrong_client_of_http_is_found_out(http: Spec, bug: WrongMessage) -> None:
    campaign = answered(http, bug.sent)
    assert campaign.verdict is Verdict.FAIL
    violations = [each for each in campaign.findings if each.severity is Severity.VIOLATION]
    assert [violation.kind.label for violation in violations] == [bug.finding]


def test_a_right_client_of_http_is_not_suspected(http: Spec) -> None:
    campaign = answered(http, http_bugs.RIGHT)
    assert (campaign.verdict, campaign.findings) == (Verdict.PASS, [])
