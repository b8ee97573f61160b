"""What a session ends with: a verdict, and what was wrong.

A finding is about the peer unless its kind says otherwise. It carries the conversation up to the point, what was
expected there and what came, so that it can be read by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from palaver.trees.node import Node


class Verdict(Enum):
    PASS = "pass"  # the conversation came to an end, and nothing was wrong
    FAIL = "fail"  # the peer broke the protocol
    INCONCLUSIVE = "inconclusive"  # there was no peer, or we gave up first
    ERROR = "error"  # the spec, or something on our side, failed


class Severity(Enum):
    VIOLATION = "violation"  # makes the session fail
    NOTE = "note"  # is told, and fails nothing


class Kind(Enum):
    """What can go wrong, and what that says about the peer."""

    UNPARSEABLE = ("unparseable", Verdict.FAIL)
    UNEXPECTED = ("unexpected message", Verdict.FAIL)
    CONSTRAINT = ("constraint broken", Verdict.FAIL)
    SILENCE = ("silence", Verdict.FAIL)
    CLOSED = ("closed early", Verdict.FAIL)
    RESET = ("reset", Verdict.FAIL)
    CRASH = ("crash", Verdict.FAIL)
    LIMIT = ("limit", Verdict.FAIL)
    TLS = ("tls failure", Verdict.FAIL)
    ORACLE = ("oracle", Verdict.FAIL)
    REFUSED = ("refused", Verdict.INCONCLUSIVE)
    UNREACHABLE = ("unreachable", Verdict.INCONCLUSIVE)
    UNSOLVED = ("nothing to say", Verdict.INCONCLUSIVE)
    IN_USE = ("address in use", Verdict.ERROR)
    SPEC_CRASH = ("spec crash", Verdict.ERROR)

    def __init__(self, label: str, verdict: Verdict) -> None:
        self.label = label
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the conversation."""

    at: float
    sender: str
    recipient: str | None
    symbol: str
    data: bytes
    node: Node = field(repr=False)
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was wrong."""

    kind: Kind
    at: float
    message: str  # what was wrong, in one sentence
    party: str = ""  # whose doing it was
    expected: tuple[str, ...] = ()
    got: bytes = b""  # what came and was not understood, or not accepted
    constraint: str = ""  # the text of the one that was broken, as in the spec
    conversation: tuple[Said, ...] = field(default=(), repr=False)
    severity: Severity = Severity.VIOLATION
    number: int = 0  # of the finding in its campaign, from 1
    session: int = 0  # of the session in its campaign, from 1

    @property
    def verdict(self) -> Verdict:
        return Verdict.PASS if self.severity is Severity.NOTE else self.kind.verdict

    @property
    def signature(self) -> tuple[str, ...]:
        """What makes two findings the same: not when they came, nor the values in them."""
        last = self.conversation[-1].symbol if self.conversation else ""
        return (self.kind.label, self.party, last, self.constraint, *self.expected)

    @property
    def label(self) -> str:
        """The kind, and whether it is only a note."""
        return f"{self.kind.label} (note)" if self.severity is Severity.NOTE else self.kind.label

    @property
    def headline(self) -> str:
        """The finding in one line: its number and session, if it has one, its kind, and the reason."""
        where = f"finding {self.number} in session {self.session}, " if self.number else ""
        return f"{where}{self.label}: {self.message.partition(chr(10))[0]}"

    def show(self) -> str:
        """The finding with its conversation, for people."""
        lines = [self.headline, *self.message.splitlines()[1:]]
        said = [f"  {show_said(each)}" for each in self.conversation]
        if len(said) > 2 * _MOST_SHOWN:
            left_out = len(said) - 2 * _MOST_SHOWN
            said[_MOST_SHOWN:-_MOST_SHOWN] = [f"  … {left_out} messages …"]
        lines += said
        if self.got:
            lines.append(f"  {self.party or 'got'}: {show_data(self.got)}  <- here")
        if self.expected:
            lines.append(f"  expected {' or '.join(self.expected)}")
        return "\n".join(lines)


_LONGEST = 200

# Of a long conversation so many messages are shown at its beginning, and at its end.
_MOST_SHOWN = 20


def show_said(said: Said) -> str:
    """A message in one line."""
    to = f" -> {said.recipient}" if said.recipient else ""
    return f"{said.sender}{to}: {show_data(said.data)}"


def show_data(data: bytes) -> str:
    """Data as text if it is that, else in hexadecimal digits."""
    shown = data if len(data) <= _LONGEST else data[:_LONGEST]
    rest = f" … ({len(data)} bytes)" if len(data) > _LONGEST else ""
    try:
        text = shown.decode()
    except UnicodeDecodeError:
        text = shown.decode(errors="replace") if rest and shown[:-3].decode(errors="ignore") else ""
    is_text = bool(text) and all(char.isprintable() or char in "\r\n\t" for char in text)
    return (repr(text) if is_text or not data else shown.hex(" ")) + rest


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """What findings say together: a failure of ours hides that of the peer, and that hides having seen nothing."""
    found = {finding.verdict for finding in findings}
    for verdict in (Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE):
        if verdict in found:
            return verdict
    return Verdict.PASS
