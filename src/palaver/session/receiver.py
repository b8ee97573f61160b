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

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from palaver import interruption
from palaver.errors import PalaverError, Undecided
from palaver.grammar.analysis import Analysis
from palaver.matching.candidates import Candidates
from palaver.matching.forecaster import Forecast, MessageType
from palaver.matching.matcher import Matcher, MatchProgress
from palaver.party import Party
from palaver.session.extension import Extension, Refusal
from palaver.session.finding_drafts import FindingDraft, out_of_turn, refused, stopped_short, undecided, unreadable
from palaver.session.findings import FindingKind, Severity
from palaver.session.history import SessionHistory
from palaver.session.references import NO_MESSAGES, Referenced
from palaver.session.roles import Roles
from palaver.session.session_limits import (
    MAX_CACHED_BYTES,
    MAX_CACHED_READINGS,
    MAX_MESSAGE_ENDS,
    MAX_WEIGHED_BYTES,
    MAX_WEIGHED_DERIVATIONS,
    MIN_WEIGHED_DERIVATIONS,
)
from palaver.spec.traversal import computed_bounds
from palaver.trees.node import Node

if TYPE_CHECKING:
    from palaver.session.setup import SessionSetup


class DataSource(NamedTuple):
    """Who sends data, and to which of our parties, if the data comes by several connections."""

    sender: str
    link: str | None = None

    def __str__(self) -> str:
        return self.sender if self.link is None else f"{self.sender} on the connection of {self.link}"


class AcceptedMessage(NamedTuple):
    """A message that was taken out of an inbox. Its tree is the newest one of the history."""

    move: MessageType
    data: bytes


