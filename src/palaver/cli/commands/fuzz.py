"""`palaver fuzz`: inputs that satisfy a spec."""

from __future__ import annotations

import math
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from palaver.cli.exit_codes import FINDINGS, WRONG_USE
from palaver.cli.options import (
    budget_option,
    is_binary,
    limits_told,
    load_spec,
    rates,
    search_options,
    seed_option,
    size_options,
    spec_options,
)
from palaver.cli.output import Folder, Nowhere, OneFile, Sink, Stdout, formatter
from palaver.cli.program import OutputProgram, start_with
from palaver.cli.progress import ProgressBar
from palaver.cli.timeout import until
from palaver.compiled import Spec
from palaver.compiled.data import as_bytes
from palaver.errors import Rejected, Undecided, Unsolvable
from palaver.printable import counted, printable
from palaver.solving.solver_factory import SolvingPlan
from palaver.solving.solving_limits import BUDGET
from palaver.trees.tree import Tree


def _no_nan(_context: click.Context, _parameter: click.Parameter, seconds: float | None) -> float | None:
    if seconds is not None and math.isnan(seconds):
        raise click.BadParameter("nan is not a number of seconds.")
    return seconds


@click.command("fuzz", context_settings={"allow_interspersed_args": False})
@spec_options
@click.option(
    "-n",
    "--num-outputs",
    "count",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Stop after N inputs.",
    metavar="N",
)
@click.option("--infinite", is_flag=True, help="Go on without a limit, until Ctrl-C.")
@seed_option("--random-seed", "seed", help="Repeat a run: the same seed gives the same inputs.")
@click.option("-o", "--output", metavar="FILE", help="Write all inputs to FILE.")
@click.option("-d", "--directory", metavar="DIR", help="Write each input to a file of its own in DIR.")
@click.option(
    "-x", "--filename-extension", "extension", default=".txt", show_default=True, help="Extension of the files in DIR."
)
@click.option(
    "-i", "--initial-population", "initial", metavar="SEEDS", help="Start from the inputs in a folder or ZIP file."
)
@size_options
@budget_option(BUDGET, "output")
@search_options
@click.option(
    "--stop-after-seconds",
    type=click.FloatRange(0, 1e9),
    callback=_no_nan,
    metavar="N",
    help="Stop after N seconds.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show how each constraint is solved.")
@click.option(
    "--progress-bar",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    help="Show a progress bar; auto: on a terminal.",
)
@click.option(
    "--input-method",
    type=click.Choice(["filename", "stdin"]),
    default="filename",
    help="Pass each input to COMMAND in a file or on standard input.",
)
@click.option(
    "--command-timeout",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=10.0,
    show_default=True,
    callback=_no_nan,
    metavar="N",
    help="End a run of COMMAND that takes longer than N seconds, and report it.",
)
@click.argument("program", nargs=-1, metavar="[COMMAND ARGS…]")
def command(**options: Any) -> int:
    """Generate inputs that satisfy a spec, all different.

    They go to standard output, to FILE or DIR, or each to one run of COMMAND. The exit code is 0 if all were found, 1
    if there are fewer or COMMAND crashed or hung, and 2 if the command line or the spec is wrong.
    """
    spec = load_spec(options)
    show = formatter(options["form"], binary=is_binary(spec, options))
    # One end for the inputs and the program: a run that it has cut off is not followed by another.
    seconds = options["stop_after_seconds"]
    ends_at = None if seconds is None else time.monotonic() + seconds
    program = start_with(
        options["program"],
        by_file=options["input_method"] == "filename",
        extension=options["extension"],
        seconds=options["command_timeout"],
        ends_at=ends_at,
    )
    wanted = None if options["infinite"] else options["count"]
    seeds, refused = _initial(spec, options["initial"])
    trees = spec.fuzz(
        wanted,
        seed=options["seed"],
        max_nodes=options["max_nodes"],
        max_repetitions=options["max_repetitions"],
        budget=options["budget"],
        rates=rates(options),
        initial=seeds,
    )
    if options["verbose"]:
        _show_plan(trees.solver.plan)
    with limits_told(), _sink(options) as sink, ProgressBar(wanted, options["progress_bar"]) as progress:
        try:
            for tree in until(trees, ends_at):
                _validate(spec, tree, options["validate"])
                sink.write(show(tree))
                if program is not None:
                    program.run(show(tree))
                progress.advance()
        except Unsolvable:
            pass  # said below, as `shortfall`
    if options["verbose"]:
        searched = trees.solver.found_by_search
        click.echo(
            f"palaver: {counted(trees.made - searched, 'input')} made by construction, {searched} by search", err=True
        )
    outcome = _conclude(trees.shortfall or _out_of_time(trees.made, wanted), program, refused)
    for error in trees.objective_errors:
        click.echo(str(error), err=True)
    return WRONG_USE if trees.objective_errors else outcome


