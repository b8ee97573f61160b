"""Workers of a dask cluster, on this machine or on others (dask.distributed; the extra `palaver[cluster]`).

How it works
============

Every worker of the cluster gets one task of ours, which lasts as long as the run and is bound to that worker. Messages
to it, and those of all of them to us, go through queues of the scheduler; nothing is a result of a task, since dask
computes results again when they are lost. Threads carry the messages, so nobody waits for a queue who has something
else to do; what is waiting is sent in one piece.

Who is there is asked of the scheduler now and then: a worker that joins late gets a task, and one that is gone is told.
If there is no scheduler any more, the cluster is gone.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from uuid import uuid4

from distributed import Client, Future, LocalCluster, Queue, get_client

from palaver.workers.carrier import Carrier, CarrierError, WorkerJoined, WorkerLost, WorkerNews, WorkerSaid, entry_of
from palaver.workers.worker_limits import (
    MAX_EARLY_DEATHS,
    SECONDS_BETWEEN_LOOKS,
    SECONDS_TO_CONNECT,
)

LOCAL = "local:"


class _QueueSender:
    """Puts what it is given into queues of the scheduler, in order, in the background."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Queue, list[Any]] | None] = SimpleQueue()
        self.failure: Exception | None = None
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, queue: Queue, *messages: object) -> None:
        self._waiting.put((queue, list(messages)))

    def close(self, seconds: float) -> None:
        """Wait until all is sent."""
        self._waiting.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        held: tuple[Queue, list[Any]] | None = None
        while (held := held or self._waiting.get()) is not None:
            queue, messages = held
            held = None
            is_last = False
            with suppress(Empty):
                while True:
                    more = self._waiting.get_nowait()
                    if more is None:
                        is_last = True
                        break
                    if more[0] is not queue:
                        held = more
                        break
                    messages += more[1]
            try:
                queue.put(pickle.dumps(messages))
            except Exception as error:  # whatever dask says of a scheduler that is gone
                self.failure = error
                return
            if is_last:
                return


