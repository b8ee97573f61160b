"""Many sessions at once: the time and the messages until all is covered, with -j N and with -j 1, in the same run.

`make bench-lanes` prints one table; a bar that is missed is shown as MISSED, and then the exit status is 1.

- The servers are real, and 50 ms away: whatever comes from them is held back for so long, on every connection. What is
  covered is all that -j 1 covers of the paths of up to five symbols, and both sides are counted until then.
- "faster" is in time that stands still while others on the machine have the processor: wall time if there are none.
- The bars of smtp and ftp are stricter, since they are what was tuned for.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from common import HERE, Row, command_line, print_table

import palaver
from palaver.campaign.events import CoverageChanged, MessageReceived, MessageSent
from palaver.campaign.run import Campaign
from palaver.session.interface import Action, Close, Input, Open, TimePassed

sys.path.insert(0, str(HERE.parent / "tests"))
from servers import ftp, mqtt, pop3, redis
from servers.common import free_port, greets, started

LATENCY = 0.05
SECONDS = 90.0  # of one run, at most
MOST_MESSAGES = 1.3


class OwnTime:
    """A clock that goes on while this process computes or waits, and not while others have the processor."""

    def __init__(self) -> None:
        self.waited = 0.0

    def now(self) -> float:
        return time.process_time() + self.waited


class DistantLoop:
    """An event loop that tells everything late."""

    def __init__(self, near: Any) -> None:
        self.clock = OwnTime()
        self.port_of = near.port_of
        self._near = near
        self._on_the_way: list[tuple[float, Input]] = []

    def carry_out(self, actions: Iterable[Action]) -> None:
        actions = list(actions)
        over = {action.link for action in actions if isinstance(action, Open | Close)}
        self._on_the_way = [each for each in self._on_the_way if getattr(each[1], "link", "") not in over]
        self._near.carry_out(actions)

    def poll(self) -> list[Input]:
        self._collect(self._near.poll())
        return self._arrived()

    def wait(self, until: float | None) -> list[Input]:
        while not (arrived := self._arrived()):
            if until is not None and self.clock.now() >= until:
                return [TimePassed(self.clock.now())]
            times = [at for at, _ in self._on_the_way[:1]] + ([] if until is None else [until])
            began, computed = time.monotonic(), time.process_time()
            left = min(times, default=None)
            inputs = self._near.wait(None if left is None else began + left - self.clock.now())
            self.clock.waited += time.monotonic() - began - (time.process_time() - computed)
            self._collect(inputs)
        return arrived

    def _collect(self, inputs: Iterable[Input]) -> None:
        arrives = self.clock.now() + LATENCY
        self._on_the_way += [(arrives, each) for each in inputs if not isinstance(each, TimePassed)]

    def _arrived(self) -> list[Input]:
        now = self.clock.now()
        arrived = [replace(each, at=now) for at, each in self._on_the_way if at <= now]
        self._on_the_way = self._on_the_way[len(arrived) :]
        return arrived


@dataclass(frozen=True)
class Subject:
    """A spec, its server, and how many sessions go on at once."""

    spec: str
    start: Callable[[], AbstractContextManager[Any]]
    jobs: int
    at_least: float
    at_most: float | None = None  # times the messages


@dataclass
class DemoServer:
    port: int


@contextmanager
def demo() -> Iterator[DemoServer]:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "palaver.demo.server", str(port)]
        with started(command, is_ready=partial(greets, port), log=Path(folder, "log")):
            yield DemoServer(port)


@contextmanager
def pyftpdlib() -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder, ftp.pyftpdlib(Path(folder)) as running:
        yield running


SUBJECTS = [
    Subject("smtp", demo, 12, 6.0, MOST_MESSAGES),
    Subject("ftp", pyftpdlib, 16, 6.0, MOST_MESSAGES),
    Subject("pop3", pop3.small, 12, 4.0),
    Subject("redis", redis.small, 12, 4.0),
    Subject("mqtt", mqtt.small, 12, 4.0),
]


@dataclass(frozen=True)
class Curve:
    """The messages, and the seconds, after which so many paths were covered; and the CPU time of it all."""

    points: dict[int, tuple[int, float]]
    cpu: float
    findings: int

    @property
    def most(self) -> int:
        return max(self.points)

    def until(self, paths: int) -> tuple[int, float] | None:
        return next((point for covered, point in self.points.items() if covered >= paths), None)


def _move_away(run: Campaign) -> None:
    """Let a campaign that was not begun have a peer that is far away."""
    board = run._lanes._board
    board.carrier = loop = DistantLoop(board.carrier)
    for owner in (run, board, *(lane.event_loop for lane in run._lanes.lanes)):
        owner.clock = loop.clock
    run._began = loop.clock.now()
    run._ends_at = run._began + SECONDS


def measured(subject: Subject, jobs: int, seed: int) -> Curve:
    with subject.start() as server:
        run = palaver.talk(subject.spec, client=server.port, seed=seed, jobs=jobs, seconds=SECONDS, until="plateau")
        _move_away(run)
        messages, points, began = 0, {}, time.process_time()
        for event in run:
            messages += isinstance(event, MessageSent | MessageReceived)
            if isinstance(event, CoverageChanged):
                points[event.covered] = (messages, run.seconds)
        return Curve(points, time.process_time() - began, len(run.findings))


def rows(subject: Subject, seed: int = 1) -> Iterator[Row]:
    one, many = measured(subject, 1, seed), measured(subject, subject.jobs, seed)
    paths = one.most
    then = many.until(paths)
    name = f"{subject.spec} -j {subject.jobs}, {paths} paths"
    if then is None:
        yield Row(f"{name}: covered", "paths", many.most, paths, many.most / paths, at_least=1.0)
        return
    messages, seconds = one.points[paths]
    yield Row(f"{name}: faster", "s", then[1], seconds, seconds / then[1], at_least=subject.at_least)
    yield Row(f"{name}: messages", "", then[0], messages, then[0] / messages, at_most=subject.at_most)
    yield Row(f"{name}: CPU", "s", many.cpu, one.cpu, many.cpu / one.cpu)
    yield Row(f"{name}: findings", "", many.findings, one.findings, many.findings - one.findings, at_most=0.0)


# In the order of the table, by the name that `--only` knows them by.
WORKS = {each.spec: partial(rows, each) for each in SUBJECTS}


def main() -> int:
    arguments = command_line(__doc__, WORKS, "no time").parse_args()
    return print_table({name: WORKS[name] for name in arguments.only or WORKS}, [], arguments.json)


if __name__ == "__main__":
    sys.exit(main())
