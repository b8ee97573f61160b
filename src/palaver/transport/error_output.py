"""The errors of a program that we talk to: they are shown where ours are, with escapes for control characters."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import IO

from palaver.printable import printable
from palaver.transport.transport_limits import MAX_ERROR_LINE, MAX_ERROR_READ


class ErrorOutput:
    """The end of a pipe that a program writes its errors to. Nothing that it writes is obeyed by a terminal.

    `listener` is given all of it.
    """

    def __init__(self, stream: IO[bytes], listener: Callable[[bytes], None] | None = None) -> None:
        os.set_blocking(stream.fileno(), False)
        self._listener = listener
        self._stream: IO[bytes] | None = stream
        self._line = b""  # the last one, which may go on

    @property
    def interests(self) -> list[int]:
        """The descriptor to wait for, until all was read."""
        return [] if self._stream is None else [self._stream.fileno()]

    def relay(self) -> None:
        """Show some of what was written since this was last done; whole lines, as others write there, too."""
        if self._stream is None:
            return
        try:
            data = os.read(self._stream.fileno(), MAX_ERROR_READ)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        if self._listener is not None:
            self._listener(data)
        *lines, self._line = (self._line + data).split(b"\n")
        _show(lines)
        if len(self._line) > MAX_ERROR_LINE:
            self._show_rest()

    def close(self) -> None:
        """Show the rest, and read no more."""
        self._show_rest()
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _show_rest(self) -> None:
        if self._line:
            line, self._line = self._line, b""
            _show([line])


def _show(lines: list[bytes]) -> None:
    for line in lines:
        print(printable(line.decode("utf-8", "backslashreplace").rstrip("\r")), file=sys.stderr, flush=True)
