"""Candidates: message types that may be coming, read from one input, which is decoded and kept once; their progress."""

from __future__ import annotations

from bisect import bisect_left
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from palaver.matching.rule_regexes import MatchText, are_apart
from palaver.regular.regex import RegularExpression
from palaver.trees.lazy import Expand, LazyNode, with_serialised
from palaver.trees.node import Node, NonTerminal, Parties, new

if TYPE_CHECKING:
    from palaver.matching.matcher import CompiledMatcher, Matcher

Name = TypeVar("Name")


class MatchProgress:
    """The result of reading so far. All offsets and lengths count units of the input: bytes, or characters of a str.

    `may_go_on` is True if more input could be read, `complete_here` if all the input so far is a complete message.
    """

    __slots__ = ("_count", "_failure", "_lengths", "complete_here", "may_go_on")

    def __init__(
        self,
        lengths: Sequence[int],
        complete_here: bool,
        may_go_on: bool,
        failure: Callable[[], tuple[int, tuple[str, ...]]] | None = None,
    ) -> None:
        # The list is shared with the matcher and only grows, so that a piece costs nothing for those before it.
        self._lengths = lengths
        self._count = len(lengths)
        self.complete_here = complete_here
        self.may_go_on = may_go_on
        self._failure = failure

    @property
    def failed_at(self) -> int | None:
        """The offset of the first unexpected unit; None if there is none, or if a message ends where the input does."""
        return None if self._failure is None else self._failure()[0]

    @property
    def expected(self) -> tuple[str, ...]:
        """The terminals that could have stood at `failed_at`, in the order of the spec."""
        return () if self._failure is None else self._failure()[1]

    def is_complete_at(self, length: int) -> bool:
        """Return True if the first `length` units are a complete message."""
        place = bisect_left(self._lengths, length, 0, self._count)
        return place < self._count and self._lengths[place] == length

    def last_lengths(self, number: int) -> list[int]:
        """The last of `complete`, as many as asked for or all."""
        return list(self._lengths[max(0, self._count - number) : self._count])

    @property
    def complete(self) -> tuple[int, ...]:
        """The lengths at which the message is complete, rising; of a whole input, its full length or none."""
        return tuple(self._lengths[: self._count])

    @property
    def longest(self) -> int | None:
        """The last of `complete`."""
        return self._lengths[self._count - 1] if self._count else None

    def _key(self) -> tuple[object, ...]:
        return self.complete, self.complete_here, self.may_go_on, self.failed_at, self.expected

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatchProgress) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]  # not a key

    def __repr__(self) -> str:
        return (
            f"MatchProgress(complete={self.complete}, may_go_on={self.may_go_on}, failed_at={self.failed_at},"
            f" expected={self.expected})"
        )


class DecodedInput:
    """The input, and how its units relate to the characters in the buffer.

    Text that comes as bytes is decoded as UTF-8 (invalid bytes become lone surrogates, as with `surrogateescape`), and
    then units are bytes while the buffer holds characters.
    """

    length = 0
    _kind: type | None = None
    _decoder: IncrementalDecoder | None = None  # only for what is not ASCII
    _decoded = 0  # characters
    _known = (0, 0)  # a number of characters, and their size in bytes

    def __init__(self, binary: bool) -> None:
        self._binary = binary
        self._pieces: list[str] = []  # of what has been decoded

    def take(self, data: str | bytes, *, is_last: bool = False) -> str:
        """The characters that a further piece adds to the buffer; if it is the last, `finish` adds none."""
        if self._binary:
            raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
            self.length += len(raw)
            return str(raw, "latin-1")
        if data:
            kind = str if isinstance(data, str) else bytes
            if self._kind is not kind and self._kind is not None:
                raise TypeError("a text is fed as str or as bytes, not as both")
            self._kind = kind
        self.length += len(data)
        return data if isinstance(data, str) else self._decode(data, is_last)

    def finish(self) -> str:
        """The characters that are left when no more comes."""
        return "" if self._decoder is None else self._decode(b"", True)

    def _decode(self, data: bytes, is_last: bool) -> str:
        if self._decoder is None and not data.isascii():
            self._decoder = getincrementaldecoder("utf-8")(errors="surrogateescape")
        text = str(data, "ascii") if self._decoder is None else self._decoder.decode(data, is_last)
        self._pieces.append(text)
        self._decoded += len(text)
        return text

    @property
    def _text(self) -> str:
        if len(self._pieces) != 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    @property
    def _pending(self) -> int:
        """The number of bytes of an incomplete character at the end."""
        return 0 if self._decoder is None else len(self._decoder.getstate()[0])

    def offset(self, characters: int) -> int:
        """The number of units of the first `characters` characters."""
        if self._decoder is None:  # a unit is a character
            return characters
        if characters == self._decoded:
            return self.length - self._pending
        # Offsets are mostly asked for in rising order.
        known, size = self._known if self._known[0] <= characters else (0, 0)
        size += len(self._text[known:characters].encode("utf-8", "surrogateescape"))
        if characters <= self._decoded:  # an answer about more than there is must not be kept
            self._known = characters, size
        return size

    def characters(self, length: int) -> int | None:
        """The number of characters in `length` units; None if they end inside a character, or have not been decoded."""
        if self._decoder is None:  # a unit is a character
            return length
        head = self._text.encode("utf-8", "surrogateescape")[:length].decode("utf-8", "surrogateescape")
        return len(head) if self.offset(len(head)) == length and self._text.startswith(head) else None

    def is_read_by(self, characters: int) -> bool:
        """Return True if `characters` characters are all the input."""
        return self.offset(characters) == self.length


