"""Live replay: the messages of a recorded session, sent to the target again.

What depends on the answers of the peer, such as tokens, identifiers and lengths, is made anew where the constraints no
longer allow what was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeAlias

from palaver.campaign.events import Event, FindingReported, SessionEnded
from palaver.campaign.run import Campaign, SystemUnderTest
from palaver.compiled import Spec
from palaver.lean_dataclasses import dataclass
from palaver.recording.run_reader import RecordedFinding, RecordedMessage, Run, RunError
from palaver.replaying.replaying_limits import LEAK_SESSIONS
from palaver.replaying.run_options import live_campaign, shows_nobody_there
from palaver.session.findings import (
    SHOWN_LATER,
    Finding,
    FindingKind,
    FoundProblem,
    SessionMessage,
    is_same_problem,
    is_seen_otherwise,
)
from palaver.session.strategy import ScriptedStrategy, ScriptLine

Script: TypeAlias = tuple[ScriptLine, ...]


@dataclass(frozen=True)
class LiveAttempt:
    """A session in which a script was followed."""

    is_reproduced: bool
    finding: Finding | None  # the one that was looked for, or else the first
    messages: tuple[SessionMessage, ...]
    stuck_at: ScriptLine | None  # the message of the script that could not be sent

    @property
    def is_tried(self) -> bool:
        """False if nobody was at the address, so that nothing is known of the finding."""
        return self.is_reproduced or self.finding is None or not shows_nobody_there(self.finding)


# Yields scripts to be tried, and is sent what came of them.
Trial: TypeAlias = Generator[Script, LiveAttempt, None]


def script_from(messages: Sequence[RecordedMessage]) -> Script:
    """The script that says the same as recorded messages."""
    return tuple(ScriptLine(said.sender, said.symbol, said.data, said.is_ours, aside=said.aside) for said in messages)


def recorded_script(run: Run, finding: RecordedFinding) -> Script:
    """The messages of a session until a finding. :raises RunError: it was not kept"""
    if not run.session(finding.session).has_details:
        raise RunError(f"session {finding.session} was not kept: see --keep and --run-size")
    return script_from(run.messages(finding.session)[: finding.messages])


def strategy_for(finding: RecordedFinding, script: Script) -> ScriptedStrategy:
    """Says what a script says, and then what is needed to see if the finding comes again."""
    is_unsolved = finding.kind is FindingKind.UNSOLVED
    return ScriptedStrategy(script, is_exact=False, listens=finding.kind in SHOWN_LATER, goes_on=is_unsolved)


class LiveTarget:
    """The target of a run, with which scripts are tried one after the other, each in a session of its own."""

    def __init__(self, run: Run, finding: RecordedFinding, spec: Spec | None = None, **options: Any) -> None:
        """`options` are those of `palaver.talk`; others are taken from the run."""
        said = run.messages(finding.session)[: finding.messages]
        # The finding, and others that are it, each with what we had said.
        self._wanted: list[tuple[FoundProblem, list[bytes]]] = [(finding, [each.data for each in said if each.is_ours])]
        self._symbols = [each.symbol for each in said]
        self.campaign: Campaign = live_campaign(run, finding, spec, **options)
        self._leaking = self._watched_target() if finding.kind is FindingKind.MEMORY else None
        self._finding = finding
        self._found: list[Finding] = []
        self._said: tuple[SessionMessage, ...] = ()

    def _watched_target(self) -> SystemUnderTest:
        target = self.campaign.target
        if target is None or not target.is_started_by_us:
            self.campaign.close()
            raise RunError("the memory of a server is seen only if palaver starts it: give --target")
        return target

    def hold(self, trial: Trial) -> None:
        """Let a trial have its sessions, until it ends. :raises PalaverError: the target cannot be started"""
        with self.campaign as campaign:
            campaign.attach(self._note).follow(self._strategies(trial)).run()

    def _note(self, event: Event) -> None:
        if isinstance(event, FindingReported):
            self._found.append(event.finding)
        elif isinstance(event, SessionEnded):
            self._said = event.messages

    def _strategies(self, trial: Trial) -> Iterator[ScriptedStrategy]:
        script = next(trial, None)
        while script is not None:
            self._found, self._said = [], ()
            strategy = strategy_for(self._finding, script)
            yield strategy
            if self._leaking is not None:
                yield from self._repeated(script, self._leaking)
            try:
                script = trial.send(self._attempt(strategy))
            except StopIteration:
                script = None

    def _repeated(self, script: Script, target: SystemUnderTest) -> Iterator[ScriptedStrategy]:
        """The same session many times, until it is known if the memory of the target grows; then it is started anew."""
        for session in range(2, LEAK_SESSIONS[-1] + 1):
            yield ScriptedStrategy(script, is_exact=False)
            finding = target.growth_finding(self._said) if session in LEAK_SESSIONS else None
            if finding is not None:
                self._found.append(finding)
                break
        target.restart()

    def _is_wanted(self, finding: Finding) -> bool:
        ours = [said.data for said in finding.messages if said.is_ours]
        if any(is_same_problem(finding, ours, *wanted) for wanted in self._wanted):
            return True
        is_otherwise = is_seen_otherwise(finding, self._wanted[0][0], self._symbols)
        if is_otherwise:
            self._wanted.append((finding, ours))
        return is_otherwise

    def _attempt(self, strategy: ScriptedStrategy) -> LiveAttempt:
        wanted = next((each for each in self._found if self._is_wanted(each)), None)
        finding = wanted or next(iter(self._found), None)
        said = self._said if wanted is None else wanted.messages
        return LiveAttempt(wanted is not None, finding, said, strategy.stuck_at)


def replay_live(
    target: LiveTarget, script: Script, times: int, tell: Callable[[LiveAttempt], None] = lambda _: None
) -> list[LiveAttempt]:
    """Send what a script says, so many times. :raises PalaverError: the target cannot be started"""
    attempts: list[LiveAttempt] = []

    def trial() -> Trial:
        for _ in range(times):
            attempts.append((yield script))
            tell(attempts[-1])

    target.hold(trial())
    return attempts


def may_need_earlier_sessions(run: Run, finding: RecordedFinding) -> bool:
    """Return True if sessions before that of a finding may have left something in the target that it needs."""
    options = run.options
    is_fresh = options.get("restart") == "session" or bool(options.get("reset"))
    is_client = bool(options.get("server")) or bool(options.get("program"))
    return finding.session > 1 and not is_fresh and not is_client
