"""`palaver replay`: a recorded finding, tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from palaver.cli.earlier_sessions import tell_what_may_be_missing
from palaver.cli.exit_codes import FINDINGS, WRONG_USE
from palaver.cli.progress import ProgressLine
from palaver.cli.signals import cause_of
from palaver.printable import counted, printable
from palaver.recording.run_reader import RecordedFinding, Run, RunError, open_run
from palaver.session.findings import said_lines

if TYPE_CHECKING:
    from palaver.compiled import Spec
    from palaver.replaying.live_replay import LiveAttempt, LiveTarget, Script


@click.command("replay")
@click.argument("run")
@click.argument("number", metavar="FINDING", type=click.IntRange(1))
@click.option("--offline", is_flag=True, help="Contact nobody: check the recorded answers again.")
@click.option("-n", "--times", type=click.IntRange(1), default=1, show_default=True, help="Try N times.", metavar="N")
@click.option(
    "-f", "--spec", "files", multiple=True, metavar="SPEC", help="Use this spec, and not the copy in the run."
)
@click.option("--client", multiple=True, metavar="[NAME=]URI", help="Connect to URI, and not where the run did.")
@click.option("--server", multiple=True, metavar="[NAME=]URI", help="Listen at URI, and not where the run did.")
@click.option("--target", metavar="COMMAND", help="Start this system under test, and not that of the run.")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop after SECONDS, also if no client comes.",
)
@click.option("--original", is_flag=True, help="Replay what was recorded, also if the finding was made small.")
@click.option("-v", "--verbose", is_flag=True, help="Show what was said.")
def command(
    run: str,
    number: int,
    offline: bool,
    times: int,
    files: tuple[str, ...],
    client: tuple[str, ...],
    server: tuple[str, ...],
    target: str | None,
    seconds: float,
    original: bool,
    verbose: bool,
) -> int:
    """Try a FINDING of a RUN again: send the same messages to the target, and see if it does the same.

    What depends on the answers, such as tokens and lengths, is made anew. With --offline, the recorded answers are read
    once more, which must give the same; with -f as well, that tells if it would still be a finding by another spec.

    The exit code is 1 if it is still a finding, 0 if it is not, and 2 if it could not be tried.
    """
    from palaver.compiled import load
    from palaver.compiled.bundled import spec_files

    try:
        with open_run(run) as opened:
            finding = opened.finding(number)
            spec = load(*spec_files(files), parameters=opened.parameters) if files else None
            click.echo(finding.headline)
            if offline:
                return _offline(opened, finding, spec)
            given = {"client": client, "server": server, "target": target, "seconds": seconds}
            place = {name: value for name, value in given.items() if value}
            script = _script(opened, finding, original)
            code = _live(_target(opened, finding, spec, place), script, times, seconds, verbose)
            if code == 0 and not place.keys() & {"client", "server", "target"}:
                tell_what_may_be_missing(opened, finding)
            return code
    except RunError as error:
        raise click.UsageError(str(error)) from error


def _offline(run: Run, finding: RecordedFinding, spec: Spec | None) -> int:
    from palaver.replaying.offline_replay import replay_offline

    result = replay_offline(run, finding, spec)
    if result.is_found:
        click.echo(f"replayed offline: the same finding, and the same {counted(result.actions, 'action')} before it")
        return FINDINGS
    click.echo(printable(f"replayed offline: not the same; {result.parting or 'the session has another end'}"))
    if result.finding is not None:
        click.echo(printable(f"now: {result.finding.headline}"))
        return FINDINGS
    click.echo("now: no finding")
    return 0


def _script(run: Run, finding: RecordedFinding, original: bool) -> Script:
    """The messages to be sent: of the finding as it was made small, or as it was recorded."""
    from palaver.replaying.live_replay import recorded_script, script_from

    small = None if original else run.shrinking(finding.number)
    return recorded_script(run, finding) if small is None else script_from(small.messages)


def _target(run: Run, finding: RecordedFinding, spec: Spec | None, place: dict[str, Any]) -> LiveTarget:
    from palaver.campaign.campaign_factory import SetupError
    from palaver.replaying.live_replay import LiveTarget

    try:
        return LiveTarget(run, finding, spec, **place)
    except SetupError as error:
        raise click.UsageError(str(error)) from error


def _live(target: LiveTarget, script: Script, times: int, seconds: float, verbose: bool) -> int:
    from palaver.replaying.live_replay import replay_live

    line = ProgressLine()
    seen: list[bool] = []

    def tell(attempt: LiveAttempt) -> None:
        line.clear()
        _tell(attempt, verbose)
        seen.append(attempt.is_reproduced)
        line.show(f"reproduced {sum(seen)} of {len(seen)}, {times - len(seen)} to go")

    try:
        attempts = replay_live(target, script, times, tell)
    except KeyboardInterrupt as interruption:
        line.clear()
        click.echo(f"reproduced {sum(seen)} of {len(seen)}; interrupted")
        return cause_of(interruption)[0]
    line.clear()
    count = sum(attempt.is_reproduced for attempt in attempts)
    click.echo(f"reproduced {count} of {len(attempts)}")
    untried = sum(not attempt.is_tried for attempt in attempts)
    if untried:
        click.echo(f"not tried: {untried} of {len(attempts)}, as nobody answered")
    missing = times - len(attempts)
    if missing:
        click.echo(f"not tried: {missing} of {times}, as {seconds:g} s were over (--time)")
    return FINDINGS if count else WRONG_USE if untried or missing else 0


def _tell(attempt: LiveAttempt, verbose: bool) -> None:
    """Tell what came of an attempt that went otherwise; with `verbose`, of each, and what was said in it."""
    if attempt.finding is not None and (verbose or not attempt.is_reproduced):
        click.echo(attempt.finding.show())
        return
    for line in said_lines(attempt.messages) if verbose else ():
        click.echo(line)
    if attempt.stuck_at is not None:
        after = counted(len(attempt.messages), "message")
        click.echo(printable(f"not the same: {attempt.stuck_at.symbol} could not be sent after {after}"))
    elif not attempt.is_reproduced:
        click.echo("not the same: no finding")
