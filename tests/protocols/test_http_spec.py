"""The spec of HTTP from both sides: a real server is asked, a real client is answered."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from listening import listening
from servers import stock
from servers.web import WebServer, small_site

SPEC = Path(library.__file__).parent / "specs" / "http.fan"

REQUESTS: tuple[list[str], ...] = (
    [],
    ["-I"],
    ["-X", "DELETE"],
    ["-d", "a=b"],
    ["-d", ""],
    ["-X", "PUT", "-d", "{}"],
    ["-H", "X-One: two"],
    ["-0"],
    ["-0", "-I"],
    ["-r", "0-3"],
    ["-r", "0-3,7-9"],
    ["-r", "-5"],
    ["-z", "2020-01-01"],
    ["-z", "2020-01-01", "-I"],
    ["-H", 'If-None-Match: "a"'],
    ["-H", 'If-Match: "a"'],
    ["-H", "Connection: close"],
    ["-d", "a=b", "-H", "Expect: 100-continue"],
    ["-d", "a=b", "-H", "Transfer-Encoding: chunked"],
    ["-d", "a=b", "-H", "Transfer-Encoding: chunked", "-H", "Expect: 100-continue"],
)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with small_site() as server:
        yield server


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "4904 5-paths" in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Server")])
def test_conversations_are_made_up(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", *(only or ["--validate"]))
    assert made.code == 0, made.said


def test_a_server_is_talked_to_without_findings(palaver: Any, server: WebServer) -> None:
    how_long = ("-n", "3", "--until", "forever", "--seed", "1", "--set", "guarded=1")
    talked = palaver("talk", "-f", str(SPEC), "--client", str(server.port), *how_long)
    assert talked.code == 0
    assert talked.summary.endswith("no findings")


@pytest.mark.servers("curl")
def test_curl_is_talked_to_without_findings(palaver: Any) -> None:
    rounds = 1
    how_long = ("-n", str(rounds * len(REQUESTS)), "--until", "forever", "--seed", "1")
    with listening(palaver, SPEC, "0", *how_long) as server:
        url = f"http://127.0.0.1:{server.port}/a?b"
        for request in REQUESTS * rounds:
            asked = ["curl", "-sS", "-o", "/dev/null", "--max-time", "10", *request, url]
            done = subprocess.run(asked, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
        code, said = server.conclude()
    assert code == 0, said
    assert "no findings" in said


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(stock.nginx, marks=stock.needs("nginx"), id="nginx"),
        pytest.param(stock.lighttpd, marks=stock.needs("lighttpd"), id="lighttpd"),
        pytest.param(stock.apache, marks=stock.needs("apache2"), id="apache"),
    ],
)
def test_a_server_as_its_distribution_ships_it_is_not_accused(palaver: Any, server: Any) -> None:
    with server() as running:
        talked = palaver("talk", "http", "--client", str(running.port), "-n", "5", "--seed", "2")
    assert talked.code == 0, talked.said


@pytest.mark.servers("wget")
def test_wget_is_talked_to_without_findings(palaver: Any) -> None:
    url = "http://127.0.0.1:{port}"
    target = f"wget -q -O /dev/null --tries=1 --timeout=20 {url}/a {url}/b"
    talked = palaver("talk", "http", "--server", "{port}", "--target", target, "-n", "3", "--seed", "1")
    assert talked.code == 0, talked.said
    assert talked.summary.endswith("no findings")