class Candidates(Generic[Name]):
    """Fresh matchers, by name, that read the same data. :raises ValueError: one of them has read something already"""

    def __init__(self, matchers: Mapping[Name, Matcher]) -> None:
        self._matchers = dict(matchers)
        if any(matcher.length for matcher in self._matchers.values()):
            raise ValueError("a candidate has read something already")
        self._sources = {matcher.binary: matcher.source for matcher in self._matchers.values()}
        for matcher in self._matchers.values():
            matcher.source = self._sources[matcher.binary]
        self._progress: dict[Name, MatchProgress] = {}  # empty before the first piece, which may be the only one

    def feed(self, data: str | bytes) -> dict[Name, MatchProgress]:
        """Read a further piece; return the progress of each. :raises TypeError: a text is fed as str and as bytes"""
        texts = {binary: source.take(data) for binary, source in self._sources.items()}
        return self._read(texts, ended=False)

    def finish(self) -> dict[Name, MatchProgress]:
        """Tell the end of the input; return the progress of each candidate."""
        return self._read({binary: source.finish() for binary, source in self._sources.items()}, ended=True)

    def _read(self, texts: dict[bool, str], *, ended: bool) -> dict[Name, MatchProgress]:
        for name, matcher in self._matchers.items():
            progress = self._progress.get(name)
            # Of those that cannot go on, only one that is complete right here changes with more input.
            if progress is None or progress.may_go_on or progress.complete_here:
                self._progress[name] = matcher.read_text(texts[matcher.binary], ended=ended)
        return dict(self._progress)


class QuickToken(NamedTuple):
    """A message that is read by one regex, whatever follows it."""

    match: MatchText
    symbol: NonTerminal
    parties: Parties
    expand: Expand | None  # makes the children from the text; None if that is the only child
    outline: RegularExpression


class QuickReader(Generic[Name]):
    """Reads a message that has come as a whole, and is one of several that are each read by one regex.

    No word of one is the beginning of a word of another, or of a longer one of its own. So the first regex that matches
    all of the data gives the only reading, and more data could not belong to the message.
    """

    def __init__(self, tokens: Mapping[Name, QuickToken], *, binary: bool) -> None:
        self._tokens = tokens
        self._binary = binary

    @classmethod
    def of(
        cls, shapes: Mapping[Name, CompiledMatcher], parties: Mapping[Name, Parties], *, binary: bool
    ) -> QuickReader[Name] | None:
        """The reader of these messages, which get their parties; None if some of them cannot be read so."""
        tokens: dict[Name, QuickToken] = {}
        for name, shape in shapes.items():
            op = shape.fast_path(binary, False).token
            if op is None:
                return None
            expand = None if op.is_leaf else op.expand
            tokens[name] = QuickToken(op.match, op.symbol, parties[name], expand, op.rule_pattern.expression)
        is_certain = all(are_apart(one.outline, two.outline) for one, two in combinations(tokens.values(), 2))
        return cls(tokens, binary=binary) if is_certain else None

    def read(self, data: bytes) -> tuple[Name, Node] | None:
        """The only reading of some data, if that is a whole message; None says nothing."""
        if not self._binary and not data.isascii():
            return None
        text = str(data, "latin-1")
        for name, token in self._tokens.items():
            match = token.match(text, 0)
            if match is not None and match.end() == len(text) > 0:
                said = data if self._binary else text
                if token.expand is None:
                    return name, with_serialised(new(Node, (token.symbol, (said,), (), token.parties)), said)
                return name, new(LazyNode, (token.symbol, (said, token.expand), (), token.parties))
        return None
