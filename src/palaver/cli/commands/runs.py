"""`palaver runs`: the runs that were kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from palaver.cli.exit_codes import WRONG_USE
from palaver.printable import counted, printable
from palaver.recording.run_folders import default_place, is_written, remove, runs_in
from palaver.recording.run_reader import Run, RunError

_PLACE = click.option(
    "--in",
    "place",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
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
        folders = _runs_in(context.obj)
        if not folders:
            click.echo(f"there are no runs in {context.obj}", err=True)
        for folder in folders:
            click.echo(printable(_line(folder)))


def _runs_in(place: Path) -> list[Path]:
    try:
        return runs_in(place)
    except RunError as error:
        raise click.UsageError(str(error)) from error


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
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@_PLACE
@click.pass_obj
def prune(
    usual: Path, keep_last: int | None, days: float | None, without_findings: bool, dry_run: bool, place: Path | None
) -> int:
    """Remove the runs to which every given option applies. A run that is still being written is kept.

    A run that cannot be removed, or whose age or findings are asked for and cannot be read, is kept as well, and the
    exit code is 2.
    """
    if keep_last is None and days is None and not without_findings:
        raise click.UsageError("which? give --keep-last N, --older-than DAYS or --without-findings")
    folders = _runs_in(place or usual)
    if keep_last is not None:
        folders = folders[: max(0, len(folders) - keep_last)]
    has_failed = False
    for folder in folders:
        try:
            is_old = days is None or _age(folder) >= timedelta(days=days)
            if is_old and not (without_findings and _has_findings(folder)):
                click.echo(printable(_pruned(folder, dry_run=dry_run)))
        except RunError as error:
            has_failed = True
            click.echo(printable(f"palaver: {error}"), err=True)
    return WRONG_USE if has_failed else 0


def _pruned(folder: Path, *, dry_run: bool) -> str:
    """Remove a run, and return what became of it. :raises RunError: it cannot be removed"""
    if is_written(folder):
        return f"kept {folder}, which is still written"
    if not dry_run:
        remove(folder)
    return f"{'would remove' if dry_run else 'removed'} {folder}"


def _age(folder: Path) -> timedelta:
    try:
        newest = max(file.stat().st_mtime for file in folder.iterdir())
    except OSError as error:
        raise RunError(f"cannot read the run {folder}: {error.strerror}") from error
    return datetime.now(UTC) - datetime.fromtimestamp(newest, UTC)


def _findings(run: Run) -> str:
    findings = run.findings
    known = sum(bool(finding.known) for finding in findings)
    return counted(len(findings), "finding") + (f" ({known} known)" if known else "")


def _has_findings(folder: Path) -> bool:
    with Run(folder) as run:
        return bool(run.findings)
