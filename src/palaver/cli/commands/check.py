"""`palaver check`: what is wrong with a spec, all at once, and how large it is."""

from __future__ import annotations

from typing import Any

import click

from palaver.cli.exit_codes import FINDINGS, WRONG_USE
from palaver.cli.options import grammar_arguments, grammar_options, no_exec_option
from palaver.compiled import Spec, examine
from palaver.compiled.bundled import spec_files
from palaver.navigation.coverage import KPaths
from palaver.printable import counted, printable
from palaver.random_source import RandomSource
from palaver.solving.explanation import contradiction
from palaver.spec.diagnostics import Reporter

# What cannot be known before the Python of a spec has run.
_NOT_CHECKED = (
    "whether it runs, the names that it uses, the parties that it defines, the bounds of repetitions that it computes, "
    "and whether constraints exclude each other"
)


@click.command("check")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC…")
@click.option("--together", is_flag=True, help="Read all files as one spec; a later rule replaces an earlier one.")
@click.option("--k", "k", type=click.IntRange(1), help="Count the k-paths of the grammar, for this k.")
@click.option("-v", "--verbose", is_flag=True, help="Show which messages the Earley parser reads, and why.")
@click.option("--strict", is_flag=True, help="Exit with code 1 if there are warnings.")
@no_exec_option
@grammar_options
def command(specs: tuple[str, ...], together: bool, strict: bool, k: int | None, verbose: bool, **options: Any) -> int:
    """Report the errors and warnings of each SPEC, and its size.

    Each is shown with its place and a hint. The exit code is 0 if there are no errors, 2 if there are errors, and with
    --strict 1 if there are only warnings.
    """
    groups = [specs] if together else [(spec,) for spec in specs]
    return max([_check(group, options, strict, k, verbose) for group in groups])


def _check(files: tuple[str, ...], options: dict[str, Any], strict: bool, k: int | None, verbose: bool) -> int:
    report = Reporter()
    spec = examine(*spec_files(files), report=report, **grammar_arguments(options))
    if spec is not None and not options["no_exec"]:
        _report_contradiction(spec, report)
    for diagnostic in report.diagnostics:
        click.echo(printable(str(diagnostic)))
    errors = len(report.errors)
    warnings = len(report.diagnostics) - errors
    if report.diagnostics:
        click.echo(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}")
    if spec is not None:
        paths = "" if k is None else f", {counted(KPaths(spec.grammar, k).count(), f'{k}-path')}"
        click.echo(f"{', '.join(files)}: {summary(spec)}{paths}")
        if verbose and not options["no_exec"]:
            _tell_earley_readings(spec, ", ".join(files))
    if options["no_exec"]:
        click.echo(f"{', '.join(files)}: no Python was run, so these were not checked: {_NOT_CHECKED}")
    return WRONG_USE if errors else FINDINGS if warnings and strict else 0


def _tell_earley_readings(spec: Spec, files: str) -> None:
    from palaver.compiled.earley_readings import EXAMPLES, earley_readings

    found = list(earley_readings(spec, RandomSource(1)))
    for symbol, reason in found:
        click.echo(printable(f"{files}: {symbol} is read by the Earley parser, which is slower: {reason}"))
    if not found:
        click.echo(printable(f"{files}: in {EXAMPLES} examples of each, nothing is read by the Earley parser"))


def _report_contradiction(spec: Spec, report: Reporter) -> None:
    """Constraints that exclude each other leave no input at all; where that can be proved, it is."""
    proof = contradiction(spec.solver_factory, spec.grammar.constraints)
    if proof is None:
        return
    last, *others = reversed(proof.constraints)
    places = (f"{other.text} in line {other.source.place(other.span.start)[0]}" for other in reversed(others))
    against = f"together with {' and '.join(places)}, " if others else ""
    report.warning(
        last.source, last.span, f"{against}this cannot be satisfied: {proof.why}", "no input satisfies the spec"
    )


def summary(spec: Spec) -> str:
    """The size of a spec in one line: the numbers by which specs are compared."""
    analysis, grammar = spec.analysis, spec.grammar
    counts = [
        counted(len(grammar.own), "rule"),
        counted(len(grammar.constraints) + len(grammar.objectives), "constraint"),
        counted(len(analysis.parties), "party", "parties"),
        counted(len(analysis.messages), "message"),
        counted(spec.python_lines, "line") + " of Python",
        "binary" if spec.is_binary else "text",
    ]
    return ", ".join(counts)
