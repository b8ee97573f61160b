"""`palaver known`: the file of findings that are counted and no longer reported."""

from __future__ import annotations

from pathlib import Path

import click

from palaver.known_findings import KnownFindingsError, add, read
from palaver.printable import printable
from palaver.recording.run_reader import RunError, open_run

_DEFAULT = Path("known.toml")

_FILE = click.option(
    "--known",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file of known findings.  [default: known.toml]",
)


@click.group("known", invoke_without_command=True)
@_FILE
@click.pass_context
def command(context: click.Context, file: Path | None) -> None:
    """List the findings that are known; `palaver known add` adds one. palaver talk --known FILE reports only others."""
    context.obj = file = file or _DEFAULT
    if context.invoked_subcommand is None:
        try:
            entries = read(file).entries
        except KnownFindingsError as error:
            raise click.UsageError(str(error)) from error
        for entry in entries:
            wanted = dict(entry.wanted)
            about = [str(wanted[name]) for name in ("kind", "request", "constraint", "cause") if wanted.get(name)]
            click.echo(printable(f"{'; '.join(about)}: {entry.reason}"))


@command.command("add", short_help="Add a finding of a run to the file.")
@click.argument("run")
@click.argument("finding", type=click.IntRange(1))
@click.option("--reason", required=True, metavar="TEXT", help="The reason why it is known, such as a ticket.")
@_FILE
@click.pass_obj
def add_one(before: Path, file: Path | None, run: str, finding: int, reason: str) -> None:
    """Add a FINDING of a RUN to the file of known findings, which is made if there is none.

    The entry is appended, with the finding in one line as a comment; nothing else in the file is changed. If the file
    has the finding already, nothing is added.
    """
    file = file or before
    if not reason.strip():
        raise click.UsageError("the reason is empty")
    try:
        with open_run(run) as opened:
            found = opened.finding(finding)
            known = add(file, found.fingerprint, reason, f"{found.headline}, of the run {opened.folder.name}")
    except (RunError, KnownFindingsError) as error:
        raise click.UsageError(str(error)) from error
    done = f"{file} has this finding already, for the reason {known!r}" if known else f"added to {file}"
    click.echo(printable(f"{done}: {found.headline}"))
