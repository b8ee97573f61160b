"""What the tables of wrong programs have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """What is wrong, within how many sessions that must be found, and as what."""

    wrong: type
    sessions: int
    finding: str

    @property
    def name(self) -> str:
        return self.wrong.__name__


def chosen(name: str, right: type, bugs: Sequence[Bug]) -> type:
    """The class of that name: a wrong one, or the right one."""
    return {kind.__name__: kind for kind in (right, *(bug.wrong for bug in bugs))}[name]


def kinds(summary: str) -> list[str]:
    """The kinds of findings in a line like `9 sessions, 40 messages sent, 35 received, 5 unparseable`."""
    return [each.strip().partition(" ")[2] for each in summary.split(",")[3:]]
