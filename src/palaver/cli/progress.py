"""A progress bar for long work, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from palaver.printable import counted

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

# Work that is done sooner than this needs no bar.
_PATIENCE_S = 1.0


class ProgressLine:
    """A line that says how far work has come, on a terminal and nowhere else."""

    _WIDTH = 78

    def __init__(self) -> None:
        self._is_shown = sys.stderr is not None and sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Show this in place of what was there."""
        if self._is_shown:
            sys.stderr.write(f"\r{text[: self._WIDTH]:<{self._WIDTH}}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Leave nothing behind."""
        if self._is_shown:
            sys.stderr.write(f"\r{'':<{self._WIDTH}}\r")
            sys.stderr.flush()


def shrinking_progress(phase: str, runs: int, messages: int, data: int) -> str:
    """The progress of shrinking, in words."""
    return f"{phase}: {counted(runs, 'session')}, {counted(messages, 'message')}, {counted(data, 'byte')} of ours"


class ProgressBar:
    """Counts steps; after a second, if someone is looking, shows them."""

    def __init__(self, total: int | None, wanted: str) -> None:
        self._total = total
        # A bar in the middle of outputs on the same screen would garble both.
        alone = sys.stderr.isatty() and not sys.stdout.isatty()
        self._is_forced = wanted == "on"
        self._shown = self._is_forced or (wanted == "auto" and alone)
        self._began = time.monotonic()
        self._done = 0
        self._bar: tuple[Bar, TaskID] | None = None

    def advance(self) -> None:
        """One more step is done."""
        self._done += 1
        if self._shown and self._bar is None and time.monotonic() - self._began >= _PATIENCE_S:
            self._bar = self._start()
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, completed=self._done)

    def _start(self) -> tuple[Bar, TaskID]:
        from rich.console import Console  # rich takes longer to import than most runs take in all
        from rich.progress import Progress as Bar

        bar = Bar(console=Console(stderr=True, force_terminal=self._is_forced or None), transient=True)
        bar.start()
        return bar, bar.add_task("outputs", total=self._total, completed=self._done)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar[0].stop()
