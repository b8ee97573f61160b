"""Real programs at the other end: a server of Python's, a client of Python's, and palaver in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from net.processes import HERE, running, smtp_server
from servers.common import free_port

SMTP = HERE.parent.parent / "benchmarks" / "talking" / "smtp.fan"


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with smtp_server() as port:
        yield port


def in_any_case(spec: str) -> str:
    """RFC 5321, 2.4: commands are not case sensitive, and clients write them in all ways."""
    for command in ("EHLO", "MAIL FROM:", "RCPT TO:", "DATA", "NOOP", "RSET", "QUIT"):
        spec = spec.replace(f'"{command}', f'r"(?ai:{command})" "')
    return spec


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_real_server_is_talked_to_without_findings(palaver: Any, server: int, seed: str) -> None:
    talked = palaver("talk", "-f", str(SMTP), "--client", str(server), "-n", "4", "--seed", seed)
    assert (talked.code, talked.said) == (0, "")
    assert talked.text.startswith("4 sessions, ")


def test_a_real_client_is_talked_to_without_findings(palaver: Any) -> None:
    palaver.write(smtp_fan=in_any_case(SMTP.read_text()))
    port = free_port()
    with running(str(HERE / "smtp_client.py"), str(port), "3"):
        talked = palaver("talk", "-f", "smtp.fan", "--server", str(port), "-n", "3", "--seed", "1")
    assert (talked.code, talked.said) == (0, "")
    assert talked.text.startswith("3 sessions, ")


def test_a_server_at_any_port_tells_its_port(talk: Callable[..., Any]) -> None:
    options = ["-f", str(SMTP), "-n", "2", "--unguided", "--seed", "1", "--server", "0"]
    with running("-m", "palaver", "talk", *options) as server:
        assert server.stderr is not None
        line = server.stderr.readline().decode()
        assert line.startswith("Server listens on port ")
        talked = talk(SMTP.read_text(), "-n", "2", "--client", line.split()[-1])
    assert (talked.code, talked.said) == (0, "")


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_two_processes_of_one_spec_talk_to_each_other(talk: Callable[..., Any], kind: str, tmp_path: Path) -> None:
    place = f"unix:{tmp_path / 'socket'}" if kind == "unix" else f"tcp://127.0.0.1:{free_port()}"
    with running("-m", "palaver", "talk", "-f", str(SMTP), "-n", "3", "--seed", "1", "--server", place):
        talked = talk(SMTP.read_text(), "-n", "3", "--client", place)
    assert (talked.code, talked.said) == (0, "")
