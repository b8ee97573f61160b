"""`palaver demo`: a server with planted defects is tested, and they are found."""

from __future__ import annotations

import shlex
import sys

import click

from palaver.campaign.talk import talk
from palaver.cli.main import FINDINGS
from palaver.compiled.bundled import bundled
from palaver.reporting.planted_defects import PLANTED, DefectReport

SERVER = "palaver.demo.server"

# The same sessions each time, and more than are needed.
SEED = 1
SESSIONS = 60


@click.command("demo")
def command() -> int:
    """Test a server that has defects, and find them.

    The server is small, part of palaver, and speaks SMTP. All of it happens on this machine, in a few seconds. The exit
    code is 0 if all that was planted was found, and nothing else, and all of the spec was covered.
    """
    server = (sys.executable, "-m", SERVER, "{port}", *(each.name for each in PLANTED))
    click.echo(f"Starting a mail server with {len(PLANTED)} planted defects, and testing it:")
    click.echo(f"a client that follows the spec of SMTP talks to it in {SESSIONS} sessions.")
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
    click.echo("  palaver specs smtp                            the spec that all of this came from")
    click.echo("  palaver graph smtp --format svg -o smtp.svg   the states that are in it, as a picture")
    click.echo(f"  palaver talk smtp --client '{{port}}' --target {shlex.quote(server)}")
    click.echo("                                                the same server without defects")
