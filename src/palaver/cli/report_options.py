"""Options for reports of a run, and the reports that they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from palaver.recording.run_reader import Run

_HELP = {
    "junit": "Write the results to FILE, as JUnit XML.",
    "sarif": "Write the findings to FILE, as SARIF 2.1.0, with their places in the spec.",
    "json": "Write everything that happened to FILE, as lines of JSON.",
    "markdown": "Write a summary to FILE, as Markdown.",
    "github": "Write the findings to FILE, as annotations for GitHub; - is standard output, here as above.",
}
REPORT_NAMES = tuple(_HELP)


def report_options(command: Any) -> Any:
    """Add the options for reports that programs read."""
    for name, text in reversed(_HELP.items()):
        command = click.option(f"--{name}", f"{name}_file", metavar="FILE", help=text)(command)
    return command


def wanted_reports(options: dict[str, Any]) -> dict[str, str]:
    """The files of reports that were asked for, by their formats."""
    return {name: options[f"{name}_file"] for name in _HELP if options[f"{name}_file"] is not None}


def check_places(html: str | None, wanted: dict[str, str]) -> None:
    """Check that reports can be written where they are wanted. :raises UsageError: a file cannot be written"""
    from palaver.publishing.whole_files import ReportError, check_place

    try:
        for name in (*([html] if html is not None else []), *wanted.values()):
            if name != "-":
                check_place(Path(name))
    except ReportError as error:
        raise click.UsageError(str(error)) from error


def make_reports(run: Run, earlier: Sequence[Run], html: str | None, wanted: dict[str, str]) -> None:
    """Write the page, if it is wanted, and other reports. :raises UsageError: a file cannot be written"""
    from palaver.publishing.run_report import RunReport
    from palaver.publishing.whole_files import ReportError, write_whole

    report = RunReport(run, earlier)
    try:
        if html is not None:
            from palaver.publishing.page import page

            write_whole(Path(html), page(report))
        if wanted:
            from palaver.publishing.machine_reports import write_reports

            write_reports(report, wanted, lambda text: click.echo(text, nl=False))
    except ReportError as error:
        raise click.UsageError(str(error)) from error
