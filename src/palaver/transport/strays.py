"""Strays: processes that outlive the program which palaver started, or palaver itself.

How it works. Every program gets a mark in its environment, which whatever it starts inherits, in whatever session and
process group. Where the system shows environments (`/proc`), all processes with a mark can be found and ended. A small
process of its own, the guard, waits for the end of palaver: a pipe to it closes even if palaver was killed by SIGKILL.
It runs this file as a script, so only the standard library is used here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

MARK = "PALAVER_RUN"

_PROCESSES = Path("/proc")
# The guard may take so long to end what is left when palaver exits.
MAX_GUARD_SECONDS = 1.0
# A process may start another one while we look, or be one that is just being started; so many times we look again.
_MAX_LOOKS = 10
# So long we wait in all for programs that are just being loaded, and do not show their environment yet.
_MAX_LOADING_SECONDS = 0.5
_LOADING_STEP_SECONDS = 0.005

_numbers = count(1)


class StrayGuard:
    """Ends all marked processes when this process has ended, however that came about."""

    def __init__(self) -> None:
        self.mark = f"{os.getpid()}.{time.monotonic_ns()}"
        command = [sys.executable, "-I", "-S", __file__, self.mark]
        # The other end of the pipe closes with this process. In a session of its own it does not see our Ctrl-C.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(self.release)

    def release(self) -> None:
        """Let the guard end what is left, and wait for it, but not long."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(MAX_GUARD_SECONDS)


_guards: dict[int, StrayGuard] = {}  # by process: a fork needs one of its own


def new_mark() -> str:
    """A mark for another program. From here on a guard waits for our end, where the system can tell."""
    guard = _guards.get(os.getpid())
    if guard is None:
        guard = _guards[os.getpid()] = StrayGuard()
    return f"{guard.mark}.{next(_numbers)}"


def end_strays(mark: str) -> None:
    """End all processes that have this mark, or one that goes on behind a dot."""
    until = time.monotonic() + _MAX_LOADING_SECONDS
    looks = 0
    while looks < _MAX_LOOKS:
        marked, are_loading = _marked(mark)
        for process in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if marked:
            looks += 1
        elif are_loading and time.monotonic() < until:
            time.sleep(_LOADING_STEP_SECONDS)  # the system has no event for "the program is loaded"
        else:
            return


def _marked(mark: str) -> tuple[list[int], bool]:
    """The processes with a mark, and whether others do not show yet whether they have it; none where the system does
    not show environments."""
    wanted, found, are_loading = f"{MARK}={mark}".encode(), [], False
    try:
        names = os.listdir(_PROCESSES)
    except OSError:
        return [], False
    for name in names:
        if not name.isdigit():
            continue
        process = _PROCESSES / name
        try:
            environment = (process / "environ").read_bytes()
            are_loading = are_loading or (not environment and _is_loading(process))
        except OSError:
            continue  # it has ended, or is another user's
        at = environment.find(wanted)
        if at >= 0 and environment[at + len(wanted) : at + len(wanted) + 1] in (b"\0", b".", b""):
            found.append(int(name))
    return found, are_loading


def _is_loading(process: Path) -> bool:
    """True if a process without an environment may still get one: its program is being loaded by `execve`.

    `/proc/PID/stat` (proc(5)) tells: a zombie and a thread of the kernel have no memory, and a program that was given
    an empty environment has one that begins where it ends.
    """
    fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
    size, begin, end = (int(fields[at]) for at in (20, 47, 48))
    return size > 0 and (begin != end or end == 0)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_strays(sys.argv[1])
