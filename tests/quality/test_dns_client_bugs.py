"""Clients of DNS that are wrong in one thing are found out, and the right ones are not suspected."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dns_client_bugs import BUGS, RIGHT, Bug

import palaver as palaver_
from servers.common import LIMIT_S

SPECS = Path(palaver_.__file__).parent / "specs"
SPEC_OF = {"udp": SPECS / "dns.fan", "tcp": SPECS / "dns_tcp.fan"}
KIND_OF = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}


def answers(palaver: Any, protocol: str, sent: bytes) -> tuple[int, str]:
    """What palaver, as a name server, finds out about a client that sends this and then listens."""
    how_long = ("-n", "1", "--until", "forever", "--max-messages", "2", "--patience", "1", "--seed", "1")
    side = ("--server", f"{protocol}:0")
    talking = palaver.start(
        *("talk", "-f", str(SPEC_OF[protocol]), *side, *how_long), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        port = int(talking.stdout.readline().split()[-1])  # Server listens at port 43210
        with socket.socket(socket.AF_INET, KIND_OF[protocol]) as connection:
            connection.connect(("127.0.0.1", port))
            connection.send(sent)
            if protocol == "tcp":
                connection.shutdown(socket.SHUT_WR)
            said, _ = talking.communicate(timeout=LIMIT_S)
    finally:
        talking.kill()
        talking.communicate()
    return talking.returncode, said.decode()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_wrong_client_is_found_out(palaver: Any, bug: Bug) -> None:
    code, said = answers(palaver, bug.protocol, bug.sent)
    assert code == 1, said
    assert f"1 {bug.finding}" in said


@pytest.mark.parametrize("protocol", RIGHT)
def test_the_right_client_is_not_suspected(palaver: Any, protocol: str) -> None:
    code, said = answers(palaver, protocol, RIGHT[protocol])
    assert code == 0, said
    assert "no findings" in said
