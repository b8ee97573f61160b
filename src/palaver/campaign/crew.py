"""A crew: sessions that are held by workers elsewhere, in other processes or on other machines; one coordinates them.

How it works
============

The coordinator has the coverage, the plans and the run directory, as if it held the sessions itself. It makes *units of
work* and hands them out: batches of sessions, with numbers of their own. As lanes do, it plans a tour for each of them,
and reserves the goals of that, so that no two sessions anywhere go for the same. A worker holds the sessions of a unit,
and sends everything that happened in each when it has ended, with the paths that it has covered. The coordinator makes
events of that, one session after the other, decides if the run goes on, and tells the other workers with their next
units what was learnt.

What carries units and reports is a `Carrier`: processes of this machine, or a cluster. A worker that is lost loses the
sessions that it was holding: their goals and their numbers are given out again. What has ended has been reported.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import field
from heapq import heappop, heappush
from math import inf
from typing import Any, assert_never

from palaver.campaign.campaign_limits import (
    FIRST_SESSIONS_OF_UNIT,
    MAX_SESSIONS_OF_UNIT,
    MAX_WORKERS_LOST,
    SECONDS_OF_UNIT,
    SECONDS_TO_LEAVE,
    UNITS_AHEAD,
    WAITING_EVENT_EVERY,
)
from palaver.campaign.events import Event, FindingReported, PhaseChanged, SessionEnded, SessionStarted, StillWaiting
from palaver.campaign.run import Campaign
from palaver.campaign.stopping import Phase
from palaver.campaign.target_care import TargetError
from palaver.campaign.work_units import (
    EventUnpacker,
    SessionReport,
    UnitReport,
    WorkerFailed,
    WorkerLeft,
    WorkOrder,
    WorkUnit,
    wire_of,
)
from palaver.lean_dataclasses import dataclass
from palaver.limits import Limit
from palaver.navigation.guidance import GuidanceNews, Tour, joined
from palaver.printable import counted
from palaver.workers.carrier import Carrier, CarrierError, WorkerJoined, WorkerLost, WorkerNews, WorkerSaid


@dataclass(eq=False, slots=True)
class _OpenUnit:
    """A unit that was handed out."""

    unit: WorkUnit
    tours: range  # the numbers of its tours
    left: dict[int, None]  # the sessions that have not ended


@dataclass(eq=False, slots=True)
class _CrewMember:
    """A worker, and what it has to do."""

    units: dict[int, _OpenUnit] = field(default_factory=dict)  # by number
    news: list[GuidanceNews] = field(default_factory=list)  # of others, that it was not told yet
    begun: float = 0.0  # when its present unit was handed out


class _SessionNumbers:
    """Numbers for sessions; those that were not used are given out again."""

    def __init__(self, held: int) -> None:
        self._last = held
        self._free: list[int] = []

    def take(self) -> int:
        if self._free:
            return heappop(self._free)
        self._last += 1
        return self._last

    def give_back(self, number: int) -> None:
        heappush(self._free, number)


class Crew:
    """Hands out the sessions of a campaign to workers, and makes events of what they report."""

    def __init__(self, campaign: Campaign, options: dict[str, Any], lanes: int, carry: Callable[[], Carrier]) -> None:
        self._campaign = campaign
        self._guidance = campaign.guidance
        self._options = options  # of the campaigns of workers
        self._lanes = lanes  # of each of them
        self._carry = carry
        self._exchange = campaign.guidance.exchange()
        self._unpacker = EventUnpacker(campaign.spec)
        self._members: dict[int, _CrewMember] = {}
        self._numbers = _SessionNumbers(0)
        self._units = 0
        self._tours = 0
        self._pace = 0.0  # seconds that a session takes
        self._lost_in_a_row = 0
        self._most = 1  # workers at the same time

    def hold(self) -> Iterator[Event]:
        """Let workers hold sessions until there is a reason to stop."""
        campaign = self._campaign
        self._numbers = _SessionNumbers(campaign.progress.sessions)
        try:
            carrier = self._carry()
        except CarrierError as error:
            raise TargetError(str(error)) from error
        has_left = False
        try:
            while self._goes_on():
                self._hand_out(carrier)
                yield from self._see(carrier, carrier.receive(WAITING_EVENT_EVERY))
            has_left = True
            yield from self._see(None, carrier.close(SECONDS_TO_LEAVE))
        except CarrierError as error:
            campaign.progress.ended = f"{error}; all sessions that had ended are kept"
            yield PhaseChanged(campaign.clock.now(), 0, campaign.progress.ended)
        finally:
            if not has_left:  # somebody is in a hurry
                carrier.close(0.0)

    def _goes_on(self) -> bool:
        """Return True if there is something to hand out, or to wait for."""
        campaign = self._campaign
        if campaign.seconds_left < 0 and not campaign.progress.ended:
            for _ in campaign.check():
                pass
        if not campaign.progress.ended:
            return True
        return self._is_busy and campaign.seconds_left > -SECONDS_TO_LEAVE

    @property
    def _is_busy(self) -> bool:
        return any(member.units for member in self._members.values())

    # --- units --------------------------------------------------------------------------------------------------------

    def _hand_out(self, carrier: Carrier) -> None:
        """Let every worker have enough to do."""
        for ahead in range(UNITS_AHEAD):
            for number, member in self._members.items():
                if len(member.units) <= ahead and (unit := self._next_unit(member)) is not None:
                    carrier.send(number, unit)

    def _next_unit(self, member: _CrewMember) -> WorkUnit | None:
        """The next unit for a worker; None if there is none, or not yet."""
        progress, guidance = self._campaign.progress, self._guidance
        left = self._sessions_left()
        if progress.ended or not left:
            return None
        tours: tuple[Tour, ...] = ()
        if progress.phase is Phase.GUIDED:
            tours = self._next_tours(min(left, self._lanes))
            if not tours and self._is_busy:
                return None  # what others report decides what is left
            count = len(tours) or min(left, self._lanes)
        else:
            count = min(left, self._batch())
        self._units += 1
        sessions = tuple(self._numbers.take() for _ in range(count))
        most, retries = guidance.random_walk.walks.most_messages, guidance.retries
        news, member.news = member.news, []
        unit = WorkUnit(self._units, sessions, progress.phase, tours, most, retries, (joined(news),) if news else ())
        if not member.units:
            member.begun = self._campaign.clock.now()
        numbers = range(self._tours - len(tours) + 1, self._tours + 1)
        member.units[unit.number] = _OpenUnit(unit, numbers, dict.fromkeys(sessions))
        return unit

    def _sessions_left(self) -> int:
        most = self._campaign.most_sessions
        if most is None:
            return MAX_SESSIONS_OF_UNIT
        open_sessions = sum(len(unit.left) for member in self._members.values() for unit in member.units.values())
        return max(0, most - self._campaign.progress.sessions - open_sessions)

    def _batch(self) -> int:
        """The number of sessions of a unit without tours."""
        if self._campaign.progress.phase is Phase.CHECKING or not self._pace:
            return FIRST_SESSIONS_OF_UNIT * self._lanes
        return max(1, min(MAX_SESSIONS_OF_UNIT, int(SECONDS_OF_UNIT / self._pace)))

    def _next_tours(self, most: int) -> tuple[Tour, ...]:
        """Tours for sessions that are worth it, beside those that go on."""
        tours: list[Tour] = []
        while len(tours) < most:
            planner = self._guidance.tour_planner(self._tours + 1)
            if planner.has_others and not planner.is_worth_a_session():
                break
            tour = planner.tour()
            if tour is None or not tour.steps:
                planner.release()
                break
            self._tours += 1
            tours.append(tour)
        return tuple(tours)

    def _release(self, unit: _OpenUnit) -> None:
        """Give back the goals of a unit, and the numbers of sessions that were not held."""
        for tour in unit.tours:
            self._guidance.reservations.release(tour)
        for number in unit.left:
            self._numbers.give_back(number)

    # --- reports ------------------------------------------------------------------------------------------------------

    def _see(self, carrier: Carrier | None, news: list[WorkerNews]) -> Iterator[Event]:
        if not news:
            yield StillWaiting(self._campaign.clock.now(), 0)
        for each in news:
            match each:
                case WorkerJoined(worker):
                    if carrier is not None:
                        yield from self._welcome(carrier, worker)
                case WorkerLost(worker, reason):
                    if carrier is not None:  # else it was to leave
                        yield from self._miss(worker, reason)
                case WorkerSaid(worker, SessionReport() as report):
                    yield from self._add_session(worker, report)
                case WorkerSaid(worker, UnitReport() as report):
                    yield from self._end_unit(worker, report)
                case WorkerSaid(_, WorkerFailed(message)):
                    raise TargetError(message)
                case WorkerSaid(worker, WorkerLeft(knowledge, learnt)):
                    self._guidance.add_learnt(knowledge)
                    self._learn(worker, learnt)
                case WorkerSaid(_, other):
                    raise TypeError(f"a worker has said {other!r}")
                case _:
                    assert_never(each)

    def _welcome(self, carrier: Carrier, worker: int) -> Iterator[Event]:
        """Tell a worker what all know."""
        campaign = self._campaign
        self._members[worker] = _CrewMember()
        self._most = max(self._most, len(self._members))
        carrier.send(worker, self._order())
        if campaign.progress.sessions and not self._lost_in_a_row:
            yield PhaseChanged(campaign.clock.now(), 0, f"worker {worker} has come")

    def _order(self) -> WorkOrder:
        """Everything that a worker needs, which begins now."""
        campaign = self._campaign
        return WorkOrder(
            campaign.spec.origin,
            self._options,
            campaign.seed,
            campaign.known,
            self._guidance.as_data(),
            campaign.setup.recoveries.as_data(),
            tuple(sys.path),
            None if campaign.seconds_left == inf else campaign.seconds_left,
            gc.get_threshold(),
            is_traced=bool(campaign.tracers) or campaign.has_trace,
        )

    def _miss(self, worker: int, reason: str) -> Iterator[Event]:
        """Give out again what a worker that is gone had to do."""
        member = self._members.pop(worker)
        lost = [number for unit in member.units.values() for number in unit.left]
        for unit in member.units.values():
            self._release(unit)
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MAX_WORKERS_LOST:
            raise CarrierError(f"{self._lost_in_a_row} workers were lost before any came to the end of a session")
        what = f"; what it was holding ({counted(len(lost), 'session')} at most) is held again" if lost else ""
        yield PhaseChanged(self._campaign.clock.now(), 0, f"worker {worker} is gone: {reason}{what}")

    def _learn(self, worker: int, news: GuidanceNews) -> None:
        if news.paths or news.counts or news.missing_values is not None:
            self._exchange.add(news)
            for number, member in self._members.items():
                if number != worker:
                    member.news.append(news)

    def _add_session(self, worker: int, report: SessionReport) -> Iterator[Event]:
        """Make events of what has happened in a session that has ended."""
        campaign = self._campaign
        self._learn(worker, report.news)
        for value, what, consequence, times in report.limits:
            campaign.limits[Limit(value, what, consequence)] += times
        if report.recoveries is not None:
            campaign.setup.recoveries.add_data(report.recoveries)
        campaign.note_waited(report.waited / self._most)
        findings = 0
        for event in self._unpacker.events(report.events):
            match event:
                case SessionStarted():
                    yield event
                    yield from campaign.trace(event.session, wire_of(report.wire))
                case FindingReported(finding=finding):
                    findings += 1
                    yield campaign.report(finding, event.session)
                case SessionEnded():
                    self._end_session(worker, event, findings)
                    yield from campaign.coverage_news(event.session)
                    yield event
                    if not campaign.progress.ended:
                        yield from campaign.check()
                case _:
                    yield event

    def _end_session(self, worker: int, event: SessionEnded, findings: int) -> None:
        campaign, reservations = self._campaign, self._guidance.reservations
        self._lost_in_a_row = 0
        campaign.count(event.messages, event.cut_off, findings)
        reservations.messages += len(event.messages)
        member = self._members.get(worker)
        if member is not None:
            for unit in member.units.values():
                unit.left.pop(event.session, None)

    def _end_unit(self, worker: int, report: UnitReport) -> Iterator[Event]:
        self._learn(worker, report.news)
        member = self._members.get(worker)
        opened = None if member is None else member.units.pop(report.unit, None)
        if member is None or opened is None:
            return
        unit, now = opened.unit, self._campaign.clock.now()
        self._pace = max(1e-6, (now - member.begun) / len(unit.sessions))
        member.begun = now
        self._release(opened)
        if report.is_done and unit.phase is Phase.GUIDED and not unit.tours and not self._is_busy:
            # It was free to plan for everything, and nobody else is about to cover something.
            self._guidance.guided_strategy.is_done = True
            if not self._campaign.progress.ended:
                yield from self._campaign.check()