class Receiver:
    """The inboxes of one session. Accepted messages are added to the history, which tells what may come next."""

    def __init__(self, setup: SessionSetup, roles: Roles, history: SessionHistory) -> None:
        self._setup = setup
        self._roles = roles
        self._history = history
        self._inboxes: dict[DataSource, Inbox] = {}
        self._weighed = 0  # derivations of the message that is being read
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
            inbox = self._inboxes[source] = Inbox(self._matcher, self._setup.reading_cache)
        elif not inbox.has_data:
            self._inboxes[source] = self._inboxes.pop(source)
        return inbox

    def _source(self, sender: str, recipient: str | None) -> DataSource:
        return DataSource(sender, recipient if recipient in self._roles.links_from(sender) else None)

    def _moves_of(self, source: DataSource, forecast: Forecast) -> list[MessageType]:
        """The messages that may come next from a source."""
        sender, link = source
        closing = self._setup.closing
        moves = [move for move in forecast.moves if move.sender == sender and move.symbol not in closing]
        return moves if link is None else [move for move in moves if self._roles.link_to(move.recipient) == link]

    def _matcher(self, symbol: str, is_whole: bool, earlier: Referenced) -> Matcher:
        setup = self._setup
        shape = setup.shapes.get(symbol) or setup.shape(symbol)
        return shape.matcher(binary=setup.is_binary, whole=is_whole, history=setup.references.seen_by(symbol, earlier))

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
        return any(inbox.has_data and self._is_unread(source) for source, inbox in self._inboxes.items())

    def _is_unread(self, source: DataSource) -> bool:
        """Return True if data of a party has to be read now. Our standard input has time until it is asked for."""
        if not self._inboxes[source].has_data:
            return False
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
        unread = filter(self._is_unread, self._inboxes)
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
        forecast = self._history.forecast
        self.postponed = None
        postponed: list[tuple[DataSource, FindingDraft]] = []
        for source, inbox in list(self._inboxes.items()):
            if not self._is_unread(source):
                continue
            moves = self._moves_of(source, forecast)
            if moves:
                try:
                    found = self._read(source, inbox, moves, is_quiet=is_quiet, is_reset=is_reset)
                except Undecided as reason:
                    return undecided(source, inbox, reason)
            elif self._is_alone(source, forecast):
                # What was wrong when it was its turn says more than that its turn is over.
                return self._first_postponed.get(source) or out_of_turn(source, inbox, forecast.moves)
            else:
                continue
            if not isinstance(found, FindingDraft) or self._is_alone(source, forecast, and_timers=True):
                return found
            if found.kind is not FindingKind.CONSTRAINT and not self._is_ever_sent(source, inbox):
                return found
            # The message of another party, or connection, may have to come first.
            postponed.append((source, found))
            self._first_postponed.setdefault(source, found)
        # A message whose turn it is comes before one that may be early.
        postponed.sort(key=lambda each: each[1].kind is not FindingKind.CONSTRAINT)
        self.postponed = postponed[0][1] if postponed else None
        return None

    def _is_ever_sent(self, source: DataSource, inbox: Inbox) -> bool:
        """Return True if unread data may be some message of its source, whether it may come now or not."""
        moves = [move for move in self._setup.forecaster.messages if move.sender == source.sender]
        rest = inbox.copy()
        rest.expect(moves, self._history.referenced)
        status = rest.status()
        return status.longest is not None or status.may_go_on

    def as_reaction(self, draft: FindingDraft) -> FindingDraft:
        """The finding about a program whose input is closed: a note, unless it has sent one of its messages.

        Some programs write a prompt, or a line end, when their input ends.
        """
        messages = self._setup.spec.analysis.messages
        symbols = dict.fromkeys(message.symbol for message in messages if message.sender == draft.party)
        matchers = [self._matcher(symbol, False, NO_MESSAGES) for symbol in symbols]
        is_message = any(matcher.feed(draft.got).longest is not None for matcher in matchers)
        if draft.kind is not FindingKind.UNEXPECTED or is_message:
            return draft
        return replace(draft, severity=Severity.NOTE)

    def _weigh(self, reading: CachedReading, length: int) -> Extension | Refusal:
        """The history with a message of so many bytes, or why it refuses it. :raises Undecided: there were too many"""
        self._weighed += 1
        most = max(MIN_WEIGHED_DERIVATIONS, MAX_WEIGHED_BYTES // max(1, length))
        if self._weighed > min(most, MAX_WEIGHED_DERIVATIONS):
            MAX_WEIGHED_DERIVATIONS.reached()
            raise Undecided(f"none of its first {self._weighed - 1} derivations is accepted, and there may be more")
        return self._history.extended_by(*reading)

    def _read(
        self, source: DataSource, inbox: Inbox, moves: Sequence[MessageType], *, is_quiet: bool, is_reset: bool
    ) -> AcceptedMessage | FindingDraft | None:
        """Take one of these messages out of an inbox, if it is certain. :raises Undecided: it takes too much work"""
        inbox.expect(moves, self._history.referenced)
        status = inbox.status()
        if status.longest is None:
            if status.may_go_on:
                return None
            return self._wrong_length(source, inbox, moves) or unreadable(source, inbox, is_reset=is_reset)
        self._weighed = 0
        if not is_quiet and (status.may_go_on or self._may_be_shorter(source, inbox)):
            return None
        return self._accept(source, inbox)

    def _wrong_length(self, source: DataSource, inbox: Inbox, moves: Sequence[MessageType]) -> FindingDraft | None:
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

    def _is_alone(self, source: DataSource, forecast: Forecast, *, and_timers: bool = False) -> bool:
        """Return True if no other peer may send now, nor the same one on another connection; or none but timers.

        If one may, its message may be late, and have to come first: order is known only within a connection.
        """
        moves = self._moves_of(source, forecast)
        others = [move for move in forecast.moves if move not in moves and not self._roles.is_ours(move.sender)]
        return all(
            (and_timers and move.sender == "TimerEvent")
            or (move.symbol in self._setup.closing and move.sender == source.sender)
            for move in others
        )

    def _accept(self, source: DataSource, inbox: Inbox) -> AcceptedMessage | FindingDraft:
        """Accept the longest message that fits the history and the data behind it."""
        ends = inbox.ends()
        is_cut = len(ends) > MAX_MESSAGE_ENDS
        if is_cut:
            MAX_MESSAGE_ENDS.reached()
            del ends[MAX_MESSAGE_ENDS:]
        refusals: list[tuple[str, Refusal]] = []
        # If the data behind fits none of them, that data is what is wrong, and not the message.
        for looks_ahead in (True, False) if len(ends) > 1 else (False,):
            refusals.clear()
            for length in ends:
                taken = self._take(source, inbox, length, looks_ahead=looks_ahead)
                if isinstance(taken, AcceptedMessage):
                    return taken
                refusals.append(taken)
        if is_cut:
            raise Undecided(f"it may end at more than {int(MAX_MESSAGE_ENDS)} places, and none of the last is right")
        got, (symbol, refusal) = inbox.peek()[: ends[0]], refusals[0]
        node = next((node for move, node in inbox.readings(ends[0]) if move.symbol == symbol), None)
        is_guilty = self._history.is_guilty(refusal, source.sender)
        return refused(source, symbol, refusal, got, node, is_guilty=is_guilty)

    def _take(
        self, source: DataSource, inbox: Inbox, length: int, *, looks_ahead: bool
    ) -> AcceptedMessage | tuple[str, Refusal]:
        """Take a message of this length, if it fits; otherwise, its symbol and why it does not."""
        refusal: tuple[str, Refusal] | None = None
        for move, node in inbox.readings(length):
            interruption.check()
            extension = self._weigh((move, node), length)
            if isinstance(extension, Refusal):
                refusal = refusal or (move.symbol, extension)
            elif not looks_ahead or self._can_follow(source, inbox.behind(length), extension):
                self._history.add(extension)
                self._first_postponed.pop(source, None)
                return AcceptedMessage(move, inbox.take(length))
        return refusal or ("the data", Refusal("it has no parse tree"))

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
        forecast = extension.forecast
        moves = self._moves_of(source, forecast)
        if not moves:
            return not self._is_alone(source, forecast)
        rest.expect(moves, extension.referenced)
        status = rest.status()
        return status.longest is not None or status.may_go_on


class ReadingStatus(NamedTuple):
    """The progress of reading the next message."""

    longest: int | None = None  # the length of the longest complete message
    may_go_on: bool = True  # True if more data could make it longer, or complete


MatcherFactory: TypeAlias = Callable[[str, bool, Referenced], Matcher]


class Inbox:
    """The unread data of one party.

    `matcher` gives a fresh matcher for a message symbol: of a datagram (True) or of a stream, after earlier messages.
    """

    def __init__(self, matcher: MatcherFactory, cache: ReadingCache) -> None:
        self._matcher = matcher
        self._cache = cache
        self._cached: CachedReading | None = None  # the reading of the stream, if it is in the cache
        self._stream = bytearray()
        self._datagrams: deque[bytes] = deque()
        self._moves: tuple[MessageType, ...] = ()
        self._earlier = NO_MESSAGES
        self._matchers: dict[MessageType, Matcher] = {}
        self._candidates: Candidates[MessageType] | None = None
        self._progress: dict[MessageType, MatchProgress] = {}
        self._undecided: Undecided | None = None  # why the data that came could not be read
        self.has_ended = False

    def __len__(self) -> int:
        """The number of unread bytes."""
        return len(self._stream) + sum(map(len, self._datagrams))

    @property
    def has_data(self) -> bool:
        """True if there is unread data; an empty datagram counts."""
        return bool(self._stream or self._datagrams)

    def put(self, data: bytes, *, is_whole: bool) -> None:
        """Add data that was received."""
        if self.has_ended:  # the connection is used again
            self.has_ended = False
            self._candidates = None
        if is_whole and not self._stream:  # behind the beginning of a message, it is the rest of that
            self._datagrams.append(data)
            return
        self._stream += data
        self._cached = None
        if self._candidates is not None:
            self._go_on(partial(self._candidates.feed, data))

    def _go_on(self, read: Callable[[], dict[MessageType, MatchProgress]]) -> None:
        """Read more. If that is too much work, the next `status` raises."""
        try:
            self._progress = read()
        except Undecided as reason:
            self._undecided = reason

    def end(self) -> None:
        """Note that no more data will come."""
        self.has_ended = True
        if self._candidates is not None and not self._datagrams:
            self._go_on(self._candidates.finish)

    def expect(self, moves: Sequence[MessageType], earlier: Referenced = NO_MESSAGES) -> None:
        """Read the data as one of these messages."""
        is_read = self._candidates is not None or self._cached is not None
        if is_read and tuple(moves) == self._moves and earlier is self._earlier:
            return
        self._moves, self._earlier = tuple(moves), earlier
        self._begin()

    def _begin(self) -> None:
        self._candidates = self._cached = self._undecided = None
        if not self._moves:
            self._progress = {}
            return
        if self._datagrams:
            self._matchers = {move: self._matcher(move.symbol, True, self._earlier) for move in self._moves}
            self._progress = {move: each.finish(self._datagrams[0]) for move, each in self._matchers.items()}
            return
        data = bytes(self._stream)
        self._cached = self._cache.get(self._moves, data)
        if self._cached is None:
            self._read(data)

    def _read(self, data: bytes) -> None:
        """Read the stream, which is `data`."""
        self._matchers = {move: self._matcher(move.symbol, False, self._earlier) for move in self._moves}
        self._candidates = Candidates(self._matchers)
        self._progress = self._candidates.feed(data) if data else {}
        if self.status() == ReadingStatus(len(data), may_go_on=False) and len(self.ends()) == 1:
            self._cache.add(self._moves, data, islice(self.readings(len(data)), 2))
        if self.has_ended:
            self._progress = self._candidates.finish()

    def status(self) -> ReadingStatus:
        """The progress of reading the next message. :raises Undecided: it takes too much work"""
        if self._undecided is not None:
            raise self._undecided
        if self._datagrams and self._candidates is not None:
            self._begin()  # the first datagram came after the candidates were chosen
        if self._cached is not None:
            return ReadingStatus(len(self._stream), may_go_on=False)
        if not self._progress:
            return ReadingStatus(None, not self.has_ended)
        lengths = [progress.longest for progress in self._progress.values() if progress.longest is not None]
        may_go_on = any(progress.may_go_on for progress in self._progress.values())
        is_open = may_go_on and not self.has_ended and not self._datagrams
        return ReadingStatus(max(lengths, default=None), is_open)

    def ends(self) -> list[int]:
        """The lengths at which the next message is complete, the longest first."""
        if self._cached is not None:
            return [len(self._stream)]
        found = {length for progress in self._progress.values() for length in progress.complete}
        return sorted(found, reverse=True)

    def readings(self, length: int) -> Iterator[CachedReading]:
        """Every derivation of the first bytes as one of the expected messages, in the order of the spec."""
        if self._cached is not None:
            yield self._cached
            return
        for move, matcher in self._matchers.items():
            if length in self._progress[move].complete:
                for node in matcher.trees(length):
                    yield move, node

    def expected(self) -> tuple[int, tuple[str, ...]]:
        """The offset where reading failed, and what could have stood there."""
        found = [(progress.failed_at, progress.expected) for progress in self._progress.values()]
        offsets = [offset for offset, _ in found if offset is not None]
        if not offsets:
            return len(self), ()
        furthest = max(offsets)
        texts = (text for offset, expected in found if offset == furthest for text in expected)
        return furthest, tuple(dict.fromkeys(texts))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the messages that the data is read as."""
        return tuple(dict.fromkeys(move.symbol for move in self._moves))

    def copy(self, matcher: MatcherFactory | None = None, cache: ReadingCache | None = None) -> Inbox:
        """An inbox with the same data, which may be read by other matchers."""
        other = Inbox(matcher or self._matcher, cache or self._cache)
        other._stream, other._datagrams, other.has_ended = self._stream.copy(), self._datagrams.copy(), self.has_ended
        return other

    def behind(self, length: int) -> Inbox:
        """An inbox with the data behind so many bytes."""
        rest = Inbox(self._matcher, self._cache)
        if data := self._stream[length:]:
            rest.put(bytes(data), is_whole=False)
        rest.has_ended = self.has_ended
        return rest

    def peek(self) -> bytes:
        """The unread data, or its first datagram."""
        return self._datagrams[0] if self._datagrams else bytes(self._stream)

    def take(self, length: int) -> bytes:
        """Remove a message of this length, and return its bytes."""
        if self._datagrams:
            data = self._datagrams.popleft()
        else:
            data = bytes(self._stream[:length])
            del self._stream[:length]
        self._candidates = self._cached = self._undecided = None
        self._moves = ()
        self._progress = {}
        return data


CachedReading: TypeAlias = tuple[MessageType, Node]


class ReadingCache:
    """Readings by the expected messages and the bytes, for all sessions: a server sends the same few lines often.

    Only short messages with one reading are kept, which were complete and could not go on. The reading must depend on
    the bytes alone, so messages with computed repetitions are not kept.
    """

    def __init__(self, analysis: Analysis) -> None:
        rules = analysis.grammar.rules
        computed = {name for name, rule in rules.items() if any(computed_bounds(rule.body))}
        symbols = {message.symbol for message in analysis.messages}
        self._varying = frozenset(name for name in symbols if not computed.isdisjoint(analysis.below(name) | {name}))
        self._readings: dict[tuple[tuple[MessageType, ...], bytes], CachedReading] = {}

    def get(self, expected: tuple[MessageType, ...], data: bytes) -> CachedReading | None:
        """The reading of this data when it came before, where the same messages were expected."""
        return self._readings.get((expected, data)) if len(data) <= MAX_CACHED_BYTES else None

    def add(self, expected: tuple[MessageType, ...], data: bytes, readings: Iterable[CachedReading]) -> None:
        """Keep the reading of a message that cannot go on, if it is the only one."""
        if len(data) > MAX_CACHED_BYTES or any(move.symbol in self._varying for move in expected):
            return
        found = list(readings)
        if len(found) != 1:
            return
        if len(self._readings) == MAX_CACHED_READINGS:
            self._readings.clear()
        assert found[0][1].children is not None, "who looks at them now makes them for all"
        self._readings[expected, data] = found[0]
