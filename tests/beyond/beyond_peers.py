"""Campaigns with wrong messages, against servers that are classes, each in a thread of the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import palaver
from palaver.campaign.events import FindingReported
from palaver.campaign.run import Campaign
from palaver.session.findings import Finding, Severity
from servers.in_process import StreamSession, stream_server


@contextmanager
def served(kind: type[StreamSession]) -> Iterator[int]:
    """The port of such a server, while it is there."""
    with stream_server(kind) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def talked(spec: Any, kind: type[StreamSession], sessions: int, **options: Any) -> Campaign:
    """A campaign of so many sessions with wrong messages."""
    with served(kind) as port:
        options = {"seed": 1, "beyond": 0.35, **options}
        return palaver.talk(spec, client=port, sessions=sessions, **options).run()


def first_violation(spec: Any, kind: type[StreamSession], sessions: int, **options: Any) -> Finding | None:
    """The first finding that is no note, within so many sessions."""
    with served(kind) as port:
        options = {"seed": 1, "beyond": 0.35, "timeout": 1.0, "patience": 1.0, **options}
        with palaver.talk(spec, client=port, sessions=sessions, **options) as campaign:
            for event in campaign:
                if isinstance(event, FindingReported) and event.finding.severity is Severity.VIOLATION:
                    return event.finding
    return None
