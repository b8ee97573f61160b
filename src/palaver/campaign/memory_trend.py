"""The memory of a system under test over its sessions, and the question whether it grows without end.

How it works. After a session the resident memory of the program and of all that it has started is read from `/proc`. A
program that works grows as well: while it warms up, while a cache fills, in peaks. So the first quarter of the samples
is left out, the rest is divided into four blocks, and of each only the least sample counts. Memory grows without end if
it has grown from block to block, by much, and in the last step nearly as much as on average. Growth that slows down,
even if it is only as slow as a logarithm, is not told.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from palaver.campaign.campaign_limits import (
    MAX_MEMORY_SAMPLES,
    MIN_MEMORY_GROWTH,
    MIN_MEMORY_SAMPLES,
    SHADOW_MEMORY_BYTES,
)
from palaver.lean_dataclasses import dataclass

_PROCESSES = Path("/proc")
_BLOCKS = 4
# Each step, and the last one, compared with the average step.
_LEAST_STEP = 0.5
_LEAST_LAST_STEP = 0.7


@dataclass(frozen=True, slots=True)
class MemoryGrowth:
    """Memory that grows without end."""

    sessions: int  # over which it has grown
    before: int  # bytes
    after: int

    def __str__(self) -> str:
        each = (self.after - self.before) / self.sessions / 1024
        figures = f"from {self.before / (1 << 20):.1f} to {self.after / (1 << 20):.1f} MiB"
        return f"{figures} over the last {self.sessions} sessions, {each:.1f} KiB in each, and as fast at the end"


class MemoryTrend:
    """Samples of memory since a program was started. When there are many, every other one is forgotten."""

    def __init__(self) -> None:
        self._samples: list[tuple[int, int]] = []  # the number of sessions so far, and bytes
        self._sessions = 0
        self._every = 1  # a sample of so many sessions is kept

    def note(self, used: int | None) -> None:
        """Note the memory after a session; None if it is not known."""
        self._sessions += 1
        if used is not None and self._sessions % self._every == 0:
            self._samples.append((self._sessions, used))
        if len(self._samples) >= MAX_MEMORY_SAMPLES:
            del self._samples[::2]
            self._every *= 2

    def growth(self) -> MemoryGrowth | None:
        """The growth, if it has no end as far as can be told."""
        if len(self._samples) < MIN_MEMORY_SAMPLES:
            return None
        warm = self._samples[len(self._samples) // _BLOCKS :]
        size = len(warm) // _BLOCKS
        blocks = [warm[len(warm) - size * (_BLOCKS - number) :][:size] for number in range(_BLOCKS)]
        least = [min(block, key=lambda sample: sample[1]) for block in blocks]
        steps = [after[1] - before[1] for before, after in pairwise(least)]
        average = sum(steps) / len(steps)
        is_steady = min(steps) >= _LEAST_STEP * average and steps[-1] >= _LEAST_LAST_STEP * average
        if sum(steps) < MIN_MEMORY_GROWTH or not is_steady:
            return None
        return MemoryGrowth(least[-1][0] - least[0][0], least[0][1], least[-1][1])


def memory_of(pid: int, processes: Path = _PROCESSES, others: Sequence[int] | None = None) -> int | None:
    """The resident memory of a process and of all that it has started, in bytes; None if it cannot be told.

    `others` are the processes that it has started, if they are known already: to look for them takes most of the time.
    Neither can that of a program with a sanitizer: it keeps freed memory for a while, up to hundreds of megabytes.
    """
    try:
        pages = [_pages(processes / str(pid))]
    except (OSError, ValueError, IndexError):
        return None
    size = os.sysconf("SC_PAGE_SIZE")
    if pages[0][0] * size >= SHADOW_MEMORY_BYTES:
        return None
    for other in started_by(pid, processes) if others is None else others:
        try:
            pages.append(_pages(processes / str(other)))
        except (OSError, ValueError, IndexError):
            continue  # it has ended
    return sum(resident for _, resident in pages) * size


def _pages(process: Path) -> tuple[int, int]:
    """All pages of a process, and those that are resident."""
    words = (process / "statm").read_text().split()
    return int(words[0]), int(words[1])


def started_by(pid: int, processes: Path = _PROCESSES) -> list[int]:
    """The processes in the session of a process, which it leads, and those below it."""
    parents: dict[int, tuple[int, int]] = {}  # the parent and the session of each process
    try:
        names = [name for name in os.listdir(processes) if name.isdigit()]
    except OSError:
        return []
    for name in names:
        try:
            # The name of the program stands in parentheses, and may contain anything.
            fields = (processes / name / "stat").read_text(errors="replace").rpartition(")")[2].split()
            parents[int(name)] = (int(fields[1]), int(fields[3]))
        except (OSError, ValueError, IndexError):
            continue
    found = {other for other, (_, session) in parents.items() if session == pid} | {pid}
    while more := {other for other, (parent, _) in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})
