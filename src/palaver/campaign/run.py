"""Session after session, until the goal is reached, nothing more can be, or a limit is hit; a stream of events.

How it works
============

`Campaign` drives sessions over its transport: one at a time, or several in lanes (`lanes`). After each step of a
session it looks at what has changed (new messages, coverage, output of the system under test) and makes events of it.
Each is given to every attached reader, yielded to whoever iterates, and shown to the oracles. Nothing is called back
from below; who is slow to read delays the session.
"""

from __future__ import annotations

import atexit
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from math import inf
from typing import Self, TypeAlias

from palaver.beyond.wrong_messages import WrongMessages
from palaver.campaign.campaign_limits import LAST_WATCH, MAX_UNHEARD_SESSIONS
from palaver.campaign.command_errors import CommandErrors
from palaver.campaign.events import (
    CampaignEnded,
    CampaignStarted,
    CoverageChanged,
    Event,
    FindingReported,
    MessageReceived,
    MessageSent,
    PhaseChanged,
    PlanMade,
    PortBound,
    SessionEnded,
    SessionStarted,
)
from palaver.campaign.lanes import LanePause, Lanes, SessionCourse, SessionLane, share_exits
from palaver.campaign.oracles import Observation, Oracle
from palaver.campaign.run_facts import CoverageFigures as CoverageFigures
from palaver.campaign.run_facts import coverage_of, spec_kept, traced, versions
from palaver.campaign.second_look import SecondLook
from palaver.campaign.session_factory import SessionFactory
from palaver.campaign.stopping import Budget, Phase, Progress, SessionRule, StopRule, Until
from palaver.campaign.system_under_test import SystemUnderTest
from palaver.campaign.target_care import TargetError, TargetNotRestarted
from palaver.campaign.target_findings import HeldSession, ServedSessions, TargetNews, explained
from palaver.compiled import Spec
from palaver.known_findings import KnownFindings
from palaver.lean_dataclasses import replace
from palaver.limits import Limit
from palaver.navigation.guidance import Guidance
from palaver.random_source import RandomSource
from palaver.session.engine import CutOff, Session, Timeouts
from palaver.session.findings import Finding, FindingKind, SessionMessage, Severity, Verdict, verdict_of, worst
from palaver.session.interface import Action, Input, Listening, Turn
from palaver.session.setup import SessionSetup
from palaver.session.strategy import Strategy
from palaver.transport.driver import Driver, EventLoop, Switchboard

__all__ = ["Budget", "Campaign", "CoverageFigures", "Phase", "Progress", "Reader", "SystemUnderTest", "Until"]

# Sees every event, in order.
Reader: TypeAlias = Callable[[Event], None]
# Sees every input, action and turn of a session: the time, the number of the session, and what it is.
Tracer: TypeAlias = Callable[[float, int, Input | Action | Turn], None]


