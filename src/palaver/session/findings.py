"""The results of a session: its findings and its verdict.

A finding is about the peer unless its kind says otherwise. It carries the session's messages up to that point, what was
expected there and what came, so that it can be read by itself.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import Enum
from typing import Protocol

from palaver.lean_dataclasses import dataclass
from palaver.printable import counted, printable
from palaver.session.fingerprint import Fingerprint as Fingerprint
from palaver.session.fingerprint import data_again, normalised_data, normalised_text, repeatable, request_names
from palaver.session.message_text import is_binary, show_place
from palaver.session.message_text import show_all as show_all
from palaver.session.message_text import show_data as show_data
from palaver.session.message_text import show_fields as show_fields
from palaver.session.session_limits import MAX_EXPECTED_CHARACTERS_IN_LINE, MAX_SHOWN_MESSAGES, MAX_SHOWN_NAMES
from palaver.trees.node import Node


class Verdict(Enum):
    """The result of a session in one word."""

    PASS = "pass"  # the session came to its end, and nothing was wrong
    FAIL = "fail"  # the peer broke the protocol
    INCONCLUSIVE = "inconclusive"  # there was no peer, or we gave up first
    ERROR = "error"  # the spec, or something on our side, failed


class Severity(Enum):
    VIOLATION = "violation"  # makes the session fail
    NOTE = "note"  # is told, and fails nothing


class FindingKind(Enum):
    """A kind of problem, with its label and its verdict on the peer."""

    UNPARSEABLE = ("unexpected response", Verdict.FAIL)
    UNEXPECTED = ("out of turn", Verdict.FAIL)
    CONSTRAINT = ("constraint violated", Verdict.FAIL)
    SILENCE = ("no response", Verdict.FAIL)
    LATE = ("late response", Verdict.FAIL)
    CLOSED = ("connection closed", Verdict.FAIL)
    RESET = ("connection reset", Verdict.FAIL)
    CRASH = ("crash", Verdict.FAIL)
    EXIT = ("unrequested exit", Verdict.FAIL)
    REPORT = ("error report", Verdict.FAIL)
    HANG = ("hang", Verdict.FAIL)
    MEMORY = ("memory growth", Verdict.FAIL)
    LIMIT = ("limit exceeded", Verdict.FAIL)
    TLS = ("TLS failure", Verdict.FAIL)
    ORACLE = ("oracle", Verdict.FAIL)
    ACCEPTED = ("wrong message accepted", Verdict.FAIL)
    REFUSAL = ("wrong refusal", Verdict.FAIL)
    STATE_CHANGED = ("state changed although refused", Verdict.FAIL)
    MISDIRECTED = ("wrong address", Verdict.FAIL)
    REFUSED = ("connection refused", Verdict.INCONCLUSIVE)
    UNREACHABLE = ("unreachable", Verdict.INCONCLUSIVE)
    UNSOLVED = ("no valid message", Verdict.INCONCLUSIVE)
    UNDECIDED = ("undecided", Verdict.INCONCLUSIVE)
    IN_USE = ("address in use", Verdict.ERROR)
    SPEC_CRASH = ("error in spec", Verdict.ERROR)

    def __init__(self, label: str, verdict: Verdict) -> None:
        self.label = label
        self.verdict = verdict


# Kinds of findings that differ if something else was received, or if the reason is another one.
_TOLD_APART_BY_DATA = frozenset((FindingKind.UNPARSEABLE, FindingKind.UNEXPECTED))
_TOLD_APART_BY_REASON = frozenset(
    (FindingKind.ORACLE, FindingKind.TLS, FindingKind.UNREACHABLE, FindingKind.SPEC_CRASH, FindingKind.CRASH)
)
# Kinds of findings about connections that cannot be made.
NOT_CONNECTED = frozenset((FindingKind.MISDIRECTED, FindingKind.REFUSED, FindingKind.UNREACHABLE))
# Kinds of findings that may show only a moment after our last message.
SHOWN_LATER = NOT_CONNECTED | {FindingKind.UNEXPECTED}
# Kinds of findings of which the messages before say nothing.
_ANYWHERE = frozenset((FindingKind.MEMORY, FindingKind.ACCEPTED, FindingKind.REFUSAL))


def kind_shown(kind: FindingKind, cause: str, got: bytes) -> FindingKind:
    """The kind of findings that show themselves in the same way, where nothing is wrong on purpose."""
    if kind is FindingKind.STATE_CHANGED:  # that it does not come without the wrong message was found out later
        return next((each for each in FindingKind if each.label == cause), kind)
    if kind in (FindingKind.ACCEPTED, FindingKind.REFUSAL):
        return FindingKind.UNPARSEABLE if got else FindingKind.SILENCE
    return kind


class FoundProblem(Protocol):
    """A finding, recorded or not, as far as it tells one problem from another."""

    @property
    def kind(self) -> FindingKind:
        """The kind of problem."""

    @property
    def got(self) -> bytes:
        """The data that was not understood."""

    @property
    def offset(self) -> int | None:
        """The byte where it is wrong."""

    @property
    def cause(self) -> str:
        """The reason."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The part that is equal for findings of the same problem."""


