"""`palaver shrink`: the smallest conversation that shows a recorded finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from palaver.cli.earlier_sessions import tell_what_may_be_missing
from palaver.cli.exit_codes import FINDINGS, WRONG_USE
from palaver.cli.progress import ProgressLine, shrinking_progress
from palaver.cli.signals import cause_of
from palaver.printable import counted
from palaver.recording.run_reader import RecordedFinding, Run, RunError, Shrinking, open_run
from palaver.recording.showing import conversations, shown_lines
from palaver.session.findings import said_lines

if TYPE_CHECKING:
    from palaver.replaying.live_replay import LiveAttempt
    from palaver.replaying.shrinking import ShrinkLimits


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

    The exit code is 1 if the finding came again, 0 if it did not, and 2 if it could not be tried.
    """
    from palaver.campaign.campaign_factory import SetupError
    from palaver.replaying.shrinking import ShrinkLimits

    if needed > tries:
        raise click.UsageError(
            f"a candidate cannot show the finding {counted(needed, 'time')} if it is tried {counted(tries, 'time')}"
        )
    given = {"client": client, "server": server, "target": target}
    place = {name: value for name, value in given.items() if value}
    try:
        with open_run(run) as opened:
            finding = opened.finding(number)
            click.echo(finding.headline)
            return _made_small(opened, finding, ShrinkLimits(runs, seconds, needed, tries), place)
    except (RunError, SetupError) as error:
        raise click.UsageError(str(error)) from error


def _made_small(run: Run, finding: RecordedFinding, limits: ShrinkLimits, place: dict[str, Any]) -> int:
    from palaver.replaying.shrinking import shrink

    progress = ProgressLine()
    missed: list[LiveAttempt] = []
    before = run.shrinking(finding.number)
    tell = lambda *now: progress.show(shrinking_progress(*now))  # noqa: E731
    try:
        result = shrink(run, finding, limits, tell, missed.append, **place)
    except KeyboardInterrupt as interruption:
        progress.clear()
        code, why = cause_of(interruption)
        reached = run.shrinking(finding.number)
        if reached is None or reached == before:
            click.echo(f"{why}; nothing smaller was found until then")
        else:
            _tell_result(run, finding, reached)
        return code
    progress.clear()
    for attempt in missed:
        _tell(attempt)
    if result is not None:
        _tell_result(run, finding, result)
        return FINDINGS
    if not missed or not all(attempt.is_tried for attempt in missed):
        click.echo("not tried, as nobody answered")
        return WRONG_USE
    click.echo("the finding did not come again, so there is nothing to make small")
    if not place:
        tell_what_may_be_missing(run, finding)
    return 0


def _tell_result(run: Run, finding: RecordedFinding, result: Shrinking) -> None:
    click.echo(
        f"{counted(finding.messages, 'message')} became {len(result.messages)} in {counted(result.attempts, 'session')}"
    )
    for line in shown_lines(run, conversations(run, finding=finding.number)[:1], "text"):
        click.echo(line)


def _tell(attempt: LiveAttempt) -> None:
    """Tell what was said, and found, in a session in which the finding did not come."""
    if attempt.finding is not None:
        click.echo(attempt.finding.show())
        return
    for line in said_lines(attempt.messages):
        click.echo(line)
