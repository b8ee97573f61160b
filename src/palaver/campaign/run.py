"""Session after session, until the goal is reached, nothing more can be, or a limit is hit; a stream of events.

How it works
============

`Campaign` drives one session at a time over its transport. After each step it looks at what has changed (new messages,
coverage, output of the system under test) and makes events of it. Each is given to every attached reader, yielded to
whoever iterates, and shown to the oracles. Nothing is called back from below; who is slow to read delays the session.
"""

from __future__ import annotations

import atexit
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Self, TypeAlias

from palaver.campaign.campaign_limits import LAST_WATCH, WAITING_EVENT_EVERY
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
    SilenceRetried,
    StillWaiting,
)
from palaver.campaign.oracles import Observation, Oracle
from palaver.campaign.run_facts import CoverageFigures as CoverageFigures
from palaver.campaign.run_facts import coverage_of, spec_kept, traced, versions
from palaver.campaign.stopping import Budget, Phase, Progress, StopRule, Until
from palaver.campaign.system_under_test import SystemUnderTest
from palaver.campaign.target_care import TargetError
from palaver.campaign.target_findings import HeldSession, ServedSessions, TargetNews, explained, heard_of, not_alive
from palaver.compiled import Spec
from palaver.interruption import Interrupted, interruptible
from palaver.known_findings import KnownFindings
from palaver.limits import Limit, recorded
from palaver.navigation.guidance import Guidance
from palaver.random_source import RandomSource
from palaver.session.engine import EndWatch, Session, Timeouts
from palaver.session.events import Action, Input, Listening, TimePassed, Turn
from palaver.session.findings import Finding, FindingKind, Fingerprint, Severity, Verdict, verdict_of, worst
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptedStrategy, ShortestStrategy, Strategy, script_of
from palaver.transport.driver import Driver, EventLoop

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
        oracles: Sequence[Oracle] = (),
        known: KnownFindings | None = None,
        plans: bool = False,
        trace: bool = False,
        files: tuple[str, ...] = (),
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        self.guidance = guidance
        self.progress = Progress(phase=Phase.GUIDED if is_guided else Phase.UNGUIDED)
        self.findings: list[Finding] = []
        self.known_findings: list[Finding] = []  # those that are not reported
        self._known = known or KnownFindings()
        self.seed = seed
        self.limits: Counter[Limit] = Counter()  # those that were reached, and how often
        self.waited = 0.0  # seconds in which there was nothing to do but to wait
        self._event_loop: EventLoop = target or carrier
        self._clock = carrier.clock
        self.target = target
        self._oracles = oracles
        self._readers: list[Reader] = []
        self._plans: list[str] = []
        if plans:
            guidance.guided_strategy.explanations = self._plans
        self.tracers: list[Tracer] = []  # see what others see only with `trace`, without the cost of an event
        self._has_trace = trace
        self._files = files
        self._at_end = at_end
        self.setup = setup
        self._chance = RandomSource(seed)
        self.timeouts = timeouts
        self._budget = budget
        self._stop_rule = StopRule(budget, guidance)
        self._began = self._clock.now()
        self._ends_at = None if budget.seconds is None else self._began + budget.seconds
        self._scripts: Iterable[Strategy] | None = None  # that sessions follow
        self._goes_on = False  # after the last of them
        self._stopped = ""  # why it is to stop, if somebody has said so
        self._ended: float | None = None
        self._session: Session | None = None
        self._found: list[Finding] = []  # in the session that goes on, by oracles
        self._seen = 0  # messages of the session that have become events
        self._covered = 0
        self._ports: dict[str, int] = {}
        self._events: Iterator[Event] | None = None
        self._end_watch = EndWatch(timeouts.grace)
        self._served = ServedSessions()  # by the system under test
        self._silences: set[Fingerprint] = set()  # those that were confirmed

    def attach(self, *readers: Reader) -> Self:
        """Let readers see all events, in the order in which they were attached."""
        self._readers += readers
        return self

    def __iter__(self) -> Iterator[Event]:
        if self._events is None:
            self._events = self._run()
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
            self._events = iter(())
            self._at_end()
        elif hasattr(self._events, "close"):
            self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def seconds(self) -> float:
        """The time that the campaign has lasted."""
        return (self._clock.now() if self._ended is None else self._ended) - self._began

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

    def _run(self) -> Iterator[Event]:
        progress, events = self.progress, self._produce()
        atexit.register(self.close)  # who leaves in the middle leaves no system under test behind
        try:
            with spec_kept() as keep:
                for event in events:
                    keep(self.guidance.size)
                    yield from self._publish(event)
        except TargetError as error:
            is_late = self._ends_at is not None and self._clock.now() >= self._ends_at
            if not progress.sessions and not is_late:
                raise
            progress.ended = f"{self._budget.time_is_over}: {error}" if is_late else str(error)  # nothing is lost
        except (KeyboardInterrupt, GeneratorExit) as interruption:
            progress.ended = str(interruption) or "interrupted"  # a signal may have a name
            raise
        except Exception as error:  # of a reader or an oracle
            progress.ended = f"{type(error).__name__}: {error}"
            raise
        finally:
            atexit.unregister(self.close)
            events.close()
            self._ended = self._clock.now()
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
        yield CampaignStarted(self._clock.now(), 0, self.seed, self._files, tuple(self.setup.ours), versions())
        if self._scripts is not None:
            yield from self._follow_scripts(self._scripts)
        while not progress.ended:
            yield from self._run_session(self._strategy)
            progress.ended, note = self._stop_rule.check(progress, self.seconds)
            progress.ended = self._stopped or progress.ended
            if note:
                yield PhaseChanged(self._clock.now(), 0, note)
        if self.target is not None:
            until = self._clock.now() + LAST_WATCH
            yield from self._report_late(self.target.after_session(watch_until=until, is_last=True))
            self.target.stop()
            yield from self.target.take_events(0)

    def _follow_scripts(self, scripts: Iterable[Strategy]) -> Iterator[Event]:
        for strategy in scripts:
            yield from self._run_session(strategy)
            if self._stopped or self._is_time_over:
                break
        is_over = self._is_time_over or not self._goes_on
        self._scripts = None if self._goes_on else self._scripts
        why = "its time was over" if self._is_time_over else "all was tried"
        self.progress.ended = self._stopped or why * is_over

    def _run_session(self, strategy: Strategy) -> Iterator[Event]:
        progress = self.progress
        stream = self._chance / "session" / progress.sessions
        number = progress.sessions + 1
        if self.target is not None:
            yield from self._report_late(self.target.before_session(self._ends_at))
        session = self._session = self._make_session(strategy, stream)
        self._found, self._seen = [], 0
        yield SessionStarted(self._clock.now(), number, progress.phase is Phase.GUIDED, self._ends_at)
        try:
            yield from self._drive(session, number)
            if self.target is not None:
                self._watch_target(self.target, session, number)
                yield from self._news(session, number)
            yield from self._retry_silence(session, number)
            yield from self._probe(session, number)
            session.findings[:] = [self._marked(finding) for finding in session.findings]
            for finding in session.findings:
                yield self._report(finding, number)
            ends = [finding for finding in session.findings if len(finding.messages) == len(session.said)]
            is_dead = any(finding.known and finding.severity is Severity.VIOLATION for finding in ends)
            self.guidance.dead_ends.end(is_dead=is_dead)
        finally:
            self._session = None
            self._count(session)  # what was said was said, also if it was interrupted
        verdict = worst((session.verdict, verdict_of(self._found)))
        said, watched = tuple(session.said), session.leaving.seconds
        yield SessionEnded(self._clock.now(), number, verdict, said, session.cut_off, watched)

    def _retry_silence(self, session: Session, number: int) -> Iterator[Event]:
        """If the peer was silent, send it the same once more: a silence that is not repeated is only a note.

        A silence is tried again once for each problem. A system under test that is silent twice is started again.
        """
        silence = next((finding for finding in session.findings if finding.kind is FindingKind.SILENCE), None)
        can_repeat = self.setup.opens_all or (self.target is not None and self.target.is_started_by_us)
        if silence is None or not can_repeat or (self._scripts is not None and not self._goes_on):
            return  # whoever follows scripts repeats them
        is_confirmed, told = True, "as before"
        if silence.fingerprint not in self._silences and not self._is_time_over:
            again = self._make_session(
                ScriptedStrategy(script_of(session.said)), self._chance / "again" / number, EndWatch()
            )
            yield from self._repeat(again, number)
            is_confirmed = heard_of(again.said) <= heard_of(session.said)
            told = "the same when it was tried once more" if is_confirmed else "but not when it was tried once more"
            yield SilenceRetried(self._clock.now(), number, is_confirmed)
        if is_confirmed:
            self._silences.add(silence.fingerprint)
            if self.target is not None and self.target.restart():
                told += "; the system under test was started again"
        retried = replace(
            silence,
            message=f"{silence.message} ({told})",
            severity=Severity.VIOLATION if is_confirmed else Severity.NOTE,
        )
        session.findings[:] = [retried if finding is silence else finding for finding in session.findings]

    def _probe(self, session: Session, number: int) -> Iterator[Event]:
        """See if the system under test is still alive; if not, the session has a finding, and it is started again."""
        target = self.target
        is_known = any(finding.kind is FindingKind.SILENCE for finding in session.findings)
        if target is None or not target.may_be_alive or is_known or self._is_time_over:
            return
        trouble = target.probe(self.timeouts.timeout)
        if target.probes_by_dialogue:
            shortest = ShortestStrategy(self._chance / "probe")
            probe = self._make_session(shortest, self._chance / "probe", EndWatch())
            yield from self._repeat(probe, number, is_prepared=True)
            if not heard_of(probe.said) and (probe.findings or probe.cut_off):
                trouble = "; ".join(f"a probe found {finding.headline}" for finding in probe.findings) or "no answer"
        if trouble:
            target.restart()
            session.findings.append(not_alive(trouble, self._clock.now(), session.said))

    def _repeat(self, session: Session, number: int, *, is_prepared: bool = False) -> Iterator[Event]:
        """Hold a session of which only the end matters."""
        if self.target is not None and not is_prepared:
            yield from self._report_late(self.target.before_session(self._ends_at))
        driver = Driver(session, self._event_loop)
        self._bounded(session, driver.step)
        while not session.is_over:
            if not self._bounded(session, partial(self._step, driver)):
                yield StillWaiting(self._clock.now(), number)
        if self.target is not None:
            yield from self._report_late(self.target.after_session())

    @property
    def _is_time_over(self) -> bool:
        return self._ends_at is not None and self._clock.now() >= self._ends_at

    def _make_session(self, strategy: Strategy, stream: RandomSource, end_watch: EndWatch | None = None) -> Session:
        return Session(
            self.setup, strategy, stream, self.timeouts, ends_at=self._ends_at, end_watch=end_watch or self._end_watch
        )

    def _drive(self, session: Session, number: int) -> Iterator[Event]:
        """Let the session talk until it is over."""
        happened: list[Input | Action | Turn] = []
        driver = Driver(session, self._event_loop, happened.append)
        self._bounded(session, driver.step)
        while True:
            yield from self._news(session, number, happened)
            if session.is_over:
                return
            if not self._bounded(session, partial(self._step, driver)):
                yield StillWaiting(self._clock.now(), number)
            happened += session.own_way.take(self._clock.now())

    def _bounded(self, session: Session, step: Callable[[], bool]) -> bool:
        """Take a step of the session, and cut it if the step takes longer than the session may."""
        with recorded(self.limits), interruptible(lambda: self._seconds_left(session)):
            try:
                return step()
            except Interrupted as error:
                self._event_loop.carry_out(session.cut(error))
                return True

    def _seconds_left(self, session: Session) -> float:
        return inf if session.ends_at is None else session.ends_at - self._clock.now()

    def _step(self, driver: Driver) -> bool:
        """Let the session speak, or wait for its peer; False if nothing came for a while."""
        session = driver.session
        # To listen before one only waits for others would be to listen twice.
        if not session.wants_to_send or not driver.step():
            inputs = self._wait(session.deadline)
            if not inputs:
                return False
            driver.deliver(inputs)
            driver.has_polled = True
        return True

    def _wait(self, until: float | None) -> list[Input]:
        """Return what has happened; [] if nothing has for a while, and there is still time."""
        began = self._clock.now()
        # Who waits without a limit waits in one piece: only so the transport can tell that nothing will ever happen.
        pause = began + WAITING_EVENT_EVERY
        is_short = until is None or until <= pause
        try:
            inputs = self._event_loop.wait(until if is_short else pause)
        finally:  # also if it is interrupted
            self.waited += self._clock.now() - began
        has_only_passed = not is_short and all(isinstance(each, TimePassed) for each in inputs)
        return [] if has_only_passed else inputs

    def _news(
        self, session: Session, number: int, happened: list[Input | Action | Turn] | None = None
    ) -> Iterator[Event]:
        """The events of everything that has changed since this was last asked."""
        if happened:
            yield from self._wire_events(happened, number)
        if self.target is not None:
            yield from self.target.take_events(number)
        while self._plans:
            yield PlanMade(self._clock.now(), number, self._plans.pop(0))
        while self._seen < len(session.said):
            message = session.said[self._seen]
            self._seen += 1
            made = MessageSent if message.is_ours else MessageReceived
            yield made(message.at, number, message)
        aim = self.guidance.goal_progress
        if aim.reached != self._covered:
            self._covered = aim.reached
            yield CoverageChanged(self._clock.now(), number, aim.reached, aim.total)

    def _wire_events(self, happened: list[Input | Action | Turn], number: int) -> Iterator[Event]:
        for each in happened:
            at = self._clock.now()
            if isinstance(each, Listening) and self._ports.get(each.link) != each.port:
                self._ports[each.link] = each.port
                yield PortBound(at, number, each.link, each.port)
            for tracer in self.tracers:
                tracer(at, number, each)
            if self._has_trace:
                yield traced(at, number, each)
        happened.clear()

    def _report(self, finding: Finding, number: int) -> FindingReported:
        count = self.progress.earlier_findings + len(self.findings) + len(self.known_findings)
        numbered = replace(self._marked(finding), number=count + 1, session=number)
        (self.known_findings if numbered.known else self.findings).append(numbered)
        return FindingReported(finding.at, number, numbered)

    def _marked(self, finding: Finding) -> Finding:
        """The finding, with the reason if it is known."""
        return replace(finding, known=self._known.reason_for(finding.fingerprint)) if self._known.entries else finding

    def _observed(self, seen: Observation, rule: str, number: int) -> FindingReported:
        """The finding of an oracle by its rule; it may end the session."""
        session, at = self._session, self._clock.now()
        said = () if session is None else tuple(session.said)
        finding = Finding(FindingKind.ORACLE, at, seen.text, seen.party, (), b"", rule, said, seen.severity)
        self._found.append(self._marked(finding))
        if seen.ends_session and session is not None and not session.is_over:
            self._event_loop.carry_out(session.abandon())
        return self._report(finding, number)

    def _watch_target(self, target: SystemUnderTest, session: Session, number: int) -> None:
        """See what the system under test did in the session; that explains why the connection has ended."""
        ended = self._clock.now()
        watch_until = min(session.leaving.watch_until, inf if self._ends_at is None else self._ends_at)
        news = target.after_session(session.findings, watch_until=watch_until)
        found = explained(session.findings, news, session.said, self._served.by(target.starts))
        session.findings[:] = [replace(finding, output=news.output) for finding in found]
        held = HeldSession(number, tuple(session.said), ended)
        self._served.add(held, target.starts)
        target.suspect(held)

    def _report_late(self, news: TargetNews) -> Iterator[Event]:
        """Report for the session before what the system under test did after it was over."""
        if self._served.last:
            *earlier, before = self._served.last
            for finding in explained((), news, before.messages, earlier):
                self.progress.findings += 1
                blamed = news.suspect.session if finding.kind is FindingKind.MEMORY and news.suspect else before
                yield self._report(replace(finding, output=news.output), blamed.number)

    def _count(self, session: Session) -> None:
        progress = self.progress
        progress.sessions += 1
        ours = sum(said.is_ours for said in session.said)
        progress.sent += ours
        progress.received += len(session.said) - ours
        if session.cut_off is not None:
            progress.cut_off.append(session.cut_off)
        progress.findings += len(session.findings) + len(self._found)
        progress.silent = 0 if session.said else progress.silent + 1
        for finding in session.findings:
            if finding.constraint:
                self.guidance.views.note_constraint(finding.constraint, False)

    @property
    def _strategy(self) -> Strategy:
        return self.guidance.guided_strategy if self.progress.phase is Phase.GUIDED else self.guidance.random_walk
