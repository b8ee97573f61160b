"""Mutation testing: python tools/mutants.py [--count 200] [--seed 1] [--rooms session campaign transport] [-v]

Changes one thing of the source at a time (a *mutant*), runs the tests that run the changed line, the fastest
first, and counts the mutants that no test notices. The mutation operators are those of the textbook (Ammann and Offutt,
Introduction to Software Testing): relational and logical operators are replaced, conditions negated, integers changed
by one, statements deleted, results replaced by None.

The first run finds out which tests run which lines, and keeps that in a file (`--calls`), as long as it is given
the same file again and the source has not changed.
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
TESTS = tuple(
    f"tests/{folder}"
    for folder in ("session", "campaign", "transport", "testing", "net", "cli", "recording", "replaying")
)
# Those of hostile peers run palaver as another process, in which there is no mutant.
CHOSEN = ("-m", "not servers and not slow", "--ignore", "tests/net/test_hostile_peers.py")
# Seconds for the tests of a mutant, and how many times the seconds that they took before are added to that. What takes
# longer does not end, which is noticed.
LONGEST_RUN, SLOWER = 120, 10
SLOWEST_TEST = 10  # seconds; slower ones are not tried
FIRST_TESTS = 120  # of a mutant, before all others

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
        nodes = list(ast.walk(statement))
        # What checks only that the program is right cannot be noticed as long as it is.
        checks = [node for node in nodes if isinstance(node, ast.keyword) and node.arg == "strict"]
        checked = {id(each) for node in checks for each in ast.walk(node)}
        for node in nodes:
            if not isinstance(node, (ast.FunctionDef, ast.Lambda)) and id(node) not in checked:
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


# --- which tests run which lines --------------------------------------------------------------------------------------

# As a plugin of pytest (`-p mutants`), this module writes down which tests run which lines, and how long they
# take.
CALLS_FOLDER = "PALAVER_CALLS_FOLDER"

if CALLS_FOLDER in os.environ:
    import threading
    import time
    from types import FrameType

    import pytest

    _called: dict[str, list[tuple[float, str]]] = {}
    _SOURCE = str(ROOT / "src") + os.sep
    _TRACED = tuple(f"{_SOURCE}palaver{os.sep}{room}{os.sep}" for room in ROOMS)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
        seen: set[tuple[str, str | int]] = set()

        def trace(frame: FrameType, _what: str, _arg: object) -> Any:
            code = frame.f_code
            if not code.co_filename.startswith(_TRACED):
                return None
            seen.add((code.co_filename, code.co_qualname))
            return trace_lines

        def trace_lines(frame: FrameType, what: str, _arg: object) -> Any:
            if what == "line":
                seen.add((frame.f_code.co_filename, frame.f_lineno))
            return trace_lines

        began = time.perf_counter()
        threading.settrace(trace)
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)
        # Not reached by tests that fail: those would kill every mutant.
        took = time.perf_counter() - began
        for file, place in seen:
            _called.setdefault(f"{file[len(_SOURCE) :]}:{place}", []).append((took, item.nodeid))

    def pytest_sessionfinish() -> None:
        Path(os.environ[CALLS_FOLDER], f"{os.getpid()}.json").write_text(json.dumps(_called))


def calls(file: Path | None, more: Sequence[str]) -> dict[str, dict[str, float]]:
    """The tests that run a line, or call a function, and how long each takes, by place.

    A place is `palaver/session/engine.py:120` or `palaver/session/engine.py:Session.cut`.

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
    return found


