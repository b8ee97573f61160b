"""With a cluster, the workers of dask hold the sessions of one run: who comes late helps, who goes loses little."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import palaver
from crew import campaign_of
from palaver.campaign.campaign_factory import TargetError
from palaver.campaign.events import Event, PhaseChanged, SessionEnded, SessionStarted
from palaver.recording.run_reader import open_run
from palaver.recording.run_writer import record
from palaver.workers.carrier import CarrierError, Mailbox, WorkerJoined, WorkerNews, WorkerSaid
from palaver.workers.dask_cluster import DaskCarrier

pytestmark = pytest.mark.filterwarnings("ignore")  # dask's own, about files and loops that it leaves to its end


def echo(number: int, mailbox: Mailbox) -> None:
    """A worker that says back what it is told."""
    try:
        while True:
            mailbox.send((number, mailbox.receive()))
    except EOFError:
        mailbox.send("farewell")


def news_until(carrier: DaskCarrier, is_enough: Callable[[list[WorkerNews]], bool]) -> list[WorkerNews]:
    news: list[WorkerNews] = []
    for _ in range(200):
        news += carrier.receive(0.1)
        if is_enough(news):
            break
    return news


def test_a_carrier_brings_messages_to_the_workers_of_dask_and_back() -> None:
    from distributed import LocalCluster  # here, since it takes long, and most who import this file run other tests

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        carrier = DaskCarrier(cluster.scheduler_address, f"{__name__}:echo")
        assert WorkerJoined(1) in news_until(carrier, bool)
        for word in ("one", "two", "three"):
            carrier.send(1, word)
        said = news_until(carrier, lambda news: len(news) == 3)
        assert said == [WorkerSaid(1, (1, word)) for word in ("one", "two", "three")]
        assert carrier.close(5.0) == [WorkerSaid(1, "farewell")]


def test_that_there_is_no_such_cluster_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(palaver.SetupError, match="the address of a scheduler"):
        campaign_of(workers=1, cluster="nowhere")
    with pytest.raises(palaver.SetupError, match="workers of its own"):
        campaign_of(workers=2, cluster="local:2")
    monkeypatch.setattr("palaver.workers.dask_cluster.SECONDS_TO_CONNECT", 0.1)
    with pytest.raises(CarrierError, match="no scheduler"):
        DaskCarrier("127.0.0.1:1", "none:none")


@contextmanager
def cluster_by_hand(folder: Path) -> Iterator[tuple[str, Callable[[], subprocess.Popen[bytes]], Any]]:
    """A scheduler that is a program, what starts a worker for it, and the process of the scheduler."""
    place = folder / "scheduler.json"
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        started.append(process)
        return process

    def worker() -> subprocess.Popen[bytes]:
        return start("worker", "--scheduler-file", str(place), "--nthreads", "1", "--no-dashboard", "--no-nanny")

    scheduler = start(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(place)
    )
    try:
        worker().poll()
        yield str(place), worker, scheduler
    finally:
        for process in started:
            process.kill()
            process.wait()


def address_in(place: str) -> str:
    from distributed import Client

    with Client(scheduler_file=place, timeout=30.0, set_as_default=False) as client:
        return str(client.scheduler.address)


def is_whole(events: list[Event]) -> bool:
    started = [event.session for event in events if isinstance(event, SessionStarted)]
    ended = [event.session for event in events if isinstance(event, SessionEnded)]
    return started == ended and len(set(started)) == len(started)


@pytest.mark.slow
def test_workers_started_by_hand_may_be_killed_and_may_come_late(tmp_path: Path) -> None:
    with cluster_by_hand(tmp_path) as (place, start, _):
        second = start()
        campaign = campaign_of(workers=1, cluster=address_in(place), guided=False, seconds=60.0, sessions=2000)
        events: list[Event] = []
        notes: list[str] = []
        for event in campaign:
            events.append(event)
            if isinstance(event, PhaseChanged):
                notes.append(event.text)
            if campaign.progress.sessions == 20 and second is not None:
                os.kill(second.pid, signal.SIGKILL)
                second = None  # type: ignore[assignment]
                start()
            if any("has come" in text for text in notes):
                campaign.stop("all was seen")
        assert any("is gone: the cluster has lost it" in text for text in notes)
        assert any("has come" in text for text in notes)
        assert is_whole(events)


@pytest.mark.slow
def test_when_the_scheduler_goes_away_all_sessions_that_had_ended_are_kept(tmp_path: Path) -> None:
    with cluster_by_hand(tmp_path) as (place, _, scheduler):
        campaign = campaign_of(workers=1, cluster=address_in(place), guided=False, seconds=60.0)
        record(campaign, tmp_path / "run", {})
        events: list[Event] = []
        for event in campaign:
            events.append(event)
            if campaign.progress.sessions == 20:
                scheduler.kill()
        assert "is gone; all sessions that had ended are kept" in campaign.progress.ended
        assert is_whole(events)
        with open_run(tmp_path / "run") as run:
            assert len(run.sessions) == campaign.progress.sessions >= 20


@pytest.mark.slow
def test_a_local_cluster_covers_all() -> None:
    campaign = campaign_of(workers=1, cluster="local:2", until="coverage")
    events = list(campaign)
    aim = campaign.guidance.goal_progress
    assert aim.reached == aim.total
    assert is_whole(events)


@pytest.mark.slow
def test_a_target_that_cannot_be_started_is_told() -> None:
    with pytest.raises(TargetError, match="no-such-program"):
        campaign_of(workers=1, cluster="local:1", target="/no-such-program {port}", client="{port}", sessions=2).run()
