"""A program that is run once for each output."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from palaver.printable import printable


class OutputProgram:
    """Runs a command with each output, in a file named as its last argument or on its standard input."""

    def __init__(self, command: Sequence[str], *, by_file: bool, extension: str) -> None:
        self._command = list(command)
        self._by_file = by_file
        self._extension = extension
        self._runs = 0
        self._failed = 0
        self._crashes: list[str] = []

    def run(self, data: bytes) -> None:
        """One run; how it ended is kept for the report."""
        if sys.stdout is not None:
            sys.stdout.flush()
        if self._by_file:
            with tempfile.NamedTemporaryFile(prefix="palaver-", suffix=self._extension) as file:
                Path(file.name).write_bytes(data)
                status = subprocess.run([*self._command, file.name], stdin=subprocess.DEVNULL, check=False).returncode
        else:
            status = subprocess.run(self._command, input=data, check=False).returncode
        self._runs += 1
        if status < 0:
            self._crashes.append(f"run {self._runs} was killed by {_signal_name(-status)}; input: {data[:200]!r}")
        self._failed += status > 0

    def report(self) -> bool:
        """Tell how the runs ended; whether any of them crashed."""
        for crash in self._crashes:
            click.echo(printable(f"palaver: {self._command[0]}: {crash}"), err=True)
        if self._failed:
            click.echo(
                f"palaver: {self._command[0]} exited with an error in {self._failed} of {self._runs} runs", err=True
            )
        return bool(self._crashes)


def start_with(command: Sequence[str], *, by_file: bool, extension: str) -> OutputProgram | None:
    """The program that `command` names, or None if it is empty. :raises UsageError: there is no such program"""
    if not command:
        return None
    if shutil.which(command[0]) is None:
        raise click.UsageError(f"there is no program {command[0]!r}")
    return OutputProgram(command, by_file=by_file, extension=extension)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