def tests_of(mutant: Mutant, callers: dict[str, dict[str, float]]) -> dict[str, float]:
    """The tests that are tried, in this order, with the seconds that each takes: those that run the line, and some that
    only call the function, as far as is known."""
    file = mutant.file.relative_to(ROOT / "src")
    running, calling = callers.get(f"{file}:{mutant.line}", {}), callers.get(_place(mutant), {})
    chosen = _varied(running)[:FIRST_TESTS]
    chosen += [test for test in _varied(calling) if test not in running][: max(FIRST_TESTS // 3 - len(chosen), 0)]
    # A mutant that survives these is tried by all others that run the line.
    rest = sorted(running.keys() - set(chosen), key=lambda test: (running[test], test))
    seconds = running | calling
    return {test: seconds[test] for test in (*chosen, *rest) if seconds[test] < SLOWEST_TEST}


def _varied(tests: dict[str, float]) -> list[str]:
    """Tests of different files: the fastest of each, then the second of each, and so on; those of one rank by time."""
    by_file: dict[str, list[str]] = {}
    for test in sorted(tests, key=lambda test: tests[test]):
        by_file.setdefault(test.partition("::")[0], []).append(test)
    ranked = sorted((rank, tests[test], test) for each in by_file.values() for rank, test in enumerate(each))
    return [test for _, _, test in ranked]


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


class TestLoop:
    """A plugin of pytest: instead of running all tests once, it tries mutants.

    The tests of each run in a fork of this process, which has collected them all.
    """

    def __init__(self, trials: Sequence[tuple[Mutant, dict[str, float]]], *, is_verbose: bool) -> None:
        self.killed = 0
        self._trials = trials
        self._is_verbose = is_verbose
        self._items: dict[str, Any] = {}
        self._first_failed = ""
        self._sound: dict[str, bool] = {}  # by test: whether it passes without a mutant
        self._told = os.fdopen(os.dup(1), "w")  # pytest captures what is printed

    def pytest_runtestloop(self, session: Any) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        for room in ROOMS:
            for file in (ROOT / "src" / "palaver" / room).rglob("*.py"):
                import_module(".".join(file.relative_to(ROOT / "src").with_suffix("").parts))
        for mutant, tests in self._trials:
            noticed = self._killer(mutant, {test: took for test, took in tests.items() if test in self._items})
            self.killed += noticed is not None
            if noticed is None:
                self._tell(f"survived: {_line(mutant)}")
            elif self._is_verbose:
                self._tell(f"killed: {_line(mutant)} ({noticed})")
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self._first_failed:
            self._first_failed = report.nodeid

    def _tell(self, text: str) -> None:
        print(text, file=self._told, flush=True)

    def _killer(self, mutant: Mutant, tests: dict[str, float]) -> str | None:
        """The test that fails with the mutant and not without it, or why else it is noticed; None if it is not."""
        left = dict(tests)
        while left:
            noticed = self._first_noticing(mutant, left)
            if noticed is None or noticed not in left:
                return noticed
            if noticed not in self._sound:
                self._sound[noticed] = self._first_noticing(None, {noticed: left[noticed]}) is None
            if self._sound[noticed]:
                return noticed
            self._tell(f"fails without a mutant: {noticed}")
            del left[noticed]
        return None

    def _first_noticing(self, mutant: Mutant | None, tests: dict[str, float]) -> str | None:
        """The first test that fails with the mutant, or without any; or why else it is noticed; None if it is not."""
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            self._run_tests(mutant, list(tests), write_end)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as result:
            ready = select([result], [], [], LONGEST_RUN + SLOWER * sum(tests.values()))[0]
            told = result.readline().decode().strip() if ready else "does not end"
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if told == "not patched" and mutant is not None:  # until somebody finds a way
            self._tell(f"not patched: {_line(mutant)}")
        return None if told in ("survived", "not patched") else told or "the process ended"

    def _run_tests(self, mutant: Mutant | None, tests: list[str], told: int) -> NoReturn:
        """Run the tests with the mutant until one fails, write what came of it, and exit."""
        os.setsid()
        try:
            if mutant is not None:
                patch(mutant)
        except Exception:
            text = "not patched"
        else:
            try:
                text = self._tested([self._items[test] for test in tests])
            except BaseException as error:
                text = f"{type(error).__name__} in pytest"
        os.write(told, text.encode())
        os._exit(0)

    def _tested(self, items: list[Any]) -> str:
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._first_failed:
                return self._first_failed
        return "survived"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0].split(":")[0])
    parser.add_argument("--count", type=int, default=200, help="how many mutants are tried")
    parser.add_argument("--seed", type=int, default=1, help="which of them")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--calls", type=Path, help="the file that keeps which tests run which lines")
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
    tests = [tests_of(mutant, callers) for mutant in tried]
    os.chdir(ROOT)
    loop = TestLoop(list(zip(tried, tests, strict=True)), is_verbose=options.verbose)
    run_tests(sorted({test.partition("::")[0] for each in tests for test in each}), loop)
    print(f"killed: {loop.killed} of {len(tried)} mutants ({100 * loop.killed / len(tried):.1f} %), of {len(every)}")


def run_tests(files: Iterable[str], loop: TestLoop) -> None:
    """Collect the tests of files once, and let the loop do as it likes with them."""
    import pytest

    there = [file for file in files if (ROOT / file).exists()]
    pytest.main(["-q", "-q", "-n0", "-p", "no:cacheprovider", "--tb=no", *CHOSEN, *there], [loop])


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
