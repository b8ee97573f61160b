"""`palaver report`: runs that were kept, as a page."""

from __future__ import annotations

from pathlib import Path

import click

from palaver.recording.run_reader import RunError, open_run


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "-o", "--output", metavar="FILE", default="report.html", show_default=True, help="Write the page to FILE."
)
def command(runs: tuple[str, ...], output: str) -> None:
    """Make a page of HTML of a RUN: its findings, its coverage, and what is known of the peer.

    RUN is a run directory, the name of one in .palaver/runs, or latest. If there are several, the page is about the
    last one, and compares it with those before it.
    """
    from palaver.publishing.page import page
    from palaver.publishing.run_report import RunReport
    from palaver.publishing.whole_files import ReportError, write_whole

    try:
        opened = [open_run(run) for run in runs]
        html = page(RunReport(opened[-1], opened[:-1]))
        write_whole(Path(output), html)
    except (RunError, ReportError) as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"report written to {output}", err=True)
