"""Processes that outlive the program which has started them are found by their mark, and ended."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
