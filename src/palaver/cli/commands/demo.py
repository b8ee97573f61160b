"""`palaver demo`: a server with planted defects is tested, and they are found."""

from __future__ import annotations

import shlex
import sys

import click

from palaver.campaign.talk import talk
from palaver.cli.exit_codes import FINDINGS
from palaver.compiled.bundled import bundled
from palaver.reporting.planted_defects import PLANTED, DefectReport

SERVER = "palaver.demo.server"

# The same sessions each time, and more than are needed.
SEED = 1
SESSIONS = 60


@click.command("demo")
def command() -> int:
    """Test a mail server that has planted defects, and find them.

    The server is part of palaver and runs on this machine; the demo takes a few seconds. The exit code is 0 if exactly
    the planted defects were found, and the whole spec was covered.
    """
    server = (sys.executable, "-m", SERVER, "{port}", *(each.name for each in PLANTED))
    click.echo(f"Starting a mail server with {len(PLANTED)} planted defects, and testing it:")
    click.echo(f"palaver plays an SMTP client in {SESSIONS} sessions with it.")
    campaign = talk(bundled()["smtp"], target=shlex.join(server), seed=SEED, sessions=SESSIONS)
    report = DefectReport(campaign)
    try:
        campaign.attach(report).run()
    finally:
        report.close()
    _tell_what_next()
    return 0 if report.is_as_expected else FINDINGS


def _tell_what_next() -> None:
    server = f"{shlex.quote(sys.executable)} -m {SERVER} {{port}}"
    click.echo("\nTry next:")
    click.echo("  palaver specs smtp                            print the spec that was used")
    click.echo("  palaver graph smtp --format svg -o smtp.svg   draw the states of the spec")
    click.echo(f"  palaver talk smtp --client '{{port}}' --target {shlex.quote(server)}")
    click.echo("                                                test the same server without defects")
