"""`palaver runs`: the runs that were kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from palaver.printable import counted, printable
from palaver.recording.run_folders import default_place, remove, runs_in
from palaver.recording.run_reader import Run, RunError

_PLACE = click.option(
    "--in",
    "place",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Look in DIR; unless given, in PALAVER_RUNS, or else in .palaver/runs.",
)


@click.group("runs", invoke_without_command=True)
@_PLACE
@click.pass_context
def command(context: click.Context, place: Path | None) -> None:
    """List the runs that palaver talk has kept, the oldest first; `palaver runs prune` removes some."""
    context.obj = place or default_place() or Path(".palaver", "runs")
    if context.invoked_subcommand is None:
        folders = runs_in(context.obj)
        if not folders:
            click.echo(f"there are no runs in {context.obj}", err=True)
        for folder in folders:
            click.echo(printable(_line(folder)))


def _line(folder: Path) -> str:
    """A run in one line."""
    try:
        with Run(folder) as run:
            sessions = run.sessions
            messages = sum(each.sent + each.received for each in sessions)
            return (
                f"{folder.name}: {counted(len(sessions), 'session')}, {counted(messages, 'message')}, "
                f"{_findings(run)}, {_size(folder)}; {run.ending}"
            )
    except RunError as error:
        return f"{folder.name}: {error}"


def _size(folder: Path) -> str:
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    return f"{size / 1024:.0f} KiB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MiB"


@command.command("prune")
@click.option("--keep-last", type=click.IntRange(0), metavar="N", help="Keep the N newest runs.")
@click.option(
    "--older-than", "days", type=click.FloatRange(0), metavar="DAYS", help="Remove only runs that are older than DAYS."
)
@click.option("--without-findings", is_flag=True, help="Remove only runs that have no findings.")
@click.option("--dry-run", is_flag=True, help="Tell what would be removed, and remove nothing.")
@_PLACE
@click.pass_obj
def prune(
    usual: Path, keep_last: int | None, days: float | None, without_findings: bool, dry_run: bool, place: Path | None
) -> None:
    """Remove runs: those to which every given option applies. A run that is still written stays."""
    if keep_last is None and days is None and not without_findings:
        raise click.UsageError("tell which: --keep-last N, --older-than DAYS or --without-findings")
    folders = runs_in(place or usual)
    if keep_last is not None:
        folders = folders[: max(0, len(folders) - keep_last)]
    for folder in folders:
        if (days is not None and _age(folder) < timedelta(days=days)) or (without_findings and _has_findings(folder)):
            continue
        try:
            if not dry_run:
                remove(folder)
        except RunError as error:
            click.echo(printable(f"palaver: {error}"), err=True)
        else:
            click.echo(printable(f"{'would remove' if dry_run else 'removed'} {folder}"))


def _age(folder: Path) -> timedelta:
    newest = max(file.stat().st_mtime for file in folder.iterdir())
    return datetime.now(UTC) - datetime.fromtimestamp(newest, UTC)


def _findings(run: Run) -> str:
    findings = run.findings
    known = sum(bool(finding.known) for finding in findings)
    return counted(len(findings), "finding") + (f" ({known} known)" if known else "")


def _has_findings(folder: Path) -> bool:
    try:
        with Run(folder) as run:
            return bool(run.findings)
    except RunError:
        return False
