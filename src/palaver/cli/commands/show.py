"""`palaver show`: a run that was kept, and the conversations in it."""

from __future__ import annotations

import re

import click

from palaver.cli.output import write_text
from palaver.recording.run_reader import RunError, open_run
from palaver.recording.showing import FORMS, conversations, shown_lines, summary_lines


@click.command("show")
@click.argument("run")
@click.argument("item", required=False, metavar="[FINDING|SESSION]")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    default="text",
    show_default=True,
    help="As text, JSON lines, a hexdump with the fields of messages, or a Mermaid sequence diagram.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
def command(run: str, item: str | None, form: str, output: str | None) -> None:
    """Show a RUN: what it was, how it ended, and its findings; or all that was said in a FINDING or SESSION of it.

    RUN is a run directory, the name of one in .palaver/runs, or latest. A finding is named by its number, such as 2,
    a session by s and its number, such as s14. A finding that was made small is shown so first;
    with --format mermaid, only so.
    """
    try:
        with open_run(run) as opened:
            if item is None:
                parts = [part for each in opened.findings for part in conversations(opened, finding=each.number)]
                lines = summary_lines(opened) if form == "text" else shown_lines(opened, parts, form)
            else:
                finding, session = _numbers(item)
                parts = conversations(opened, finding=finding, session=session)
                if form == "mermaid":  # a file of Mermaid is one diagram
                    is_small = finding is not None and opened.shrinking(finding) is not None
                    parts = parts[:1] if is_small else parts[-1:]
                lines = shown_lines(opened, parts, form)
            write_text("".join(f"{line}\n" for line in lines), output)
    except RunError as error:
        raise click.UsageError(str(error)) from error


def _numbers(item: str) -> tuple[int | None, int | None]:
    """The number of the finding, or that of the session."""
    found = re.fullmatch(r"(?P<kind>[fs]?)(?P<number>[0-9]{1,9})", item)
    if found is None:
        raise click.UsageError(f"{item!r} is neither a finding, such as 2, nor a session, such as s14")
    number = int(found["number"])
    return (None, number) if found["kind"] == "s" else (number, None)
