"""Digressions: a wrong message in the middle of a session, and the answer to it, read by what `<beyond>` allows.

What is seen decides: an allowed answer (the message was *refused*, and the dialogue goes on as if it had not been
said), the end of the connection where it is allowed (*ended*), or anything else (*found*).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from palaver.beyond.mutants import WrongnessKind
from palaver.beyond.refusal_rules import JudgedMessage
from palaver.beyond.transport_faults import Delivery, TransportFault, delivery_called, fault_called
from palaver.lean_dataclasses import dataclass
from palaver.matching.forecaster import Forecast, MessageType
from palaver.matching.matcher import Matcher
from palaver.session.findings import FindingKind
from palaver.trees.node import Node, NonTerminal


@dataclass(frozen=True)
class Digression:
    """A message of ours that is wrong on purpose. Without a judgement it is the last one of its session."""

    sender: str
    recipient: str | None
    symbol: str  # of `<beyond>`, or of the message that is out of place
    data: bytes
    kind: WrongnessKind
    message: str  # the symbol of the message that it was made from
    what: str  # what is wrong about it
    judgement: JudgedMessage | None = None

    @property
    def fault(self) -> TransportFault | None:
        """The way in which its connection breaks, if that is what is wrong."""
        return fault_called(self.what) if self.kind is WrongnessKind.TRANSPORT else None

    @property
    def delivery(self) -> Delivery | None:
        """The way in which the next message is sent, if that is all there is to it."""
        return delivery_called(self.what) if self.kind is WrongnessKind.TRANSPORT else None

    @property
    def aside(self) -> str:
        """The wrongness in words."""
        return f"{self.kind.value}: {self.message}, {self.what}"


def parse_aside(told: str) -> tuple[WrongnessKind, str, str]:
    """The kind, the message and what is wrong about it, from `Digression.aside`. :raises ValueError: it is none"""
    kind, _, rest = told.partition(": ")
    message, _, what = rest.partition(", ")
    return WrongnessKind(kind), message, what


class Answer(NamedTuple):
    """One message of an answer: its symbol and its bytes."""

    symbol: str
    data: bytes


class AnswerRead(NamedTuple):
    """The result of reading an answer.

    `is_complete` if it was allowed, and nothing more has to come; `kind` is that of a finding if it was not allowed.
    Neither: more has to come. `may_close` if the connection may be closed now.
    """

    answers: tuple[Answer, ...] = ()
    is_complete: bool = False
    may_close: bool = False
    kind: FindingKind | None = None
    symbol: str = ""  # of the message of the peer that came instead
    expected: tuple[str, ...] = ()
    may_be_longer: bool = False  # it is complete unless more comes at once
    offset: int = 0  # the first byte behind the answers so far that is not allowed

    @property
    def length(self) -> int:
        """The number of bytes that are read."""
        return sum(len(answer.data) for answer in self.answers)


class AnswerReader:
    """Reads the answer to a wrong message.

    `matcher` gives a fresh matcher for a symbol; `others` are all messages of the peer, as the session knows them;
    `closing` are those that stand for the end of the connection, `silent` those that stand for no answer.
    """

    def __init__(
        self,
        matcher: Callable[[str], Matcher],
        others: Sequence[MessageType],
        closing: frozenset[str],
        silent: frozenset[str] = frozenset(),
    ) -> None:
        self._matcher = matcher
        self._others = others
        self._closing = closing
        self._silent = silent

    def read(self, forecast: Forecast, data: bytes, *, is_quiet: bool, has_ended: bool) -> AnswerRead:
        """Read what has come so far. If the peer `is_quiet` or `has_ended`, no message goes on.

        :raises Undecided: it takes too much work
        """
        answers: list[Answer] = []
        at = 0
        while True:
            symbols = frozenset(move.symbol for move in forecast.moves)
            moves = [move for move in forecast.moves if move.symbol not in self._closing | self._silent]
            may_close, may_be_silent = not symbols.isdisjoint(self._closing), not symbols.isdisjoint(self._silent)
            if at and moves and forecast.can_end and at == len(data) and not (is_quiet or has_ended):
                return AnswerRead(tuple(answers), may_close=may_close, may_be_longer=True)
            if (at and not moves) or (forecast.can_end and at == len(data)):
                return AnswerRead(tuple(answers), is_complete=True, may_close=may_close)
            rest = data[at:]
            expected = tuple(dict.fromkeys(move.symbol for move in forecast.moves))
            if not rest:
                is_complete = may_be_silent and is_quiet and not has_ended
                return AnswerRead(
                    tuple(answers), is_complete, may_close, expected=expected, may_be_longer=may_be_silent
                )
            move, length, may_go_on = self._longest(moves, rest)
            if may_go_on and not (is_quiet or has_ended):
                return AnswerRead(tuple(answers), may_close=may_close, expected=expected, may_be_longer=length > 0)
            if move is None:
                if forecast.can_end:  # what comes behind the answer belongs to the dialogue
                    return AnswerRead(tuple(answers), is_complete=True, may_close=may_close)
                if may_go_on and not has_ended:
                    return AnswerRead(tuple(answers), may_close=may_close, expected=expected)
                if not (is_quiet or has_ended) and self._may_go_on(rest):
                    return AnswerRead(tuple(answers), expected=expected, may_be_longer=True)
                kind, symbol = self._other(rest)
                offset = max((self._matcher(move.symbol).feed(rest).failed_at or 0 for move in moves), default=0)
                return AnswerRead(tuple(answers), kind=kind, symbol=symbol, expected=expected, offset=offset)
            answers.append(Answer(move.symbol, rest[:length]))
            at += length
            forecast = forecast.after(move, Node(NonTerminal(move.symbol), ()))

    def _longest(self, moves: Sequence[MessageType], data: bytes) -> tuple[MessageType | None, int, bool]:
        """The message that the data begins with, its length, and True if it could go on."""
        found: MessageType | None = None
        longest, may_go_on = 0, False
        for move in moves:
            progress = self._matcher(move.symbol).feed(data)
            may_go_on = may_go_on or progress.may_go_on
            if progress.longest is not None and progress.longest > longest:
                found, longest = move, progress.longest
        return found, longest, may_go_on

    def _may_go_on(self, data: bytes) -> bool:
        """Return True if the data may be the beginning of a message of the peer that is not complete."""
        progress = [self._matcher(move.symbol).feed(data) for move in self._others]
        return any(each.may_go_on for each in progress) and all(each.longest is None for each in progress)

    def _other(self, data: bytes) -> tuple[FindingKind, str]:
        """The message of the peer that came instead of a refusal, if it is one."""
        for move in self._others:
            if move.symbol not in self._closing and self._matcher(move.symbol).feed(data).longest:
                return FindingKind.ACCEPTED, move.symbol
        return FindingKind.REFUSAL, ""
