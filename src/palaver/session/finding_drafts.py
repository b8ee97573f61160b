"""Drafts of findings: the words that describe each problem, and the party that caused it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from palaver.errors import Undecided
from palaver.lean_dataclasses import dataclass, replace
from palaver.matching.forecaster import MessageType
from palaver.printable import counted
from palaver.session.findings import Finding, FindingKind, SessionMessage, Severity, Verdict, exit_text, show_data
from palaver.session.interface import Closed, Failed, FailureCause
from palaver.session.message_text import offset_of
from palaver.session.session_limits import (
    MAX_BYTES_IN_HEADLINE,
    MAX_CAUSES,
    MAX_EXPECTED_CHARACTERS_IN_HEADLINE,
    MAX_EXPECTED_IN_HEADLINE,
)
from palaver.spec.ast import Constraint, Expression
from palaver.spec.traversal import expressions_of, last_symbol
from palaver.trees.node import Node

if TYPE_CHECKING:
    from palaver.constraints.checks import Failure
    from palaver.session.extension import Refusal
    from palaver.session.history import SessionHistory
    from palaver.session.inbox import Inbox
    from palaver.session.role_table import DataSource

_KINDS: dict[FailureCause, FindingKind] = {
    "refused": FindingKind.REFUSED,
    "unreachable": FindingKind.UNREACHABLE,
    "timed out": FindingKind.UNREACHABLE,
    "not found": FindingKind.UNREACHABLE,
    "in use": FindingKind.IN_USE,
    "tls": FindingKind.TLS,
    "reset": FindingKind.RESET,
    "other": FindingKind.UNREACHABLE,
}


_AFTER_A_BREACH = (
    FindingKind.CONSTRAINT,
    FindingKind.UNPARSEABLE,
    FindingKind.UNEXPECTED,
    FindingKind.SILENCE,
    FindingKind.CLOSED,
    FindingKind.RESET,
    FindingKind.UNSOLVED,
)
_ABSENCES = (FindingKind.SILENCE, FindingKind.CLOSED, FindingKind.RESET)


@dataclass(frozen=True, slots=True)
class FindingDraft:
    """A finding without its time and its session."""

    kind: FindingKind
    message: str
    party: str = ""
    expected: tuple[str, ...] = ()
    got: bytes = b""
    broken: Expression | None = None  # the condition of a constraint that does not hold
    offset: int | None = None  # the byte of `got` where it is wrong
    cause: str = ""  # of a crash, also of the spec's code, or of a failure to connect or to encrypt
    symbols: tuple[str, ...] = ()  # the names of the messages that `got` was read as
    node: Node | None = None  # the tree of `got`
    blamed: int | None = None  # the earlier message that is to blame, by its number in the session
    severity: Severity = Severity.VIOLATION

    @property
    def may_follow_breach(self) -> bool:
        """True if this came only of what the peer has broken before, if there is such a thing."""
        return self.kind in _AFTER_A_BREACH and self.blamed is None

    @property
    def may_be_misread(self) -> bool:
        """True if it accuses a party of a message, or of none, that another reading of the session may make right."""
        return self.kind in _AFTER_A_BREACH and self.kind.verdict is Verdict.FAIL

    @property
    def is_absence(self) -> bool:
        """True if a party has not sent what was awaited."""
        return self.kind in _ABSENCES

    def finding(self, at: float, said: Sequence[SessionMessage], constraints: Iterable[Constraint]) -> Finding:
        """The finding in a session with these messages, of a spec with these constraints."""
        text = "" if self.broken is None else _constraint_with(self.broken, constraints)
        if self.blamed is not None:
            return self._about_earlier(at, said[: self.blamed], said[self.blamed], text)
        return Finding(
            *(self.kind, at, self.message, self.party, self.expected, self.got, text, tuple(said)),
            offset=self._place(self.node) if self.offset is None else self.offset,
            cause=self.cause,
            symbols=self.symbols,
            node=self.node,
            severity=self.severity,
        )

    def _about_earlier(self, at: float, said: Sequence[SessionMessage], wrong: SessionMessage, text: str) -> Finding:
        """The finding at an earlier message, which came after those in `said`."""
        what = f"{wrong.symbol} from {wrong.sender}: {self.message}"
        return Finding(
            *(self.kind, at, what, wrong.sender, (), wrong.data, text, tuple(said)),
            offset=self._place(wrong.node),
            symbols=(wrong.symbol,),
            node=wrong.node,
        )

    def _place(self, node: Node | None) -> int | None:
        """The byte where the value stands that violates a constraint, if there is only one that it speaks of."""
        if node is None or self.broken is None:
            return None
        symbols = dict.fromkeys(last_symbol(mention.path) for mention in self.broken.mentions)
        places = [at for symbol in symbols if (at := offset_of(node, symbol)) is not None]
        return places[0] if len(places) == 1 else None


def _constraint_with(leaf: Expression, constraints: Iterable[Constraint]) -> str:
    """The text of the constraint that a condition is from."""
    for constraint in constraints:
        if leaf in expressions_of(constraint.formula):
            return constraint.text
    return ""


def unreadable(source: DataSource, inbox: Inbox, *, is_reset: bool) -> FindingDraft:
    """The data is not the beginning of a message, or the connection was closed in the middle of a message."""
    offset, expected = inbox.expected()
    got = inbox.peek()
    if not inbox.has_ended or offset < len(got):
        wanted = f"expected {_short(expected)}, " if expected else ""
        found = show_data(got[offset : offset + MAX_BYTES_IN_HEADLINE]) if offset < len(got) else "end of message"
        more = " …" if offset + MAX_BYTES_IN_HEADLINE < len(got) else ""
        what = f"unexpected response from {source} at byte {offset}: {wanted}got {found}{more}"
        return FindingDraft(
            FindingKind.UNPARSEABLE, what, source.sender, expected, got, offset=offset, symbols=inbox.symbols
        )
    kind, ended = (FindingKind.RESET, "reset") if is_reset else (FindingKind.CLOSED, "closed")
    what = f"{source.sender} {ended} the connection{_of(source)} in the middle of a message"
    return FindingDraft(kind, what, source.sender, expected, got, offset=len(got), symbols=inbox.symbols)


def undecided(source: DataSource, inbox: Inbox, reason: Undecided) -> FindingDraft:
    """The data took too much work to be read: it may be a message or not."""
    what = f"what {source} sent was not read: {reason}"
    return FindingDraft(FindingKind.UNDECIDED, what, source.sender, got=inbox.peek())


def misread(draft: FindingDraft) -> FindingDraft:
    """What was wrong is right if the messages before are read in another way."""
    what = "an earlier message fits several messages of the spec, and taken for another of them this is right: "
    return replace(draft, kind=FindingKind.UNDECIDED, message=what + draft.message)


def crossed(draft: FindingDraft) -> FindingDraft:
    """What was wrong is right if it was sent before our latest messages had come."""
    what = "it may have been on its way when our latest message was sent, and before that message it is right: "
    return replace(draft, kind=FindingKind.UNDECIDED, message=what + draft.message)


def refused(
    source: DataSource, symbol: str, refusal: Refusal, got: bytes, node: Node | None, *, is_guilty: bool
) -> FindingDraft:
    """The data is a message that violates a constraint, by itself or because of an earlier one.

    If it is not sure that any other message would have been right, it may be what we sent before.
    """
    if refusal.blamed is not None:
        return accused(refusal)
    if not refusal.is_crash and not is_guilty:
        name = source.sender
        what = f"no valid message could be generated: no {symbol} of {name} was found after which all constraints hold"
        return FindingDraft(FindingKind.UNSOLVED, f"{what}: {refusal.reason}", broken=refusal.leaf)
    kind = FindingKind.SPEC_CRASH if refusal.is_crash else FindingKind.CONSTRAINT
    what = f"{symbol} from {source}: {refusal.reason}"
    return FindingDraft(
        *(kind, what, source.sender),
        got=got,
        broken=refusal.leaf,
        cause=refusal.cause,
        symbols=(symbol,),
        node=node,
    )


def not_made(history: SessionHistory) -> FindingDraft:
    """No message of ours can be sent: because of a message of the peer, or of one that it has not sent, or for us."""
    maker = history.maker
    if history.accusation is not None:
        return accused(history.accusation)
    if maker.has_crashed:
        return FindingDraft(FindingKind.SPEC_CRASH, maker.reason, cause=maker.cause)
    missing = history.missing_message()
    if missing is None:
        return FindingDraft(FindingKind.UNSOLVED, maker.reason)
    sender, failure = missing
    what = f"{sender} has not sent what a constraint demands: {failure.tell()}"
    return FindingDraft(FindingKind.CONSTRAINT, what, sender, broken=failure.leaf)


def left_nothing(draft: FindingDraft, failure: Failure) -> FindingDraft:
    """A party has not sent what was awaited, but nothing that could be sent was right."""
    what = f"no valid message could be generated: whatever comes next, {failure.tell()}"
    return FindingDraft(FindingKind.UNSOLVED, f"{what} ({draft.message})", broken=failure.leaf)


def incomplete(accusation: Refusal | None, missing: str) -> FindingDraft:
    """The session ends although a constraint does not hold."""
    if accusation is not None:
        return accused(accusation)
    return FindingDraft(FindingKind.UNSOLVED, f"no valid message could be generated: none is left, but {missing}")


def accused(refusal: Refusal) -> FindingDraft:
    """An earlier message broke a constraint that cannot hold any more."""
    if refusal.is_crash:
        return FindingDraft(FindingKind.SPEC_CRASH, refusal.reason, broken=refusal.leaf, cause=refusal.cause)
    return FindingDraft(FindingKind.CONSTRAINT, refusal.reason, broken=refusal.leaf, blamed=refusal.blamed)


def remarked(note: str, failure: Failure) -> FindingDraft:
    """A constraint with a note does not hold."""
    what = f"{note}: {failure.describe()}"
    return FindingDraft(FindingKind.CONSTRAINT, what, broken=failure.leaf, severity=Severity.NOTE)


def out_of_turn(source: DataSource, inbox: Inbox, moves: Sequence[MessageType]) -> FindingDraft:
    """A party has sent although no message of it was expected."""
    when = f"only {_names(moves)} may send" if moves else "the session must end"
    if moves and all(move.sender == source.sender for move in moves):  # only closing messages are not sent as data
        when = f"it must end the connection{_of(source)}"
    what = f"{source.sender} sent data{_on(source)} when {when}"
    return FindingDraft(FindingKind.UNEXPECTED, what, source.sender, _symbols(moves), inbox.peek())


def too_long(name: str, inbox: Inbox, moves: Sequence[MessageType], most: int) -> FindingDraft:
    """A message is longer than `most` bytes."""
    what = f"{name} sent more than {counted(most, 'byte')} without completing a message (--max-message-bytes {most})"
    expected = _symbols([move for move in moves if move.sender == name])
    return FindingDraft(FindingKind.LIMIT, what, name, expected, inbox.peek())


def too_many(name: str, moves: Sequence[MessageType], most: int) -> FindingDraft:
    """A party has sent more than `most` messages in a row."""
    what = f"{name} sent more than {counted(most, 'message')} in a row (--max-messages {most})"
    return FindingDraft(FindingKind.LIMIT, what, name, _symbols([move for move in moves if move.sender != name]))


def stopped_short(source: DataSource, inbox: Inbox, seconds: float) -> FindingDraft:
    """A party has begun a message and not ended it in time."""
    inbox.end()  # only then the missing part is known
    what = f"{source.sender} stopped{_on(source)} in the middle of a message for {seconds:.1f} s; see --patience"
    got = inbox.peek()
    return FindingDraft(
        FindingKind.SILENCE, what, source.sender, inbox.expected()[1], got, offset=len(got), symbols=inbox.symbols
    )


def cut_off(source: DataSource | None, moves: Sequence[MessageType], others: Sequence[MessageType]) -> FindingDraft:
    """No party can send the next message any more. `others` are the messages that are not ours.

    The connection of the `source` was closed at its other end; None: we have closed it, or there was none.
    """
    names = _names(others or moves)
    if names == "TimerEvent":
        return FindingDraft(FindingKind.SPEC_CRASH, "the spec expects a TimerEvent, but no timer is running", names)
    if source is None:
        what = f"no connection is left for {_short(_symbols(others or moves))} from {names}"
        return FindingDraft(FindingKind.CLOSED, what, names, _symbols(moves))
    what = f"{source.sender} closed the connection{_of(source)} {_before(source, moves, others)}"
    return FindingDraft(FindingKind.CLOSED, what, source.sender, _symbols(moves))


def silent(
    moves: Sequence[MessageType], others: Sequence[MessageType], seconds: float, option: str, awaited: str = ""
) -> FindingDraft:
    """No party has sent in time, by this option of the command line. `others` are the messages that are not ours.

    `awaited` is the party that was told in this session where to connect to, and has not.
    """
    how_long = f"in {seconds:.1f} s; see {option}"
    names = _names(others or moves)
    if not others and awaited:
        what = f"{awaited} did not connect to {names}, as it was told, {how_long}"
        return FindingDraft(FindingKind.SILENCE, what, awaited)
    if not others:
        return FindingDraft(FindingKind.UNREACHABLE, f"{names} had no connection {how_long}", names)
    symbols = _symbols(others)
    return FindingDraft(FindingKind.SILENCE, f"no {_short(symbols)} from {names} {how_long}", names, symbols)


def late(move: MessageType, seconds: float, deadline: float) -> FindingDraft:
    """A message has come after its deadline."""
    what = f"{move.symbol} from {move.sender} took {seconds:.3f} s, its deadline is {deadline:g} s; see --deadline"
    return FindingDraft(FindingKind.LATE, what, move.sender)


def failed(
    event: Failed, source: DataSource, moves: Sequence[MessageType], others: Sequence[MessageType]
) -> FindingDraft:
    """A connection could not be opened or used. `others` are the messages that are not ours."""
    kind, link, sender = _KINDS[event.cause], event.link, source.sender
    if kind is FindingKind.IN_USE:
        return FindingDraft(kind, f"{link} cannot listen: {event.reason}", link)
    if kind is FindingKind.TLS:
        what = f"{link} and {sender} could not encrypt their connection {_before(None, moves, others)}"
    elif kind is FindingKind.RESET:
        what = f"{sender} reset the connection{_of(source)} {_before(source, moves, others)}"
    else:
        cause = "" if kind is FindingKind.REFUSED else event.reason
        return FindingDraft(kind, f"{link} has no connection to {sender}: {event.reason}", sender, cause=cause)
    cause = event.reason if kind is FindingKind.TLS else ""
    return FindingDraft(kind, f"{what}: {event.reason}", sender, _symbols(moves), cause=cause)


def broken_off(
    event: Closed, source: DataSource, moves: Sequence[MessageType], others: Sequence[MessageType]
) -> FindingDraft:
    """A connection was reset, or a program has failed. `others` are the messages that are not ours."""
    if event.cause == "reset":
        what = f"{source.sender} reset the connection{_of(source)} {_before(source, moves, others)}"
        return FindingDraft(FindingKind.RESET, what, source.sender, _symbols(moves))
    how = exit_text(event.exit_code or 0)
    return FindingDraft(FindingKind.CRASH, f"the program {how}", "Out", _symbols(moves), cause=how)


class RecalledFault(Exception):
    """An error that code of the spec has raised in a session that is repeated: the kind of finding, and its text."""

    def __init__(self, kind: FindingKind, told: str) -> None:
        super().__init__(told)
        self.kind = kind


def raised(error: BaseException, told: str) -> FindingDraft:
    """Code of the spec has raised an error.

    A party may have connections of its own; an error of one of these, which libraries wrap, is about the peer.
    """
    cause: BaseException | None = error
    for _ in range(MAX_CAUSES):
        match cause:
            case RecalledFault():
                return FindingDraft(cause.kind, str(cause))
            case ConnectionRefusedError():
                return FindingDraft(FindingKind.REFUSED, told)
            case ConnectionError():
                return FindingDraft(FindingKind.RESET, told)
            case TimeoutError():
                return FindingDraft(FindingKind.SILENCE, told)
            case BaseException():
                cause = cause.__cause__ or cause.__context__
    if cause is not None:
        MAX_CAUSES.reached()
    return FindingDraft(FindingKind.SPEC_CRASH, told)


def _before(source: DataSource | None, moves: Sequence[MessageType], others: Sequence[MessageType]) -> str:
    """The message that was awaited when something happened to the connection of a source, the subject of the sentence.

    `others` are the messages that are not ours.
    """
    if not moves:
        return "after the last message"
    symbols = _short(_symbols(others or moves))
    if not others:
        return f"before {_names(moves)} could send {symbols}"
    is_subject = source is not None and _names(others) == source.sender
    return f"before {'it' if is_subject else _names(others)} sent {symbols}"


def _of(source: DataSource) -> str:
    return "" if source.link is None else f" of {source.link}"


def _on(source: DataSource) -> str:
    return "" if source.link is None else f" on the connection of {source.link}"


def _short(expected: Sequence[str]) -> str:
    """The first of the expected texts, as far as there is room for them in a line. All of them are told below it."""
    shown: list[str] = []
    room = MAX_EXPECTED_CHARACTERS_IN_HEADLINE
    for text in expected[:MAX_EXPECTED_IN_HEADLINE]:
        if shown and len(text) > room:
            break
        shown.append(text if len(text) <= room else f"{text[:room]} …")
        room -= len(text)
    more = len(expected) - len(shown)
    return " or ".join(shown) + (f" or {more} more" if more else "")


def _symbols(moves: Sequence[MessageType]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(move.symbol for move in moves))


def _names(moves: Sequence[MessageType]) -> str:
    return " or ".join(dict.fromkeys(move.sender for move in moves))
