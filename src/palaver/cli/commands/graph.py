"""`palaver graph`: the state diagram that is embedded in a spec, and what of it was covered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from palaver.cli.options import grammar_arguments, grammar_options, no_exec_option
from palaver.cli.output import write_text
from palaver.compiled import Spec, load
from palaver.compiled.bundled import spec_files
from palaver.errors import PalaverError
from palaver.lean_dataclasses import replace
from palaver.navigation.coverage_file import read as read_coverage
from palaver.navigation.state_diagram import (
    CoverageViews,
    DialogueStateMachine,
    as_dot,
    as_mermaid,
    as_svg,
    diagram,
    state_machine_of,
    views_of,
)
from palaver.printable import printable

_FORMS = {"mermaid": as_mermaid, "dot": as_dot, "svg": as_svg}


@click.command("graph")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC…")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_FORMS)),
    default="mermaid",
    show_default=True,
    help="Format of the drawing.",
)
@click.option("--coverage-file", metavar="FILE", help="Colour what is covered in FILE, which palaver talk wrote.")
@click.option("--all-messages", is_flag=True, help="Also show the states between the messages of an exchange.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@no_exec_option
@grammar_options
def command(
    specs: tuple[str, ...],
    form: str,
    coverage_file: str | None,
    all_messages: bool,
    output: str | None,
    **options: Any,
) -> None:
    """Read the SPEC files as one spec, and draw the states of its dialogue, and the messages between them.

    A state is named after the rule that is open there. With --coverage-file, green is covered, red is not, and yellow
    is covered in part.
    """
    spec = load(*spec_files(specs), **grammar_arguments(options))
    if options["no_exec"]:
        spec = replace(spec, grammar=replace(spec.grammar, constraints=()))
        click.echo("palaver: no Python was run, so states that only constraints tell apart are one", err=True)
    if not spec.analysis.messages:
        raise click.UsageError("the spec has no messages between parties, such as <Client:Server:request>")
    try:
        states, views = _covered(spec, coverage_file)
    except PalaverError as error:
        raise click.UsageError(str(error)) from error
    drawn = diagram(states, views, is_folded=not all_messages)
    for remark in drawn.remarks:
        click.echo(printable(f"palaver: {remark}"), err=True)
    write_text(_FORMS[form](drawn), output)


def _covered(spec: Spec, coverage_file: str | None) -> tuple[DialogueStateMachine, CoverageViews | None]:
    """The states, and what was covered of them if there is a file that tells."""
    if coverage_file is None:
        return state_machine_of(spec), None
    with read_coverage(Path(coverage_file)) as data:
        views = views_of(spec, data["views"])
    return views.states, views