class _QueueReceiver:
    """Takes what comes by a queue of the scheduler, in the background."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._come: SimpleQueue[Any] = SimpleQueue()
        self.failure: Exception | None = None
        Thread(target=self._run, daemon=True).start()

    def take(self, seconds: float | None) -> list[Any]:
        """The messages so far; if there are none, those of the next seconds. :raises EOFError: no more will come"""
        taken: list[Any] = []
        with suppress(Empty):
            taken.append(self._come.get(timeout=seconds))
            while True:
                taken.append(self._come.get_nowait())
        if not taken and self.failure is not None:
            raise EOFError from self.failure
        return [message for message in taken if message is not _WAKE_UP]

    def _run(self) -> None:
        try:
            while True:
                for packed in (self._queue.get(), *self._queue.get(batch=True)):
                    for message in pickle.loads(packed):
                        self._come.put(message)
        except Exception as error:  # whatever dask says of a scheduler, or of a client, that is gone
            self.failure = error
            self._come.put(_WAKE_UP)


_WAKE_UP = object()


class _QueueMailbox:
    """The mailbox of a worker. A message that is None is the last one."""

    def __init__(self, inbox: _QueueReceiver, outbox: _QueueSender, queue: Queue, number: int) -> None:
        self._inbox, self._outbox, self._queue, self._number = inbox, outbox, queue, number
        self._waiting: list[Any] = []

    def receive(self) -> Any:
        while not self._waiting:
            self._waiting = self._inbox.take(None)
        message = self._waiting.pop(0)
        if message is None:
            raise EOFError
        return message

    def send(self, message: object) -> None:
        if self._outbox.failure is not None:
            raise OSError("the scheduler is gone") from self._outbox.failure
        self._outbox.put(self._queue, (self._number, message))


def run_task(name: str, number: int, entry: str) -> None:
    """The task of a worker: run a function until nobody has work for it."""
    client = get_client()
    outbox = _QueueSender()
    inbox = _QueueReceiver(Queue(f"{name}-{number}", client=client))
    answers = Queue(name, client=client)
    try:
        entry_of(entry)(number, _QueueMailbox(inbox, outbox, answers, number))
    finally:
        outbox.close(SECONDS_TO_CONNECT)


class DaskCarrier(Carrier):
    """The workers of the cluster whose scheduler is at an address; `local:N` is a cluster of N workers on this machine.

    :raises CarrierError: there is no such scheduler
    """

    def __init__(self, address: str, entry: str) -> None:
        self._entry = entry
        self._name = f"palaver-{uuid4().hex}"
        self._cluster: LocalCluster | None = None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters to users we tell ourselves
        try:
            if address.startswith(LOCAL):
                count = int(address.removeprefix(LOCAL))
                self._cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
            self._client = Client(self._cluster or address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise CarrierError(f"there is no scheduler of dask at {address}: {error}") from error
        self._address = address
        self._answers = _QueueReceiver(Queue(self._name, client=self._client))
        self._outbox = _QueueSender()
        self._queues: dict[int, Queue] = {}
        self._tasks: dict[int, tuple[str, Future]] = {}  # by number: the address of the worker, and its task
        self._started = 0
        self._failures = 0  # tasks in a row that have failed
        self._look_at = 0.0

    def send(self, worker: int, message: object) -> None:
        if worker in self._queues:
            self._outbox.put(self._queues[worker], message)

    def receive(self, seconds: float) -> list[WorkerNews]:
        """Wait for news, at most so long. :raises CarrierError: the scheduler is gone, or tasks fail at once"""
        try:
            said = self._answers.take(seconds)
            news: list[WorkerNews] = [WorkerSaid(number, message) for number, message in said]
            if news:
                self._failures = 0
            if time.monotonic() >= self._look_at:
                news += self._look_around()
                self._look_at = time.monotonic() + SECONDS_BETWEEN_LOOKS
        except (EOFError, OSError) as error:
            raise CarrierError(f"the scheduler of dask at {self._address} is gone") from error
        return news

    def _look_around(self) -> list[WorkerNews]:
        """See which workers have come and gone."""
        if self._client.status != "running":
            raise OSError(f"the client is {self._client.status}")
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        news: list[WorkerNews] = []
        for number, (place, task) in list(self._tasks.items()):
            if place not in there:
                news.append(self._lost(number, "the cluster has lost it"))
            elif task.status == "error":
                self._failures += 1
                news.append(self._lost(number, f"its task has failed: {task.exception()}"))
        if self._failures >= MAX_EARLY_DEATHS:
            raise CarrierError(f"workers end as soon as they are started: {news}")
        busy = {place for place, _ in self._tasks.values()}
        return [*news, *(self._start(place) for place in there if place not in busy)]

    def _start(self, place: str) -> WorkerJoined:
        self._started += 1
        number = self._started
        self._queues[number] = Queue(f"{self._name}-{number}", client=self._client)
        task = self._client.submit(
            *(run_task, self._name, number, self._entry),
            key=f"{self._name}-{number}",
            workers=[place],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self._tasks[number] = (place, task)
        return WorkerJoined(number)

    def _lost(self, number: int, reason: str) -> WorkerLost:
        _, task = self._tasks.pop(number)
        self._queues.pop(number)
        task.cancel(force=True)
        return WorkerLost(number, reason)

    def close(self, seconds: float) -> list[WorkerNews]:
        """Let all tasks end, and return what they have said meanwhile."""
        news: list[WorkerNews] = []
        for number in self._queues:
            self.send(number, None)
        until = time.monotonic() + seconds
        with suppress(EOFError, OSError):
            while time.monotonic() < until and not all(task.done() for _, task in self._tasks.values()):
                news += [WorkerSaid(*each) for each in self._answers.take(0.05)]
            self._outbox.close(1.0)
            news += [WorkerSaid(*each) for each in self._answers.take(0.05)]
        _quietly(self._client.close)
        if self._cluster is not None:
            _quietly(self._cluster.close)
        return news


def _quietly(close: Callable[[], object]) -> None:
    """Close something that may be gone already."""
    with suppress(Exception):
        close()
