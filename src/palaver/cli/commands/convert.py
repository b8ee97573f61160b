"""`palaver convert`: a spec printed back, as a spec or as its states."""

from __future__ import annotations

import ast
from typing import Any

import click

from palaver.cli.options import grammar_arguments, grammar_options, no_exec_option, only_parties
from palaver.cli.output import write_text
from palaver.compiled import Spec, load
from palaver.compiled.bundled import spec_files
from palaver.grammar.printing import show_grammar, transitions


@click.command("convert")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC…")
@click.option(
    "--to",
    "form",
    type=click.Choice(["fan", "state"]),
    default="fan",
    show_default=True,
    help="Print the grammar (fan), or states and messages (state).",
)
@click.option("--party", "parties", multiple=True, metavar="PARTY", help="Keep only the messages that PARTY sends.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@no_exec_option
@grammar_options
def command(specs: tuple[str, ...], form: str, parties: tuple[str, ...], output: str | None, **options: Any) -> None:
    """Read the SPEC files as one spec, and print its grammar, or the states of its dialogue."""
    spec = load(*spec_files(specs), **grammar_arguments(options))
    spec = only_parties(spec, parties)
    text = _as_spec(spec) if form == "fan" else "".join(f"{each}\n" for each in transitions(spec.analysis))
    write_text(text, output)


def _as_spec(spec: Spec) -> str:
    code = "".join(f"{ast.unparse(module)}\n\n" for module in spec.python if module.body)
    return code + show_grammar(spec.grammar)
