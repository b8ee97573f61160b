"""`palaver parse`: whether inputs conform to a spec."""

from __future__ import annotations

import errno
import sys
from typing import Any

import click

from palaver.cli.closed_output import drop_output
from palaver.cli.exit_codes import FINDINGS, UNDECIDED, WRONG_USE
from palaver.cli.options import is_binary, limits_told, load_spec, spec_options
from palaver.cli.output import Nowhere, OneFile, Sink, Stdout, formatter
from palaver.cli.rejection import explain
from palaver.compiled import Reading, Spec
from palaver.compiled.data import as_bytes
from palaver.errors import Undecided
from palaver.printable import printable
from palaver.trees.tree import Tree


@click.command("parse")
@spec_options
@click.option("--prefix", is_flag=True, help="Also accept the beginning of an input.")
@click.option("--reference", is_flag=True, help="Use only the Earley parser: slower, with the same results.")
@click.option("-o", "--output", metavar="FILE", help="Write the parsed inputs to FILE (-: standard output).")
@click.argument("inputs", nargs=-1, metavar="[FILE…]")
def command(inputs: tuple[str, ...], **options: Any) -> int:
    """Check whether each FILE conforms to a spec; without FILE, standard input.

    A newline at the end of a file is part of the input. The exit code is 0 if all conform, 1 if some do not, 2 if the
    command line or the spec is wrong, and 4 if it took too much work to find out about some.
    """
    spec = load_spec(options)
    binary = is_binary(spec, options)
    show = formatter(options["form"], binary=binary)
    outcomes = []
    with limits_told(), _sink(options) as sink:
        for name in inputs or ("-",):
            data = _read(name, binary)
            if data is None:
                outcomes.append(WRONG_USE)
                continue
            try:
                tree = _parse(spec, name, data, options)
            except Undecided as error:
                click.echo(printable(f"{_shown(name)}: undecided: {error}"), err=True)
                outcomes.append(UNDECIDED)
                continue
            outcomes.append(FINDINGS if tree is None else 0)
            if tree is not None:
                try:
                    sink.write(show(tree))
                except BrokenPipeError:  # the others are still parsed, for the exit code
                    drop_output()
    return max(outcomes, key=(0, UNDECIDED, FINDINGS, WRONG_USE).index)


def _sink(options: dict[str, Any]) -> Sink:
    separator = as_bytes(options["separator"])
    if options["form"] == "none" or (options["output"] is None and options["form"] == "string"):
        return Nowhere()
    return Stdout(separator) if options["output"] is None else OneFile(options["output"], separator)


def _read(name: str, binary: bool) -> str | bytes | None:
    try:
        if name == "-" and sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed")
        if name == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                data = file.read()
    except OSError as error:
        click.echo(printable(f"palaver: cannot read {name}: {error.strerror}"), err=True)
        return None
    return data if binary else data.decode("utf-8", "surrogateescape")


def _shown(name: str) -> str:
    return "<stdin>" if name == "-" else name


def _parse(spec: Spec, name: str, data: str | bytes, options: dict[str, Any]) -> Tree | None:
    reading = Reading(spec, data, prefix=options["prefix"], reference=options["reference"])
    tree = next(iter(reading), None)
    shown = _shown(name)
    if tree is None:
        click.echo(printable(explain(shown, data, reading.rejection())), err=True)
    elif (
        options["validate"] and (str(tree) if isinstance(data, str) else bytes(tree)) != data and not options["prefix"]
    ):
        click.echo(f"{shown}: the parse tree does not reproduce the input", err=True)
        return None
    return tree
