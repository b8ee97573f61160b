"""The door of this room: feed data as it comes, and know after each piece where you stand.

    shape = compile_matcher(rules, "<start>", bound=evaluate)
    matcher = shape.matcher(whole=True)
    progress = matcher.feed(b"250-mail.example")
    progress = matcher.feed(b".org\\r\\n")
    tree = next(matcher.trees())

What a matcher says never depends on how the data was cut.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping, Sequence

from palaver.grammar.ir import bodies_below, computed_bounds, uses_binary
from palaver.matching.chart import BoundEvaluator, Chart
from palaver.matching.forest import first_tree, partial_trees, trees
from palaver.matching.tables import Tables
from palaver.matching.trails import Trails, UnsupportedBound
from palaver.spec.ast import Expr
from palaver.trees.node import Node

__all__ = [
    "BoundEvaluator",
    "CompiledShape",
    "Matcher",
    "Progress",
    "UnsupportedBound",
    "compile_matcher",
]


class Progress:
    """Where a matcher stands. All offsets and lengths count units of the input: bytes of bytes, characters of a str.

    may_go_on       whether more input could be read
    dead_at         the offset of the first unit that cannot be; None as long as there is none, or if the message is
                    complete right at the end of the input
    expected        what could have stood at `dead_at`, in the order of the spec
    complete_here   whether all the input so far is a complete message
    """

    __slots__ = ("_count", "_lengths", "complete_here", "dead_at", "expected", "may_go_on")

    def __init__(
        self,
        lengths: Sequence[int],
        *,
        complete_here: bool,
        may_go_on: bool,
        dead_at: int | None = None,
        expected: tuple[str, ...] = (),
    ) -> None:
        # The list is shared with the matcher and only grows, so that a piece costs nothing for the pieces before it.
        self._lengths = lengths
        self._count = len(lengths)
        self.complete_here = complete_here
        self.may_go_on = may_go_on
        self.dead_at = dead_at
        self.expected = expected

    @property
    def complete(self) -> tuple[int, ...]:
        """The lengths at which the message is complete, rising; of a whole input, its full length or none."""
        return tuple(self._lengths[: self._count])

    @property
    def longest(self) -> int | None:
        """The last of `complete`."""
        return self._lengths[self._count - 1] if self._count else None

    def _key(self) -> tuple[object, ...]:
        return self.complete, self.complete_here, self.may_go_on, self.dead_at, self.expected

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Progress) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]  # a report, not a key

    def __repr__(self) -> str:
        return (
            f"Progress(complete={self.complete}, may_go_on={self.may_go_on}, dead_at={self.dead_at},"
            f" expected={self.expected})"
        )


class CompiledShape:
    """A grammar ready to be matched, any number of times."""

    def __init__(self, rules: Mapping[str, Expr], start: str, bound: BoundEvaluator) -> None:
        self.start = start
        self.is_binary = uses_binary(rules, start)
        self._rules = rules
        self._bound = bound
        self._tables: dict[tuple[bool, bool], Tables] = {}

    def tables(self, *, binary: bool, whole: bool) -> Tables:
        """The tables for one kind of input, made when first asked for."""
        key = binary, whole
        if key not in self._tables:
            self._tables[key] = Tables(self._rules, self.start, binary=binary, whole=whole)
        return self._tables[key]

    def matcher(
        self,
        *,
        binary: bool | None = None,
        whole: bool = False,
        history: Sequence[Node] = (),
        prune: bool = True,
    ) -> Matcher:
        """A fresh matcher.

        `binary`: leaves are bytes (True) or text (False); by default, bytes if the grammar has any bytes or bits.
        `whole`: all that is fed is one message. Otherwise anything may follow a message, and all lengths at which it
        is complete are told. `history`: earlier messages, for computed repetition to look back at. `prune`: off only to
        test that shortcuts do not matter.
        """
        binary = self.is_binary if binary is None else binary
        return Matcher(self.tables(binary=binary, whole=whole), self._bound, whole, history, prune=prune)


def compile_matcher(rules: Mapping[str, Expr], start: str, *, bound: BoundEvaluator) -> CompiledShape:
    """The matcher for what `start` can be.

    `bound(expression, node)` computes a bound of a repetition from the node that the path in it selects, its
    trailing indices not yet applied; without a path the node is None. What it raises rules out that repetition and is
    kept in `Matcher.crashes`.

    :raises UnsupportedBound: a bound cannot be followed
    """
    trails = Trails()  # only to hear of such a bound now, not with the first input
    for body in bodies_below(rules, start).values():
        for expression in computed_bounds(body):
            trails.track(expression)
    return CompiledShape(rules, start, bound)


class Matcher:
    """Reads one message. Made by `CompiledShape.matcher`."""

    def __init__(
        self, tables: Tables, bound: BoundEvaluator, whole: bool, history: Sequence[Node], *, prune: bool
    ) -> None:
        self._chart = Chart(tables, bound, first_tree, history, prune=prune)
        self._whole = whole
        self._unit = tables.unit
        self._input = _Input(binary=tables.binary)
        self._lengths: list[int] = []
        self._told = 0  # how many of the chart's ends have been put into `_lengths`
        self._has_ended = False
        self._epitaph: tuple[int, tuple[str, ...]] | None = None  # once dead: where, and what was expected

    @property
    def crashes(self) -> list[str]:
        """What went wrong in computed bounds."""
        return self._chart.crashes

    @property
    def length(self) -> int:
        """How much has been fed."""
        return self._input.length

    def feed(self, data: str | bytes) -> Progress:
        """Read a further piece.

        :raises ValueError: the input has been told to be finished
        :raises TypeError: a text is fed partly as str and partly as bytes
        """
        if self._has_ended:
            raise ValueError("the end of the input has been told already")
        self._extend(self._input.take(data))
        return self.progress

    def finish(self) -> Progress:
        """There is no more."""
        if not self._has_ended:
            self._extend(self._input.finish())
            self._has_ended = True
        return self.progress

    @property
    def progress(self) -> Progress:
        chart = self._chart
        self._tell_lengths()
        complete_here = chart.limit in chart.ends and self._input.is_read_by(chart.limit // self._unit)
        lengths = self._lengths
        if self._whole:
            lengths = [self.length] if complete_here else []
        if (chart.is_alive and not self._has_ended) or complete_here:
            may_go_on = chart.is_alive and not self._has_ended
            return Progress(lengths, complete_here=complete_here, may_go_on=may_go_on)
        dead_at, expected = self._obituary()
        return Progress(lengths, complete_here=False, may_go_on=False, dead_at=dead_at, expected=expected)

    def trees(self, length: int | None = None) -> Iterator[Node]:
        """All derivations of the first `length` units (default: all the input), made as they are asked for.

        Their order is stated in `matching.forest`. A matcher for a whole input has trees of its full length only.
        """
        if length is None:
            length = self.length
        characters = self._input.characters(length)
        if characters is None:
            return iter(())
        return trees(self._chart, self._chart.ends.get(characters * self._unit, []))

    def partial_trees(self) -> Iterator[Node]:
        """All derivations of which the input is the beginning, as far as it goes.

        Nodes whose end has not been seen are `OpenNode`s. A terminal seen in part is a leaf with that part; one that
        matches what was seen counts as seen to its end, even if it could go on. Open nodes with nothing in them are
        left out, all but the root. If the input is complete, its complete trees come first; if it is empty, what it is
        about to begin with does.
        """
        yield from self.trees()
        if self._input.is_read_by(self._chart.limit // self._unit):
            yield from partial_trees(self._chart)

    def _extend(self, text: str) -> None:
        # What comes after the place of death changes nothing.
        if self._chart.is_alive:
            self._chart.extend(text)

    def _tell_lengths(self) -> None:
        ends = self._chart.end_positions
        for position in ends[self._told :]:
            if position % self._unit == 0:
                self._lengths.append(self._input.offset(position // self._unit))
        self._told = len(ends)

    def _obituary(self) -> tuple[int, tuple[str, ...]]:
        chart = self._chart
        if self._epitaph is None:
            if chart.is_alive:
                position, steps, is_end = chart.limit, [item.step for item in chart.frontier], False
                steps.sort(key=lambda step: step.order)
            else:
                position = chart.furthest
                steps, is_end = chart.expected_at_furthest()
            names = [step.shown for step in steps] + (["end of input"] if is_end else [])
            self._epitaph = self._input.offset(position // self._unit), tuple(dict.fromkeys(names))
        return self._epitaph


class _Input:
    """What has been fed, and how its units relate to the characters in the buffer.

    Text that comes as bytes is decoded as UTF-8 (bytes that are none become lone surrogates, as everywhere in
    Python), and then units are bytes while the buffer holds characters.
    """

    def __init__(self, *, binary: bool) -> None:
        self.length = 0
        self._binary = binary
        self._kind: type | None = None
        self._decoder = getincrementaldecoder("utf-8")(errors="surrogateescape")
        self._decoded = ""
        self._is_ascii = True
        self._known = (0, 0)  # a number of characters, and how many bytes they are

    @property
    def _is_encoded(self) -> bool:
        return self._kind is bytes and not self._binary

    def take(self, data: str | bytes) -> str:
        """The characters that a further piece adds to the buffer."""
        if self._kind is None and data:
            self._kind = str if isinstance(data, str) else bytes
        if self._binary:
            raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
            self.length += len(raw)
            return raw.decode("latin-1")
        if data and isinstance(data, str) != (self._kind is str):
            raise TypeError("a text is fed as str or as bytes, not as both")
        self.length += len(data)
        if isinstance(data, str):
            return data
        return self._decode(data)

    def finish(self) -> str:
        return self._decode(b"", final=True) if self._is_encoded else ""

    def _decode(self, data: bytes, *, final: bool = False) -> str:
        text = self._decoder.decode(data, final)
        self._is_ascii = self._is_ascii and text.isascii()
        self._decoded += text
        return text

    def offset(self, characters: int) -> int:
        """How many units so many characters are."""
        if not self._is_encoded or self._is_ascii:
            return characters
        # Offsets are mostly asked for in rising order.
        known, size = self._known if self._known[0] <= characters else (0, 0)
        size += len(self._decoded[known:characters].encode("utf-8", "surrogateescape"))
        self._known = characters, size
        return size

    def characters(self, length: int) -> int | None:
        """How many characters so many units are; None if they end inside a character, or have not been decoded."""
        if not self._is_encoded or self._is_ascii:
            return length
        head = self._decoded.encode("utf-8", "surrogateescape")[:length].decode("utf-8", "surrogateescape")
        return len(head) if self.offset(len(head)) == length and self._decoded.startswith(head) else None

    def is_read_by(self, characters: int) -> bool:
        """Whether a reader of so many characters has read all there is."""
        return self.offset(characters) == self.length
