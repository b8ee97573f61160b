"""Name servers that are wrong in one thing are found out, as what they are, and the right one is not suspected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dns_bugs
import pytest
from catalogue import Bug, kinds

from servers.dns import small

pytestmark = pytest.mark.slow

SCRIPT = Path(dns_bugs.__file__)
SPECS = SCRIPT.parents[2] / "src" / "palaver" / "specs"
SPEC_OF = {"udp": SPECS / "dns.fan", "tcp": SPECS / "dns_tcp.fan"}


def talk(palaver: Any, protocol: str, port: int, sessions: int) -> Any:
    # One of the servers says less than it has promised. It is waited for no longer than needed.
    how_long = ("-n", str(sessions), "--until", "forever", "--seed", "1", "--patience", "1", "--timeout", "1")
    return palaver("talk", "-f", str(SPEC_OF[protocol]), "--client", f"{protocol}:{port}", *how_long)


@pytest.mark.parametrize(
    ("protocol", "bug"),
    [pytest.param(protocol, bug, id=bug.name) for protocol, bugs in dns_bugs.BUGS.items() for bug in bugs],
)
def test_a_wrong_name_server_is_found_out(palaver: Any, protocol: str, bug: Bug) -> None:
    with small(SCRIPT, bug.name) as server:
        talked = talk(palaver, protocol, server.port, bug.sessions)
    assert talked.code == 1
    assert kinds(talked.summary) == [bug.finding]


@pytest.mark.parametrize("protocol", SPEC_OF)
def test_no_wrong_name_server_is_found_where_there_is_none(palaver: Any, protocol: str) -> None:
    with small() as server:
        talked = talk(palaver, protocol, server.port, max(bug.sessions for bug in dns_bugs.BUGS[protocol]))
    assert talked.code == 0, talked.said
    assert talked.summary.endswith("no findings")
