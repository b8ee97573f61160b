"""The transport over the standard streams of a program that we start.

Its output is a pseudo-terminal if the system has one to give: most programs buffer their output anywhere else.

A target is a program that we talk to by another connection. Its output, errors included, is received, and its end is
told; nothing that it has started outlives it (`strays`). A helper is the same, but what it has started may go on for as
long as palaver does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tty
from selectors import EVENT_READ, EVENT_WRITE
from typing import IO

from palaver.addresses import Address, ProgramSettings
from palaver.transport import transport_limits as limits
from palaver.transport.channel import Channel, ChannelError, EndOfStream, OpenOptions, ReadyChannel, Transport
from palaver.transport.error_output import ErrorOutput
from palaver.transport.strays import MARK, end_strays, new_mark


class ProcessChannel(Channel):
    """A running program. A target has no input, and its end is awaited for as long as it runs."""

    def __init__(
        self, process: subprocess.Popen[bytes], output: IO[bytes], mark: str, options: OpenOptions, *, is_helper: bool
    ) -> None:
        self._process = process
        self.pid = process.pid
        self._mark = mark
        self._grace = options.grace
        self._ends_others = process.stdin is None and not is_helper
        self._is_target = process.stdin is None
        self._stdin: IO[bytes] | None = process.stdin
        self._stdout: IO[bytes] | None = output
        self._errors = None if process.stderr is None else ErrorOutput(process.stderr, options.error_listener)
        self._exit_fd = _exit_fd(process.pid)
        self._silent_since: float | None = None
        # The signals by which it will be ended, one after each period of grace.
        self._signals = [signal.SIGTERM, signal.SIGKILL]
        self._next_signal_at: float | None = None
        self._is_abandoned = False
        for stream in (self._stdin, self._stdout):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        is_waited_for = reading or self._next_signal_at is not None
        watched = [] if self._stdout is None else [self._stdout.fileno()]
        if self._exit_fd is not None:
            watched.append(self._exit_fd)
        interests = dict.fromkeys(watched, EVENT_READ) if is_waited_for else {}
        if self._errors is not None:
            # Read whenever there are some, also while it is left: who cannot write them would stop.
            self._errors.relay()
            interests |= dict.fromkeys(self._errors.interests, EVENT_READ)
        if writing and self._stdin is not None:
            interests[self._stdin.fileno()] = EVENT_WRITE
        return interests

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        # In this order: all that it wrote before it ended is there once we know of the end.
        exit_code = self._process.poll()
        data = self._read(limit)
        if self._errors is not None:
            self._errors.relay()  # what was written before an answer is known before it
        if data:
            return data
        if exit_code is not None:
            return EndOfStream(exit_code=exit_code)
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
            # It reads no more, but may still write.
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
            self.deadline = min(self.deadline, now + limits.EXIT_POLL_SECONDS)
        return False

    def abandon(self) -> None:
        if not self._is_abandoned and (self._ends_others or self._process.poll() is None):
            self._signal(signal.SIGKILL)
            self._process.wait()
        if not self._is_abandoned and self._ends_others:
            end_strays(self._mark)  # also those that lead a group of their own
        self._is_abandoned = True
        if self._errors is not None:
            self._errors.relay()
            self._errors.close()
        _close(self._stdin, self._stdout)
        self._stdin = self._stdout = None
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

    def _await_exit(self, now: float) -> EndOfStream | None:
        if self._is_target:
            self.deadline = now + limits.SILENT_POLL_SECONDS if self._exit_fd is None else None
            return None
        if self._silent_since is None:
            self._silent_since = now
        self.deadline = self._silent_since + limits.EXIT_WAIT_SECONDS
        if now >= self.deadline:
            self.deadline = None
            return EndOfStream()
        if self._exit_fd is None:
            self.deadline = min(self.deadline, now + limits.EXIT_POLL_SECONDS)
        return None

    def _signal(self, number: signal.Signals) -> None:
        # It leads a group of its own, so that what it has started goes with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _exit_fd(pid: int) -> int | None:
    """Return a descriptor that is ready once the program has ended, if the system offers and allows that."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _close(*streams: IO[bytes] | None) -> None:
    for stream in streams:
        if stream is not None:
            stream.close()


class ProgramTransport(Transport):
    """Starts a program that we talk to. Its errors are shown where ours are."""

    def connect(self, address: Address, options: OpenOptions) -> ReadyChannel:
        return _started(address, subprocess.PIPE, subprocess.PIPE, options)


class TargetTransport(Transport):
    """Starts a target. Its errors are a part of its output."""

    def connect(self, address: Address, options: OpenOptions) -> ReadyChannel:
        return _started(address, subprocess.DEVNULL, subprocess.STDOUT, options)


class HelperTransport(Transport):
    """Starts a command that prepares or examines a target."""

    def connect(self, address: Address, options: OpenOptions) -> ReadyChannel:
        return _started(address, subprocess.DEVNULL, subprocess.STDOUT, options, is_helper=True)


PROGRAM = ProgramTransport()
TARGET = TargetTransport()
HELPER = HelperTransport()

# The limits of $1 KiB and $2 seconds, then the command. The signal of the soft limit tells what it was; without a
# higher hard limit it would be SIGKILL.
_LIMITED = 'ulimit -v "$1" && ulimit -S -t "$2" && ulimit -H -t "$3" && shift 3 && exec "$@"'


def _limited(command: tuple[str, ...], settings: ProgramSettings) -> tuple[str, ...]:
    """The command under its limits. A shell sets them: to run Python between fork and exec is not safe with threads."""
    if not settings.memory and not settings.cpu:
        return command
    place = os.path.join(settings.folder, command[0]) if os.sep in command[0] else command[0]
    if shutil.which(place, path=dict(settings.environment).get("PATH")) is None:
        raise ChannelError("not found", f"{command[0]}: No such file or directory")
    memory = str(settings.memory // 1024) if settings.memory else "unlimited"
    cpu = (str(settings.cpu), str(settings.cpu + 1)) if settings.cpu else ("unlimited", "unlimited")
    return ("sh", "-c", _LIMITED, "sh", memory, *cpu, *command)


def _started(
    address: Address, stdin: int, stderr: int, options: OpenOptions, *, is_helper: bool = False
) -> ReadyChannel:
    if not address.command:
        raise ChannelError("not found", "the command is empty")
    settings = address.settings
    command = _limited(address.command, settings)
    output, theirs = _output()
    mark = new_mark()
    try:
        # In a session of its own: a Ctrl-C is meant for us, and our session has to end first.
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=theirs,
            stderr=stderr,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, **dict(settings.environment), MARK: mark},
            cwd=settings.folder or None,
        )
    except OSError as error:
        output.close()
        raise ChannelError.of(error, error.filename or command[0]) from None
    except ValueError as error:
        output.close()
        raise ChannelError("other", f"{address.command[0]}: {error}") from None
    finally:
        os.close(theirs)
    return ReadyChannel(ProcessChannel(process, output, mark, options, is_helper=is_helper))


def _output() -> tuple[IO[bytes], int]:
    """Make both ends of a program's output: ours, and its own."""
    try:
        ours, theirs = os.openpty()
        tty.setraw(theirs)  # what is written is what is read
    except OSError:
        ours, theirs = os.pipe()
    return os.fdopen(ours, "rb", buffering=0), theirs
