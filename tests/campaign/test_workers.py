"""With several workers, processes hold the sessions of one run: nothing that has ended is lost, whatever happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver
from crew import SPEC, TARGET, campaign_of
from palaver.campaign.campaign_factory import TargetError
from palaver.campaign.crew import Crew
from palaver.campaign.events import Event, FindingReported, PhaseChanged, SessionEnded, SessionStarted
from palaver.campaign.run import Campaign
from palaver.campaign.worker import ENTRY
from palaver.recording.run_reader import open_run
from palaver.recording.run_writer import record
from palaver.replaying.offline_replay import replay_offline
from palaver.session.findings import FindingKind
from palaver.workers.carrier import CarrierError, WorkerLost, WorkerNews
from palaver.workers.processes import ProcessCarrier


def test_all_is_covered_and_every_session_is_told_whole() -> None:
    campaign = campaign_of(until="coverage")
    events = list(campaign)
    aim = campaign.guidance.goal_progress
    assert aim.reached == aim.total
    started = [event.session for event in events if isinstance(event, SessionStarted)]
    ended = [event for event in events if isinstance(event, SessionEnded)]
    assert started == [event.session for event in ended]
    assert len(set(started)) == len(started) == campaign.progress.sessions
    assert sum(len(event.messages) for event in ended) == campaign.progress.messages
    assert campaign.verdict is palaver.Verdict.PASS
    # A tree is read again when somebody looks at it.
    said = ended[0].messages[0]
    assert said.node.children[0].symbol == "<kind>"  # type: ignore[union-attr]


@pytest.mark.slow
def test_as_many_sessions_are_held_as_were_asked_for_and_recorded_as_others(tmp_path: Path) -> None:
    campaign = campaign_of(sessions=7, guided=False)
    record(campaign, tmp_path / "run", {})
    campaign.run()
    with open_run(tmp_path / "run") as run:
        assert sorted(session.number for session in run.sessions) == [1, 2, 3, 4, 5, 6, 7]
        assert sum(session.sent for session in run.sessions) == campaign.progress.sent
        assert all(list(run.wire(session.number)) for session in run.sessions)


@pytest.mark.slow
def test_findings_name_their_session_and_can_be_replayed(tmp_path: Path) -> None:
    wrong = SPEC.replace("<echo> ::= <kind> <digit>", '<echo> ::= <kind> "0"')
    campaign = campaign_of(wrong, sessions=6)
    record(campaign, tmp_path / "run", {"client": ["{port}"], "target": TARGET})
    found = [event for event in campaign if isinstance(event, FindingReported)]
    assert found
    assert {event.finding.kind for event in found} == {FindingKind.UNPARSEABLE}
    assert [event.finding.number for event in found] == list(range(1, len(found) + 1))
    with open_run(tmp_path / "run") as run:
        for event in found:
            assert event.session == event.finding.session
            assert [said.data for said in event.finding.messages] == [
                said.data for said in run.messages(event.session)
            ][: len(event.finding.messages)]
            assert replay_offline(run, run.findings[event.finding.number - 1]).is_found


class _Assassin(ProcessCarrier):
    """Kills workers after some messages."""

    def __init__(self, count: int, after: int) -> None:
        super().__init__(count, ENTRY)
        self._left = after

    def receive(self, seconds: float) -> list[WorkerNews]:
        news = super().receive(seconds)
        self._left -= len(news)
        if -100 < self._left <= 0:
            self._left = -1000
            os.kill(min(self.pids.values()), signal.SIGKILL)
        return news


def with_carrier(campaign: Campaign, carry: Any) -> Campaign:
    crew = campaign.hold.__self__  # type: ignore[attr-defined]
    assert isinstance(crew, Crew)
    crew._carry = carry
    return campaign


def test_a_worker_that_is_killed_loses_only_what_it_was_holding() -> None:
    campaign = with_carrier(campaign_of(until="coverage"), lambda: _Assassin(2, after=5))
    events = list(campaign)
    aim = campaign.guidance.goal_progress
    assert aim.reached == aim.total
    notes = [event.text for event in events if isinstance(event, PhaseChanged)]
    assert any("is gone: ended by SIGKILL" in text for text in notes)
    started = [event.session for event in events if isinstance(event, SessionStarted)]
    assert started == [event.session for event in events if isinstance(event, SessionEnded)]
    assert len(set(started)) == len(started) == campaign.progress.sessions


def test_when_no_worker_can_be_started_that_is_told() -> None:
    campaign = with_carrier(campaign_of(sessions=3), lambda: ProcessCarrier(2, "palaver.errors:no_such_function"))
    campaign.run()
    assert "workers end as soon as they are started" in campaign.progress.ended


@pytest.mark.slow
def test_a_target_that_cannot_be_started_is_told_as_without_workers() -> None:
    with pytest.raises(TargetError, match="no-such-program"):
        campaign_of(target="/no-such-program {port}", client="{port}", sessions=2).run()


def test_when_the_time_is_over_nothing_that_has_ended_is_lost() -> None:
    campaign = campaign_of(seconds=2.0, guided=False)
    events = list(campaign)
    assert "--time 2" in campaign.progress.ended
    assert campaign.progress.sessions == sum(isinstance(event, SessionEnded) for event in events) > 0


def test_who_stops_in_the_middle_leaves_no_worker_behind() -> None:
    carriers: list[ProcessCarrier] = []

    def carry() -> ProcessCarrier:
        carriers.append(ProcessCarrier(2, ENTRY))
        return carriers[0]

    campaign = with_carrier(campaign_of(guided=False, seconds=60.0), carry)
    events: Iterator[Event] = iter(campaign)
    next(event for event in events if isinstance(event, SessionEnded))
    pids = list(carriers[0].pids.values())
    campaign.close()
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
def test_every_worker_has_a_folder_of_its_own_which_is_removed(tmp_path: Path) -> None:
    note = f"echo {{dir}} >> {tmp_path}/folders; test -d {{dir}}"
    campaign_of(setup=note, sessions=4, guided=False).run()
    folders = (tmp_path / "folders").read_text().split()
    assert len(folders) == len(set(folders)) == 2
    assert not any(Path(folder).exists() for folder in folders)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "at least 1"),
        ({"client": "2525"}, "a system under test of its own"),
        ({"schedule": "paper"}, "--schedule paper"),
        ({"target": None, "server": "0"}, "listen at the same place"),
    ],
)
def test_what_workers_cannot_do_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(palaver.SetupError, match=message):
        campaign_of(**options)


def test_a_carrier_tells_what_a_worker_died_of() -> None:
    carrier = ProcessCarrier(1, "palaver.errors:no_such_function")
    assert len(carrier.receive(1.0)) == 1
    lost = next(news for news in iter(lambda: carrier.receive(10.0), None) if news)
    assert lost[0] == WorkerLost(1, "ended with exit code 1")
    with pytest.raises(CarrierError):
        list(iter(lambda: carrier.receive(10.0), None))
    carrier.close(1.0)
