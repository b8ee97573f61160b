"""Options that several commands share, and the spec they lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from palaver import limits
from palaver.printable import counted, printable
from palaver.solving.solving_limits import DEFAULT_RATES, MAX_NODES, MAX_REPETITIONS, EvolutionRates

if TYPE_CHECKING:
    from palaver.compiled import Spec
    from palaver.recording.run_reader import Run

F = TypeVar("F", bound=Callable[..., Any])


def count_option(*names: str, default: int, help: str) -> Callable[[F], F]:
    """An option that is a number of at least one."""
    return click.option(*names, type=click.IntRange(1), default=default, show_default=True, help=help, metavar="N")


def seconds_option(name: str, *, default: float, help: str) -> Callable[[F], F]:
    """An option that is a number of seconds."""
    return click.option(
        name, type=click.FloatRange(0), default=default, show_default=True, help=help, metavar="SECONDS"
    )


def seed_option(*names: str, help: str) -> Callable[[F], F]:
    """The seed of everything random; a setting of the environment serves all commands of a script."""
    return click.option("--seed", *names, envvar="PALAVER_SEED", type=int, help=help, metavar="SEED")


def read_deadlines(_: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """The deadlines of messages, by their names."""
    deadlines = {}
    for text in given:
        message, _equals, seconds = text.rpartition("=")
        try:
            deadlines[message] = float(seconds)
        except ValueError:
            message = ""
        if not message:
            raise click.BadParameter(f"{text!r} is not MESSAGE=SECONDS, such as answer=0.5", param=option)
    return deadlines


def _rate_option(name: str, *, default: float, help: str) -> Callable[[F], F]:
    return click.option(
        name, type=click.FloatRange(0, 1), default=default, show_default=True, help=help, metavar="RATE"
    )


class ParameterOption(click.ParamType[Any]):
    """A parameter of a spec with its value."""

    name = "parameter"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[str, Any]:
        """Return the name and the value, which is text unless it comes from a file."""
        if isinstance(value, tuple):
            return value[0], value[1]
        name, equals, given = str(value).partition("=")
        if not equals or not name.strip():
            self.fail(f"{value!r} is not NAME=VALUE, such as user=joe", param, context)
        return name.strip(), given


def parameters_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the spec that a command's options give. :raises UsageError: a file cannot be read"""
    from palaver.project_settings import SettingsError, read_parameters

    given: dict[str, Any] = {}
    try:
        for file in options["parameter_files"]:
            given |= read_parameters(file)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    return given | dict(options["parameters"])


_SET_OPTIONS = [
    click.option(
        *("--set", "parameters"), multiple=True, type=ParameterOption(), metavar="NAME=VALUE",
        help="Set a parameter of the spec; NAME=A,B sets a list. See palaver specs NAME --about.",
    ),
    click.option(
        *("--set-file", "parameter_files"), multiple=True, type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE", help="Set the parameters in FILE, of TOML.",
    ),
]  # fmt: skip

_GRAMMAR_OPTIONS = [
    click.option(
        "-S", "--start-symbol", default="<start>", metavar="SYMBOL", help="Start from SYMBOL.", show_default=True
    ),
    click.option(
        "-c", "--constraint", "constraints", multiple=True, metavar="CONSTRAINT", help="Add a constraint to the spec."
    ),
    click.option("--maximize", "--max", "maximize", multiple=True, metavar="EXPR", help="Prefer large values of EXPR."),
    click.option("--minimize", "--min", "minimize", multiple=True, metavar="EXPR", help="Prefer small values of EXPR."),
    click.option(
        "-I", "--include-dir", "include_dirs", multiple=True, metavar="DIR", help="Also search DIR for included files."
    ),
    *_SET_OPTIONS,
    click.option("--no-stdlib", is_flag=True, help="Do not define the symbols of the library (<digit>, <byte>, …)."),
]


def _files(*, required: bool) -> Callable[[Any], Any]:
    names = ("-f", "--fandango-file", "--file", "files")
    return click.option(
        *names,
        multiple=True,
        required=required,
        metavar="SPEC",
        help="The spec: a file, or the name of a bundled one. Several are read as one spec.",
    )


_USE_OPTIONS = [
    click.option("--warnings-are-errors", is_flag=True, help="Stop if the spec has warnings."),
    click.option("--party", "parties", multiple=True, metavar="PARTY", help="Keep only the messages that PARTY sends."),
    click.option(
        "--file-mode", default="auto", type=click.Choice(["auto", "text", "binary"]),
        help="Read and write text or bytes; auto: bytes if the spec has any.",
    ),
    click.option("-s", "--separator", default="\n", metavar="SEP", help="Print SEP between outputs; default: newline."),
    click.option(
        "--format", "form", default="string", help="Show outputs in this form: as they are, as bits, a tree, …",
        type=click.Choice(["string", "bits", "tree", "grammar", "value", "repr", "none", "1"]),
    ),
    click.option("--validate", is_flag=True, help="Parse each output again, and compare."),
]  # fmt: skip


_SIZE_OPTIONS = [
    count_option("--max-nodes", default=MAX_NODES, help="Begin to finish a tree when it has N nodes."),
    click.option(
        "--max-repetitions", type=click.IntRange(0), default=MAX_REPETITIONS, show_default=True,
        metavar="N", help="Repeat * and + at most N times more than necessary.",
    ),
]  # fmt: skip

