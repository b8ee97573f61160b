"""Oracles: checks of what a grammar cannot say (Howden 1978), such as latency, forbidden bytes or forbidden output.

An oracle sees every event of a campaign, and returns what it has to say about it. A *violation* is a finding that makes
the session fail; a *note* is told, and fails nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from palaver.campaign.events import Event, MessageReceived, MessageSent, SessionStarted, TargetOutput, TargetStarted
from palaver.lean_dataclasses import dataclass
from palaver.session.findings import Severity


@dataclass(frozen=True, slots=True)
class Observation:
    """One remark of an oracle: what is wrong, in one sentence, who did it, and whether the session goes on."""

    text: str
    severity: Severity = Severity.VIOLATION
    party: str = ""
    ends_session: bool = False
    rule: str = ""  # what the tester wrote, such as a pattern: observations by different rules are different problems


class Oracle(Protocol):
    """A check that sees all events of a campaign."""

    def observe(self, event: Event) -> Iterable[Observation]:
        """Return the observations that this event gives rise to; mostly none."""
        ...


class MaxLatency:
    """Reports answers that take longer than some seconds after our message."""

    def __init__(self, seconds: float, severity: Severity = Severity.VIOLATION) -> None:
        self._seconds = seconds
        self._severity = severity
        self._sent_at: float | None = None

    def observe(self, event: Event) -> Iterable[Observation]:
        if isinstance(event, SessionStarted):
            self._sent_at = None
        elif isinstance(event, MessageSent):
            self._sent_at = event.at
        elif isinstance(event, MessageReceived) and self._sent_at is not None:
            seconds, self._sent_at = event.at - self._sent_at, None
            if seconds > self._seconds:
                sender, symbol = event.message.sender, event.message.symbol
                text = f"{sender} took {seconds:.3f} s to send {symbol}, more than {self._seconds:g} s"
                yield Observation(text, self._severity, sender, rule=f"{self._seconds:g}")


class ForbiddenBytes:
    """Reports messages of the peer that contain a match of a pattern."""

    def __init__(self, pattern: bytes, severity: Severity = Severity.VIOLATION) -> None:
        self._pattern = re.compile(pattern)
        self._severity = severity

    def observe(self, event: Event) -> Iterable[Observation]:
        if isinstance(event, MessageReceived) and (found := self._pattern.search(event.message.data)):
            text = f"{event.message.symbol} contains {found[0]!r}, which matches {self._pattern.pattern!r}"
            yield Observation(text, self._severity, event.message.sender, rule=repr(self._pattern.pattern))


class ForbiddenOutput:
    """Reports lines that the system under test writes and that contain a match of a pattern."""

    def __init__(self, pattern: bytes, severity: Severity = Severity.VIOLATION) -> None:
        self._pattern = re.compile(pattern)
        self._severity = severity
        self._line = b""  # the latest one, which may go on

    def observe(self, event: Event) -> Iterable[Observation]:
        if isinstance(event, TargetStarted):
            self._line = b""
        elif isinstance(event, TargetOutput):
            *lines, self._line = (self._line + event.data).split(b"\n")
            for line in lines:
                if self._pattern.search(line):
                    text = f"the system under test wrote: {line.decode('utf-8', 'replace').strip()}"
                    yield Observation(text, self._severity, rule=repr(self._pattern.pattern))
