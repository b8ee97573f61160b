"""What the tables of wrong programs have in common."""

from __future__ import annotations

from dataclasses import dataclass

# What is found must be about the program. It must not be that we run out of words, or that the spec fails.
PEERS_FAULTS = {
    "connection closed",
    "constraint violated",
    "connection refused",
    "connection reset",
    "no response",
    "out of turn",
    "unexpected response",
    "unreachable",
    "wrong address",
}


@dataclass(frozen=True)
class Bug:
    """The name of what is wrong, within how many sessions that must be found, as what, and with which exit code."""

    name: str
    sessions: int
    finding: str
    code: int = 1


@dataclass(frozen=True)
class WrongMessage:
    """The name of what is wrong with a message, which is sent once, and what that is found to be at once."""

    name: str
    sent: bytes
    finding: str


def kinds(summary: str) -> list[str]:
    """The kinds of findings in a line like `9 sessions, 40 messages sent, 35 received, 5 findings (no response: 5)`."""
    _, _, found = summary.rstrip(")").partition(" (")
    return [each.partition(":")[0] for each in found.split(", ")] if found else []
