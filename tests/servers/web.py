"""Servers that speak HTTP, started for a test: an API of quotes, and a language model's."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from servers.common import started

HERE = Path(__file__).parent
QUOTES = HERE / "web_quotes.py"
SMALL = HERE / "http_small.py"
MODEL = HERE / "web_model.py"


@dataclass(frozen=True)
class WebServer:
    """A server on the loopback interface."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def web_server(program: Path, *arguments: str) -> Iterator[WebServer]:
    """A program that prints the port it has chosen, and then serves it."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"

        def is_ready() -> bool:
            return b"\n" in log.read_bytes()

        # The folder of the tests, so that a program may use what stands in another folder there.
        environment = {"PYTHONPATH": str(HERE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        with started([sys.executable, str(program), *arguments], is_ready=is_ready, log=log, env=environment):
            yield WebServer(int(log.read_text().splitlines()[0]))


@contextmanager
def quotes_api() -> Iterator[WebServer]:
    """The API of quotes as it should be."""
    with web_server(QUOTES) as server:
        yield server


@contextmanager
def small_site() -> Iterator[WebServer]:
    """A server of HTTP with one page."""
    with web_server(SMALL) as server:
        yield server


@contextmanager
def language_model(*breaks: str) -> Iterator[WebServer]:
    """A language model that does what it is told, or now and then breaks these rules."""
    with web_server(MODEL, *breaks) as server:
        yield server
