"""What one party has said and we have not yet understood.

Pieces are read as they come, by one matcher for each message that may come next; what is left behind the longest match
belongs to the message after. Datagrams keep their borders: each is one message, or none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from palaver.matching.candidates import Candidates
from palaver.matching.forecaster import MessageType
from palaver.matching.matcher import Matcher, Progress
from palaver.session.heard import Heard, Reading
from palaver.session.past import NO_PAST, Past
from palaver.trees.node import Node


class Standing(NamedTuple):
    """Where the reading of the next message stands."""

    longest: int | None = None  # the length of the longest complete message
    may_go_on: bool = True  # whether more input could make it longer, or complete


class Inbox:
    """The unread data of one party.

    `matcher` gives a fresh matcher for a message, for a datagram (True) or for a stream, after what was said before.
    """

    def __init__(self, matcher: Callable[[str, bool, Past], Matcher], heard: Heard) -> None:
        self._matcher = matcher
        self._heard = heard
        self._recalled: Reading | None = None  # what the stream is, if that is known without reading it
        self._stream = bytearray()
        self._datagrams: deque[bytes] = deque()
        self._has_ended = False
        self._moves: tuple[MessageType, ...] = ()
        self._past = NO_PAST
        self._matchers: dict[MessageType, Matcher] = {}
        self._candidates: Candidates[MessageType] | None = None
        self._progress: dict[MessageType, Progress] = {}

    def __len__(self) -> int:
        """How many bytes wait to be understood."""
        return len(self._stream) + sum(map(len, self._datagrams))

    @property
    def has_something(self) -> bool:
        """Whether something waits to be understood; an empty datagram is something."""
        return bool(self._stream or self._datagrams)

    @property
    def has_ended(self) -> bool:
        return self._has_ended

    def put(self, data: bytes, *, is_whole: bool) -> None:
        """Take in what has come."""
        if self._has_ended:  # a connection that is used again
            self._has_ended = False
            self._candidates = None
        if is_whole and not self._stream:  # behind a message that has begun, it is the rest of that
            self._datagrams.append(data)
            return
        self._stream += data
        self._recalled = None
        if self._candidates is not None:
            self._progress = self._candidates.feed(data)

    def end(self) -> None:
        """There will be no more."""
        self._has_ended = True
        if self._candidates is not None and not self._datagrams:
            self._progress = self._candidates.finish()

    def expect(self, moves: Sequence[MessageType], past: Past = NO_PAST) -> None:
        """Read what comes as one of these messages; what waits is read at once."""
        is_read = self._candidates is not None or self._recalled is not None
        if is_read and tuple(moves) == self._moves and past is self._past:
            return
        self._moves, self._past = tuple(moves), past
        self._begin()

    def _begin(self) -> None:
        self._candidates = self._recalled = None
        if not self._moves:
            self._progress = {}
            return
        if self._datagrams:
            self._matchers = {move: self._matcher(move.symbol, True, self._past) for move in self._moves}
            self._progress = {move: each.finish(self._datagrams[0]) for move, each in self._matchers.items()}
            return
        data = bytes(self._stream)
        self._recalled = self._heard.recall(self._moves, data)
        if self._recalled is None:
            self._read(data)

    def _read(self, data: bytes) -> None:
        """Read the stream, which is this."""
        self._matchers = {move: self._matcher(move.symbol, False, self._past) for move in self._moves}
        self._candidates = Candidates(self._matchers)
        self._progress = self._candidates.feed(data) if data else {}
        if self.standing() == Standing(len(data), may_go_on=False) and len(self.lengths()) == 1:
            self._heard.keep(self._moves, data, islice(self.readings(len(data)), 2))
        if self._has_ended:
            self._progress = self._candidates.finish()

    @property
    def is_datagram(self) -> bool:
        """Whether the next message is a datagram."""
        return bool(self._datagrams)

    def standing(self) -> Standing:
        """How far the next message has come."""
        if self._datagrams and self._candidates is not None:
            self._begin()  # the first datagram came after the candidates were chosen
        if self._recalled is not None:
            return Standing(len(self._stream), may_go_on=False)
        if not self._progress:
            return Standing(None, not self._has_ended)
        lengths = [progress.longest for progress in self._progress.values() if progress.longest is not None]
        may_go_on = any(progress.may_go_on for progress in self._progress.values())
        is_open = may_go_on and not self._has_ended and not self._datagrams
        return Standing(max(lengths, default=None), is_open)

    def lengths(self) -> list[int]:
        """Where the next message can end, the longest first."""
        if self._recalled is not None:
            return [len(self._stream)]
        found = {length for progress in self._progress.values() for length in progress.complete}
        return sorted(found, reverse=True)

    def readings(self, length: int) -> Iterator[tuple[MessageType, Node]]:
        """Every way to understand the first bytes as one of the expected messages, in the order of the spec."""
        if self._recalled is not None:
            yield self._recalled
            return
        for move, matcher in self._matchers.items():
            if length in self._progress[move].complete:
                for node in matcher.trees(length):
                    yield move, node

    def expected(self) -> tuple[int, tuple[str, ...]]:
        """The offset where understanding ends, and what could have stood there."""
        found = [(progress.dead_at, progress.expected) for progress in self._progress.values()]
        offsets = [offset for offset, _ in found if offset is not None]
        if not offsets:
            return len(self), ()
        furthest = max(offsets)
        texts = (text for offset, expected in found if offset == furthest for text in expected)
        return furthest, tuple(dict.fromkeys(texts))

    def behind(self, length: int) -> Inbox:
        """What is left behind so many bytes, to be read as something else."""
        left = Inbox(self._matcher, self._heard)
        if rest := self._stream[length:]:
            left.put(bytes(rest), is_whole=False)
        left._has_ended = self._has_ended
        return left

    def peek(self) -> bytes:
        """What waits, without taking it."""
        return self._datagrams[0] if self._datagrams else bytes(self._stream)

    def take(self, length: int) -> bytes:
        """The bytes of a message that was understood; the rest waits for the next one."""
        if self._datagrams:
            data = self._datagrams.popleft()
        else:
            data = bytes(self._stream[:length])
            del self._stream[:length]
        self._candidates = self._recalled = None
        self._moves = ()
        self._progress = {}
        return data
