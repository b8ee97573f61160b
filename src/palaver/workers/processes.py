"""Workers that are processes of this machine, each with a pipe of its own.

A worker that dies closes its pipe, whatever it died of, and another one is started in its place. If we die, the pipe is
closed as well, and the worker ends.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait

from palaver.lean_dataclasses import dataclass
from palaver.workers.carrier import Carrier, CarrierError, WorkerJoined, WorkerLost, WorkerNews, WorkerSaid
from palaver.workers.worker_limits import MAX_EARLY_DEATHS, SECONDS_OF_TERMINATION


@dataclass(eq=False, slots=True)
class _WorkerProcess:
    number: int
    process: subprocess.Popen[bytes]
    connection: Connection
    has_spoken: bool = False


class ProcessCarrier(Carrier):
    """So many processes that run the function `entry`, given by its name."""

    def __init__(self, count: int, entry: str) -> None:
        self._entry = entry
        self._workers: dict[int, _WorkerProcess] = {}
        self._joined: list[WorkerNews] = []
        self._started = 0
        self._early_deaths = 0  # in a row, of workers that have said nothing
        for _ in range(count):
            self._start()

    def _start(self) -> None:
        self._started += 1
        ours, theirs = Pipe()
        place = str(theirs.fileno())
        command = [sys.executable, "-m", "palaver.workers.worker_process", place, str(self._started), self._entry]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self._workers[self._started] = _WorkerProcess(self._started, process, ours)
        self._joined.append(WorkerJoined(self._started))

    @property
    def pids(self) -> dict[int, int]:
        """The processes of the workers, by number."""
        return {worker.number: worker.process.pid for worker in self._workers.values()}

    def send(self, worker: int, message: object) -> None:
        """Send a message; that a worker is gone is told by `receive`."""
        if worker in self._workers:
            with suppress(OSError):
                self._workers[worker].connection.send(message)

    def receive(self, seconds: float) -> list[WorkerNews]:
        """Wait for news, at most so long; a worker that is gone is replaced.

        :raises CarrierError: workers die as soon as they are started
        """
        if self._joined:
            joined, self._joined = self._joined, []
            return joined
        news = self._heard(seconds)
        for each in news:
            if isinstance(each, WorkerLost):
                if self._early_deaths >= MAX_EARLY_DEATHS:
                    raise CarrierError(f"workers end as soon as they are started: {each.reason}")
                self._start()
        return news

    def _heard(self, seconds: float) -> list[WorkerNews]:
        by_connection = {worker.connection: worker for worker in self._workers.values()}
        news: list[WorkerNews] = []
        for ready in wait(list(by_connection), seconds):
            assert isinstance(ready, Connection), "nothing else is waited for"
            worker = by_connection[ready]
            try:
                while ready.poll():
                    news.append(WorkerSaid(worker.number, ready.recv()))
                    worker.has_spoken, self._early_deaths = True, 0
            except (EOFError, OSError):  # what it had sent before was read before
                news.append(WorkerLost(worker.number, self._end_of(worker)))
        return news

    def _end_of(self, worker: _WorkerProcess) -> str:
        """Forget a worker that is gone, and tell what it died of."""
        del self._workers[worker.number]
        worker.connection.close()
        self._early_deaths += not worker.has_spoken
        code = _ended([worker.process], SECONDS_OF_TERMINATION)[0]
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def close(self, seconds: float) -> list[WorkerNews]:
        """Let all workers end, and return what they have said meanwhile."""
        until = time.monotonic() + seconds
        workers = list(self._workers.values())
        for worker in workers:
            self.send(worker.number, None)
        news: list[WorkerNews] = []
        while self._workers and (left := until - time.monotonic()) > 0:
            news += self._heard(left)
        _ended([worker.process for worker in workers], SECONDS_OF_TERMINATION)
        for worker in self._workers.values():
            worker.connection.close()
        self._workers = {}
        return news


def _ended(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> list[int]:
    """Wait for processes that are about to end, and end those that do not; return their exit codes."""
    for end in (None, subprocess.Popen.terminate, subprocess.Popen.kill):
        for process in processes:
            if end is not None and process.poll() is None:
                end(process)
        until = time.monotonic() + seconds
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
    return [process.returncode or 0 for process in processes]