def is_same_problem(one: FoundProblem, ours: Sequence[bytes], other: FoundProblem, theirs: Sequence[bytes]) -> bool:
    """Return True if two findings are of one problem, however each was reached.

    With each goes what we had said. A word that we have said in one conversation only may stand in both answers, of
    which one would repeat it then, and the other not; so what we have said in either is left out of both.
    """
    return problem_of(one, ours, theirs) == problem_of(other, theirs, ours)


def problem_of(finding: FoundProblem, ours: Sequence[bytes], elsewhere: Sequence[bytes] = ()) -> tuple[object, ...]:
    """The facts that are equal if a finding comes again, however it was reached. A note may become a violation.

    `ours` is what we had said, and `elsewhere` what we had said where it is compared with another.
    """
    kind, party, *rest, received = finding.fingerprint.problem
    if finding.kind is FindingKind.MEMORY:
        return (kind,)
    if finding.kind in NOT_CONNECTED:  # it fails sooner or later, while the conversation goes on
        return kind, party
    rest = [party, *rest]
    told_as: FindingKind = finding.kind
    if finding.kind is FindingKind.STATE_CHANGED:
        # A replay does not try it without the wrong message. The cause is the kind that it had before.
        told_as, rest[-1] = kind_shown(finding.kind, finding.cause, finding.got), ""
        received = finding.got if told_as in _TOLD_APART_BY_DATA else ""
    if received:
        received = data_again(finding.got[finding.offset or 0 :], b"\0".join(map(repeatable, (ours, elsewhere))))
    return (told_as.label, *rest, received)


def is_seen_otherwise(now: Finding, before: FoundProblem, symbols: Sequence[str]) -> bool:
    """Return True if a finding is another one only as messages of several connections have come in another order.

    `symbols` are those of the messages before the earlier finding.
    """
    said = [each.symbol for each in now.messages]
    return _is_seen_sooner(now, before, said, symbols) or _is_same_silence(now, before, said, symbols)


def _is_seen_sooner(now: Finding, before: FoundProblem, said: Sequence[str], symbols: Sequence[str]) -> bool:
    """Return True if what came out of turn is only noticed earlier now, where the same is said.

    With several connections, it may be noticed while messages go on with another one. Then the place is another, and
    perhaps what came there first. On one connection, it may have been taken for the answer to our next message.
    """
    is_alike = before.kind is FindingKind.UNEXPECTED or now.got == before.got != b""
    if now.kind is not FindingKind.UNEXPECTED or now.party != before.fingerprint.party or not is_alike:
        return False
    return len(said) < len(symbols) and said == list(symbols[: len(said)])


def _is_same_silence(now: Finding, before: FoundProblem, said: Sequence[str], symbols: Sequence[str]) -> bool:
    """Return True if the same was said before a silence, in another order, and what is missing now was missing then.

    What may come besides depends on what has come last, and so do the parties that may send it.
    """
    if {now.kind, before.kind} != {FindingKind.SILENCE} or sorted(said) != sorted(symbols):
        return False
    one, other = set(now.expected), set(before.fingerprint.expected)
    return bool(one and other) and (one <= other or other <= one)


