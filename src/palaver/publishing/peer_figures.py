"""Figures about the peer: its answers in each state, how fast it was, and how often it had to be started."""

from __future__ import annotations

from collections.abc import Sequence

from palaver.lean_dataclasses import dataclass
from palaver.navigation.state_diagram import CoverageViews
from palaver.printable import counted
from palaver.recording.run_reader import Run
from palaver.session.findings import exit_text


@dataclass(frozen=True, slots=True)
class Latency:
    """The seconds until messages of one type came, since our last message."""

    symbol: str
    count: int
    median: float
    ninety: float  # percent of them took at most so long
    ninety_nine: float
    longest: float


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of numbers in ascending order."""
    rank = -(-len(ordered) * round(share * 100) // 100)  # rounded up
    return ordered[max(1, rank) - 1]


def latencies(run: Run) -> list[Latency]:
    """The time that each message type of the peer took, in the order in which they first came."""
    times: dict[str, list[float]] = {}
    session, asked = 0, None
    for number, at, symbol, is_ours in run.traffic():
        if number != session:
            session, asked = number, None
        if is_ours:
            asked = at
        elif asked is not None:
            times.setdefault(symbol, []).append(max(0.0, at - asked))
    found = []
    for symbol, seconds in times.items():
        seconds.sort()
        median, ninety, ninety_nine = (percentile(seconds, share) for share in (0.5, 0.9, 0.99))
        found.append(Latency(symbol, len(seconds), median, ninety, ninety_nine, seconds[-1]))
    return found


def answers(views: CoverageViews, ours: Sequence[str]) -> list[tuple[str, list[tuple[str, int]]]]:
    """The answers of the peer in each state, with their numbers, also those that never came."""
    found: dict[str, list[tuple[str, int]]] = {}
    for (source, move, _), count in views.transition_counts.items():
        if move.sender not in ours:
            found.setdefault(source.name, []).append((move.symbol, count))
    return [(state, sorted(counts, key=lambda each: -each[1])) for state, counts in found.items()]


def ends(run: Run) -> list[str]:
    """The end of the system under test, in words."""
    told = []
    for count, code in run.target_ends():
        what = "was ended by palaver" if code is None else exit_text(code)
        told.append(f"{what}: {counted(count, 'time')}")
    return told
