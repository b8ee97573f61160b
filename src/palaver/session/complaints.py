"""What is told of when something goes wrong: the words of findings, and whose doing it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from palaver.grammar.ir import expressions_of
from palaver.matching.forecaster import MessageType
from palaver.session.events import Closed, Failed, Trouble
from palaver.session.findings import Finding, Kind, Said
from palaver.session.inbox import Inbox
from palaver.session.memory import Refusal
from palaver.spec.ast import Constraint, Expression

_KIND_OF_TROUBLE: dict[Trouble, Kind] = {
    "refused": Kind.REFUSED,
    "unreachable": Kind.UNREACHABLE,
    "timed out": Kind.UNREACHABLE,
    "not found": Kind.UNREACHABLE,
    "in use": Kind.IN_USE,
    "tls": Kind.TLS,
    "reset": Kind.RESET,
    "other": Kind.UNREACHABLE,
}

# How many errors may stand between one that spec code raised and what happened. Libraries wrap an error three or four
# times; without a limit, one that is its own cause would be followed for ever.
_DEEPEST_CAUSE = 10


@dataclass(frozen=True, slots=True)
class Complaint:
    """A finding before it is known when it was made, and in which conversation."""

    kind: Kind
    message: str
    party: str = ""
    expected: tuple[str, ...] = ()
    got: bytes = b""
    broken: Expression | None = None  # the condition, of a constraint, that does not hold

    def found(self, at: float, said: Sequence[Said], constraints: Iterable[Constraint]) -> Finding:
        """The complaint in a conversation of a spec with these constraints."""
        text = "" if self.broken is None else _constraint_with(self.broken, constraints)
        return Finding(self.kind, at, self.message, self.party, self.expected, self.got, text, tuple(said))


def _constraint_with(leaf: Expression, constraints: Iterable[Constraint]) -> str:
    """The text of the constraint that a condition is from."""
    for constraint in constraints:
        if leaf in expressions_of(constraint.formula):
            return constraint.text
    return ""


# --- messages ---------------------------------------------------------------------------------------------------------


def unreadable(name: str, inbox: Inbox, *, is_reset: bool) -> Complaint:
    """What came is no beginning of a message; or it is one, and has no end, since a link was closed or reset."""
    offset, expected = inbox.expected()
    got = inbox.peek()
    if not inbox.has_ended or offset < len(got):
        what = f"what {name} said cannot go on at offset {offset}"
        return Complaint(Kind.UNPARSEABLE, what, name, expected, got)
    kind, ended = (Kind.RESET, "reset") if is_reset else (Kind.CLOSED, "closed")
    return Complaint(kind, f"{name} {ended} the connection in the middle of a message", name, expected, got)


def refused(name: str, symbol: str, refusal: Refusal, got: bytes) -> Complaint:
    """What came is a message, and breaks a constraint."""
    reason, leaf, is_crash = refusal
    kind = Kind.SPEC_CRASH if is_crash else Kind.CONSTRAINT
    return Complaint(kind, f"{symbol}: {reason}", name, got=got, broken=leaf)


def out_of_turn(name: str, inbox: Inbox, moves: Sequence[MessageType]) -> Complaint:
    return Complaint(Kind.UNEXPECTED, f"{name} spoke out of turn", name, _symbols(moves), inbox.peek())


def too_long(name: str, inbox: Inbox, moves: Sequence[MessageType], most: int) -> Complaint:
    what = f"{name} has said more than {most} bytes without an end of the message"
    expected = _symbols([move for move in moves if move.sender == name])
    return Complaint(Kind.LIMIT, what, name, expected, inbox.peek())


def too_many(name: str, moves: Sequence[MessageType], most: int) -> Complaint:
    what = f"{name} has said more than {most} messages, and nobody else anything"
    return Complaint(Kind.LIMIT, what, name, _symbols([move for move in moves if move.sender != name]))


# --- silence ----------------------------------------------------------------------------------------------------------


def stopped_short(name: str, inbox: Inbox, seconds: float) -> Complaint:
    """Somebody has begun a message and not ended it."""
    inbox.end()  # only then it is known what is missing
    what = f"{name} stopped in the middle of a message for {seconds:.1f} s"
    return Complaint(Kind.SILENCE, what, name, inbox.expected()[1], inbox.peek())


def cut_off(moves: Sequence[MessageType], others: Sequence[MessageType]) -> Complaint:
    """Nobody can say any more what may come next; some of it would be said by others."""
    names = _names(others or moves)
    if names == "TimerEvent":
        return Complaint(Kind.SPEC_CRASH, "TimerEvent is waited for, but no timer runs", names)
    what = "the connection was closed before the conversation was over"
    return Complaint(Kind.CLOSED, what, names, _symbols(moves))


def silent(moves: Sequence[MessageType], others: Sequence[MessageType], seconds: float) -> Complaint:
    """Nobody says what may come next; some of it would be said by others."""
    names = _names(others or moves)
    if not others:
        return Complaint(Kind.UNREACHABLE, f"{names} had no link for {seconds:.1f} s", names)
    return Complaint(Kind.SILENCE, f"{names} said nothing for {seconds:.1f} s", names, _symbols(others))


# --- links, and the code of the spec ----------------------------------------------------------------------------------


def failed(event: Failed) -> Complaint:
    return Complaint(_KIND_OF_TROUBLE[event.trouble], event.reason, event.link)


def broken_off(event: Closed, moves: Sequence[MessageType]) -> Complaint:
    """A connection was reset, or a program has failed."""
    if event.trouble == "reset":
        return Complaint(Kind.RESET, "the connection was reset", event.link, _symbols(moves))
    code = event.exit_code or 0
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return Complaint(Kind.CRASH, f"the program {how}", "Out", _symbols(moves))


def raised(error: BaseException, told: str) -> Complaint:
    """Spec code raised. A party may have connections of its own, and what happens to these is the peer's doing;
    libraries tell of it by an error of their own, which has the first one behind it."""
    cause: BaseException | None = error
    for _ in range(_DEEPEST_CAUSE):
        match cause:
            case ConnectionRefusedError():
                return Complaint(Kind.REFUSED, told)
            case ConnectionError():
                return Complaint(Kind.RESET, told)
            case TimeoutError():
                return Complaint(Kind.SILENCE, told)
            case BaseException():
                cause = cause.__cause__ or cause.__context__
    return Complaint(Kind.SPEC_CRASH, told)


def _symbols(moves: Sequence[MessageType]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(move.symbol for move in moves))


def _names(moves: Sequence[MessageType]) -> str:
    return " or ".join(dict.fromkeys(move.sender for move in moves))
