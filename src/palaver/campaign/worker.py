"""A worker: holds units of sessions for a run that is coordinated elsewhere, with a system under test of its own.

It is a campaign like any other, which has its lanes, its target and its second look at findings. Only what it does next
is not its own decision: it waits for units of work, and tells of each session when that has ended.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from palaver.campaign.campaign_factory import SetupError, talk
from palaver.campaign.campaign_limits import COUNTS_TOLD_EVERY
from palaver.campaign.events import (
    CampaignEnded,
    CampaignStarted,
    CoverageChanged,
    Event,
    SessionEnded,
    SessionStarted,
    StillWaiting,
)
from palaver.campaign.run import Campaign
from palaver.campaign.stopping import Phase, Progress, SessionRule
from palaver.campaign.target_care import TargetError
from palaver.campaign.work_units import (
    EventPacker,
    SessionReport,
    UnitReport,
    WireTuple,
    WorkerFailed,
    WorkerLeft,
    WorkOrder,
    WorkUnit,
    limits_reached,
    wire_tuple,
)
from palaver.compiled import load_again
from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass
from palaver.limits import Limit
from palaver.random_source import RandomSource
from palaver.session.interface import Action, Input, Turn
from palaver.workers.carrier import Mailbox

ENTRY = "palaver.campaign.worker:work"


class UnitRule(SessionRule):
    """The sessions of a unit are held, and no others."""

    def __init__(self, unit: WorkUnit, sessions: int) -> None:
        self._unit = unit
        self._before = sessions  # were held before
        self._most = self.most_sessions = sessions + len(unit.sessions)

    def number(self, count: int) -> int:
        return self._unit.sessions[count - self._before - 1]

    def check(self, progress: Progress, seconds: float) -> tuple[str, str]:
        return ("its unit is done" if progress.sessions >= self._most else ""), ""


@dataclass(slots=True)
class _Collected:
    """The events so far of a session that goes on."""

    events: EventPacker = field(default_factory=EventPacker)
    wire: list[WireTuple] = field(default_factory=list)


class UnitWorker:
    """Holds units with one campaign, and reports them."""

    def __init__(self, number: int, mailbox: Mailbox, order: WorkOrder) -> None:
        self._mailbox = mailbox
        self._campaign = campaign = _campaign(number, order)
        campaign.hold = self._hold_units
        campaign.attach(self._see)
        if order.is_traced:
            campaign.tracers.append(self._trace)
        self._exchange = campaign.guidance.exchange()
        self._unit = 0
        self._open: dict[int, _Collected] = {}  # by session
        self._limits: Counter[Limit] = Counter()  # that were told
        self._recoveries = campaign.setup.recoveries.count
        self._waited = 0.0
        self._retries = 0
        self._counts_due = 0.0

    def run(self) -> None:
        """Hold units until nobody has more."""
        with self._campaign as campaign:
            campaign.run()
        self._mailbox.send(WorkerLeft(self._campaign.guidance.learnt(), self._exchange.take()))

    def _hold_units(self) -> Iterator[Event]:
        while True:
            try:
                unit: WorkUnit = self._mailbox.receive()
            except EOFError:
                return
            self._begin(unit)
            yield from self._campaign.hold_here()
            now = self._campaign.clock.now()
            # Who plans for everything tells everything at once: the next plans are made elsewhere.
            is_due = now >= self._counts_due or (unit.phase is Phase.GUIDED and not unit.tours)
            if is_due:
                self._counts_due = now + COUNTS_TOLD_EVERY
            news = self._exchange.take() if is_due else self._exchange.take_paths()
            self._mailbox.send(UnitReport(unit.number, news, self._campaign.guidance.is_done))

    def _begin(self, unit: WorkUnit) -> None:
        campaign, guidance = self._campaign, self._campaign.guidance
        self._unit = unit.number
        for news in unit.news:
            self._exchange.add(news)
        while self._retries < unit.retries:
            self._retries += 1
            guidance.retry_given_up()
        guidance.assign(unit.tours)
        guidance.random_walk.walks.most_messages = unit.most_messages
        campaign.progress.phase = unit.phase
        campaign.obey(UnitRule(unit, campaign.progress.sessions))

    def _trace(self, at: float, session: int, each: Input | Action | Turn) -> None:
        self._open[session].wire.append(wire_tuple(at, each))

    def _see(self, event: Event) -> None:
        if isinstance(event, CampaignStarted | CampaignEnded | CoverageChanged | StillWaiting):
            return  # the coordinator tells its own
        is_inside = event.session in self._open or isinstance(event, SessionStarted)
        self._open.setdefault(event.session, _Collected()).events.add(event)
        if isinstance(event, SessionEnded) or not is_inside:
            self._report(event.session)

    def _report(self, session: int) -> None:
        campaign, collected = self._campaign, self._open.pop(session)
        reached = campaign.limits - self._limits
        self._limits = campaign.limits.copy()
        recoveries, changed = campaign.setup.recoveries, None
        if recoveries.count != self._recoveries:
            self._recoveries, changed = recoveries.count, recoveries.as_data()
        waited, self._waited = campaign.waited - self._waited, campaign.waited
        self._mailbox.send(
            SessionReport(
                *(self._unit, session, collected.events.take(), collected.wire, self._exchange.take_paths()),
                *(limits_reached(reached.items()), changed, waited),
            )
        )


def _campaign(number: int, order: WorkOrder) -> Campaign:
    spec = load_again(order.origin)
    options: dict[str, Any] = order.options
    seed = (RandomSource(order.seed) / "worker" / number).below(1 << 32)
    if order.seconds is not None:
        options = {**options, "seconds": max(0.001, order.seconds)}
    campaign = talk(spec, **options, known=order.known, seed=seed)
    campaign.second_look.shares_server = options.get("target") is None and not options.get("program")
    guidance = campaign.guidance
    guidance.make_lanes(len(guidance.lanes), is_assigned=True)
    guidance.resume_from(order.knowledge)
    campaign.setup.recoveries.add_data(order.recoveries)
    return campaign


def work(number: int, mailbox: Mailbox) -> None:
    """Be a worker until nobody has work any more."""
    try:
        order: WorkOrder = mailbox.receive()
    except EOFError:
        return
    gc.set_threshold(*order.collector)
    sys.path += [place for place in order.modules if place not in sys.path]
    try:
        UnitWorker(number, mailbox, order).run()
    except (TargetError, SetupError, PalaverError) as error:
        mailbox.send(WorkerFailed(str(error)))
    except OSError:  # nobody is left who would want to know
        pass
