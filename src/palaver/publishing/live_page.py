"""A page that is replaced every few seconds while a run goes on, so that a browser can follow it without a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from palaver.campaign.events import Event, SessionEnded, StillWaiting
from palaver.publishing.page import page
from palaver.publishing.publishing_limits import REPLACE_EVERY_S, SHARE_OF_REPLACING
from palaver.publishing.run_report import RunReport, open_run
from palaver.publishing.whole_files import ReportError, write_whole


class LivePage:
    """A reader of events that writes the page of the run in a folder; the last one is not its own."""

    def __init__(
        self,
        folder: Path,
        file: Path,
        now: Callable[[], float] = time.perf_counter,
        spent: Callable[[], float] = time.process_time,
    ) -> None:
        self._folder = folder
        self._file = file
        self._now = now
        self._spent = spent  # seconds of the processor: on a busy machine, a page takes longer than it costs
        self._next = now() + REPLACE_EVERY_S

    def __call__(self, event: Event) -> None:
        if isinstance(event, SessionEnded | StillWaiting) and self._now() >= self._next:
            before = self._spent()
            with suppress(ReportError), open_run(self._folder) as run:  # the last one tells what is wrong
                write_whole(self._file, page(RunReport(run), is_live=True))
            cost = self._spent() - before
            self._next = self._now() + max(REPLACE_EVERY_S, cost / SHARE_OF_REPLACING)
