"""Mail servers and clients that are wrong in one thing are found out, and the right ones are not suspected."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import smtp_bugs
import smtp_client_bugs
from catalogue import Bug, kinds
from mail_servers import ports_of

import palaver as palaver_
from amounts import few

SPECS = Path(palaver_.__file__).parent / "specs"


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where all the servers are, by their names."""
    with ports_of(smtp_bugs.__file__, tmp_path_factory.mktemp("servers")) as ports:
        yield ports


def talk_to_server(palaver: Any, port: str, sessions: int) -> Any:
    return palaver("talk", "-f", str(SPECS / "smtp.fan"), "--client", port, "-n", str(sessions), "--seed", "1")


def talk_to_client(palaver: Any, name: str, sessions: int) -> Any:
    # It needs nothing that is installed, and so it starts faster.
    program = shlex.join([sys.executable, "-S", smtp_client_bugs.__file__, name])
    sides = ("-f", str(SPECS / "smtp_clients.fan"), "--server", "{port}", "--target", program + " {port}")
    # Who may leave or say more gets the time to do either.
    how = ("--goal", "inputs", "--quiet-interval", "5")
    return palaver("talk", *sides, "-n", str(sessions), "--seed", "1", *how)


@pytest.mark.parametrize("bug", few(smtp_bugs.BUGS, 6), ids=lambda bug: bug.name)
def test_a_wrong_server_is_found_out(palaver: Any, ports: dict[str, str], bug: Bug) -> None:
    talked = talk_to_server(palaver, ports[bug.name], bug.sessions)
    assert (talked.code, kinds(talked.summary)) == (1, [bug.finding]), talked.said


@pytest.mark.parametrize("bug", few(smtp_client_bugs.BUGS, 6), ids=lambda bug: bug.name)
def test_a_wrong_client_is_found_out(palaver: Any, bug: Bug) -> None:
    talked = talk_to_client(palaver, bug.name, bug.sessions)
    assert (talked.code, kinds(talked.summary)) == (1, [bug.finding]), talked.said


@pytest.mark.slow
def test_the_right_server_is_not_suspected(palaver: Any, ports: dict[str, str]) -> None:
    most = max(bug.sessions for bug in smtp_bugs.BUGS)
    talked = talk_to_server(palaver, ports["MailSession"], most)
    assert talked.code == 0, talked.said
    assert talked.summary.endswith("no findings")


@pytest.mark.slow
def test_the_right_client_is_not_suspected(palaver: Any) -> None:
    most = max(bug.sessions for bug in smtp_client_bugs.BUGS)
    talked = talk_to_client(palaver, "Client", most)
    assert talked.code == 0, talked.said
    assert talked.summary.endswith("no findings")
