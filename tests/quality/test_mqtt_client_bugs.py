"""Clients of MQTT that are wrong in one thing are found out, and the right one is not suspected."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from catalogue import WrongMessage
from mqtt_client_bugs import BUGS, RIGHT

import palaver as palaver_
from listening import listening

pytestmark = pytest.mark.slow

SPEC = Path(palaver_.__file__).parent / "specs" / "mqtt_clients.fan"


def found(palaver: Any, sent: bytes) -> tuple[int, str]:
    """What palaver, as a broker, finds out about a client that sends this and then closes."""
    how_long = ("-n", "1", "--patience", "1", "--seed", "1")
    with listening(palaver, SPEC, "Broker=0", *how_long) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(5)
            while connection.recv(4096):
                pass
        return server.conclude()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_wrong_client_is_found_out(palaver: Any, bug: WrongMessage) -> None:
    code, said = found(palaver, bug.sent)
    assert code == 1, said
    assert f"{bug.finding}: 1" in said


def test_the_right_client_is_not_suspected(palaver: Any) -> None:
    code, said = found(palaver, RIGHT)
    assert code == 0, said
    assert "no findings" in said
