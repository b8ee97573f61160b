"""The receiver: from the bytes that peers send to the messages that are accepted.

How it works
============

Each party that we do not play has an inbox; one for each connection, if its messages come by several, because their
order is known only within one. Data on a connection whose turn it is not waits as long as the party may send on
another. One matcher per message that the party may send next reads its data as it
comes; what is left behind the longest match belongs to the message after. Datagrams keep their borders: each is one
message, or none.

A message that is complete and cannot go on is accepted if a hypothesis about the session survives it with all
constraints. If it could go on, it waits until the peer is quiet. If it can end at several places, the last one counts
after which the rest can be the beginning of the next message.

Nothing here knows the time, or what a connection is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from palaver import interruption
from palaver.errors import PalaverError, Undecided
from palaver.matching.forecaster import Forecast, MessageType
from palaver.matching.matcher import Matcher
from palaver.party import Party
from palaver.random_source import RandomSource
from palaver.session.extension import Extension, Refusal
from palaver.session.finding_drafts import (
    FindingDraft,
    crossed,
    misread,
    out_of_turn,
    refused,
    stopped_short,
    undecided,
    unreadable,
)
from palaver.session.findings import FindingKind, SessionMessage
from palaver.session.history import SessionHistory
from palaver.session.inbox import CachedReading, Inbox, ReadingCache
from palaver.session.other_readings import OtherReadings
from palaver.session.references import Referenced
from palaver.session.role_table import DataSource, NextMoves
from palaver.session.roles import Roles
from palaver.session.session_limits import (
    MAX_MESSAGE_ENDS,
    MAX_READING_WORK,
    MAX_READINGS_BESIDE_DOUBTFUL,
    MAX_WEIGHED_BYTES,
    MAX_WEIGHED_DERIVATIONS,
    MIN_WEIGHED_DERIVATIONS,
)

if TYPE_CHECKING:
    from palaver.session.setup import SessionSetup


class AcceptedMessage(NamedTuple):
    """A message that was taken out of an inbox. Its tree is the newest one of the history."""

    move: MessageType
    data: bytes
    is_alone: bool = False  # True if no message of another peer, or connection, may have come before it


class _DoubtfulReading(NamedTuple):
    """A reading of data as a message that breaks a constraint, which may be repaired."""

    length: int
    move: MessageType
    extension: Extension


class Receiver:
    """The inboxes of one session. Accepted messages are added to the history, which tells what may come next."""

    def __init__(self, setup: SessionSetup, roles: Roles, history: SessionHistory, *, max_message_bytes: int) -> None:
        self._setup = setup
        self._roles = roles
        self._history = history
        self._inboxes: dict[DataSource, Inbox] = {}
        self._reading_work = MAX_READING_WORK * max(1, max_message_bytes >> 20)
        self._weighed = 0  # derivations of the message that is being read
        self._beside_doubtful = 0  # those of them that were looked at since one that breaks something
        self.is_reading = False  # True while messages are taken in
        self.postponed: FindingDraft | None = None  # unless the message of another party comes first
        self._first_postponed: dict[DataSource, FindingDraft] = {}  # of the data that is unread

    def sender_to(self, party: Party) -> str:
        """The party that sends to a party. :raises PalaverError: it is ambiguous"""
        sender = self.only_sender_to(party)
        if sender is None:
            known = ", ".join(self._roles.senders_to(party)) or "none"
            raise PalaverError(
                f"unknown sender to {party.party_name}: name it in receive(); possible senders are: {known}"
            )
        return sender

    def only_sender_to(self, party: Party) -> str | None:
        """The only party that can send to a party, in the whole spec or at this point; None if there are others."""
        senders = self._roles.senders_to(party)
        if len(senders) > 1:
            recipients, moves = (party.party_name, None), self._history.forecast.moves
            now = (move.sender for move in moves if move.sender in senders and move.recipient in recipients)
            senders = list(dict.fromkeys(now))
        return senders[0] if len(senders) == 1 else None

    def inbox(self, sender: str, recipient: str | None = None) -> Inbox:
        """The inbox for what a party sends to one of ours. Inboxes are ordered by the arrival of their oldest data."""
        source = self._source(sender, recipient)
        inbox = self._inboxes.get(source)
        if inbox is None:
            inbox = self._inboxes[source] = Inbox(
                self._matcher, self._setup.reading_cache, reading_work=self._reading_work
            )
        elif not inbox.has_data:
            self._inboxes[source] = self._inboxes.pop(source)
        return inbox

    def _source(self, sender: str, recipient: str | None) -> DataSource:
        return self._roles.table.source(sender, recipient)

    def source_on(self, link: str, sender: str | None = None) -> DataSource:
        """The other end of a connection; `sender` is the party that is meant, if several may send on it."""
        party = self._roles.party("Out" if link == "In" else link)
        senders = [sender] if sender is not None else self._roles.senders_to(party)
        if len(senders) == 1:
            return self._source(senders[0], party.party_name)
        return DataSource(" or ".join(senders) or "the peer")

    def _moves_of(self, source: DataSource, forecast: Forecast) -> tuple[MessageType, ...]:
        """The messages that may come next from a source."""
        return self._roles.table.next_moves(forecast.moves).from_source(source)

    def _matcher(self, symbol: str, is_whole: bool, earlier: Referenced) -> Matcher:
        setup = self._setup
        shape = setup.shapes.get(symbol) or setup.shape(symbol)
        history = setup.references.seen_by(symbol, earlier) if symbol in setup.references.readers else ()
        return shape.matcher(binary=setup.is_binary, whole=is_whole, history=history)

    def _unbounded_matcher(self, symbol: str, is_whole: bool, earlier: Referenced) -> Matcher:
        history = self._setup.references.seen_by(symbol, earlier)
        return self._setup.spec.matcher(symbol, binary=self._setup.is_binary, whole=is_whole, history=history)

    def end(self, sender: str, recipient: str) -> None:
        """Note that a party sends no more on the connection to one of ours."""
        source = self._source(sender, recipient)
        if source in self._inboxes:
            self._inboxes[source].end()

    def has_unread(self) -> bool:
        """Return True if data of any party has to be read now."""
        waiting = [source for source, inbox in self._inboxes.items() if inbox.has_data]
        return bool(waiting) and any(map(self._is_unread, waiting))

    def _is_unread(self, source: DataSource) -> bool:
        """Return True if the data of a party has to be read now. Our standard input has time until it is asked for."""
        return source.sender != "StdIn" or bool(self._moves_of(source, self._history.forecast))

    def first_expected(self) -> Inbox | None:
        """The inbox with the oldest unread data of a party that may send now."""
        for source, inbox in self._inboxes.items():
            if inbox.has_data and self._moves_of(source, self._history.forecast):
                return inbox
        return None

    def interruption(self, seconds: float) -> FindingDraft:
        """The finding if unread data was not completed for so long, or came from a party that was not waited for."""
        if self.postponed is not None:
            return self.postponed
        forecast = self._history.forecast
        unread = (source for source, inbox in self._inboxes.items() if inbox.has_data and self._is_unread(source))
        source = min(unread, key=lambda each: not self._moves_of(each, forecast))
        inbox = self._inboxes[source]
        if self._moves_of(source, forecast):
            return stopped_short(source, inbox, seconds)
        return out_of_turn(source, inbox, forecast.moves)

    def next_message(self, *, is_quiet: bool, is_reset: bool) -> AcceptedMessage | FindingDraft | None:
        """Take one message out of an inbox, if it is certain, and add it to the history.

        The party that began to send first comes first, unless it is another's turn. If the peer `is_quiet`, no message
        goes on; if a connection `is_reset`, that is why a message has no end.
        """
        self.postponed, self.is_reading = None, True
        try:
            return self._next_message(is_quiet=is_quiet, is_reset=is_reset)
        finally:
            self.is_reading = False

    def _next_message(self, *, is_quiet: bool, is_reset: bool) -> AcceptedMessage | FindingDraft | None:
        unread = [each for each in self._inboxes.items() if each[1].has_data and self._is_unread(each[0])]
        if not unread:
            return None
        expected = self._next_moves()
        postponed: list[tuple[DataSource, FindingDraft]] = []
        for source, inbox in unread:
            moves = expected.from_source(source)
            if moves:
                try:
                    found = self._read(source, inbox, moves, is_quiet=is_quiet, is_reset=is_reset)
                except Undecided as reason:
                    return undecided(source, inbox, reason)
            elif expected.is_alone(source):
                # What was wrong when it was its turn says more than that its turn is over.
                return self._first_postponed.get(source) or out_of_turn(source, inbox, expected.moves)
            else:
                continue
            if found is None or isinstance(found, AcceptedMessage) or expected.is_alone(source, and_timers=True):
                return found
            if found.kind is not FindingKind.CONSTRAINT and not self._is_ever_sent(source, inbox):
                return found
            # The message of another party, or connection, may have to come first.
            postponed.append((source, found))
            self._first_postponed.setdefault(source, found)
        if postponed:
            # A message whose turn it is comes before one that may be early.
            postponed.sort(key=lambda each: each[1].kind is not FindingKind.CONSTRAINT)
            self.postponed = postponed[0][1]
        return None

    def _next_moves(self) -> NextMoves:
        """The messages that may come next."""
        return self._roles.table.next_moves(self._history.forecast.moves)

    def may_begin_with(self, party: Party, data: bytes) -> bool:
        """Return True if a datagram can be the next message to a party, as far as it can be told."""
        is_plain = getattr(party.receive, "__func__", None) is Party.receive
        sender = self.only_sender_to(party) if is_plain else None
        if sender is None:
            return True  # code of the spec decides what comes of it
        moves = self._moves_of(self._source(sender, party.party_name), self._history.forecast)
        inbox = Inbox(self._matcher, self._setup.reading_cache)
        inbox.put(data, is_whole=True)
        try:
            inbox.expect(moves, self._history.referenced)
            return not moves or inbox.status().longest is not None
        except Undecided:
            return True

    def excused(self, draft: FindingDraft, said: Sequence[SessionMessage]) -> FindingDraft:
        """The same finding; or that it is undecided, as nothing is wrong if what was said is read in another way."""
        if not draft.may_be_misread:
            return draft
        begin = SessionHistory(self._setup, RandomSource(0))
        readings = OtherReadings(self._setup, begin, self._unread)
        if readings.has_crossed(said, draft):
            return crossed(draft)
        return misread(draft) if readings.excuse(said, draft) else draft

    def _unread(self, draft: FindingDraft) -> Inbox:
        """A copy of the inbox with the data that a finding is about."""
        for source, inbox in self._inboxes.items():
            if source.sender == draft.party and inbox.peek() == draft.got:
                return inbox.copy()
        inbox = Inbox(self._matcher, self._setup.reading_cache)
        inbox.put(draft.got, is_whole=False)
        return inbox

    def _is_ever_sent(self, source: DataSource, inbox: Inbox) -> bool:
        """Return True if unread data may be some message of its source, whether it may come now or not."""
        messages, closing = self._setup.forecaster.messages, self._setup.closing
        moves = tuple(move for move in messages if move.sender == source.sender and move.symbol not in closing)
        rest = inbox.copy()
        rest.expect(moves, self._history.referenced)
        status = rest.status()
        return status.longest is not None or status.may_go_on

    def _weigh(self, reading: CachedReading, length: int) -> Extension | Refusal:
        """The history with a message of so many bytes, or why it refuses it. :raises Undecided: there were too many"""
        self._weighed += 1
        if self._weighed > _most_weighed(length):
            MAX_WEIGHED_DERIVATIONS.reached()
            raise Undecided(f"none of its first {self._weighed - 1} derivations is accepted, and there may be more")
        return self._history.extended_by(*reading)

    def _read(
        self, source: DataSource, inbox: Inbox, moves: tuple[MessageType, ...], *, is_quiet: bool, is_reset: bool
    ) -> AcceptedMessage | FindingDraft | None:
        """Take one of these messages out of an inbox, if it is certain. :raises Undecided: it takes too much work"""
        inbox.expect(moves, self._history.referenced)
        status = inbox.status()
        if status.longest is None:
            if status.may_go_on:
                return None
            return self._wrong_length(source, inbox, moves) or unreadable(source, inbox, is_reset=is_reset)
        self._weighed = self._beside_doubtful = 0
        if not is_quiet and (status.may_go_on or self._may_be_shorter(source, inbox)):
            return None
        return self._accept(source, inbox)

    def _wrong_length(self, source: DataSource, inbox: Inbox, moves: tuple[MessageType, ...]) -> FindingDraft | None:
        """The constraint that the data violates if it does not decide lengths, rather than where reading ended."""
        if not self._setup.spec.bounded_rules.bounds:
            return None
        plain = inbox.copy(self._unbounded_matcher, ReadingCache(self._setup.spec.analysis))
        try:
            plain.expect(moves, self._history.referenced)
            for length in plain.ends()[:1]:
                for move, node in islice(plain.readings(length), 1):
                    refusal = self._history.extended_by(move, node)
                    if isinstance(refusal, Refusal) and self._history.is_guilty(refusal, source.sender):
                        return refused(source, move.symbol, refusal, inbox.peek()[:length], node, is_guilty=True)
        except Undecided:
            pass  # then it is enough to tell where it ended
        return None

    def _accept(self, source: DataSource, inbox: Inbox) -> AcceptedMessage | FindingDraft:
        """Accept the longest message that fits the history and the data behind it, and best breaks nothing."""
        ends = inbox.ends()
        is_cut = len(ends) > MAX_MESSAGE_ENDS
        if is_cut:
            MAX_MESSAGE_ENDS.reached()
            del ends[MAX_MESSAGE_ENDS:]
        refusals: list[tuple[str, Refusal]] = []
        # If the data behind fits none of them, that data is what is wrong, and not the message.
        for looks_ahead in (True, False) if len(ends) > 1 else (False,):
            refusals.clear()
            doubtful: _DoubtfulReading | None = None
            for length in ends:
                taken = self._take(source, inbox, length, looks_ahead=looks_ahead, is_beside=doubtful is not None)
                if isinstance(taken, AcceptedMessage):
                    return taken
                if isinstance(taken, _DoubtfulReading):
                    doubtful = doubtful or taken
                else:
                    refusals.append(taken)
                if doubtful is not None and self._is_enough_beside(length):
                    break
            if doubtful is not None:
                return self._accepted(source, inbox, *doubtful)
        if is_cut:
            raise Undecided(f"it may end at more than {int(MAX_MESSAGE_ENDS)} places, and none of the last is right")
        got, (symbol, refusal) = inbox.peek()[: ends[0]], refusals[0]
        node = next((node for move, node in inbox.readings(ends[0]) if move.symbol == symbol), None)
        refusal = self._history.settled(refusal, source.sender)
        is_guilty = self._history.is_guilty(refusal, source.sender)
        return refused(source, symbol, refusal, got, node, is_guilty=is_guilty)

    def _take(
        self, source: DataSource, inbox: Inbox, length: int, *, looks_ahead: bool, is_beside: bool
    ) -> AcceptedMessage | _DoubtfulReading | tuple[str, Refusal]:
        """Take a message of this length, if it fits and breaks nothing; otherwise, its symbol and why it does not fit.

        If it can be read in several ways, one that breaks nothing comes before those that do. It `is_beside` another
        one that does.
        """
        refusal: tuple[str, Refusal] | None = None
        doubtful: _DoubtfulReading | None = None
        for move, node in inbox.readings(length):
            if refusal is not None or doubtful is not None:  # there may be many more
                interruption.check()
            extension = self._weigh((move, node), length)
            if isinstance(extension, Refusal):
                refusal = refusal or (move.symbol, extension)
            elif not looks_ahead or self._can_follow(source, inbox.behind(length), extension):
                if not self._history.is_broken_by(extension):
                    return self._accepted(source, inbox, length, move, extension)
                doubtful = doubtful or _DoubtfulReading(length, move, extension)
            if doubtful is not None or is_beside:
                self._beside_doubtful += 1
                if self._is_enough_beside(length):
                    break
        return doubtful or refusal or ("the data", Refusal("it has no parse tree"))

    def _is_enough_beside(self, length: int) -> bool:
        """Return True if there is no more work for readings that are looked at beside one that breaks something."""
        return self._beside_doubtful > MAX_READINGS_BESIDE_DOUBTFUL or self._weighed >= _most_weighed(length)

    def _accepted(
        self, source: DataSource, inbox: Inbox, length: int, move: MessageType, extension: Extension
    ) -> AcceptedMessage:
        is_alone = self._next_moves().is_alone(source, and_timers=True)
        self._history.add(extension)
        self._first_postponed.pop(source, None)
        return AcceptedMessage(move, inbox.take(length), is_alone)

    def _may_be_shorter(self, source: DataSource, inbox: Inbox) -> bool:
        """Return True if a message that cannot go on may also be a shorter one and the beginning of the next."""
        ends = inbox.ends()
        shorter = ends[1:MAX_MESSAGE_ENDS]
        if not shorter or inbox.has_ended or inbox.behind(ends[0]).has_data:
            return False
        return any(
            not isinstance(extension := self._weigh(reading, length), Refusal)
            and self._can_follow(source, inbox.behind(length), extension)
            for length in shorter
            for reading in inbox.readings(length)
        )

    def _can_follow(self, source: DataSource, rest: Inbox, extension: Extension) -> bool:
        """Return True if the data behind a message can be what comes next."""
        if not rest.has_data:
            return True
        expected = self._roles.table.next_moves(extension.forecast.moves)
        moves = expected.from_source(source)
        if not moves:
            return not expected.is_alone(source)
        rest.expect(moves, extension.referenced)
        status = rest.status()
        return status.longest is not None or status.may_go_on


def _most_weighed(length: int) -> int:
    """The number of derivations that the constraints are asked about, of a message of so many bytes."""
    return min(MAX_WEIGHED_DERIVATIONS, max(MIN_WEIGHED_DERIVATIONS, MAX_WEIGHED_BYTES // max(1, length)))
