"""What the benchmarks share: where the other tools come from, measuring in turn, processes to ask, and a table."""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
REFERENCE = "fandango-fuzzer==1.3.1"


def reference_python() -> str:
    """The Python that has the reference implementation."""
    return os.environ.get("REFERENCE_PYTHON") or python_with(REFERENCE)


def python_with(package: str) -> str:
    """The Python of a venv, beside this file, for one package; made when first asked for."""
    home = HERE / ".reference" / package.partition("==")[0]
    python = home / "bin" / "python"
    if not python.exists():
        print(f"installing {package} into {home}", file=sys.stderr)
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--quiet", package], check=True)
    return str(python)


def compile_bytecode() -> None:
    """Installed packages, the other tools among them, come with their bytecode; a checkout may not have it yet."""
    compileall.compile_dir(HERE.parent / "src", quiet=1)


def alternate(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """The median of each, measured in turn so that a busy moment hits all."""
    measured = [[measure() for measure in measures] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*measured, strict=True)]


# --- processes -------------------------------------------------------------------------------------------------------


class NoAnswer(Exception):
    """A process has ended, or said nothing sensible; it has told why on the standard error."""


class Process:
    """Something in a process of its own that answers each line with a line of JSON."""

    def __init__(self, *command: str, **environment: str) -> None:
        self._name = " ".join(Path(part).name for part in command)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, env={**os.environ, **environment}, **pipes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise NoAnswer(self._name)
        return json.loads(line)

    def ask(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self.read()
        if answer.get("findings"):
            raise NoAnswer(f"{self._name}: {answer['findings'][0]}")
        return answer


# --- the table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line of the table; without a bar it is for information."""

    work: str
    unit: str
    ours: float | None
    other: float
    compared: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def is_missed(self) -> bool:
        is_too_little = self.at_least is not None and self.compared < self.at_least
        return is_too_little or (self.at_most is not None and self.compared > self.at_most)

    @property
    def shown(self) -> str:
        bar = f">= {self.at_least:.3g}x" if self.at_least else f"<= {self.at_most:.3g}x" if self.at_most else ""
        values = (self.ours, self.other)
        amounts = ["" if value is None else f"{_amount(value)} {self.unit}".rstrip() for value in values]
        cells = _line(self.work, *amounts, f"{self.compared:.2f}x", bar)
        return (cells + ("  MISSED" if self.is_missed else "")).rstrip()


def _amount(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def _line(work: str, *cells: str) -> str:
    return f"{work:66}" + "".join(f"{cell:>12}" for cell in cells)


def command_line(document: str | None, works: Mapping[str, object], reference_takes: str) -> argparse.ArgumentParser:
    """The options that all tables have."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=works, help="only this part of the table; may be repeated")
    parser.add_argument(
        "--no-reference", action="store_true", help=f"do not ask the reference, which takes {reference_takes}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows into this file, too")
    return parser


def print_table(works: Mapping[str, Callable[[], Iterator[Row]]], notes: list[str], file: Path | None) -> int:
    """Print the rows of all works as they come, then the notes; the exit status, 1 if a bar was missed."""
    rows: list[Row] = []
    print(_line("", "palaver", "other", "compared", "must"))
    for work in works.values():
        try:
            for row in work():
                print(row.shown, flush=True)
                rows.append(row)
        except NoAnswer as error:
            notes.append(f"FAILED: {error}")
    for note in notes:
        print(note)
    if file:
        file.write_text(json.dumps([{**asdict(row), "missed": row.is_missed} for row in rows], indent=2) + "\n")
    return 1 if notes or any(row.is_missed for row in rows) else 0
