"""Findings about the system under test: crashes, unrequested exits, and errors that it reports itself.

A program that ends, or reports an error, explains why its connection has ended: that is one finding, not two. If it
happens before the session has heard anything from it, the session before may have caused it; then both are shown. If
it happens after a whole session, and others had ended a moment before, each of these may have caused it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from palaver.campaign.campaign_limits import LATE_CRASH_SECONDS, MAX_LATE_SESSIONS, MAX_OUTPUT_LINES_SHOWN
from palaver.campaign.crash_reports import CrashReport
from palaver.campaign.memory_trend import MemoryGrowth
from palaver.lean_dataclasses import dataclass, replace
from palaver.printable import without_colours
from palaver.session.findings import Finding, FindingKind, SessionMessage, Severity, Verdict, exit_text

# Findings that come about when a program, or the part of it that talks to us, is gone.
MAY_BE_A_CRASH = frozenset((FindingKind.CLOSED, FindingKind.RESET, FindingKind.SILENCE, FindingKind.REFUSED))
# Those of a peer that has hung up on us: what a client does after we have hung up on it explains nothing.
HUNG_UP = frozenset((FindingKind.CLOSED, FindingKind.RESET))


@dataclass(frozen=True, slots=True)
class TargetExit:
    """The exit of the program, when nobody had asked for it."""

    at: float
    exit_code: int  # negative: by that signal
    output: bytes  # the end of what it wrote
    reports: tuple[CrashReport, ...] = ()  # of errors, in what it wrote
    core: str = ""  # the path of its core file, if there is one

    @property
    def how(self) -> str:
        """As in "was killed by SIGSEGV"."""
        return exit_text(self.exit_code)

    @property
    def last_output(self) -> str:
        """The end of what it wrote, as text."""
        return "\n".join(last_lines(self.output))

    def finding(self, messages: Sequence[SessionMessage]) -> Finding:
        """The crash, or the exit, after what was said before."""
        sure = [report for report in self.reports if report.is_sure]
        reports = (sure or list(self.reports))[-1:]
        message = ": ".join([f"the system under test {self.how}", *(report.cause for report in reports)])
        cause = "; ".join([self.how, *(report.cause for report in self.reports[-1:])])
        kind = FindingKind.EXIT if self.exit_code == 0 else FindingKind.CRASH
        if kind is FindingKind.EXIT:
            message += ", although nothing had asked it to"
        core = f"\n  core file: {self.core}" if self.core else ""
        shown = message + core + _quoted(self.output, *reports)
        return Finding(kind, self.at, shown, messages=tuple(messages), cause=cause)


@dataclass(slots=True)
class JointCrash:
    """An exit of the program while several sessions went on, each of which may have caused it."""

    sessions: list[int]  # all of them
    undecided: list[int]  # those that were not tried alone yet
    is_explained: bool = False  # one of them has caused it alone

    def note_trial(self, session: int, *, is_cause: bool) -> bool:
        """Note if a session has caused it alone. Return True if the exit is to be told with this session."""
        self.undecided.remove(session)
        self.is_explained = self.is_explained or is_cause
        return is_cause or (not self.undecided and not self.is_explained)


@dataclass(frozen=True, slots=True)
class HeldSession:
    """A session that is over."""

    number: int
    messages: tuple[SessionMessage, ...]
    ended: float = 0.0


class ServedSessions:
    """The last sessions that one run of the program has served, the earliest first."""

    def __init__(self) -> None:
        self.last: deque[HeldSession] = deque(maxlen=MAX_LATE_SESSIONS)
        self._start = 0  # which run of the program

    def add(self, session: HeldSession, start: int) -> None:
        if start != self._start:
            self.last.clear()
        self._start = start
        self.last.append(session)

    def by(self, start: int) -> Sequence[HeldSession]:
        """Those that the run of the program with this number has served."""
        return tuple(self.last) if start == self._start else ()


@dataclass(frozen=True, slots=True)
class LeakSuspect:
    """The message after which memory grows, "" if that cannot be told; and the session that grew most."""

    symbol: str
    session: HeldSession


@dataclass(frozen=True, slots=True)
class TargetNews:
    """Exits and crash reports of a system under test in one session, which should not have been."""

    at: float = 0.0
    exits: tuple[TargetExit, ...] = ()
    reports: tuple[CrashReport, ...] = ()  # without an exit
    output: bytes = b""  # the end of what it wrote in the session
    growth: MemoryGrowth | None = None  # of its memory, until now
    suspect: LeakSuspect | None = None  # the session to blame for that


def explained(
    findings: Sequence[Finding],
    news: TargetNews,
    said: Sequence[SessionMessage],
    before: Sequence[HeldSession] = (),
    *,
    is_joint: bool = False,
) -> list[Finding]:
    """The findings of a session, with those about the system under test first.

    `before` are the last sessions that the same run of the program has served, the more of them doubtful if it is
    `is_joint`: if several went on at the same time.
    """
    own = [death.finding(said) for death in news.exits] + _reported(news, said) + _grown(news)
    cut = [finding for finding in findings if finding.kind in MAY_BE_A_CRASH]
    rest = list(findings)
    if cut and (explaining := [at for at, each in enumerate(own) if each.verdict is Verdict.FAIL]):
        last = explaining[-1]
        own[last] = replace(own[last], expected=cut[0].expected, got=cut[0].got, offset=cut[0].offset)
        rest = [finding for finding in findings if finding not in cut]
    # Who ends in good order after a whole session may be made for one; that is told, and fails nothing.
    own = [_as_note(each) if each.kind is FindingKind.EXIT and not cut else each for each in own]
    if is_joint:
        before = before if news.exits or news.reports else []
    elif not cut and heard_of(said):
        # All was answered, so the cause lies back by some time, which may be that of earlier sessions.
        before = [held for held in before if any(death.at - held.ended < LATE_CRASH_SECONDS for death in news.exits)]
    else:
        before = [] if heard_of(said) else before[-1:]
    if before:
        own = [_uncertain(finding, before) for finding in own]
        own = [replace(finding, before=()) for finding in own] if is_joint else own
    return [*own, *rest]


def heard_of(said: Sequence[SessionMessage]) -> int:
    """The number of messages that came from the peer."""
    return sum(not message.is_ours for message in said)


def last_lines(output: bytes) -> list[str]:
    """The end of what a program wrote, as text."""
    return _lines(output)[-MAX_OUTPUT_LINES_SHOWN:]


def _lines(output: bytes) -> list[str]:
    return without_colours(output.decode("utf-8", "replace")).splitlines()


def _quoted(output: bytes, *reports: CrashReport) -> str:
    """The end of an output; or the beginning of a report in it, if that is further up."""
    lines, title = last_lines(output), "its last output:"
    if reports and not any(reports[0].summary in line for line in lines):
        written = _lines(output)
        at = next((number for number, line in enumerate(written) if reports[0].summary in line), None)
        if at is not None:
            lines, title = written[at : at + MAX_OUTPUT_LINES_SHOWN], "from its output:"
    return "\n".join([f"\n  {title}", *(f"  | {line}" for line in lines)]) if lines else ""


def _reported(news: TargetNews, said: Sequence[SessionMessage]) -> list[Finding]:
    """A finding for each kind of error that the program reports, and a note for each that it may have handled."""
    reports = {report.cause: report for report in reversed(news.reports)}
    findings = []
    for report in reversed(reports.values()):
        message = f"the system under test reports {report.tool}: {report.summary}{_quoted(news.output, report)}"
        finding = Finding(FindingKind.REPORT, news.at, message, messages=tuple(said), cause=report.cause)
        findings.append(finding if report.is_sure else _as_note(finding))
    return findings


def _grown(news: TargetNews) -> list[Finding]:
    """A note if its memory grows without end."""
    return [] if news.growth is None else [grown(news.growth, news.suspect, news.at)]


def grown(growth: MemoryGrowth, suspect: LeakSuspect | None, at: float) -> Finding:
    """The note that memory grows without end, with the session that is to blame as far as can be told."""
    text = f"the memory of the system under test grows: {growth}"
    if suspect is None:
        return _as_note(Finding(FindingKind.MEMORY, at, text))
    text += f"; most in sessions with {suspect.symbol}, such as session {suspect.session.number}" * bool(suspect.symbol)
    return _as_note(Finding(FindingKind.MEMORY, at, text, messages=suspect.session.messages, cause=suspect.symbol))


def not_alive(reason: str, at: float, said: Sequence[SessionMessage]) -> Finding:
    """The finding that it is not alive any more after a session, although nothing was wrong with its answers there."""
    text = f"the system under test is not alive after the session: {reason}"
    return Finding(FindingKind.HANG, at, text, messages=tuple(said))


def _as_note(finding: Finding) -> Finding:
    return replace(finding, severity=Severity.NOTE)


def _uncertain(finding: Finding, before: Sequence[HeldSession]) -> Finding:
    """The finding, with the sessions before as other possible causes."""
    first, newline, rest = finding.message.partition("\n")
    who = f"session {before[-1].number}"
    if len(before) > 1:
        numbers = [held.number for held in before]
        who = f"one of sessions {min(numbers)} to {max(numbers)}"
    text = f"{first}; {who} may have caused it, which had just ended"
    return replace(finding, message=text + newline + rest, before=before[-1].messages)
