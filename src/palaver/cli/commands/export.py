"""`palaver export`: a finding for the tools of others."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from palaver.recording.run_reader import RunError, open_run


@click.command("export")
@click.argument("run")
@click.argument("finding", type=click.IntRange(1))
@click.option("--script", "is_script", is_flag=True, help="A Python script that needs no palaver.")
@click.option("--pcapng", "is_capture", is_flag=True, help="A capture for Wireshark and tshark.")
@click.option("--original", is_flag=True, help="Export what was said in the run, also if it was made small.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Write to FILE instead of standard output.",
)
def command(run: str, finding: int, is_script: bool, is_capture: bool, original: bool, output: Path | None) -> None:
    """Export a FINDING of a RUN: as a script that reproduces it, or as a capture of what was said.

    RUN is a run directory, the name of one in .palaver/runs, or latest. The script holds the recorded conversation once
    more, starts the system under test if the run had --target, and exits with 0 if the finding comes again, 1 if not,
    and 2 if that could not be tried or told.
    """
    from palaver.exporting.conversation import ExportError, conversation_of
    from palaver.exporting.pcapng import capture
    from palaver.exporting.reproducer import script

    if is_script == is_capture:
        which = "--script and --pcapng exclude each other" if is_script else "which? give --script or --pcapng"
        raise click.UsageError(which)
    try:
        with open_run(run) as opened:
            conversation = conversation_of(opened, finding, is_original=original)
            data = script(conversation).encode() if is_script else capture(conversation)
    except (RunError, ExportError) as error:
        raise click.UsageError(str(error)) from error
    if output is None or str(output) == "-":
        if is_capture and sys.stdout.isatty():
            raise click.UsageError("a capture is not for a terminal: give -o FILE")
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
        if is_script:
            output.chmod(output.stat().st_mode | 0o111)
    except OSError as error:
        raise click.UsageError(f"cannot write {output}: {error.strerror}") from error