class AsideMessage(Protocol):
    """A message that may be no part of the dialogue, recorded or not."""

    @property
    def aside(self) -> str:
        """The fault that it has on purpose; empty if it is part of the dialogue."""

    @property
    def is_ours(self) -> bool:
        """True if we have sent it."""


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """A message of a session."""

    at: float
    sender: str
    recipient: str | None
    symbol: str
    data: bytes
    node: Node = field(repr=False)
    is_ours: bool = False
    aside: str = ""  # if it is no part of the dialogue: what is wrong about it on purpose, or "answer"

    @property
    def is_aside(self) -> bool:
        """True if it is no part of the dialogue."""
        return bool(self.aside)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that was found."""

    kind: FindingKind
    at: float
    message: str  # the problem in one sentence
    party: str = ""  # the party that caused it
    expected: tuple[str, ...] = ()
    got: bytes = b""  # what came and was not understood, or not accepted
    constraint: str = ""  # the text of the violated constraint, as in the spec; or the oracle and its rule
    messages: tuple[SessionMessage, ...] = field(default=(), repr=False)
    severity: Severity = Severity.VIOLATION
    number: int = 0  # of the finding in its campaign, from 1
    session: int = 0  # of the session in its campaign, from 1
    offset: int | None = None  # the byte of `got` where it is wrong, if that is known
    # Of a crash, the signal or exit code, and the top stack frame if it is known; or why there is no connection or TLS.
    # Of an error in the spec, the exception and its line.
    cause: str = ""
    symbols: tuple[str, ...] = ()  # the names of the messages that `got` was read as
    node: Node | None = field(default=None, repr=False)  # the tree of `got`, if it has one
    before: tuple[SessionMessage, ...] = field(default=(), repr=False)  # the session before, if that may be the cause
    output: bytes = field(default=b"", repr=False)  # what the system under test wrote in the session, its end
    known: str = ""  # the reason, if it is known; then it is counted, and fails nothing

    @property
    def verdict(self) -> Verdict:
        return Verdict.PASS if self.known or self.severity is Severity.NOTE else self.kind.verdict

    @property
    def fingerprint(self) -> Fingerprint:
        """The part that is equal for findings of the same problem."""
        requests = [said.data for said in self.messages if said.is_ours]
        if self.kind is FindingKind.SPEC_CRASH and self.cause:
            # The exception and its line are the problem, whatever was said before.
            return Fingerprint(self.label, "", "", "", "", (), normalised_text(self.cause))
        has_cause = self.kind in _TOLD_APART_BY_REASON
        has_data = self.kind in _TOLD_APART_BY_DATA
        # Memory grows in many sessions, of which one is an example: its last messages say nothing.
        # A note of the spec, or of an oracle, is told once, wherever it was noticed.
        # What may answer a wrong message does not depend on the way to it.
        is_general = self.kind in _ANYWHERE or (self.constraint and self.severity is Severity.NOTE)
        said = () if is_general else self.messages
        return Fingerprint(
            self.label,
            self.party,
            said[-1].symbol if said else "",
            request_names(said),
            self.constraint,
            self.expected,
            normalised_text(self.cause or (self.message if has_cause and not is_general else "")),
            normalised_data(self.got[self.offset or 0 :], repeatable(requests)) if has_data else "",
        )

    @property
    def label(self) -> str:
        """The kind, and whether it is only a note. That of an oracle says itself what it is about."""
        if self.severity is Severity.VIOLATION:
            return self.kind.label
        return "note" if self.kind is FindingKind.ORACLE else f"{self.kind.label} (note)"

    @property
    def headline(self) -> str:
        """The finding in one line: its number and session, if it has one, its kind, and the reason."""
        where = f"finding {self.number} in session {self.session}, " if self.number else ""
        reason = self.message.partition("\n")[0]
        return printable(where + (reason if reason.startswith(self.label) else f"{self.label}: {reason}"))

    def show(self) -> str:
        """The finding with the messages of its session, for people."""
        lines = [self.headline, *self.message.splitlines()[1:]]
        if self.before:
            lines += ["  the session before:", *said_lines(self.before, "    "), "  this session:"]
        lines += said_lines(self.messages, "    " if self.before else "  ")
        lines += self.explanation
        return printable("\n".join(lines))

    @property
    def explanation(self) -> list[str]:
        """The data where it is wrong, and what was expected there, in lines."""
        return [*self._offending_lines(), *_expected_lines(self.expected)]

    def _offending_lines(self) -> list[str]:
        """The offending data, with a caret where it is wrong; the fields of a binary message beside its bytes."""
        if not self.got and self.offset is None:
            return []
        who = f"  {self.party or 'got'}: "
        if self.node is not None and is_binary(self.got):
            rows = show_fields(self.got, self.node, self.offset)
            return [
                f"{who}{self.node.symbol}, {counted(len(self.got), 'byte')}  <- here",
                *(f"    {row}" for row in rows),
            ]
        if self.offset is None:
            return [f"{who}{show_data(self.got)}  <- here"]
        first, *others = show_place(self.got, self.offset, f"byte {self.offset}{self._of_message}")
        return [f"{who}{first}  <- here", *(" " * len(who) + line for line in others)]

    @property
    def _of_message(self) -> str:
        """The names of the message that is wrong, or may be meant."""
        names = " or ".join(self.symbols[:MAX_SHOWN_NAMES])
        more = len(self.symbols) - MAX_SHOWN_NAMES
        return f" of {names}{f' or {more} more' if more > 0 else ''}" if names else ""


def _expected_lines(expected: Sequence[str]) -> list[str]:
    """All that was expected, in as many lines as that takes; none is cut."""
    lines: list[str] = []
    for text in expected:
        if lines and len(lines[-1]) + len(text) < MAX_EXPECTED_CHARACTERS_IN_LINE:
            lines[-1] += f" or {text}"
        else:
            lines.append(f"{'        or' if lines else '  expected'} {text}")
    return lines


def said_lines(messages: Sequence[SessionMessage], indent: str = "  ") -> list[str]:
    """Messages, without the middle of a long session."""
    lines = [printable(f"{indent}{show_message(each)}") for each in messages]
    if len(lines) > 2 * MAX_SHOWN_MESSAGES:
        left_out = len(lines) - 2 * MAX_SHOWN_MESSAGES
        lines[MAX_SHOWN_MESSAGES:-MAX_SHOWN_MESSAGES] = [f"{indent}… {counted(left_out, 'message')} …"]
    return lines


def show_message(said: SessionMessage) -> str:
    """A message in one line."""
    to = f" -> {said.recipient}" if said.recipient else ""
    return f"{said.sender}{to}: {show_data(said.data) if said.data else said.symbol}{beside(said)}"


def beside(said: AsideMessage) -> str:
    """The text behind a message that is wrong on purpose."""
    return f"  (on purpose: {said.aside})" if said.aside and said.is_ours else ""


def exit_text(exit_code: int) -> str:
    """The end of a program in words, as in "was killed by SIGSEGV"; a negative exit code is the number of a signal."""
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"


_EXIT_TEXT = re.compile(r"(?:exited with code (?P<code>\d+)|was killed by (?:signal (?P<number>\d+)|(?P<name>SIG\w+)))")


def exit_code_told(text: str) -> int | None:
    """The exit code that a sentence begins with, as `exit_text` writes it."""
    told = _EXIT_TEXT.match(text)
    if told is None:
        return None
    if told["name"]:
        return -signal.Signals[told["name"]] if told["name"] in signal.Signals.__members__ else None
    return int(told["code"]) if told["code"] else -int(told["number"])


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """The verdict of all findings: an error of ours outweighs a failure of the peer, and that an inconclusive one."""
    return worst(finding.verdict for finding in findings)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that outweighs the others."""
    found = set(verdicts)
    for verdict in (Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE):
        if verdict in found:
            return verdict
    return Verdict.PASS
