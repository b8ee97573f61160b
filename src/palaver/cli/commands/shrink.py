"""`palaver shrink`: the smallest conversation that shows a recorded finding."""

from __future__ import annotations

import sys

import click

from palaver.cli.exit_codes import FINDINGS
from palaver.cli.signals import cause_of
from palaver.recording.run_reader import RunError, open_run
from palaver.recording.showing import conversations, shown_lines


@click.command("shrink")
@click.argument("run")
@click.argument("number", metavar="FINDING", type=click.IntRange(1))
@click.option(
    "--runs", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="Stop after N sessions."
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop after SECONDS.",
)
@click.option(
    "-n",
    "--tries",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Try each one N times.",
)
@click.option(
    "-k",
    "--needed",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="K",
    help="Take a candidate that shows the finding K times: for findings that do not always come.",
)
@click.option("--client", multiple=True, metavar="[NAME=]URI", help="Connect to URI, and not where the run did.")
@click.option("--server", multiple=True, metavar="[NAME=]URI", help="Listen at URI, and not where the run did.")
@click.option("--target", metavar="COMMAND", help="Start this system under test, and not that of the run.")
def command(
    run: str,
    number: int,
    runs: int,
    seconds: float,
    tries: int,
    needed: int,
    client: tuple[str, ...],
    server: tuple[str, ...],
    target: str | None,
) -> int:
    """Make a FINDING of a RUN small: fewer messages, then simpler ones, then shorter and plainer values.

    Everything that is tried follows the grammar and the constraints, and is tried live; a server under test is started
    anew for each. The result is kept in the run, beside what was recorded, and palaver show and palaver replay use it.

    The exit code is 1 if the finding came again, and 0 if it did not.
    """
    from palaver.campaign.talk import SetupError
    from palaver.replaying.shrinking import ShrinkLimits, shrink

    if needed > tries:
        raise click.UsageError(f"a candidate cannot show the finding {needed} times if it is tried {tries} times")
    given = {"client": client, "server": server, "target": target}
    place = {name: value for name, value in given.items() if value}
    try:
        with open_run(run) as opened:
            finding = opened.finding(number)
            click.echo(finding.headline)
            result = shrink(opened, finding, ShrinkLimits(runs, seconds, needed, tries), _show_progress, **place)
            _end_progress()
            if result is None:
                click.echo("the finding did not come again, so there is nothing to make small")
                return 0
            click.echo(f"{finding.messages} messages became {len(result.messages)} in {result.attempts} sessions")
            for line in shown_lines(opened, conversations(opened, finding=number)[:1], "text"):
                click.echo(line)
    except (RunError, SetupError) as error:
        raise click.UsageError(str(error)) from error
    except KeyboardInterrupt as interruption:
        return cause_of(interruption)[0]
    return FINDINGS


def _show_progress(phase: str, runs: int, messages: int, data: int) -> None:
    if sys.stderr.isatty():
        text = f"{phase}: {runs} sessions, {messages} messages, {data} bytes of ours"
        click.echo(f"\r{text[:78]:<78}", nl=False, err=True)


def _end_progress() -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{'':<78}\r", nl=False, err=True)
