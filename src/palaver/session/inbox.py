"""Inboxes: the unread data of one source, read as the messages that may come; and a cache of what was read before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

from palaver.errors import Undecided
from palaver.grammar.analysis import Analysis
from palaver.matching.candidates import Candidates, QuickReader
from palaver.matching.forecaster import MessageType
from palaver.matching.matcher import Matcher, MatchProgress, ReadingBudget
from palaver.session.references import NO_MESSAGES, Referenced
from palaver.session.session_limits import (
    MAX_CACHED_BYTES,
    MAX_CACHED_READINGS,
    MAX_MESSAGE_ENDS,
    MAX_OPEN_RULES,
    MAX_READING_WORK,
)
from palaver.spec.traversal import computed_bounds
from palaver.trees.node import Node

CachedReading: TypeAlias = tuple[MessageType, Node]
MakeQuickReader: TypeAlias = Callable[[tuple[MessageType, ...]], QuickReader[MessageType] | None]


class ReadingStatus(NamedTuple):
    """The progress of reading the next message."""

    longest: int | None = None  # the length of the longest complete message
    may_go_on: bool = True  # True if more data could make it longer, or complete


class ReadingCache:
    """Readings by the expected messages and the bytes, for all sessions: a server sends the same few lines often.

    Only short messages with one reading are kept, which were complete and could not go on. The reading must depend on
    the bytes alone, so messages with computed repetitions are not kept. `quick_reader` makes a reader of messages where
    one regex for each is enough.
    """

    def __init__(self, analysis: Analysis, quick_reader: MakeQuickReader = lambda _: None) -> None:
        rules = analysis.grammar.rules
        computed = {name for name, rule in rules.items() if any(computed_bounds(rule.body))}
        symbols = {message.symbol for message in analysis.messages}
        self._varying = frozenset(name for name in symbols if not computed.isdisjoint(analysis.below(name) | {name}))
        self._readings: dict[tuple[tuple[MessageType, ...], bytes], CachedReading] = {}
        self._make_quick_reader = quick_reader
        self._quick_readers: dict[tuple[MessageType, ...], QuickReader[MessageType] | None] = {}

    def get(self, expected: tuple[MessageType, ...], data: bytes) -> CachedReading | None:
        """The reading of this data when it came before, where the same messages were expected, or by a quick reader."""
        found = self._readings.get((expected, data)) if len(data) <= MAX_CACHED_BYTES else None
        if found is not None:
            assert found[1].children is not None, "who looks at them now makes them for all"
            return found
        if expected not in self._quick_readers:
            is_varying = any(move.symbol in self._varying for move in expected)
            self._quick_readers[expected] = None if is_varying else self._make_quick_reader(expected)
        reader = self._quick_readers[expected]
        found = None if reader is None else reader.read(data)
        if found is not None:
            self.add(expected, data, (found,))
        return found

    def add(self, expected: tuple[MessageType, ...], data: bytes, readings: Iterable[CachedReading]) -> None:
        """Keep the reading of a message that cannot go on, if it is the only one."""
        if len(data) > MAX_CACHED_BYTES or any(move.symbol in self._varying for move in expected):
            return
        found = list(readings)
        if len(found) != 1:
            return
        if len(self._readings) >= MAX_CACHED_READINGS:
            self._readings.clear()
        self._readings[expected, data] = found[0]


MatcherFactory: TypeAlias = Callable[[str, bool, Referenced], Matcher]


class Inbox:
    """The unread data of one party.

    `matcher` gives a fresh matcher for a message symbol: of a datagram (True) or of a stream, after earlier messages.
    """

    def __init__(self, matcher: MatcherFactory, cache: ReadingCache, *, reading_work: int = MAX_READING_WORK) -> None:
        self._matcher = matcher
        self._cache = cache
        self._reading_work = reading_work  # for one message
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
            self._candidates, self._matchers, self._progress = None, {}, {}  # they may be large

    def end(self) -> None:
        """Note that no more data will come."""
        self.has_ended = True
        if self._candidates is not None and not self._datagrams:
            self._go_on(self._candidates.finish)

    def expect(self, moves: tuple[MessageType, ...], earlier: Referenced = NO_MESSAGES) -> None:
        """Read the data as one of these messages."""
        is_read = self._candidates is not None or self._cached is not None or self._undecided is not None
        if is_read and moves == self._moves and earlier is self._earlier:
            return
        self._moves, self._earlier = moves, earlier
        self._begin()

    def _begin(self) -> None:
        self._candidates = self._cached = self._undecided = None
        if not self._moves:
            self._progress = {}
            return
        if self._datagrams:
            self._matchers = self._new_matchers(is_whole=True)
            self._progress = {move: each.finish(self._datagrams[0]) for move, each in self._matchers.items()}
            return
        data = bytes(self._stream)
        self._cached = self._cache.get(self._moves, data)
        if self._cached is None:
            self._read(data)

    def _read(self, data: bytes) -> None:
        """Read the stream, which is `data`."""
        self._matchers = self._new_matchers(is_whole=False)
        self._candidates = Candidates(self._matchers)
        self._progress = self._candidates.feed(data) if data else {}
        if self.status() == ReadingStatus(len(data), may_go_on=False) and len(self.ends()) == 1:
            self._cache.add(self._moves, data, islice(self.readings(len(data)), 2))
        if self.has_ended:
            self._progress = self._candidates.finish()

    def _new_matchers(self, *, is_whole: bool) -> dict[MessageType, Matcher]:
        """A matcher for each message that may come; they share what reading one message may cost."""
        matchers = {move: self._matcher(move.symbol, is_whole, self._earlier) for move in self._moves}
        budget = ReadingBudget(self._reading_work, MAX_OPEN_RULES)
        for matcher in matchers.values():
            matcher.budget = budget
        return matchers

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
        """The lengths at which the next message is complete, the longest first; one more than are tried, or all."""
        if self._cached is not None:
            return [len(self._stream)]
        last = (progress.last_lengths(MAX_MESSAGE_ENDS + 1) for progress in self._progress.values())
        return sorted({length for lengths in last for length in lengths}, reverse=True)

    def readings(self, length: int) -> Iterator[CachedReading]:
        """Every derivation of the first bytes as one of the expected messages, in the order of the spec."""
        if self._cached is not None:
            yield self._cached
            return
        for move, matcher in self._matchers.items():
            if self._progress[move].is_complete_at(length):
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
        other = Inbox(matcher or self._matcher, cache or self._cache, reading_work=self._reading_work)
        other._stream, other._datagrams, other.has_ended = self._stream.copy(), self._datagrams.copy(), self.has_ended
        return other

    def behind(self, length: int) -> Inbox:
        """An inbox with the data behind so many bytes."""
        rest = Inbox(self._matcher, self._cache, reading_work=self._reading_work)
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
