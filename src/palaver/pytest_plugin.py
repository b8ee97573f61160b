"""The plugin of pytest: specs as tests, and fixtures. It imports the rest of palaver only when there is work to do.

A spec is a file of tests if it begins with a table `[palaver]` in comments, or if it is named by `--palaver` or as an
argument. It has a test for each message, each constraint and each kind of finding. All of them are about one run, which
is held when the first of them runs; with xdist, by one worker for all.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from palaver.testing.peer_double import HeldRun, PeerDouble
    from palaver.testing.spec_tests import SpecTests

_FOLDER = pytest.StashKey[Path]()
_COLLECTED = pytest.StashKey[set[Path]]()  # the specs that were collected, also those that are wrong
_WORKER_KEY = "palaver_folder"
# The beginning of a spec that has tests in it, with and without a blank.
_HEADS = (b"# [palaver]", b"#[palaver]")

_OPTIONS = (
    ("target", "CMD", str, "start and watch CMD, with {port} for a free port"),
    ("client", "URI", str, "be the client of URI"),
    ("server", "URI", str, "be the server at URI"),
    ("sessions", "N", int, "stop after N sessions"),
    ("time", "SECONDS", float, "stop after SECONDS"),
    ("seed", "SEED", int, "repeat a run"),
    ("known", "FILE", str, "findings in FILE fail no test"),
    ("report", "FILE", str, "write FILE as a page of HTML"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("palaver", "protocol tests by palaver")
    group.addoption("--palaver", action="append", default=[], metavar="SPEC", help="test the system under test by SPEC")
    for name, what, kind, text in _OPTIONS:
        group.addoption(f"--palaver-{name}", type=kind, metavar=what, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder of runs, which all workers share. It is made when it is needed. No spec was collected yet."""
    given = getattr(config, "workerinput", {}).get(_WORKER_KEY)
    config.stash[_COLLECTED] = set()
    config.stash[_FOLDER] = Path(given or Path(tempfile.gettempdir()) / f"palaver-{uuid.uuid4().hex}")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist which folder it is."""
    node.workerinput[_WORKER_KEY] = str(node.config.stash[_FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the runs; those with findings are kept in pytest's cache, and stay if there is none."""
    if not hasattr(config, "workerinput") and _FOLDER in config.stash and config.stash[_FOLDER].is_dir():
        from palaver.testing.spec_tests import remove_runs

        remove_runs(config.stash[_FOLDER])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a spec that has tests in it, or that is named on the command line; no matter how often it is named."""
    if file_path.suffix != ".fan":
        return None
    given = _given(parent.config)
    if file_path in _named(parent.config).values():
        return TestedSpec.with_options(parent, given, path=file_path)
    has_table = _has_table(file_path)
    if parent.session.isinitpath(file_path) and (not has_table or any(each is not None for each in given.values())):
        return TestedSpec.with_options(parent, given, path=file_path)
    return TestedSpec.from_parent(parent, path=file_path) if has_table else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests of the specs that are named by an option, and not collected as files; before tests are selected."""
    for name, path in _named(config).items():
        if path not in config.stash[_COLLECTED]:
            report = _collect(TestedSpec.with_options(session, _given(config), path=path, name=name))
            session.ihook.pytest_collectreport(report=report)
            items.extend(each for each in report.result or () if isinstance(each, pytest.Item))


def _collect(spec: TestedSpec) -> pytest.CollectReport:
    """Collect a spec as pytest does with files: it counts the tests, and a wrong spec is an error of the collection."""
    try:
        return pytest.CollectReport(spec.nodeid, "passed", None, [*spec.collect()])
    except TestedSpec.CollectError as error:
        return pytest.CollectReport(spec.nodeid, "failed", str(error), [])


def _named(config: pytest.Config) -> dict[str, Path]:
    """The files of the specs that are named by an option, by these names."""
    names: list[str] = config.getoption("--palaver")
    return {name: (Path(name) if Path(name).exists() else _bundled(name)).absolute() for name in names}


def _given(config: pytest.Config) -> dict[str, Any]:
    """The other options, None where one is not given."""
    return {each: config.getoption(f"--palaver-{each}") for each, *_ in _OPTIONS}


def _has_table(file_path: Path) -> bool:
    with file_path.open("rb") as file:
        return file.read(len(_HEADS[0])).startswith(_HEADS)


def _bundled(name: str) -> Path:
    from palaver.compiled.bundled import spec_files
    from palaver.errors import PalaverError

    try:
        (found,) = spec_files([name])
    except PalaverError as error:
        raise pytest.UsageError(str(error)) from error
    if not Path(found).exists():
        raise pytest.UsageError(f"there is no spec {name}")
    return Path(found)


class TestedSpec(pytest.File):
    """A spec with the tests that it stands for."""

    given: dict[str, Any] | None = None  # the options, if it is named on the command line

    @classmethod
    def with_options(cls, parent: pytest.Collector, given: dict[str, Any], **more: Any) -> TestedSpec:
        """A spec that is named on the command line, with the options there."""
        made: TestedSpec = cls.from_parent(parent, **more)
        made.given = given
        return made

    def collect(self) -> list[pytest.Item]:
        from palaver.errors import PalaverError
        from palaver.testing.spec_tests import SpecTests

        self.config.stash[_COLLECTED].add(self.path)
        cache = getattr(self.config, "cache", None)
        kept = None if cache is None else Path(cache.mkdir("palaver"))
        tests = SpecTests(self.path, self.given, self.config.stash[_FOLDER], kept)
        try:
            titles = [check.title for check in tests.checks]
        except PalaverError as error:
            raise self.CollectError(str(error)) from error  # what is wrong, and no traceback of ours
        return [
            SpecTest.from_parent(self, name=name, title=title, tests=tests)
            for name, title in zip(_names_of(titles), titles, strict=True)
        ]


def _names_of(titles: list[str]) -> list[str]:
    """A name for each title. In names, pytest takes brackets for parameters and two colons for a class."""
    names: list[str] = []
    for title in titles:
        name = title.translate(str.maketrans("[]", "()")).replace("::", ": :")
        names.append(name if name not in names else f"{name} {len(names)}")
    return names


class SpecTest(pytest.Item):
    """A check of a run."""

    def __init__(self, *, title: str, tests: SpecTests, **more: Any) -> None:
        super().__init__(**more)
        self._title = title
        self._tests = tests

    def runtest(self) -> None:
        outcome, text = self._tests.outcome(self._title)
        if outcome == "skipped":
            pytest.skip(text)
        if outcome != "passed":
            raise AssertionError(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The conversation, and no traceback of ours."""
        return str(excinfo.value) if excinfo.errisinstance(AssertionError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self._tests.line(self._title), self.name


@pytest.fixture
def palaver_run(tmp_path: Path) -> Callable[..., HeldRun]:
    """A function that tests something by a spec: `palaver_run("my.fan", target="…", sessions=10).check()`."""
    from palaver.testing.peer_double import HeldRun

    numbers = iter(range(1, 1_000_000))

    def run(spec: Any, **options: Any) -> HeldRun:
        return HeldRun(spec, tmp_path / f"palaver-{next(numbers)}", **options)

    return run


@pytest.fixture
def palaver_peer() -> Iterator[Callable[..., PeerDouble]]:
    """A function that plays the other side by a spec: `palaver_peer("my.fan", server="0").port` is where to connect."""
    from palaver.testing.peer_double import PeerDouble

    peers: list[PeerDouble] = []

    def play(spec: Any, **options: Any) -> PeerDouble:
        peers.append(PeerDouble(spec, **options))
        return peers[-1]

    yield play
    for peer in peers:
        peer.close()
