"""What the benchmarks share: where the other tools come from, and measuring in turn."""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

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
