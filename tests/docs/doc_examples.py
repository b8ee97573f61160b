"""The examples in the documents: read, run, and (as a script) written back with what they really print.

A document is run from top to bottom in a folder of its own:

- a block behind a line that says "`name`:" is written to the file of that name;
- each line of a `console` block that starts with `$` is run; what follows it is what it must print;
- runs are kept only where an example says so, as their usual names have the time in them;
- `python` blocks share one namespace; those with `>>>` are doctests.

`python tests/docs/doc_examples.py` puts what the commands print now into the documents. Read the difference.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any
from unittest.mock import patch

from palaver.cli.main import run
from palaver.source import Source
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`:\n+)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_TELLS_EXIT_CODE = ' || echo "exit code $?"'


@dataclass(frozen=True)
class Block:
    """A fenced block of a document: what it is, what is in it, and where that starts."""

    kind: str
    file: str | None
    text: str
    start: int


def blocks(text: str) -> list[Block]:
    return [Block(found["kind"], found["file"], found["text"], found.start("text")) for found in _BLOCK.finditer(text)]


@dataclass(frozen=True)
class Outcome:
    """A command of a document: what the document shows, where, and what it really prints."""

    command: str
    shown: str
    printed: str
    start: int


def run_document(path: Path) -> list[Outcome]:
    """Everything in a document, run; Python that fails raises, commands are left to be compared."""
    outcomes: list[Outcome] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    with TemporaryDirectory() as folder, chdir(folder), patch.dict(os.environ, {"PALAVER_RUNS": ""}):
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        for block in blocks(path.read_text(encoding="utf-8")):
            if block.file is not None:
                Path(block.file).parent.mkdir(parents=True, exist_ok=True)
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.kind == "console":
                outcomes += _run_console(block)
            elif block.kind == "python":
                _run_python(block, path, names)
            elif block.kind == "fan":
                _read_spec(block, path)
    return outcomes


def _run_console(block: Block) -> Iterator[Outcome]:
    for found in _COMMAND.finditer(block.text):
        yield Outcome(found["command"], found["shown"], print_of(found["command"]), block.start + found.start("shown"))


def _run_python(block: Block, path: Path, names: dict[str, Any]) -> None:
    if ">>> " not in block.text:
        with redirect_stdout(io.StringIO()):
            exec(compile(block.text, path.name, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, path.name, str(path), 0)
    report = io.StringIO()
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert not outcome.failed, report.getvalue()


def _read_spec(block: Block, path: Path) -> None:
    """A spec without a name may be a fragment; but it is written correctly."""
    report = Reporter()
    parse_spec(Source(path.name, block.text), report)
    report.raise_if_errors()


# --- commands ---------------------------------------------------------------------------------------------------------


def print_of(command: str) -> str:
    """What a command prints, to either stream. A command that fails must be one that tells its exit code."""
    plain = command.removesuffix(_TELLS_EXIT_CODE)
    with TemporaryFile() as file:
        words = shlex.split(plain)
        # Starting Python anew takes far longer than most examples do.
        in_here = words[0] == "palaver" and not set(words) & {"|", ">", "<", "||", "&&", ";"}
        with _all_output_to(file.fileno()):
            code = _run_here(words[1:]) if in_here else _run_shell(plain)
        file.seek(0)
        printed = file.read().decode("utf-8", "backslashreplace")
    assert printed[-1:] in ("", "\n"), f"{command} leaves its last line open"
    if command == plain:
        assert code == 0, f"{command} exited with {code}:\n{printed}"
    elif code:
        printed += f"exit code {code}\n"
    return printed


@contextmanager
def _all_output_to(descriptor: int) -> Iterator[None]:
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [(stream, os.dup(stream)) for stream in (1, 2)]
    before = sys.stdout, sys.stderr
    for stream, _ in saved:
        os.dup2(descriptor, stream)
    try:
        with open(1, "w", closefd=False) as sys.stdout, open(2, "w", closefd=False) as sys.stderr:
            yield
    finally:
        sys.stdout, sys.stderr = before
        for stream, copy in saved:
            os.dup2(copy, stream)
            os.close(copy)


def _run_here(arguments: list[str]) -> int:
    try:
        run(arguments)
    except SystemExit as exit_:
        return int(exit_.code or 0)


def _run_shell(command: str) -> int:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(["sh", "-c", command], env={**os.environ, "PATH": path}, check=False).returncode


def update(path: Path) -> None:
    """Put what the commands of a document print into it."""
    text = path.read_text(encoding="utf-8")
    for outcome in reversed(run_document(path)):
        text = text[: outcome.start] + outcome.printed + text[outcome.start + len(outcome.shown) :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for document in DOCUMENTS:
        update(document)
