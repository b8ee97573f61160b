"""Sinks of generated or parsed trees: standard output, one file, or a folder of files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol, Self

import click

from palaver.compiled.data import as_bytes
from palaver.trees.tree import Tree


class Sink(Protocol):
    """Takes outputs one by one; used as a context."""

    def write(self, data: bytes) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class _SinkBase:
    """A sink that has nothing to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Nowhere(_SinkBase):
    """Drops everything."""

    def write(self, data: bytes) -> None:
        pass


class Stdout(_SinkBase):
    """Each output, followed by the separator."""

    def __init__(self, separator: bytes) -> None:
        self._separator = separator
        self._stream = _standard_output()

    def write(self, data: bytes) -> None:
        self._stream.write(data + self._separator)
        self._stream.flush()


class OneFile(_SinkBase):
    """All outputs in one file (or on standard output), with the separator between them."""

    def __init__(self, path: str, separator: bytes) -> None:
        self._separator = separator
        self._started = False
        try:
            self._file: BinaryIO = _standard_output() if path == "-" else open(path, "wb")  # noqa: SIM115 - closed on exit
        except OSError as error:
            raise click.UsageError(f"cannot write {path}: {error.strerror}") from error

    def write(self, data: bytes) -> None:
        if self._started:
            self._file.write(self._separator)
        self._started = True
        self._file.write(data)
        self._file.flush()

    def __exit__(self, *_: object) -> None:
        if sys.stdout is None or self._file is not sys.stdout.buffer:
            self._file.close()


class Folder(_SinkBase):
    """One file for each output.

    They are called what the reference implementation calls them, so that scripts go on working.
    """

    def __init__(self, path: str, extension: str) -> None:
        self._folder = Path(path)
        self._extension = extension
        self._count = 0
        if self._folder.is_dir() and any(self._folder.iterdir()):
            raise click.UsageError(f"{path} is not empty: -d needs a new or an empty folder")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"cannot make the folder {path}: {error.strerror}") from error

    def write(self, data: bytes) -> None:
        (self._folder / f"fandango-{self._count:04d}{self._extension}").write_bytes(data)
        self._count += 1


def _standard_output() -> BinaryIO:
    if sys.stdout is None:
        raise click.UsageError("standard output is closed")
    return sys.stdout.buffer


def formatter(form: str, *, binary: bool) -> Callable[[Tree], bytes]:
    """Return the function that makes bytes of a tree, in the wanted form."""
    match form:
        case "string" if binary:
            return bytes
        case "string":
            return lambda tree: as_bytes(str(tree))
        case "bits":
            return lambda tree: as_bytes(tree.to_bits())
        case "tree":
            return lambda tree: as_bytes(tree.to_tree())
        case "grammar":
            return lambda tree: as_bytes(tree.to_grammar())
        case "value":
            return lambda tree: as_bytes(tree.to_value())
        case "repr":
            return lambda tree: as_bytes(tree.to_repr())
        case _:
            return lambda tree: b"1"


def write_text(text: str, output: str | None) -> None:
    """Write to the file that was asked for, or else to standard output."""
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {output}: {error.strerror}") from error
