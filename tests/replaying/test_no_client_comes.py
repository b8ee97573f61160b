"""Replaying and shrinking a finding about a client end when no client comes."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import Any

import pytest

from servers.common import free_port

SPEC = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK " <word> "\\n"
<answer> ::= "SAY " <word> "\\n"
<word> ::= r"[a-z]{1,8}"
"""


def wrong_client(port: int, is_over: Event) -> None:
    """Say something wrong, as soon as somebody listens."""
    while not is_over.wait(0.05):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(b"ASK 1\n")
            client.recv(100)
            return


@pytest.mark.parametrize(
    ("command", "told"),
    [("replay", "not tried: 1 of 1, as 0.2 s were over (--time)"), ("shrink", "not tried, as nobody answered")],
)
def test_a_client_that_does_not_come_is_not_waited_for_without_end(
    palaver: Callable[..., Any], command: str, told: str
) -> None:
    palaver.write(spec_fan=SPEC)  # type: ignore[attr-defined]
    port, is_over = free_port(), Event()
    client = Thread(target=wrong_client, args=(port, is_over))
    client.start()
    try:
        found = palaver("talk", "-f", "spec.fan", "--server", str(port), "-n", "1", "--time", "50", "--run", "kept")
    finally:
        is_over.set()
        client.join()
    assert found.code == 1, found.text
    again = palaver(command, "kept", "1", "--time", "0.2")
    assert (again.code, again.text.splitlines()[-1]) == (2, told)
