"""What several test folders need: the command line, run here or as a process of its own."""

from __future__ import annotations

import gc
import io
import itertools
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from amounts import examples
from palaver.cli.main import run
from palaver.random_source import RandomSource
from palaver.reporting import console, display
from servers.common import ALL_SERVERS, missing, must_all_be_there

# How long an example takes says more about what else runs on the machine. Nothing here takes longer than `timeout`.
# The same examples in every run, so that whoever changes one thing is not told of another. Others are tried with
# PALAVER_EXPLORE=1, and by the nightly runs.
settings.register_profile(
    "palaver", deadline=None, derandomize="PALAVER_EXPLORE" not in os.environ, max_examples=examples(100)
)
settings.load_profile("palaver")


# What is random is the same in every run, also in processes that tests start, so that who changes one thing is not told
# of another.
if "PALAVER_EXPLORE" not in os.environ:
    os.environ["PALAVER_SEED"] = "1"


# A shell without job control starts background commands with SIGINT ignored, and nohup with SIGHUP; children inherit
# that, but some tests interrupt the processes they start.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """Run one test more at a time than there are cores: some wait for a peer most of the time."""
    return (os.cpu_count() or 1) + 1


# New objects after which Python's collector looks through them, between two tests. By itself it would take a quarter of
# the time: what tests make is garbage soon, and hardly ever in circles.
MAX_UNCOLLECTED = 1_000_000


def pytest_configure() -> None:
    """Leave it to the end of tests when garbage is collected."""
    gc.disable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of servers that are not there."""
    if absent := missing(item.iter_markers("servers")):
        pytest.skip(f"missing: {', '.join(absent)}")


@pytest.fixture(autouse=True)
def usual_recursion_limit() -> Iterator[None]:
    """Give every test the usual limit, whatever the one before has left behind in its threads."""
    before = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(before)


@pytest.fixture(autouse=True)
def same_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the same seeds in every run, one after the other, where a test gives none."""
    if "PALAVER_EXPLORE" not in os.environ:
        seeds = itertools.count(1)
        monkeypatch.setattr(RandomSource, "fresh_seed", staticmethod(lambda: next(seeds)))


@pytest.fixture(autouse=True)
def garbage() -> Iterator[None]:
    """Collect garbage if there may be much of it."""
    yield
    if gc.get_count()[0] > MAX_UNCOLLECTED:
        gc.collect()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where every server must be there, a test that is skipped has failed."""
    report = yield
    if report.skipped and must_all_be_there() and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{ALL_SERVERS} is set, but this was skipped: {report.longreprtext}"
    return report


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and what it wrote."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def summary(self) -> str:
        """What `talk` says first when all is over."""
        return next(line for line in self.text.splitlines() if re.match(r"\d+ sessions?, ", line))

    @property
    def said(self) -> str:
        return self.err.decode()


class CommandLine:
    """`palaver` in a folder of its own. Called, it runs in this process: fast, but without a process's behaviour."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[bytes], patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capture = capture
        self._patch = patch

    def write(self, **files: str | bytes) -> None:
        """Files by name, where the first `_` of a name stands for the dot."""
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (self.folder / name.replace("_", ".", 1)).write_bytes(data)

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Outcome:
        # A run that takes long tells so; how long one takes in a test depends on what else runs.
        for module in (display, console):
            self._patch.setattr(module, "LINE_EVERY_S", math.inf)
        # A command ends with its process, and so nobody looks for its garbage. This process goes on.
        self._patch.setattr(gc, "freeze", lambda: None)
        self._patch.chdir(self.folder)
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capture.readouterr()
        with pytest.raises(SystemExit) as ended:
            run(list(arguments))
        out, err = self._capture.readouterr()
        return self._checked(Outcome(int(ended.value.code or 0), out, err))

    def without_rights(self, *arguments: str) -> Outcome:
        """The same as a process to which files are forbidden. To root nothing is, unless it gives that up."""
        without = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
        if without and shutil.which("setpriv") is None:
            pytest.skip("missing: setpriv")
        return self.process(*arguments, before=without)

    def process(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: dict[str, str] | None = None,
        before: tuple[str, ...] = (),
    ) -> Outcome:
        """The same as a process of its own, which a command `before` may start."""
        done = subprocess.run(
            [*before, *self.argv(*arguments)],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            check=False,
            env={**os.environ, **(environment or {})},
        )
        return self._checked(Outcome(done.returncode, done.stdout, done.stderr))

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.argv(*arguments), cwd=self.folder, **options)

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "palaver", *arguments]

    def _checked(self, outcome: Outcome) -> Outcome:
        # Whatever happens: our own failure is never right, and nobody wants to see a traceback; the target's is quoted.
        assert outcome.code != 3, outcome.said
        assert not any(line.startswith(b"Traceback") for line in (outcome.out + outcome.err).splitlines())
        return outcome


@pytest.fixture
def palaver(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(tmp_path, capfdbinary, monkeypatch)
