"""Servers that are wrong in one thing are found out, and the right ones are not suspected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import coap_bugs
import http_server_bugs
import imap_bugs
import modbus_bugs
import ntp_bugs
import pop3_bugs
import pytest
import redis_bugs
import tftp_bugs
import websocket_bugs
from catalogue import PEERS_FAULTS, Bug, kinds

from servers.in_process import ports_of


@dataclass(frozen=True)
class WrongServers:
    """A module of wrong servers of a protocol, which are all in one program, and the name of the right one."""

    spec: str
    module: ModuleType
    right: str
    timeout: int = 1
    scheme: str = ""
    is_alone: bool = True  # a wrong server has findings of one kind only
    times: int = 1  # the right server holds so many times the sessions that the slowest defect may take

    @property
    def bugs(self) -> tuple[Bug, ...]:
        return tuple(self.module.BUGS)

    def talk(self, palaver: Any, port: str, sessions: int) -> Any:
        options = ("--seed", "1", "--unguided", "--timeout", str(self.timeout))
        return palaver("talk", self.spec, "--client", f"{self.scheme}{port}", "-n", str(sessions), *options)


CATALOGUES = [
    WrongServers("coap", coap_bugs, "Device", scheme="udp:", is_alone=False, times=2),
    WrongServers("http", http_server_bugs, "Site", is_alone=False),
    WrongServers("imap", imap_bugs, "Mail", timeout=2),
    WrongServers("modbus", modbus_bugs, "Device"),
    WrongServers("ntp", ntp_bugs, "TimeServer", scheme="udp:", times=10),
    WrongServers("pop3", pop3_bugs, "Mailbox", timeout=2),
    WrongServers("redis", redis_bugs, "Store", timeout=2, is_alone=False),
    WrongServers("tftp", tftp_bugs, "Transfer", scheme="udp:"),
    WrongServers("websocket", websocket_bugs, "Echo", is_alone=False),
]
# POP3 is quick, and stands for the others where there is little time.
MARKS = {each.spec: [] if each.spec == "pop3" else [pytest.mark.slow] for each in CATALOGUES}


@pytest.fixture(scope="module")
def ports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The ports of all servers of a module, by their names."""
    with ports_of(Path(request.param.__file__), tmp_path_factory.mktemp("servers")) as ports:
        yield ports


@pytest.mark.parametrize(
    ("ports", "servers", "bug"),
    [
        pytest.param(each.module, each, bug, id=f"{each.spec}-{bug.name}", marks=MARKS[each.spec])
        for each in CATALOGUES
        for bug in each.bugs
    ],
    indirect=["ports"],
)
def test_a_wrong_server_is_found_out(palaver: Any, ports: dict[str, str], servers: WrongServers, bug: Bug) -> None:
    talked = servers.talk(palaver, ports[bug.name], bug.sessions)
    found = kinds(talked.summary)
    assert talked.code == 1, talked.text
    assert found == [bug.finding] if servers.is_alone else bug.finding in found
    assert PEERS_FAULTS.issuperset(found)


@pytest.mark.parametrize(
    ("ports", "servers"),
    [pytest.param(each.module, each, id=each.spec, marks=MARKS[each.spec]) for each in CATALOGUES],
    indirect=["ports"],
)
def test_the_right_server_is_not_suspected(palaver: Any, ports: dict[str, str], servers: WrongServers) -> None:
    most = max(bug.sessions for bug in servers.bugs)
    talked = servers.talk(palaver, ports[servers.right], servers.times * most)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")
