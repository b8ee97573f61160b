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
import gc
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from select import select
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

ROOT = Path(__file__).parent.parent
ROOMS = ("session", "campaign", "transport")
TESTS = ("tests/session", "tests/campaign", "tests/transport", "tests/testing", "tests/net", "tests/cli")
# Those of hostile peers run palaver as another process, in which there is no mutant.
CHOSEN = ("-m", "not servers and not slow", "--ignore", "tests/net/test_hostile_peers.py")
LONGEST_RUN = 120  # seconds for the tests of a mutant; one that takes longer does not end, which is noticed
MOST_TESTS = 120  # of a mutant

_OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OTHER_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}


@dataclass(frozen=True)
class Mutant:
    """A changed function: where it is, what was changed, and which of the changes of the function that is."""

    file: Path
    function: str
    first_line: int  # of the function
    line: int
    change: str
    number: int

    def module(self) -> ast.Module:
        """The changed module."""
        module = ast.parse(self.file.read_text("utf-8"))
        function = next(other for other in _functions(module) if other.lineno == self.first_line)
        next(islice(_changes(function), self.number, None))  # makes the change, and does not undo it
        return ast.fix_missing_locations(module)


# --- making mutants ---------------------------------------------------------------------------------------------------


def mutants(file: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    for function in _functions(ast.parse(file.read_text("utf-8"))):
        for number, (line, change) in enumerate(_changes(function)):
            yield Mutant(file, function.name, function.lineno, line, change, number)


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

    _called: dict[str, list[tuple[float, str]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
        seen: set[tuple[str, str]] = set()

        def note(frame: FrameType, what: str, _arg: object) -> None:
            if what == "call":
                seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

        began = time.perf_counter()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        # Not reached by tests that fail: those would kill every mutant.
        took = time.perf_counter() - began
        source = str(ROOT / "src")
        for file, function in seen:
            if file.startswith(source):
                _called.setdefault(f"{file[len(source) + 1 :]}:{function}", []).append((took, item.nodeid))

    def pytest_sessionfinish() -> None:
        Path(os.environ[CALLS_FOLDER], f"{os.getpid()}.json").write_text(json.dumps(_called))


def calls(file: Path | None, more: Sequence[str]) -> dict[str, list[str]]:
    """By place of a function (`palaver/session/engine.py:Session.cut`): the tests that call it, the fastest first.

    What the file has is kept; of tests that it does not know (`more`) it is found out.
    """
    found: dict[str, dict[str, float]] = {}
    if file is not None and file.exists():
        found = json.loads(file.read_text())
    else:
        more = (*TESTS, *more)
    if more:
        with tempfile.TemporaryDirectory() as folder:
            path = os.pathsep.join((str(ROOT / "src"), str(ROOT / "tools")))
            environment = os.environ | {CALLS_FOLDER: folder, "PYTHONPATH": path}
            options = ("-q", "-p", "mutants", "-n", "2", "--timeout", "300", *CHOSEN)
            subprocess.run((sys.executable, "-m", "pytest", *options, *more), cwd=ROOT, env=environment)
            for part in Path(folder).iterdir():
                for place, tests in json.loads(part.read_text()).items():
                    found.setdefault(place, {}).update({test: took for took, test in tests})
    if file is not None:
        file.write_text(json.dumps(found))
    return {place: _chosen(tests) for place, tests in found.items()}


def _chosen(tests: dict[str, float]) -> list[str]:
    """Some of the tests that call a function: the fastest of each file, then the second of each, and so on."""
    by_file: dict[str, list[str]] = {}
    for test in sorted(tests, key=lambda test: tests[test]):
        by_file.setdefault(test.partition("::")[0], []).append(test)
    ranked = sorted((rank, tests[test], test) for each in by_file.values() for rank, test in enumerate(each))
    return sorted((test for _, _, test in ranked[:MOST_TESTS]), key=lambda test: tests[test])


# --- running ----------------------------------------------------------------------------------------------------------


class NotPatched(Exception):
    """The function of a mutant was not found in the running program, or its code does not fit."""


def patch(mutant: Mutant) -> None:
    """Give the function of the running program the code of the mutant. :raises NotPatched: that is not possible"""
    names = mutant.file.relative_to(ROOT / "src").with_suffix("").parts
    module = import_module(".".join(names))
    tree = mutant.module()
    # A function inside of another one is a constant of that one's code.
    inside = [node for node in _functions(tree) if node.lineno <= mutant.line <= (node.end_lineno or node.lineno)]
    outermost = min(inside, key=lambda node: node.lineno)
    first = min([outermost.lineno, *(decorator.lineno for decorator in outermost.decorator_list)])
    codes = [code for code in _codes(compile(tree, str(mutant.file), "exec")) if code.co_firstlineno == first]
    functions = [each for each in _live_functions(module) if each.__code__.co_firstlineno == first]
    codes = [code for code in codes if code.co_name == outermost.name]
    functions = [each for each in functions if each.__code__.co_name == outermost.name]
    if len(codes) != 1 or not functions:
        raise NotPatched(mutant)
    for function in functions:
        if codes[0].co_freevars == function.__code__.co_freevars:
            function.__code__ = codes[0]
        else:  # it uses fewer names of what is around it
            _replace(function, codes[0], module)


def _replace(function: FunctionType, code: CodeType, module: ModuleType) -> None:
    """Put a function with this code in the place of another one. :raises NotPatched: it stands nowhere by itself"""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    *path, name = function.__qualname__.split(".")
    owner: Any = module
    for part in path:
        owner = getattr(owner, part, None)
    if getattr(owner, "__dict__", {}).get(name) is not function or not cells.keys() >= set(code.co_freevars):
        raise NotPatched(function.__qualname__)
    closure = tuple(cells[each] for each in code.co_freevars)
    new = FunctionType(code, function.__globals__, name, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    setattr(owner, name, new)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _live_functions(module: ModuleType) -> list[FunctionType]:
    """The functions that were defined in a module, also those behind decorators."""
    return [
        each
        for each in gc.get_objects()
        if isinstance(each, FunctionType) and each.__code__.co_filename == module.__file__
    ]


def killer(mutant: Mutant, tests: list[str]) -> str | None:
    """The test that fails with the mutant, or why else it is noticed; None if it is not.

    The tests run in a fork of this process, which has loaded them all.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _run_tests(mutant, tests, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as result:
        ready = select([result], [], [], LONGEST_RUN)[0]
        told = result.readline().decode().strip() if ready else "does not end"
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if told == "not patched":  # until somebody finds a way
        print(f"not patched: {_line(mutant)}", flush=True)
    return None if told in ("survived", "not patched") else told or "the process ended"


def _run_tests(mutant: Mutant, tests: list[str], told: int) -> NoReturn:
    """Run the tests with the mutant, write what came of it, and exit."""
    os.setsid()
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    first_failed = FirstFailed()
    try:
        patch(mutant)
    except Exception:
        text = "not patched"
    else:
        text = _tested(tests, first_failed)
    os.write(told, text.encode())
    os._exit(0)


def _tested(tests: list[str], first_failed: FirstFailed) -> str:
    import pytest

    try:
        code = int(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", "--tb=no", *tests], [first_failed]))
    except BaseException as error:
        return f"{type(error).__name__} in pytest"
    return "survived" if code == 0 else first_failed.name or f"exit code {code}"


class FirstFailed:
    """A plugin of pytest that knows the first test that failed."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid


def load_tests(tests: Iterable[str]) -> None:
    """Load everything once, so that forks need not."""
    import pytest

    files = sorted({test.partition("::")[0] for test in tests})
    pytest.main(["-q", "-q", "--collect-only", "-n0", "-p", "no:cacheprovider", *files])
    for room in ROOMS:
        for file in (ROOT / "src" / "palaver" / room).rglob("*.py"):
            import_module(".".join(file.relative_to(ROOT / "src").with_suffix("").parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0].split(":")[0])
    parser.add_argument("--count", type=int, default=200, help="how many mutants are tried")
    parser.add_argument("--seed", type=int, default=1, help="which of them")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--calls", type=Path, help="the file that keeps which tests call which functions")
    parser.add_argument("--more", nargs="+", default=[], help="tests that the file does not know yet")
    parser.add_argument("--only", nargs="*", default=[], help="try only mutants with such a text in their line")
    parser.add_argument("-v", "--verbose", action="store_true", help="tell also what killed each mutant")
    options = parser.parse_args()
    callers = calls(options.calls, options.more)
    files = [file for room in options.rooms for file in sorted((ROOT / "src" / "palaver" / room).rglob("*.py"))]
    every = [mutant for file in files for mutant in mutants(file)]
    tried = random.Random(options.seed).sample(every, min(options.count, len(every)))
    if options.only:
        tried = [mutant for mutant in tried if any(text in _line(mutant) for text in options.only)]
    tests = [callers.get(_place(mutant), []) for mutant in tried]
    os.chdir(ROOT)
    load_tests(test for each in tests for test in each)
    killed = 0
    for mutant, its_tests in zip(tried, tests, strict=True):
        noticed = killer(mutant, its_tests) if its_tests else None
        killed += noticed is not None
        if noticed is None:
            print(f"survived: {_line(mutant)}", flush=True)
        elif options.verbose:
            print(f"killed: {_line(mutant)} ({noticed})", flush=True)
    print(f"killed: {killed} of {len(tried)} mutants ({100 * killed / len(tried):.0f} %), of {len(every)}")


def _line(mutant: Mutant) -> str:
    return f"{mutant.file.relative_to(ROOT)}:{mutant.line} {mutant.function}: {mutant.change}"


def _place(mutant: Mutant) -> str:
    """The innermost function that contains the mutant, as the interpreter names it."""
    name, node = "", ast.parse(mutant.file.read_text("utf-8")).body
    while True:
        inner = [
            each
            for each in node
            if isinstance(each, ast.FunctionDef | ast.ClassDef)
            and each.lineno <= mutant.line <= (each.end_lineno or each.lineno)
        ]
        if not inner:
            return f"{mutant.file.relative_to(ROOT / 'src')}:{name.removesuffix('.<locals>.').removesuffix('.')}"
        name += inner[0].name + (".<locals>." if isinstance(inner[0], ast.FunctionDef) else ".")
        node = inner[0].body


if __name__ == "__main__":
    main()
