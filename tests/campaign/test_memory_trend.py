"""Memory that grows without end is told; growth that comes to an end, or may do so, is not."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.campaign.campaign_limits import MAX_MEMORY_SAMPLES
from palaver.campaign.leak_suspects import LeakSuspects
from palaver.campaign.memory_trend import MemoryGrowth, MemoryTrend, memory_of
from palaver.campaign.target_findings import HeldSession
from palaver.random_source import RandomSource
from palaver.session.findings import FindingKind, SessionMessage, Severity, Verdict
from palaver.trees.node import Node, NonTerminal

MIB = 1 << 20


def growth_of(memory: Callable[[int], float], sessions: int = 200) -> MemoryGrowth | None:
    trend = MemoryTrend()
    for session in range(sessions):
        trend.note(int(memory(session)))
    return trend.growth()


LEAKS: dict[str, Callable[[int], float]] = {
    "a little in each session": lambda session: 20 * MIB + session * 20_000,
    "after a steep beginning": lambda session: 20 * MIB + min(session, 20) * MIB + session * 20_000,
    "between peaks": lambda session: 20 * MIB + session * 50_000 + (session % 7 == 3) * 30 * MIB,
    "in jumps": lambda session: 20 * MIB + session // 8 * MIB,
    "without peaks that are given back": lambda session: 20 * MIB + session * 30_000 + (session % 10) * 100_000,
}
NO_LEAKS: dict[str, Callable[[int], float]] = {
    "none": lambda _: 20 * MIB,
    "a warm-up": lambda session: 20 * MIB + min(session, 40) * MIB,
    "a cache that fills": lambda session: 20 * MIB + min(session * MIB, 120 * MIB),
    "a slow warm-up": lambda session: 20 * MIB + 60 * MIB * (1 - math.exp(-session / 60)),
    "a logarithm": lambda session: 20 * MIB + 10 * MIB * math.log1p(session),
    "one jump": lambda session: 20 * MIB + (session > 150) * 50 * MIB,
    "peaks": lambda session: 20 * MIB + (session % 11) * 3 * MIB,
    "too little": lambda session: 20 * MIB + session * 2000,
    "less and less": lambda session: 80 * MIB - session * 100_000,
}


@pytest.mark.parametrize("name", LEAKS)
def test_growth_without_end_is_told(name: str) -> None:
    assert growth_of(LEAKS[name]) is not None


@pytest.mark.parametrize("name", NO_LEAKS)
def test_growth_that_ends_is_not_told(name: str) -> None:
    assert growth_of(NO_LEAKS[name]) is None


@given(st.integers(0, 10**6))
def test_memory_that_only_fluctuates_is_not_told(seed: int) -> None:
    chance = RandomSource(seed)
    assert growth_of(lambda _: 50 * MIB + chance.below(2 * MIB)) is None


def test_a_few_sessions_tell_nothing() -> None:
    assert growth_of(lambda session: session * MIB, sessions=39) is None


def test_the_figures_are_those_of_the_leak() -> None:
    growth = growth_of(lambda session: 20 * MIB + session * 51_200)
    assert growth is not None
    assert growth.after - growth.before == growth.sessions * 51_200
    assert "50.0 KiB in each" in str(growth)


def test_a_long_run_keeps_few_samples_and_the_same_figures() -> None:
    growth = growth_of(lambda session: 20 * MIB + session * 1024, sessions=20 * MAX_MEMORY_SAMPLES)
    assert growth is not None
    assert "1.0 KiB in each" in str(growth)


# --- the memory of processes ------------------------------------------------------------------------------------------


def process(folder: Path, pid: int, parent: int, session: int, resident: int, *, size: int = 10_000) -> None:
    place = folder / str(pid)
    place.mkdir()
    (place / "stat").write_text(f"{pid} (a) (strange name) S {parent} {pid} {session} 0 -1 0 0\n")
    (place / "statm").write_text(f"{size} {resident} 5 1 0 8 0\n")


def test_all_that_a_program_has_started_counts(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, 10, 100)
    process(tmp_path, 11, 10, 10, 20)
    process(tmp_path, 12, 11, 12, 3)  # in a session of its own
    process(tmp_path, 13, 1, 10, 4)  # its parent has ended
    process(tmp_path, 14, 1, 14, 50_000)  # another program
    (tmp_path / "15").mkdir()  # one that is about to end
    assert memory_of(10, tmp_path) == 127 * os.sysconf("SC_PAGE_SIZE")
    assert memory_of(99, tmp_path) is None


def test_the_memory_of_a_sanitizer_tells_nothing(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, 10, 100, size=20 * (1 << 40) // os.sysconf("SC_PAGE_SIZE"))
    assert memory_of(10, tmp_path) is None


# --- from end to end --------------------------------------------------------------------------------------------------

SPEC = '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "ask\\n"\n<answer> ::= "well\\n"\n'

SERVER = """
import socket, sys
kept = []
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            for line in connection.makefile("rb"):
                connection.sendall(b"well\\n")
        page = bytes(200_000)
        if len(kept) < int(sys.argv[2]):
            kept.append(bytearray(page))
"""


def notes(bound: int) -> list[palaver.Finding]:
    target = f"{shlex.join([sys.executable, '-SEc', SERVER])} {{port}} {bound}"
    campaign = palaver.talk(palaver.loads(SPEC), target=target, seed=1, sessions=80).run()
    assert campaign.verdict is Verdict.PASS
    return campaign.findings


def test_a_server_that_leaks_is_noted_and_its_twin_with_a_bounded_cache_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("palaver.campaign.system_under_test.MEMORY_SHARE", 1000)  # after every session
    (note,) = notes(10**6)
    assert (note.kind, note.severity) == (FindingKind.MEMORY, Severity.NOTE)
    assert [said.data for said in note.messages] == [b"ask\n", b"well\n"]
    assert note.message.startswith("the memory of the system under test grows: from ")
    assert notes(30) == []


# --- who is to blame --------------------------------------------------------------------------------------------------


def session_with(number: int, *symbols: str) -> HeldSession:
    messages = [
        SessionMessage(0.0, "Client", None, symbol, b"", Node(NonTerminal(symbol), ()), is_ours=True)
        for symbol in symbols
    ]
    return HeldSession(number, tuple(messages))


def test_the_message_that_comes_before_growth_is_suspected() -> None:
    suspects, used = LeakSuspects(), 20 * MIB
    for number in range(1, 101):
        leaks = number % 3 == 0
        used += 300_000 if number < 10 else 4096 * leaks + 8192 * (number % 25 == 0)  # it warms up, and has noise
        suspects.note(used, session_with(number, "<hello>", *(["<keep>"] if leaks else ["<ask>"])))
    suspect = suspects.worst()
    assert suspect is not None
    assert suspect.symbol == "<keep>"
    assert suspect.session.number % 3 == 0
    assert suspect.session.number > 30


def test_nobody_is_suspected_if_nothing_grows() -> None:
    suspects = LeakSuspects()
    for number in range(1, 50):
        suspects.note(20 * MIB, session_with(number, "<ask>"))
    assert suspects.worst() is None
