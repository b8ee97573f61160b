"""Clients of DNS that are wrong in one thing are found out, and the right ones are not suspected."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from catalogue import WrongMessage
from dns_client_bugs import BUGS, RIGHT

import palaver as palaver_
from listening import listening

pytestmark = pytest.mark.slow

SPECS = Path(palaver_.__file__).parent / "specs"
SPEC_OF = {"udp": SPECS / "dns.fan", "tcp": SPECS / "dns_tcp.fan"}
KIND_OF = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}


def answers(palaver: Any, protocol: str, sent: bytes) -> tuple[int, str]:
    """What palaver, as a name server, finds out about a client that sends this and then listens."""
    how_long = ("-n", "1", "--until", "forever", "--max-messages", "2", "--patience", "1", "--seed", "1")
    with (
        listening(palaver, SPEC_OF[protocol], f"{protocol}:0", *how_long) as server,
        socket.socket(socket.AF_INET, KIND_OF[protocol]) as connection,
    ):
        connection.connect(("127.0.0.1", server.port))
        connection.send(sent)
        if protocol == "tcp":
            connection.shutdown(socket.SHUT_WR)
        return server.conclude()


@pytest.mark.parametrize(
    ("protocol", "bug"),
    [pytest.param(protocol, bug, id=bug.name) for protocol, bugs in BUGS.items() for bug in bugs],
)
def test_a_wrong_client_is_found_out(palaver: Any, protocol: str, bug: WrongMessage) -> None:
    code, said = answers(palaver, protocol, bug.sent)
    assert code == 1, said
    assert f"{bug.finding}: 1" in said


@pytest.mark.parametrize("protocol", RIGHT)
def test_the_right_client_is_not_suspected(palaver: Any, protocol: str) -> None:
    code, said = answers(palaver, protocol, RIGHT[protocol])
    assert code == 0, said
    assert "no findings" in said
