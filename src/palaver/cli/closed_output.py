"""Standard output, or standard error, whose reader has seen enough, as with `| head` and `2>&1 | head`."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO


class ReportOutput:
    """A standard stream for reports: when its reader has gone, what follows is dropped, and the work goes on.

    So the exit code is the same with `| head`. Who writes data, by `buffer`, is told that nobody reads it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            drop_output(self._stream)
            return len(text)

    def flush(self) -> None:
        """Write what is left, or drop it."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            drop_output(self._stream)


def drop_output(stream: TextIO | None = None) -> None:
    """Write nothing more, not even when Python shuts down: it would fail again, and exit with another code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, (stream or sys.stdout).fileno())
    os.close(nowhere)
