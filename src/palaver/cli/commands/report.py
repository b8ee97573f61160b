"""`palaver report`: runs that were kept, as a page, and for programs."""

from __future__ import annotations

from typing import Any

import click

from palaver.cli.report_options import make_reports, report_options, wanted_reports
from palaver.recording.run_reader import RunError, open_run

_PAGE = "report.html"


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help=f"Write the page to FILE; unless given, to {_PAGE} if no other report is asked for.",
)
@report_options
def command(runs: tuple[str, ...], output: str | None, **options: Any) -> None:
    """Make a page of HTML of a RUN: its findings, its coverage, and what is known of the peer.

    RUN is a run directory, the name of one in .palaver/runs, or latest. If there are several, the page is about the
    last one, and compares it with those before it.
    """
    wanted = wanted_reports(options)
    page = output if output is not None or wanted else _PAGE
    try:
        opened = [open_run(run) for run in runs]
        make_reports(opened[-1], opened[:-1], page, wanted)
    except RunError as error:
        raise click.UsageError(str(error)) from error
    if page is not None:
        click.echo(f"report written to {page}", err=True)