# How a clause is used, in words.
_USES = {
    "domain": "solved by drawing only values that satisfy it",
    "filter": "searched for by itself",
    "equation": "solved as an equation",
    "search": "searched for",
}


def _show_plan(plan: SolvingPlan) -> None:
    for clause, use in plan.uses.items():
        source, span = clause.constraint.source, clause.constraint.span
        line, column = source.place(span.start)
        text = clause.expression.text if clause.expression is not None else clause.constraint.text
        click.echo(printable(f"palaver: {source.name}:{line}:{column}: {text}: {_USES[use]}"), err=True)


def _sink(options: dict[str, Any]) -> Sink:
    separator = as_bytes(options["separator"])
    if options["directory"] is not None and options["output"] is not None:
        raise click.UsageError("-o and -d cannot be used together")
    if options["directory"] is not None:
        return Folder(options["directory"], options["extension"])
    if options["output"] is not None:
        return OneFile(options["output"], separator)
    return Nowhere() if options["program"] or options["form"] == "none" else Stdout(separator)


def _validate(spec: Spec, tree: Tree, wanted: bool) -> None:
    if wanted:
        try:
            spec.validate(tree)
        except Rejected as error:
            raise Rejected(
                f"a generated input does not parse: {tree.serialised()!r}: {error}", offset=error.offset
            ) from error


def _initial(spec: Spec, place: str | None) -> tuple[list[Tree], int]:
    """The inputs to start from, as far as they conform, and how many do not; those are named."""
    if place is None:
        return [], 0
    seeds, refused = [], 0
    if not Path(place).exists():
        raise click.UsageError(f"{place} is not a folder or a ZIP file")
    for name, data in _unzipped(place) if zipfile.is_zipfile(place) else _files_below(Path(place)):
        try:
            seeds.append(spec.parse(data if spec.is_binary else data.decode("utf-8", "surrogateescape")))
        except Rejected as error:
            refused += 1
            click.echo(printable(f"palaver: {name} does not conform to the spec and is skipped: {error}"), err=True)
        except Undecided as error:
            refused += 1
            why = f"palaver: {name} may or may not conform to the spec and is skipped: {error}"
            click.echo(printable(why), err=True)
    return seeds, refused


def _unzipped(place: str) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(place) as archive:
            for name in sorted(archive.namelist()):
                if not name.endswith("/"):
                    yield f"{place}/{name}", archive.read(name)
    except (zipfile.BadZipFile, RuntimeError, zlib.error) as error:  # broken, encrypted, or packed in an unknown way
        raise click.UsageError(f"cannot read {place}: {error}") from error


def _files_below(place: Path) -> Iterator[tuple[str, bytes]]:
    paths = [place] if place.is_file() else sorted(place.rglob("*"))
    return ((str(path), path.read_bytes()) for path in paths if path.is_file())


def _out_of_time(made: int, wanted: int | None) -> str | None:
    """Return the remark for a search that only the clock can have ended, too soon."""
    if wanted is None:
        return None if made else "no input found in time (--stop-after-seconds)"
    return None if made >= wanted else f"found only {made} of {counted(wanted, 'input')} in time (--stop-after-seconds)"


def _conclude(shortfall: str | None, program: OutputProgram | None, refused_seeds: int) -> int:
    if shortfall is not None:
        click.echo(printable(f"palaver: {shortfall}"), err=True)
    crashed = program is not None and program.report()
    return FINDINGS if shortfall is not None or crashed or refused_seeds else 0
