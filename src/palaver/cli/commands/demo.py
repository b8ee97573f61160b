"""`palaver demo`: a server with planted defects is tested, and they are found."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import click

from palaver.campaign.campaign_factory import talk
from palaver.cli.exit_codes import FINDINGS
from palaver.cli.report_options import make_reports
from palaver.compiled.bundled import bundled
from palaver.printable import printable
from palaver.recording.run_folders import default_place, new_folder
from palaver.recording.run_reader import Run, open_run
from palaver.recording.run_writer import record
from palaver.recording.showing import conversations, shown_lines
from palaver.replaying.shrinking import ShrinkLimits, shrink
from palaver.reporting.planted_defects import PLANTED, DefectReport

SERVER = "palaver.demo.server"

# The same sessions each time, and more than are needed: with 30 seeds, all was found after 6 to 69 sessions.
SEED = 1
SESSIONS = 100
# The demo is short: a conversation that is not the shortest by then is short enough.
SHRINKING = ShrinkLimits(runs=300, seconds=8.0)


@click.command("demo")
def command() -> int:
    """Test a mail server that has planted defects, and find them.

    The server is part of palaver and runs on this machine; the demo takes a few seconds. The exit code is 0 if exactly
    the planted defects were found, and the whole spec was covered.
    """
    server = (sys.executable, "-m", SERVER, "{port}", *(each.name for each in PLANTED))
    click.echo(f"Starting a mail server with {len(PLANTED)} planted defects, and testing it:")
    click.echo(f"palaver plays an SMTP client in {SESSIONS} sessions with it.")
    options: dict[str, Any] = {"target": shlex.join(server), "seed": SEED, "sessions": SESSIONS}
    campaign = talk(bundled()["smtp"], **options)
    place = default_place()
    folder = Path(mkdtemp(prefix="palaver-demo-")) if place is None else new_folder(place, "demo")
    record(campaign, folder, options, command=["palaver", "demo"])
    report = DefectReport(campaign)
    try:
        campaign.attach(report).run()
    finally:
        report.close()
    found = [report.found[planted].number for planted in PLANTED if planted in report.found]
    with open_run(folder) as run:
        _show_smallest(run, found[-1:])
        page = folder / "report.html"
        make_reports(run, (), str(page), {})
        click.echo(printable(f"\nThe report of all this: {page}"))
        for number in found[-1:]:
            click.echo(printable(f"This finding once more: palaver replay {shlex.quote(str(folder))} {number}"))
    _tell_what_next()
    return 0 if report.is_as_expected else FINDINGS


def _show_smallest(run: Run, numbers: list[int]) -> None:
    """Make findings small, and show what is left. The server keeps nothing between sessions, so it runs on."""
    for number in numbers:
        if shrink(run, run.finding(number), SHRINKING, restart="crash") is not None:
            click.echo(f"\nThe shortest conversation that shows finding {number}:")
            for line in shown_lines(run, conversations(run, finding=number)[:1], "text"):
                click.echo(f"  {line}")


def _tell_what_next() -> None:
    server = f"{shlex.quote(sys.executable)} -m {SERVER} {{port}}"
    click.echo("\nTry next:")
    click.echo("  palaver specs smtp                            print the spec that was used")
    click.echo("  palaver graph smtp --format svg -o smtp.svg   draw the states of the spec")
    click.echo(f"  palaver talk smtp --client '{{port}}' --target {shlex.quote(server)}")
    click.echo("                                                test the same server without defects")
