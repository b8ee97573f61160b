"""FTP servers and clients that are wrong in one thing are found out, and the right ones are not suspected."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalogue import PEERS_FAULTS, Bug, kinds
from ftp_bugs import CLIENTS, FILE_SERVERS, FOLDER_SERVERS, SERVERS

import palaver as palaver_
from servers.common import started
from servers.ftp import furnished

HERE = Path(__file__).parent
SPECS = Path(palaver_.__file__).parent / "specs"

# The library welcomes whoever begins anew, and that is only noted.
NOTES = {"note"}

# Some stop in the middle. They are waited for no longer than needed.
HASTE = ("--timeout", "1", "--patience", "1")


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where all the servers are, by their names."""
    folder = tmp_path_factory.mktemp("servers")
    log, environment = folder / "log", {**os.environ, "PYTHONPATH": str(HERE.parent)}
    command = [sys.executable, str(HERE / "ftp_wrong_servers.py"), str(furnished(folder))]
    with started(command, is_ready=lambda: "ready" in log.read_text(), log=log, env=environment):
        yield dict(re.findall(r"^(\w+) (\d+)$", log.read_text(), re.MULTILINE))


def talk(palaver: Any, spec: str, sessions: int, *arguments: str) -> Any:
    how_long = ("-n", str(sessions), "--until", "forever", "--seed", "1")
    return palaver("talk", "-f", str(SPECS / spec), *how_long, *arguments)


def client(name: str) -> tuple[str, ...]:
    # It needs nothing that is installed, and so it starts faster.
    program = shlex.join([sys.executable, "-S", str(HERE / "ftp_wrong_clients.py"), name])
    return ("--server", "{port}", "--target", program + " {port}")


@pytest.mark.parametrize("bug", SERVERS, ids=lambda bug: bug.name)
def test_a_wrong_server_is_found_out(palaver: Any, ports: dict[str, str], bug: Bug) -> None:
    talked = talk(palaver, "ftp.fan", bug.sessions, "--client", ports[bug.name], *HASTE)
    assert talked.code == bug.code, talked.said
    assert bug.finding in kinds(talked.summary), talked.said
    assert PEERS_FAULTS.issuperset(kinds(talked.summary)), talked.said


@pytest.mark.slow
def test_the_right_server_is_not_suspected(palaver: Any, ports: dict[str, str]) -> None:
    most = max(bug.sessions for bug in SERVERS)
    talked = talk(palaver, "ftp.fan", most, "--client", ports["Right"])
    assert (talked.code, kinds(talked.summary)) == (0, []), talked.said


@pytest.mark.slow
@pytest.mark.parametrize("bug", FILE_SERVERS, ids=lambda bug: bug.name)
def test_a_server_that_is_wrong_about_files_is_found_out(palaver: Any, ports: dict[str, str], bug: Bug) -> None:
    talked = talk(palaver, "ftp_full.fan", bug.sessions, "--unguided", "--client", ports[bug.name], *HASTE)
    assert talked.code == bug.code, talked.said
    assert bug.finding in kinds(talked.summary), talked.said
    assert PEERS_FAULTS.issuperset(set(kinds(talked.summary)) - NOTES), talked.said


@pytest.mark.slow
def test_a_server_that_is_right_about_files_is_not_suspected(palaver: Any, ports: dict[str, str]) -> None:
    most = max(bug.sessions for bug in FILE_SERVERS)
    talked = talk(palaver, "ftp_full.fan", most, "--unguided", "--client", ports["Right"])
    assert (talked.code, set(kinds(talked.summary)) - NOTES) == (0, set()), talked.said


@pytest.mark.slow
@pytest.mark.parametrize("bug", FOLDER_SERVERS, ids=lambda bug: bug.name)
def test_a_server_that_is_wrong_about_folders_is_found_out(palaver: Any, ports: dict[str, str], bug: Bug) -> None:
    talked = talk(palaver, "ftp_full.fan", bug.sessions, "--client", ports[bug.name], *HASTE)
    assert (talked.code, bug.finding in kinds(talked.summary)) == (bug.code, True), talked.said


@pytest.mark.slow
@pytest.mark.parametrize("bug", CLIENTS, ids=lambda bug: bug.name)
def test_a_wrong_client_is_found_out(palaver: Any, bug: Bug) -> None:
    talked = talk(palaver, "ftp_clients.fan", bug.sessions, *client(bug.name), *HASTE)
    assert talked.code == bug.code, talked.said
    assert bug.finding in kinds(talked.summary), talked.said
    assert PEERS_FAULTS.issuperset(kinds(talked.summary)), talked.said


@pytest.mark.slow
def test_the_right_client_is_not_suspected(palaver: Any) -> None:
    talked = talk(palaver, "ftp_clients.fan", 20, *client("Client"))
    assert (talked.code, kinds(talked.summary)) == (0, []), talked.said
