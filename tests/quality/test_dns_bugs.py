"""Name servers that are wrong in one thing are found out, as what they are, and the right one is not suspected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dns_bugs
import pytest

from servers.dns import small

SCRIPT = Path(dns_bugs.__file__)
SPECS = SCRIPT.parents[2] / "src" / "palaver" / "specs"
SPEC_OF = {"udp": SPECS / "dns.fan", "tcp": SPECS / "dns_tcp.fan"}


def talk(palaver: Any, protocol: str, port: int) -> Any:
    # One of the servers says less than it has promised. It is waited for no longer than needed.
    how_long = ("-n", str(dns_bugs.SESSIONS), "--until", "forever", "--seed", "1", "--patience", "1", "--timeout", "1")
    return palaver("talk", "-f", str(SPEC_OF[protocol]), "--client", f"{protocol}:{port}", *how_long)


def kinds(summary: str) -> list[str]:
    """The kinds of findings in a line like `9 sessions, 40 messages sent, 35 received, 5 unparseable`."""
    return [each.strip().partition(" ")[2] for each in summary.split(",")[3:]]


@pytest.mark.parametrize("bug", dns_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_wrong_name_server_is_found_out(palaver: Any, bug: dns_bugs.Bug) -> None:
    with small(SCRIPT, bug.name) as server:
        talked = talk(palaver, bug.protocol, server.port)
    assert talked.code == 1
    assert kinds(talked.summary) == [bug.finding]


@pytest.mark.parametrize("protocol", SPEC_OF)
def test_no_wrong_name_server_is_found_where_there_is_none(palaver: Any, protocol: str) -> None:
    with small() as server:
        talked = talk(palaver, protocol, server.port)
    assert talked.code == 0, talked.said
    assert talked.summary.endswith("no findings")
