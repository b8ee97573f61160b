"""Campaigns with wrong messages, against servers that are classes, each in a thread of the test."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, cast

import palaver
from palaver.campaign.events import FindingReported
from palaver.campaign.run import Campaign
from palaver.session.findings import Finding, Severity
from servers.in_process import DatagramSession, StreamSession, stream_server

AnySession = type[StreamSession] | type[DatagramSession]


@contextmanager
def served(kind: AnySession) -> Iterator[int]:
    """The port of such a server, while it is there."""
    if not hasattr(kind, "greet"):
        with served_datagrams(kind) as port:
            yield port
        return
    with stream_server(cast(type[StreamSession], kind)) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def served_datagrams(kind: type[DatagramSession]) -> Iterator[int]:
    """The port of a server for datagrams, while it is there. An empty datagram of its own ends it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        here = listening.getsockname()

        def serve() -> None:
            sessions: dict[tuple[str, int], DatagramSession] = {}
            shared: dict[bytes, bytes] = {}
            while True:
                data, caller = listening.recvfrom(65536)
                if caller == here:
                    return
                for answer in sessions.setdefault(caller, kind(shared)).hear(data):
                    listening.sendto(answer, caller)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield here[1]
        finally:
            listening.sendto(b"", here)
            thread.join()


def talked(spec: Any, kind: AnySession, sessions: int, **options: Any) -> Campaign:
    """A campaign of so many sessions with wrong messages."""
    with served(kind) as port:
        options = {"seed": 1, "beyond": 0.35, **options}
        return palaver.talk(spec, client=port, sessions=sessions, **options).run()


def first_violation(spec: Any, kind: AnySession, sessions: int, **options: Any) -> Finding | None:
    """The first finding that is no note, within so many sessions."""
    with served(kind) as port:
        options = {"seed": 1, "beyond": 0.35, "timeout": 1.0, "patience": 1.0, **options}
        with palaver.talk(spec, client=port, sessions=sessions, **options) as campaign:
            for event in campaign:
                if isinstance(event, FindingReported) and event.finding.severity is Severity.VIOLATION:
                    return event.finding
    return None
