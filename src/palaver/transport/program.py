"""A program as a peer: we write what it reads, and read what it writes.

Its output is a terminal if the system has one to give, as most programs answer at once only there: into a pipe they
write when they have much to say, or nothing more.

A target is a program that we do not talk to in this way, but by some other link. What it writes, errors included, is
received, and its end is told; nothing that it has started outlives it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tty
from selectors import EVENT_READ, EVENT_WRITE
from typing import IO

from palaver.session.events import Address
from palaver.transport.pipe import Broken, Ended, Opening, Pipe, Ready, reason_of, trouble_of

# A program that has closed its output ends soon, and its exit code is worth waiting for; some go on in silence.
EXIT_PATIENCE = 1.0
# Where the system cannot tell us that a program has ended, we look this often; only while it is about to end.
LOOK_AGAIN_AFTER = 0.01
# And this often if it is not, and has closed its output.
LOOK_AT_SILENT_AFTER = 0.25
# What is kept of the errors a program writes: the end of it, where a crash is reported.
ERRORS_KEPT = 65536
READS_AT_ONCE = 16


class ProgramPipe(Pipe):
    def __init__(self, process: subprocess.Popen[bytes], output: IO[bytes], *, grace: float) -> None:
        self._process = process
        self._grace = grace
        self._is_target = process.stdin is None
        self._stdin: IO[bytes] | None = process.stdin
        self._stdout: IO[bytes] | None = output
        self._stderr = process.stderr
        self._exit_fd = _exit_fd(process.pid)
        self._silent_since: float | None = None
        # The signals by which it will be ended, one after each period of grace.
        self._signals = [signal.SIGTERM, signal.SIGKILL]
        self._next_signal_at: float | None = None
        self._is_abandoned = False
        self.errors: bytearray = bytearray()
        for stream in (self._stdin, self._stdout, self._stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        is_waited_for = reading or self._next_signal_at is not None
        watched = [stream.fileno() for stream in (self._stdout, self._stderr) if stream is not None]
        if self._exit_fd is not None:
            watched.append(self._exit_fd)
        interests = dict.fromkeys(watched, EVENT_READ) if is_waited_for else {}
        if writing and self._stdin is not None:
            interests[self._stdin.fileno()] = EVENT_WRITE
        return interests

    def receive(self, now: float, limit: int) -> bytes | Ended | None:
        # In this order: what it has written before it ended is there when we look for it after we know of the end.
        exit_code = self._process.poll()
        self._keep_errors()
        data = self._read(limit)
        if data:
            return data
        if exit_code is not None:
            return Ended(exit_code=exit_code)
        if self._stdout is None:
            return self._await_exit(now)
        return None

    def send(self, data: memoryview) -> int | None:
        if self._stdin is None:
            return len(data)
        try:
            return os.write(self._stdin.fileno(), data)
        except BlockingIOError:
            return None
        except OSError:
            # It reads no more, but may still have something to say.
            return len(data)

    def finish(self) -> None:
        _close(self._stdin)
        self._stdin = None

    def leave(self, now: float) -> bool:
        """Close its input if it has one; if it does not end then, ask it to; if it still does not, end it."""
        self.finish()
        if self._process.poll() is not None:
            self.abandon()
            return True
        if self._next_signal_at is None:
            self._next_signal_at = now if self._is_target else now + self._grace
        if now >= self._next_signal_at:
            if not self._signals:
                self.abandon()
                return True
            self._signal(self._signals.pop(0))
            self._next_signal_at = now + self._grace
        self.deadline = self._next_signal_at
        if self._exit_fd is None:
            self.deadline = min(self.deadline, now + LOOK_AGAIN_AFTER)
        return False

    def abandon(self) -> None:
        if not self._is_abandoned and (self._is_target or self._process.poll() is None):
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._is_abandoned = True
        self._keep_errors()
        _close(self._stdin, self._stdout, self._stderr)
        self._stdin = self._stdout = self._stderr = None
        if self._exit_fd is not None:
            os.close(self._exit_fd)
            self._exit_fd = None

    def _read(self, limit: int) -> bytes | None:
        if self._stdout is None:
            return None
        try:
            data = os.read(self._stdout.fileno(), limit)
        except BlockingIOError:
            return None
        except OSError:  # a terminal ends so when nobody writes to it any more
            data = b""
        if not data:
            _close(self._stdout)
            self._stdout = None
        return data

    def _keep_errors(self) -> None:
        # A pipe holds less than that; more comes only from somebody who writes faster than we read.
        for _ in range(READS_AT_ONCE):
            if self._stderr is None:
                return
            try:
                data = os.read(self._stderr.fileno(), ERRORS_KEPT)
            except BlockingIOError:
                return
            if not data:
                _close(self._stderr)
                self._stderr = None
            self.errors += data
            del self.errors[:-ERRORS_KEPT]

    def _await_exit(self, now: float) -> Ended | None:
        if self._is_target:
            self.deadline = now + LOOK_AT_SILENT_AFTER if self._exit_fd is None else None
            return None
        if self._silent_since is None:
            self._silent_since = now
        self.deadline = self._silent_since + EXIT_PATIENCE
        if now >= self.deadline:
            self.deadline = None
            return Ended()
        if self._exit_fd is None:
            self.deadline = min(self.deadline, now + LOOK_AGAIN_AFTER)
        return None

    def _signal(self, number: signal.Signals) -> None:
        # It leads a group of its own, so that what it has started goes with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _exit_fd(pid: int) -> int | None:
    """What is ready to be read when the program has ended, if the system offers and allows it."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _close(*streams: IO[bytes] | None) -> None:
    for stream in streams:
        if stream is not None:
            stream.close()


def starting(address: Address, *, grace: float, keep_errors: bool) -> Opening:
    """Start a program. Its errors go where ours go, unless they are to be kept.

    :raises Broken: there is no such program, or it cannot be run
    """
    return _started(address, subprocess.PIPE, subprocess.PIPE if keep_errors else None, grace)


def watching(address: Address, *, grace: float) -> Opening:
    """Start a target. Its errors are a part of its output.

    :raises Broken: there is no such program, or it cannot be run
    """
    return _started(address, subprocess.DEVNULL, subprocess.STDOUT, grace)


def _started(address: Address, stdin: int, stderr: int | None, grace: float) -> Opening:
    if not address.command:
        raise Broken("not found", "no program was named")
    output, theirs = _output()
    try:
        # Killed by us and not by a Ctrl-C that was meant for us: the session has to end first.
        process = subprocess.Popen(
            address.command,
            stdin=stdin,
            stdout=theirs,
            stderr=stderr,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        output.close()
        trouble = trouble_of(error) if isinstance(error, OSError) else "other"
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise Broken(trouble, f"{address.command[0]}: {reason}") from None
    finally:
        os.close(theirs)
    return Ready(ProgramPipe(process, output, grace=grace))


def _output() -> tuple[IO[bytes], int]:
    """Two ends of what a program writes to: ours, and its own."""
    try:
        ours, theirs = os.openpty()
        tty.setraw(theirs)  # what is written is what is read
    except OSError:
        ours, theirs = os.pipe()
    return os.fdopen(ours, "rb", buffering=0), theirs