class Campaign:
    """Sessions of one setup, guided or not. Iterate over its events, or call `run`; once."""

    def __init__(
        self,
        setup: SessionSetup,
        guidance: Guidance,
        seed: int,
        timeouts: Timeouts,
        budget: Budget,
        carrier: EventLoop,
        *,
        is_guided: bool = True,
        target: SystemUnderTest | None = None,
        errors: CommandErrors | None = None,
        oracles: Sequence[Oracle] = (),
        known: KnownFindings | None = None,
        plans: bool = False,
        trace: bool = False,
        files: tuple[str, ...] = (),
        at_end: Callable[[], None] = lambda: None,
        wrong: WrongMessages | None = None,
    ) -> None:
        self.guidance = guidance
        self.progress = Progress(phase=Phase.GUIDED if is_guided else Phase.UNGUIDED)
        self.findings: list[Finding] = []
        self.known_findings: list[Finding] = []  # those that are not reported
        self.known = known or KnownFindings()
        self.seed = seed
        self.limits: Counter[Limit] = Counter()  # those that were reached, and how often
        self._lanes = Lanes(Switchboard(target or carrier), guidance.lanes)
        self.clock = carrier.clock
        self.target = target
        self._errors = errors or CommandErrors()
        self._oracles = oracles
        self._readers: list[Reader] = []
        if plans:
            for lane in self._lanes.lanes:
                lane.strategies.guided_strategy.explanations = lane.plans
        self.tracers: list[Tracer] = []  # see what others see only with `trace`, without the cost of an event
        self.has_trace = trace
        self._files = files
        self._at_end = at_end
        self.setup = setup
        self._chance = RandomSource(seed)
        self.timeouts = timeouts
        self._budget = budget
        self._rule: SessionRule = StopRule(budget, guidance)
        self._began = self.clock.now()
        self._ends_at = None if budget.seconds is None else self._began + budget.seconds
        self._scripts: Iterable[Strategy] | None = None  # that sessions follow
        self._goes_on = False  # after the last of them
        self._stopped = ""  # why it is to stop, if somebody has said so
        self._ended: float | None = None
        self._covered = 0
        self._events: Generator[Event, None, None] | None = None
        self.sessions = SessionFactory(setup, timeouts, self._ends_at, wrong)
        self.make_session = self.sessions.make
        self._served = ServedSessions()  # by the system under test
        self.second_look = SecondLook(self, self._hold)
        self.hold: Callable[[], Iterator[Event]] = self.hold_here  # sessions: here, or by workers elsewhere

    def attach(self, *readers: Reader) -> Self:
        """Let readers see all events, in the order in which they were attached."""
        self._readers += readers
        return self

    def __iter__(self) -> Iterator[Event]:
        return self._begun()

    def _begun(self) -> Generator[Event, None, None]:
        self._events = self._events or self._run()
        return self._events

    def run(self) -> Self:
        """Go on until there is a reason to stop."""
        for _ in self:
            pass
        return self

    def follow(self, strategies: Iterable[Strategy], *, goes_on: bool = False) -> Self:
        """Let each session follow one of these strategies, and end with the last of them, unless the campaign goes on.

        They are taken one by one, each when the session before has ended.
        """
        self._scripts, self._goes_on = strategies, goes_on
        return self

    def stop(self, reason: str) -> None:
        """Stop after the session that goes on, for this reason."""
        self._stopped = self._stopped or reason

    def close(self) -> None:
        """Stop where the campaign is, and close everything that it has opened."""
        if self._events is None:
            next(self._begun())  # readers see the beginning and the end, also if there is nothing between them
        self._begun().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def seconds(self) -> float:
        """The time that the campaign has lasted."""
        return (self.clock.now() if self._ended is None else self._ended) - self._began

    @property
    def waited(self) -> float:
        """The seconds in which there was nothing to do but to wait."""
        return self._lanes.waited

    def note_waited(self, seconds: float) -> None:
        """Note that workers elsewhere have waited so long."""
        self._lanes.waited += seconds

    @property
    def most_sessions(self) -> int | None:
        """The limit of the number of sessions."""
        return self._rule.most_sessions

    @property
    def chance(self) -> RandomSource:
        """The source of all randomness of the campaign."""
        return self._chance

    @property
    def verdict(self) -> Verdict:
        """The verdict of all sessions together, so far; inconclusive before the first has ended.

        A session that the end of the run has cut says nothing.
        """
        if not self.progress.sessions and not self.findings:
            return Verdict.INCONCLUSIVE
        is_cut = any(not each.ends_run for each in self.progress.cut_off)
        return worst((verdict_of(self.findings), Verdict.INCONCLUSIVE if is_cut else Verdict.PASS))

    @property
    def spec(self) -> Spec:
        """The spec of the sessions."""
        return self.setup.spec

    @property
    def coverage(self) -> CoverageFigures:
        return coverage_of(self.guidance)

    def _run(self) -> Generator[Event, None, None]:
        progress, events = self.progress, self._produce()
        atexit.register(self.close)  # who leaves in the middle leaves no system under test behind
        try:
            with spec_kept() as keep:
                for event in events:
                    keep(self.guidance.size)
                    yield from self._publish(event)
        except TargetError as error:
            if not progress.sessions and not self.is_time_over:
                raise
            progress.is_broken_off = not self.is_time_over and not isinstance(error, TargetNotRestarted)
            progress.ended = f"{self._budget.time_is_over}: {error}" if self.is_time_over else str(error)
        except (KeyboardInterrupt, GeneratorExit) as interruption:
            progress.ended = str(interruption) or "interrupted"  # a signal may have a name
            raise
        except Exception as error:  # of a reader or an oracle
            progress.ended = f"{type(error).__name__}: {error}"
            raise
        finally:
            atexit.unregister(self.close)
            events.close()
            self._ended = self.clock.now()
            try:
                self._at_end()
            finally:  # the summary is not lost if the coverage file cannot be written
                last = CampaignEnded(self._ended, 0, progress.ended, self.verdict, progress.sessions)
                self._emit(last)
        yield last

    def _publish(self, event: Event) -> Iterator[Event]:
        """Let readers, whoever iterates, and oracles see an event."""
        self._emit(event)
        yield event
        for oracle in self._oracles:
            for seen in oracle.observe(event) or ():
                reported = self._observed(seen, f"{type(oracle).__name__}({seen.rule})", event.session)
                self._emit(reported)
                yield reported

    def _emit(self, event: Event) -> None:
        for reader in self._readers:
            reader(event)

    def _produce(self) -> Generator[Event, None, None]:
        progress = self.progress
        yield CampaignStarted(self.clock.now(), 0, self.seed, self._files, tuple(self.setup.ours), versions())
        if self._scripts is not None:
            yield from self._follow_scripts(self._scripts)
        if not progress.ended:
            yield from self.hold()
        if self.target is not None:
            until = self.clock.now() + LAST_WATCH
            yield from self.report_late(self.target.after_session(watch_until=until, is_last=True))
            self.target.stop()
            yield from self.target.take_events(0)

    def hold_here(self) -> Iterator[Event]:
        """Hold sessions in the lanes of this process, until there is a reason to stop."""
        return self._lanes.run(self._begin)

    def obey(self, rule: SessionRule) -> None:
        """Hold the sessions that another rule allows, also if there was a reason to stop."""
        self._rule, self.progress.ended = rule, ""

    def _follow_scripts(self, scripts: Iterable[Strategy]) -> Iterator[Event]:
        for strategy in scripts:
            yield from self._lanes.run_alone(self._run_session(self._lanes.lanes[0], strategy))
            if self._stopped or self.is_time_over:
                break
        is_over = self.is_time_over or not self._goes_on
        self._scripts = None if self._goes_on else self._scripts
        why = "its time was over" if self.is_time_over else "all was tried"
        self.progress.ended = self._stopped or why * is_over

    def _begin(self, lane: SessionLane) -> SessionCourse | None:
        """The next session of a lane; None if there is none, or not yet."""
        if self.progress.ended or not self._may_begin(lane):
            return None
        return self._go_on(lane)

    def _may_begin(self, lane: SessionLane) -> bool:
        """Return True if a session may begin beside those that go on."""
        talking = self._lanes.talking
        if not talking:
            return True
        most = self._rule.most_sessions
        if self._lanes.is_wanted_alone() or (most is not None and self.progress.sessions + len(talking) >= most):
            return False
        # A server may accept only a few connections at once, and lose the others.
        if sum(each.is_unheard for each in talking) >= MAX_UNHEARD_SESSIONS or self._stopped or self.is_time_over:
            return False
        return self.progress.phase is not Phase.GUIDED or lane.strategies.guided_strategy.is_worth_a_session()

    def _go_on(self, lane: SessionLane) -> SessionCourse:
        progress = self.progress
        is_guided = progress.phase is Phase.GUIDED
        yield from self._run_session(
            lane, lane.strategies.guided_strategy if is_guided else lane.strategies.random_walk
        )
        if not progress.ended:
            progress.open_messages = sum(len(other.session.said) for other in self._lanes.lanes if other.session)
            yield from self.check()

    def check(self) -> Iterator[Event]:
        """See if there is a reason to stop."""
        self.progress.ended, note = self._rule.check(self.progress, self.seconds)
        self.progress.ended = self._stopped or self.progress.ended
        if note:
            yield PhaseChanged(self.clock.now(), 0, note)

    def _run_session(self, lane: SessionLane, strategy: Strategy) -> SessionCourse:
        progress, others = self.progress, self._lanes.beside(lane)
        number = self._rule.number(progress.sessions + len(others) + 1)
        stream = self._chance / "session" / (number - 1)
        if self.target is not None:
            yield from self._before_session(self.target, others)
        session = self.make_session(strategy, stream)
        lane.begin(session, number)
        for other in others:
            lane.beside[other.number] = other.beside[number] = None
        is_guided, is_repeated = progress.phase is Phase.GUIDED, self._scripts is not None and not self._goes_on
        yield SessionStarted(self.clock.now(), number, is_guided, self._ends_at, is_repeated)
        try:
            yield from self._drive(lane, session)
            session.findings[:] = self._errors.explain(session.findings, session.said, self.clock.now())
            if self.target is not None:
                self._watch_target(self.target, lane, session)
                yield from self._news(lane, session)
            if self._scripts is None or self._goes_on:  # whoever follows scripts repeats them
                yield from self.second_look.at(lane, session)
            yield from self.second_look.probe(lane, session)
            session.findings[:] = [self.marked(finding) for finding in session.findings]
            for finding in session.findings:
                yield self.report(finding, number)
            ends = [finding for finding in session.findings if len(finding.messages) == len(session.said)]
            is_dead = any(finding.known and finding.severity is Severity.VIOLATION for finding in ends)
            lane.strategies.dead_ends.end(is_dead=is_dead)
        finally:
            lane.session = None
            # What was said was said, also if it was interrupted.
            self.count(session.said, session.cut_off, len(session.findings) + len(lane.found))
            for finding in session.findings:
                if finding.constraint:
                    self.guidance.views.note_constraint(finding.constraint, False)
        verdict = worst((session.verdict, verdict_of(lane.found)))
        said, watched = tuple(session.said), session.leaving.seconds
        yield SessionEnded(self.clock.now(), number, verdict, said, session.cut_off, watched)

    def _before_session(self, target: SystemUnderTest, others: Sequence[SessionLane]) -> Iterator[Event]:
        news = target.before_session(self._ends_at)
        self._lanes.sort_mail()
        if others and news.exits:
            share_exits(news.exits, others)
        else:
            yield from self.report_late(news)

    def _hold(self, lane: SessionLane, session: Session, *, is_prepared: bool = False) -> SessionCourse:
        """Hold a session of which only the end matters."""
        if self.target is not None and not is_prepared:
            yield from self._before_session(self.target, self._lanes.beside(lane))
        lane.event_loop.mail.clear()  # nobody is left who would want to hear it
        yield from lane.talk(session, Driver(session, lane.event_loop), self.limits)

    @property
    def seconds_left(self) -> float:
        """The time until the run is over; infinite if that has no limit."""
        return inf if self._ends_at is None else self._ends_at - self.clock.now()

    @property
    def is_time_over(self) -> bool:
        return self.seconds_left <= 0

    def _drive(self, lane: SessionLane, session: Session) -> SessionCourse:
        """Let the session talk until it is over, with events of all that happens."""
        driver = Driver(session, lane.event_loop, lane.happened.append)
        for pause in lane.talk(session, driver, self.limits):
            if pause is not LanePause.WAITING:
                lane.happened += session.own_way.take(self.clock.now())
                yield from self._news(lane, session)
            if not session.is_over:
                yield pause
        lane.happened += session.own_way.take(self.clock.now())
        yield from self._news(lane, session)

    def _news(self, lane: SessionLane, session: Session) -> Iterator[Event]:
        """The events of everything that has changed since this was last asked."""
        number = lane.number
        if lane.happened:
            yield from self._wire_events(lane)
        if self.target is not None:
            yield from self.target.take_events(number)
        while lane.plans:
            yield PlanMade(self.clock.now(), number, lane.plans.pop(0))
        while lane.seen < len(session.said):
            message = session.said[lane.seen]
            lane.seen += 1
            made = MessageSent if message.is_ours else MessageReceived
            yield made(message.at, number, message)
        yield from self.coverage_news(number)

    def coverage_news(self, number: int) -> Iterator[Event]:
        """The event of a session that has covered something, if it has."""
        aim = self.guidance.goal_progress
        if aim.reached != self._covered:
            self._covered = aim.reached
            yield CoverageChanged(self.clock.now(), number, aim.reached, aim.total)

    def _wire_events(self, lane: SessionLane) -> Iterator[Event]:
        now = self.clock.now()
        for each in lane.happened:
            if isinstance(each, Listening) and lane.ports.get(each.link) != each.port:
                lane.ports[each.link] = each.port
                yield PortBound(now, lane.number, each.link, each.port)
        yield from self.trace(lane.number, [(now, each) for each in lane.happened])
        lane.happened.clear()

    def trace(self, number: int, happened: Iterable[tuple[float, Input | Action | Turn]]) -> Iterator[Event]:
        """Let tracers see what has happened in a session, and when."""
        for at, each in happened:
            for tracer in self.tracers:
                tracer(at, number, each)
            if self.has_trace:
                yield traced(at, number, each)

    def report(self, finding: Finding, number: int) -> FindingReported:
        """Number a finding of a session, and make an event of it."""
        count = self.progress.earlier_findings + len(self.findings) + len(self.known_findings)
        numbered = replace(self.marked(finding), number=count + 1, session=number)
        (self.known_findings if numbered.known else self.findings).append(numbered)
        return FindingReported(finding.at, number, numbered)

    def marked(self, finding: Finding) -> Finding:
        """The finding, with the reason if it is known."""
        return replace(finding, known=self.known.reason_for(finding.fingerprint)) if self.known.entries else finding

    def _observed(self, seen: Observation, rule: str, number: int) -> FindingReported:
        """The finding of an oracle by its rule; it may end the session."""
        lane, at = self._lanes.of(number), self.clock.now()
        session = lane.session
        said = () if session is None else tuple(session.said)
        finding = Finding(FindingKind.ORACLE, at, seen.text, seen.party, (), b"", rule, said, seen.severity)
        lane.found.append(self.marked(finding))
        if seen.ends_session and session is not None and not session.is_over:
            lane.event_loop.carry_out(session.abandon())
        return self.report(finding, number)

    def _watch_target(self, target: SystemUnderTest, lane: SessionLane, session: Session) -> None:
        """See what the system under test did in the session; that explains why the connection has ended."""
        ended = self.clock.now()
        watch_until = min(session.leaving.watch_until, inf if self._ends_at is None else self._ends_at)
        news = target.after_session(session.findings, watch_until=watch_until)
        if news.exits:
            share_exits(news.exits, [*self._lanes.beside(lane), lane])
        news = replace(news, exits=tuple(lane.exits))
        before = () if lane.crash is not None else self._served.by(target.starts)
        found = explained(session.findings, news, session.said, before)
        if len(self._lanes.lanes) > 1:  # the session that had just ended is named, and need not be the last one
            found = [replace(finding, before=()) for finding in found]
        session.findings[:] = [replace(finding, output=news.output) for finding in found]
        held = HeldSession(lane.number, tuple(session.said), ended)
        self._served.add(held, target.starts)
        if len(self._lanes.lanes) == 1:  # else nobody can tell which session it was
            target.suspect(held)

    def report_late(self, news: TargetNews) -> Iterator[Event]:
        """Report for the session before what the system under test did after it was over."""
        if self._served.last:
            *earlier, before = self._served.last
            for finding in explained((), news, before.messages, earlier, is_joint=len(self._lanes.lanes) > 1):
                self.progress.findings += 1
                blamed = news.suspect.session if finding.kind is FindingKind.MEMORY and news.suspect else before
                yield self.report(replace(finding, output=news.output), blamed.number)

    def count(self, said: Sequence[SessionMessage], cut_off: CutOff | None, findings: int) -> None:
        """Count a session that has ended."""
        progress = self.progress
        progress.sessions += 1
        ours = sum(each.is_ours for each in said)
        progress.sent += ours
        progress.received += len(said) - ours
        if cut_off is not None:
            progress.cut_off.append(cut_off)
        progress.findings += findings
        progress.count_silence(len(said), is_well=cut_off is None and not findings)
