"""A program that is run once for each output."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from palaver.printable import counted, printable


class OutputProgram:
    """Runs a command with each output, in a file named as its last argument or on its standard input.

    A run may take some seconds, and none goes on after `ends_at` (`time.monotonic`). Whatever a run has started is
    ended.
    """

    def __init__(
        self, command: Sequence[str], *, by_file: bool, extension: str, seconds: float, ends_at: float | None = None
    ) -> None:
        self._command = list(command)
        self._by_file = by_file
        self._extension = extension
        self._seconds = seconds
        self._ends_at = ends_at
        self._runs = 0
        self._failed = 0
        self._findings: list[str] = []

    def run(self, data: bytes) -> None:
        """One run; how it ended is kept for the report."""
        if sys.stdout is not None:
            sys.stdout.flush()
        if self._by_file:
            with tempfile.NamedTemporaryFile(prefix="palaver-", suffix=self._extension) as file:
                Path(file.name).write_bytes(data)
                status = self._status([*self._command, file.name], None)
        else:
            status = self._status(self._command, data)
        self._runs += 1
        if status is None:
            if self._ends_at is None or time.monotonic() < self._ends_at:
                self._note(f"did not end within {self._seconds:g} s (--command-timeout)", data)
        elif status < 0:
            self._note(f"was killed by {_signal_name(-status)}", data)
        else:
            self._failed += status > 0

    def _status(self, command: list[str], data: bytes | None) -> int | None:
        """The end of a run; None if it was ended because its time was over."""
        seconds = self._seconds
        if self._ends_at is not None:
            seconds = min(seconds, max(0.0, self._ends_at - time.monotonic()))
        # It leads a group of its own, so that what it has started goes with it.
        stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
        process = subprocess.Popen(command, stdin=stdin, start_new_session=True)
        try:
            process.communicate(data, timeout=seconds)
            return process.returncode
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
            process.wait()

    def _note(self, how: str, data: bytes) -> None:
        self._findings.append(f"run {self._runs} {how}; input: {data[:200]!r}")

    def report(self) -> bool:
        """Tell how the runs ended; whether any of them crashed or hung."""
        for finding in self._findings:
            click.echo(printable(f"palaver: {self._command[0]}: {finding}"), err=True)
        if self._failed:
            click.echo(
                f"palaver: {self._command[0]} exited with an error in {self._failed} of {counted(self._runs, 'run')}",
                err=True,
            )
        return bool(self._findings)


def start_with(
    command: Sequence[str], *, by_file: bool, extension: str, seconds: float, ends_at: float | None
) -> OutputProgram | None:
    """The program that `command` names, or None if it is empty. :raises UsageError: there is no such program"""
    if not command:
        return None
    if shutil.which(command[0]) is None:
        raise click.UsageError(f"there is no program {command[0]!r}")
    return OutputProgram(command, by_file=by_file, extension=extension, seconds=seconds, ends_at=ends_at)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