_SEARCH_OPTIONS = [
    count_option(
        *("-N", "--max-generations"),
        default=DEFAULT_RATES.max_generations,
        help="Evolve at most N generations for one output.",
    ),
    count_option("--population-size", default=DEFAULT_RATES.population_size, help="Keep the N best candidates."),
    _rate_option(
        "--elitism-rate",
        default=DEFAULT_RATES.elitism_rate,
        help="Share of the best candidates that is never replaced.",
    ),
    _rate_option(
        "--crossover-rate",
        default=DEFAULT_RATES.crossover_rate,
        help="Probability of combining two candidates.",
    ),
    _rate_option(
        "--mutation-rate", default=DEFAULT_RATES.mutation_rate, help="Probability of mutating a combination at once."
    ),
    _rate_option(
        "--destruction-rate",
        default=DEFAULT_RATES.destruction_rate,
        help="Probability of starting from a new random tree.",
    ),
]


def set_options(command: F) -> F:
    """Add the options that set parameters of a spec."""
    return _with(_SET_OPTIONS, command)


def grammar_options(command: F) -> F:
    """Add the options of a spec, except for its files."""
    return _with(_GRAMMAR_OPTIONS, command)


def no_exec_option(command: F) -> F:
    """Add the option that lets none of the spec's Python run, for commands that can do without."""
    told = "Run none of the spec's Python: for specs that you do not trust."
    option = click.option("--no-exec", is_flag=True, help=told)
    return _with([option], command)


def spec_options(command: F) -> F:
    """Add the options of a spec, of its files, and of the form of inputs and outputs."""
    return _with([_files(required=True), *_GRAMMAR_OPTIONS, *_USE_OPTIONS], command)


def talk_options(command: F) -> F:
    """Add the options of a spec that sessions are held by."""
    return _with([_files(required=False), *_GRAMMAR_OPTIONS, _USE_OPTIONS[0]], command)


def size_options(command: F) -> F:
    """Add the options that limit the size of trees."""
    return _with(_SIZE_OPTIONS, command)


def budget_option(default: int, what: str) -> Callable[[F], F]:
    """Add the option that limits the search for one tree or message."""
    return count_option("--budget", default=default, help=f"Give up searching for one {what} after N steps.")


def search_options(command: F) -> F:
    """Add the options of the evolutionary search."""
    return _with(_SEARCH_OPTIONS, command)


def rates(options: dict[str, Any]) -> EvolutionRates:
    """Return the rates that the search options give."""
    names = [each.name for each in fields(EvolutionRates) if each.name in options]
    return EvolutionRates(**{name: options[name] for name in names})


def _with(options: list[Callable[[Any], Any]], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def grammar_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `load` and `examine` that a command's options give."""
    constraints = list(options["constraints"])
    constraints += [f"maximizing {text}" for text in options["maximize"]]
    constraints += [f"minimizing {text}" for text in options["minimize"]]
    return {
        "constraints": constraints,
        "start": options["start_symbol"],
        "stdlib": not options["no_stdlib"],
        "include_dirs": options["include_dirs"],
        "run_python": not options.get("no_exec", False),
        "parameters": parameters_of(options),
    }


def load_spec(options: dict[str, Any]) -> Spec:
    """Load the spec that a command's options name; its warnings are counted on standard error."""
    # Only here: who asks for help does not wait for the rest.
    from palaver.compiled import load
    from palaver.compiled.bundled import spec_files

    files = spec_files("/dev/stdin" if name == "-" else name for name in options["files"])
    spec = load(*files, **grammar_arguments(options))
    if spec.warnings and options["warnings_are_errors"]:
        for warning in spec.warnings:
            click.echo(printable(str(warning)), err=True)
        raise click.UsageError("the spec has warnings, and --warnings-are-errors is given")
    if spec.warnings:
        count = len(spec.warnings)
        click.echo(f"palaver: {counted(count, 'warning')}; see palaver check {' '.join(files)}", err=True)
    return only_parties(spec, options.get("parties", ()))


def resumed_spec(options: dict[str, Any], run: Run) -> Spec | None:
    """The spec that a run is to go on with, with its own parameters unless others are given; None: the one it has."""
    from palaver.recording.run_folders import RunError

    if not options["files"]:
        if options["parameters"] or options["parameter_files"]:
            raise RunError("a run goes on with the parameters that it began with; to set others, name the spec as well")
        return None
    parameters = (*run.parameters.items(), *options["parameters"])
    return load_spec({**options, "parameters": parameters})


@contextmanager
def limits_told() -> Iterator[None]:
    """Tell the limits that are reached in this context, on standard error."""
    with limits.recorded() as reached:
        try:
            yield
        finally:
            for line in limits.told(reached):
                click.echo(printable(f"palaver: {line}"), err=True)


def is_binary(spec: Spec, options: dict[str, Any]) -> bool:
    """True if inputs and outputs are bytes rather than text, by the options or else by the spec."""
    return spec.is_binary if options["file_mode"] == "auto" else bool(options["file_mode"] == "binary")


def only_parties(spec: Spec, parties: Sequence[str]) -> Spec:
    """The spec with the messages of these parties only; all of it if none is named.

    :raises UsageError: the spec knows no such party
    """
    from palaver.spec.diagnostics import no_such_party

    # All of the spec counts, also what cannot be reached: a message that is the start symbol has no sender.
    known = spec.analysis.all_parties
    for name in parties:
        # What stands beside messages without a prefix is StdOut's, and is never left out.
        if name not in known and not (known and name == "StdOut"):
            raise click.UsageError(no_such_party(name, known))
    return spec.for_parties(parties) if parties else spec
