"""Mutation testing: python tools/mutants.py [--count 200] [--seed 1] [--rooms session campaign transport] [-v]

Changes one thing of the source at a time (a *mutant*), runs the tests that call the changed function, the fastest
first, and counts the mutants that no test notices. The mutation operators are those of the textbook (Ammann and Offutt,
Introduction to Software Testing): relational and logical operators are replaced, conditions negated, integers changed
by one, statements deleted, results replaced by None.

The first run finds out which tests call which functions, and keeps that in a file (`--calls`), as long as it is given
the same file again.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parent.parent
ROOMS = ("session", "campaign", "transport")
TESTS = ("tests/session", "tests/campaign", "tests/transport", "tests/testing", "tests/net", "tests/quality")
CHOSEN = ("-m", "not servers and not slow")
LONGEST_RUN = 120  # seconds for the tests of a mutant; one that takes longer does not end, which is noticed
MOST_TESTS = 60  # of a mutant: the fastest that call the function

_OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OTHER_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}


@dataclass(frozen=True)
class Mutant:
    """A changed function: where it is, what was changed, and the text of the whole changed module."""

    file: Path
    function: str
    line: int
    change: str
    text: str


# --- making mutants ---------------------------------------------------------------------------------------------------


def mutants(file: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    module = ast.parse(file.read_text("utf-8"))
    for function in _functions(module):
        for number, (line, change) in enumerate(_changes(function)):
            changed = copy.deepcopy(module)
            twin = next(other for other in _functions(changed) if other.lineno == function.lineno)
            next(islice(_changes(twin), number, None))  # makes this change in the copy, and does not undo it
            yield Mutant(file, function.name, line, change, ast.unparse(ast.fix_missing_locations(changed)))


def _functions(module: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]


def _changes(function: ast.FunctionDef) -> Iterator[tuple[int, str]]:
    """Makes each change of a function, yields its line and what it is, and undoes it."""
    for statement in function.body:
        for node in ast.walk(statement):
            if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
                yield from _changes_of(node)


def _changes_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Compare(ops=[operator]):
            other = _OTHER_COMPARISON[type(operator)]()
            yield from _replaced(node, "ops", [other], f"{type(operator).__name__} to {type(other).__name__}")
        case ast.BoolOp(op=operator):
            turned = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield from _replaced(node, "op", turned, f"{type(operator).__name__} to {type(turned).__name__}")
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator):
            arithmetic = _OTHER_ARITHMETIC[type(operator)]()
            yield from _replaced(node, "op", arithmetic, f"{type(operator).__name__} to {type(arithmetic).__name__}")
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield from _replaced(node, "test", ast.UnaryOp(ast.Not(), test), "condition negated")
        case ast.Constant(value=bool(value)):
            yield from _replaced(node, "value", not value, f"{value} to {not value}")
        case ast.Constant(value=int(value)):
            yield from _replaced(node, "value", value + 1, f"{value} to {value + 1}")
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield from _replaced(node, "value", ast.Constant(None), "returns None")
        case ast.Expr(value=ast.Call() as call):
            yield from _replaced(node, "value", ast.Constant(None), f"left out: {ast.unparse(call)[:50]}")


def _replaced(node: ast.AST, field: str, value: object, change: str) -> Iterator[tuple[int, str]]:
    before = getattr(node, field)
    setattr(node, field, value)
    yield getattr(node, "lineno", 0), change
    setattr(node, field, before)


# --- which tests call which functions ---------------------------------------------------------------------------------

# As a plugin of pytest (`-p mutants`), this module writes down which tests call which functions, and how long they
# take.
CALLS_FOLDER = "PALAVER_CALLS_FOLDER"

if CALLS_FOLDER in os.environ:
    import threading
    import time
    from types import FrameType

    import pytest

    _called: dict[str, list[tuple[str, float]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
        seen: set[tuple[str, int]] = set()

        def note(frame: FrameType, what: str, _arg: object) -> None:
            if what == "call":
                seen.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

        began = time.perf_counter()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            took = time.perf_counter() - began
            source = str(ROOT / "src")
            for file, line in seen:
                if file.startswith(source):
                    _called.setdefault(f"{file[len(source) + 1 :]}:{line}", []).append((item.nodeid, took))

    def pytest_sessionfinish() -> None:
        Path(os.environ[CALLS_FOLDER], f"{os.getpid()}.json").write_text(json.dumps(_called))


def calls(file: Path | None) -> dict[str, list[str]]:
    """By place of a function (`palaver/session/engine.py:12`): the tests that call it, the fastest first."""
    if file is not None and file.exists():
        kept: dict[str, list[str]] = json.loads(file.read_text())
        return kept
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {CALLS_FOLDER: folder, "PYTHONPATH": str(ROOT / "tools")}
        command = (
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "mutants",
            "-n",
            "2",
            "--timeout",
            "300",
            *CHOSEN,
            *TESTS,
        )
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        found: dict[str, list[tuple[float, str]]] = {}
        for part in Path(folder).iterdir():
            for place, tests in json.loads(part.read_text()).items():
                found.setdefault(place, []).extend((took, test) for test, took in tests)
    result = {place: [test for _, test in sorted(tests)[:MOST_TESTS]] for place, tests in sorted(found.items())}
    if file is not None:
        file.write_text(json.dumps(result))
    return result


# --- running ----------------------------------------------------------------------------------------------------------


def is_killed(mutant: Mutant, tests: list[str], clone: Path) -> bool:
    """Whether one of the tests fails, or does not end, with the mutant in place of the module."""
    place = clone / mutant.file.relative_to(ROOT)
    place.write_text(mutant.text, "utf-8")
    environment = os.environ | {"PYTHONPATH": str(clone / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = (sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", *tests)
    run = subprocess.Popen(
        command,
        cwd=clone,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return run.wait(LONGEST_RUN) != 0
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, 9)
        run.wait()
        return True
    finally:
        shutil.copy(mutant.file, place)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0].split(":")[0])
    parser.add_argument("--count", type=int, default=200, help="how many mutants are tried")
    parser.add_argument("--seed", type=int, default=1, help="which of them")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--calls", type=Path, help="the file that keeps which tests call which functions")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    callers = calls(options.calls)
    files = [file for room in options.rooms for file in sorted((ROOT / "src" / "palaver" / room).rglob("*.py"))]
    every = [mutant for file in files for mutant in mutants(file)]
    tried = random.Random(options.seed).sample(every, min(options.count, len(every)))

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        clones: Queue[Path] = Queue()
        for number in range(options.jobs):
            clone = Path(folder, str(number))
            for part in ("src", "tests", "tools", "docs", "examples", "benchmarks"):
                shutil.copytree(ROOT / part, clone / part, ignore=shutil.ignore_patterns("__pycache__"))
            for part in (
                "pyproject.toml",
                "README.md",
                "ARCHITECTURE.md",
                "CONTRIBUTING.md",
                "CHANGELOG.md",
                "Makefile",
            ):
                shutil.copy(ROOT / part, clone)
            clones.put(clone)

        def judge(mutant: Mutant) -> bool:
            tests = callers.get(_place(mutant), [])
            clone = clones.get()
            try:
                return bool(tests) and is_killed(mutant, tests, clone)
            finally:
                clones.put(clone)

        killed = 0
        for mutant, is_dead in zip(tried, pool.map(judge, tried), strict=True):
            killed += is_dead
            if not is_dead:
                where = f"{mutant.file.relative_to(ROOT)}:{mutant.line}"
                print(f"survived: {where} {mutant.function}: {mutant.change}", flush=True)
    print(f"killed: {killed} of {len(tried)} mutants ({100 * killed / len(tried):.0f} %), of {len(every)}")


def _place(mutant: Mutant) -> str:
    """Where the function begins that contains the mutant, as the interpreter tells it (decorators included)."""
    module = ast.parse(mutant.file.read_text("utf-8"))
    inside = [node for node in _functions(module) if node.lineno <= mutant.line <= (node.end_lineno or node.lineno)]
    function = max(inside, key=lambda node: node.lineno)
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    return f"{mutant.file.relative_to(ROOT / 'src')}:{first}"


if __name__ == "__main__":
    main()
