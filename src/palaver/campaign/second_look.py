"""A second look at what was found: findings that another cause may have are tried once more before they are told.

A peer that was silent may only have been slow, and one that has hung up after a long pause of ours may have been tired
of waiting. Where several sessions go on at the same time, one may change what another finds: by the state of a server
that they share, or by its crash. So what was found there is tried again alone, with the same messages. What does not
come again is told as a note; a crash is told in any case, with all sessions that may have caused it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from palaver.campaign.campaign_limits import LONG_PAUSE
from palaver.campaign.events import Event, SilenceRetried
from palaver.campaign.lanes import LanePause, SessionCourse, SessionLane
from palaver.campaign.session_factory import after_refusal, judged_without
from palaver.campaign.target_findings import HUNG_UP, MAY_BE_A_CRASH, explained, heard_of, not_alive
from palaver.lean_dataclasses import replace
from palaver.session.engine import EndWatch, Session
from palaver.session.findings import (
    SHOWN_LATER,
    Finding,
    FindingKind,
    Fingerprint,
    SessionMessage,
    Severity,
    Verdict,
    is_seen_otherwise,
    problem_of,
)
from palaver.session.strategy import ScriptedStrategy, ShortestStrategy, script_of

if TYPE_CHECKING:
    from palaver.campaign.run import Campaign

# What a program that is gone is found by.
_PROGRAM_ENDED = frozenset((FindingKind.CRASH, FindingKind.EXIT))
# Nobody was there: this says nothing about what was sent.
_NOBODY_THERE = frozenset((FindingKind.REFUSED,))


class SecondLook:
    """Tries again what sessions of a campaign have found; `hold` holds a session of which only the end matters."""

    def __init__(self, campaign: Campaign, hold: Callable[..., SessionCourse]) -> None:
        self._campaign = campaign
        self._hold = hold
        self.shares_server = False  # with sessions that are held elsewhere
        self._silences: set[Fingerprint] = set()  # those that were confirmed
        self._confirmed: set[Fingerprint] = set()  # findings that came again alone

    def at(self, lane: SessionLane, session: Session) -> SessionCourse:
        """Look again at the findings of a session that is over."""
        yield from self._alone(lane, session)
        yield from self._without_asides(lane, session)
        yield from self._retry_silence(lane, session)
        yield from self._retry_hang_up(lane, session)

    @property
    def _can_repeat(self) -> bool:
        target = self._campaign.target
        return self._campaign.setup.opens_all or (target is not None and target.is_started_by_us)

    def _again(self, lane: SessionLane, session: Session) -> tuple[Session, ScriptedStrategy]:
        """The same session once more, not begun yet. What no longer fits the answers of the peer is made anew."""
        listens = any(finding.kind in SHOWN_LATER for finding in session.findings)
        is_unsolved = any(finding.kind is FindingKind.UNSOLVED for finding in session.findings)
        strategy = ScriptedStrategy(script_of(session.said), is_exact=False, listens=listens, goes_on=is_unsolved)
        chance = self._campaign.chance / "again" / lane.number
        return self._campaign.make_session(strategy, chance, EndWatch()), strategy

    def _alone(self, lane: SessionLane, session: Session) -> SessionCourse:
        """If others went on beside a session with findings, try them again alone."""
        doubtful = [finding for finding in session.findings if self._is_doubtful(lane, finding)]
        if not doubtful:
            return
        yield LanePause.ALONE
        found: list[Finding] | None = None
        is_stuck = False
        is_explained = lane.crash is not None and lane.crash.is_explained  # by another session, tried before this one
        if self._can_repeat and self._is_there and not self._campaign.is_time_over and not is_explained:
            again, script = self._again(lane, session)
            yield from self._hold(lane, again)
            found = self._found_again(again)
            is_stuck = script.stuck_at is not None or again.cut_off is not None
        joint = self._joint(lane, doubtful, found)
        kept: list[Finding] = []
        for finding in session.findings:
            if finding not in doubtful:
                kept.append(finding)
            elif finding.kind in _PROGRAM_ENDED:
                kept += joint(finding)
            elif found is not None and self._has_come(finding, found):
                self._confirmed.add(finding.fingerprint)
                kept.append(finding)
            elif (cause := _cause_of(finding, found or ())) is not None:
                kept.append(cause)
            else:
                kept.append(_as_note(finding, lane, is_tried=found is not None and not is_stuck))
        session.findings[:] = kept

    def _without_asides(self, lane: SessionLane, session: Session) -> SessionCourse:
        """If a session went wrong after a wrong message of ours was refused, hold it once more without that message."""
        finding = after_refusal(session)
        if finding is None or not self._can_repeat or self._campaign.is_time_over:
            return
        yield LanePause.ALONE
        again = self._campaign.sessions.without_asides(finding, self._campaign.chance / "without" / lane.number)
        yield from self._hold(lane, again)
        yield from self._after(again)
        judged = judged_without(finding, again)
        session.findings[:] = [judged if each is finding else each for each in session.findings]

    @property
    def _is_there(self) -> bool:
        target = self._campaign.target
        return target is None or target.can_be_alive

    def _is_doubtful(self, lane: SessionLane, finding: Finding) -> bool:
        """Return True if sessions that went on at the same time may have caused a finding."""
        if not (lane.beside or self.shares_server) or finding.kind in (FindingKind.SILENCE, FindingKind.SPEC_CRASH):
            return False
        if finding.kind in _PROGRAM_ENDED:
            return lane.crash is not None
        return finding.severity is Severity.VIOLATION and finding.fingerprint not in self._confirmed

    @staticmethod
    def _has_come(finding: Finding, found: list[Finding]) -> bool:
        """Return True if a finding came again; also if nobody was there any more, who could have shown that."""
        problem, symbols = _problem(finding), [said.symbol for said in finding.messages]
        return any(
            _problem(each) == problem or each.kind in _NOBODY_THERE or is_seen_otherwise(each, finding, symbols)
            for each in found
        )

    def _found_again(self, again: Session) -> list[Finding]:
        """The findings of a session that was tried alone, with those about the system under test."""
        target = self._campaign.target
        if target is None:
            return again.findings
        return explained(again.findings, target.after_session(again.findings), again.said)

    def _joint(
        self, lane: SessionLane, doubtful: list[Finding], found: list[Finding] | None
    ) -> Callable[[Finding], list[Finding]]:
        """A function that tells the end of the program in several sessions: once, with the one that causes it alone."""
        crash = lane.crash
        if crash is None or not any(finding.kind in _PROGRAM_ENDED for finding in doubtful):
            return lambda finding: [finding]
        is_cause = any(finding.kind in _PROGRAM_ENDED for finding in found or ())
        if not crash.note_trial(lane.number, is_cause=is_cause):
            return lambda _finding: []
        if is_cause:
            return lambda finding: [finding]
        none = "which were not tried alone" if found is None else "none of them did alone"
        told = f"one of sessions {_listed(crash.sessions)} may have caused it, or all together: {none}"
        return lambda finding: [_with(finding, f"; {told}")]

    def _retry_silence(self, lane: SessionLane, session: Session) -> SessionCourse:
        """If the peer was silent, send it the same once more: a silence that is not repeated is only a note.

        A silence is tried again once for each problem. A system under test that is silent twice is started again.
        """
        campaign, number = self._campaign, lane.number
        silence = next((finding for finding in session.findings if finding.kind is FindingKind.SILENCE), None)
        if silence is None or not self._can_repeat:
            return
        is_confirmed, is_untried, told = True, False, "as before"
        if silence.fingerprint not in self._silences and campaign.is_time_over:
            is_untried = True
        elif silence.fingerprint not in self._silences:
            yield LanePause.ALONE
            again, script = self._again(lane, session)
            yield from self._hold(lane, again)
            yield from self._after(again)
            is_confirmed = heard_of(again.said) <= heard_of(session.said)
            is_untried = is_confirmed and again.cut_off is not None
            told = "the same when it was tried once more" if is_confirmed else "but not when it was tried once more"
            if script.stuck_at is not None:
                is_confirmed, told = True, "and what came before could not be said once more"
            if not is_confirmed:
                campaign.progress.silent = 0  # the peer is there
            if not is_untried:
                yield SilenceRetried(campaign.clock.now(), number, is_confirmed)
        if is_untried:
            told = "and there was no time to try it once more"
        elif is_confirmed:
            self._silences.add(silence.fingerprint)
            if campaign.target is not None:
                yield LanePause.ALONE
                if campaign.target.restart():
                    told += "; the system under test was started again"
        retried = replace(
            silence,
            message=f"{silence.message} ({told})",
            severity=Severity.VIOLATION if is_confirmed else Severity.NOTE,
        )
        session.findings[:] = [retried if finding is silence else finding for finding in session.findings]

    def _retry_hang_up(self, lane: SessionLane, session: Session) -> SessionCourse:
        """If the peer hung up after a long pause of ours, send it the same once more: servers end idle connections.

        Where that does not come again, the pause may be the cause, and it is only a note.
        """
        ended = next((each for each in session.findings if _may_be_tired(each)), None)
        if ended is None or ended.fingerprint in self._confirmed or not self._can_repeat:
            return
        pause = _longest_pause(ended.messages)
        if pause < LONG_PAUSE:
            return
        told = "and there was no time to try it once more"
        if self._is_there and not self._campaign.is_time_over:
            yield LanePause.ALONE
            again, script = self._again(lane, session)
            yield from self._hold(lane, again)
            found = self._found_again(again)
            if self._has_come(ended, found):
                self._confirmed.add(ended.fingerprint)
                return
            told = "but not when it was tried once more"
            if script.stuck_at is not None or again.cut_off is not None:
                told = "and it could not be tried once more"
        noted = replace(_with(ended, f" (after a pause of ours of {pause:.1f} s, {told})"), severity=Severity.NOTE)
        session.findings[:] = [noted if finding is ended else finding for finding in session.findings]

    def _after(self, session: Session) -> Iterator[Event]:
        target = self._campaign.target
        if target is not None:
            yield from self._campaign.report_late(target.after_session())

    def probe(self, lane: SessionLane, session: Session) -> SessionCourse:
        """See if the system under test is still alive; if not, the session has a finding, and it is started again."""
        campaign, target = self._campaign, self._campaign.target
        is_known = any(finding.kind is FindingKind.SILENCE for finding in session.findings)
        if target is None or not target.may_be_alive or is_known or campaign.is_time_over:
            return
        trouble: list[str] = []
        yield from self._ask(lane, trouble)
        if trouble and lane.beside:
            trouble.clear()
            yield LanePause.ALONE
            yield from self._ask(lane, trouble)
        if trouble:
            target.restart()
            session.findings.append(not_alive(trouble[-1], campaign.clock.now(), session.said))

    def _ask(self, lane: SessionLane, trouble: list[str]) -> SessionCourse:
        """Probe the system under test, and add what is wrong."""
        campaign, target = self._campaign, self._campaign.target
        assert target is not None, "there is something to probe"
        trouble += filter(None, [target.probe(campaign.timeouts.timeout)])
        if target.probes_by_dialogue:
            chance = campaign.chance / "probe"
            probe = campaign.make_session(ShortestStrategy(chance), chance, EndWatch())
            yield from self._hold(lane, probe, is_prepared=True)
            yield from self._after(probe)
            if not heard_of(probe.said) and (probe.findings or probe.cut_off):
                trouble.append("; ".join(f"a probe found {each.headline}" for each in probe.findings) or "no answer")


def _may_be_tired(finding: Finding) -> bool:
    """Return True if a peer that does not wait for ever may have ended the connection."""
    return finding.kind in HUNG_UP and finding.severity is Severity.VIOLATION


def _longest_pause(said: Sequence[SessionMessage]) -> float:
    """The longest time that a message of ours has come after the message before it."""
    return max((after.at - before.at for before, after in pairwise(said) if after.is_ours), default=0.0)


def _problem(finding: Finding) -> tuple[object, ...]:
    return problem_of(finding, [said.data for said in finding.messages if said.is_ours])


def _cause_of(finding: Finding, found: Sequence[Finding]) -> Finding | None:
    """The cause of an end or a silence, as the session tried alone has shown it; another session may have been told."""
    if finding.kind not in MAY_BE_A_CRASH:
        return None
    causes = (each for each in found if each.kind is FindingKind.REPORT and each.verdict is Verdict.FAIL)
    cause = next((each for each in causes if each.expected == finding.expected), None)
    return None if cause is None else replace(cause, at=finding.at, messages=finding.messages)


def _as_note(finding: Finding, lane: SessionLane, *, is_tried: bool) -> Finding:
    """The finding, of which nobody knows if others have caused it."""
    who = "sessions of other workers"
    if lane.beside:
        who = f"{'sessions' if len(lane.beside) > 1 else 'session'} {_listed(list(lane.beside))}"
    told = "but not when it was tried alone" if is_tried else "and it was not tried alone"
    return replace(_with(finding, f" (while {who} went on, {told})"), severity=Severity.NOTE)


def _with(finding: Finding, told: str) -> Finding:
    first, newline, rest = finding.message.partition("\n")
    return replace(finding, message=first + told + newline + rest)


def _listed(numbers: list[int]) -> str:
    """As in "3, 5 and 8"."""
    *rest, last = map(str, sorted(numbers))
    return f"{', '.join(rest)} and {last}" if rest else last
