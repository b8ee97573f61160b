"""The run directory of `palaver talk`, and the reports that are made of it when all is over."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import click

from palaver.cli.report_options import make_reports, wanted_reports
from palaver.printable import printable

if TYPE_CHECKING:
    from palaver.campaign.run import Campaign
    from palaver.recording.run_writer import RunWriter


class TalkReports:
    """Writes reports of the run when all is over, also if it was interrupted."""

    def __init__(self, options: dict[str, Any], writer: RunWriter | None) -> None:
        self._page, self._wanted = options["report_file"], wanted_reports(options)
        self._writer = writer
        self._is_kept = is_kept(options)

    def follow(self, campaign: Campaign) -> None:
        """Let the page be replaced while the campaign goes on."""
        if self._page is not None and self._writer is not None:
            from palaver.publishing.live_page import LivePage

            campaign.attach(LivePage(self._writer.folder, Path(self._page)))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        from palaver.recording.run_reader import RunError, open_run

        if self._writer is None:
            return
        folder = self._writer.folder
        try:
            if self._page is not None or self._wanted:
                with open_run(folder) as run:
                    make_reports(run, (), self._page, self._wanted)
        except RunError as error:  # no session began, so there is nothing to tell
            click.echo(printable(f"palaver: no report: {error}"), err=True)
        finally:
            if not self._is_kept:
                shutil.rmtree(folder, ignore_errors=True)


def is_kept(options: dict[str, Any]) -> bool:
    """True if the run is kept; otherwise it is there only for its reports."""
    from palaver.recording.run_folders import default_place

    return not options["no_run"] and (options["run"] is not None or options["resume"] or default_place() is not None)


def recorded_run(campaign: Campaign, options: dict[str, Any], arguments: dict[str, Any]) -> RunWriter | None:
    """The writer of the run directory; None if none is wanted. :raises RunError: it cannot be written"""
    from palaver.recording.run_folders import default_place, new_folder
    from palaver.recording.run_writer import record

    if is_kept(options):
        folder = options["run"] or new_folder(default_place() or Path(), options["files"][-1])
    elif options["report_file"] is not None or wanted_reports(options):
        folder = Path(mkdtemp(prefix="palaver-"))
    else:
        return None
    size = options["run_size"] << 20
    return record(campaign, folder, arguments, command=sys.argv, keep=options["keep"], max_bytes=size)
