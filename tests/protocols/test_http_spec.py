"""The spec of HTTP from both sides: a real server is asked, a real client is answered."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers.common import LIMIT_S, needs
from servers.web import WebServer, quotes_api

SPEC = Path(library.__file__).parent / "specs" / "http.fan"

REQUESTS = ([], ["-I"], ["-X", "DELETE"], ["-d", "a=b"], ["-d", ""], ["-X", "PUT", "-d", "{}"], ["-H", "X-One: two"])


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with quotes_api() as server:
        yield server


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", str(SPEC))
    assert (checked.code, checked.said) == (0, "")


def test_a_server_is_talked_to_without_findings(palaver: Any, server: WebServer) -> None:
    how_long = ("-n", "50", "--until", "forever", "--seed", "1")
    talked = palaver("talk", "-f", str(SPEC), "--client", str(server.port), *how_long)
    assert talked.code == 0
    assert talked.summary.endswith("no findings")


@needs("curl")
def test_curl_is_talked_to_without_findings(palaver: Any) -> None:
    rounds = 8
    how_long = ("-n", str(rounds * len(REQUESTS)), "--until", "forever", "--seed", "1")
    talking = palaver.start(
        "talk", "-f", str(SPEC), "--server", "0", *how_long, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        port = port_told_by(talking)
        for request in REQUESTS * rounds:
            asked = ["curl", "-sS", "-o", "/dev/null", "--max-time", "10", *request, f"http://127.0.0.1:{port}/a?b"]
            done = subprocess.run(asked, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
        said, _ = talking.communicate(timeout=LIMIT_S)
    finally:
        talking.kill()
        talking.communicate()
    assert talking.returncode == 0, said
    assert b"no findings" in said


def port_told_by(talking: subprocess.Popen[bytes]) -> int:
    """The port that palaver listens at, from the first line it says."""
    assert talking.stdout is not None
    found = re.search(rb"listens at port (\d+)", talking.stdout.readline())
    assert found is not None
    return int(found[1])
