"""Processes that outlive the program which has started them are found by their mark, and ended."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from palaver.transport import strays
from palaver.transport.strays import MARK, StrayGuard, end_strays

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system shows no environments")


def sleeping(mark: str, *, has_others: bool = True) -> subprocess.Popen[bytes]:
    """A process with a mark, behind other variables of its environment or alone."""
    command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    others = {name: text for name, text in os.environ.items() if name != MARK} if has_others else {}
    return subprocess.Popen(command, env={**others, MARK: mark}, start_new_session=True)


def test_a_guard_ends_what_is_marked_at_the_end_of_palaver(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", registered.append)
    guard = StrayGuard()
    stray = sleeping(f"{guard.mark}.1")
    (release,) = registered
    release()
    assert stray.wait(20) == -signal.SIGKILL


def stat_of_a_process(*, size: int, environment: tuple[int, int]) -> str:
    """A line of `/proc/PID/stat` with these fields, the 23rd and the 50th and 51st."""
    fields = ["0"] * 52
    fields[22], fields[49], fields[50] = str(size), *map(str, environment)
    return f"7 (a name (with) brackets) {' '.join(fields[2:])}"


def test_a_program_that_is_just_being_loaded_is_ended_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, waits = [], []
    for process, line in (
        ("7", stat_of_a_process(size=4096, environment=(0, 0))),  # being loaded
        ("8", stat_of_a_process(size=4096, environment=(70, 70))),  # one without any environment
        ("9", stat_of_a_process(size=0, environment=(0, 0))),  # a zombie
    ):
        (tmp_path / process).mkdir()
        (tmp_path / process / "environ").write_bytes(b"")
        (tmp_path / process / "stat").write_text(line)

    def load(seconds: float) -> None:
        waits.append(seconds)
        (tmp_path / "7" / "environ").write_bytes(f"{MARK}=test\0".encode())

    def end(process: int, _signal: int) -> None:
        ended.append(process)
        (tmp_path / str(process) / "environ").write_bytes(b"")
        (tmp_path / str(process) / "stat").write_text(stat_of_a_process(size=0, environment=(0, 0)))

    monkeypatch.setattr(strays, "_PROCESSES", tmp_path)
    monkeypatch.setattr(time, "sleep", load)
    monkeypatch.setattr(os, "kill", end)
    end_strays("test")
    assert ended == [7]
    assert len(waits) == 1


def test_only_processes_with_this_mark_are_ended() -> None:
    mark = f"test.{os.getpid()}"
    marked, below, other, longer = (sleeping(each) for each in (mark, f"{mark}.7", "none", f"{mark}7"))
    alone = sleeping(mark, has_others=False)
    try:
        end_strays(mark)
        assert marked.wait(20) == below.wait(20) == alone.wait(20) == -signal.SIGKILL
        assert other.poll() is longer.poll() is None
    finally:
        for process in (marked, below, other, longer, alone):
            process.kill()
            process.wait()
