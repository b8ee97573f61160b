"""Matcher: reads one message as its data comes, and tells after each piece where it stands. A door of this room.

    compiled = compile_matcher(rules, "<start>", bound=evaluate)
    matcher = compiled.matcher(whole=True)
    progress = matcher.feed(b"250-mail.example")
    progress = matcher.feed(b".org\\r\\n")
    tree = next(matcher.trees())

The answers never depend on how the data was cut into pieces. Reading, and asking for trees, raises `Undecided` if the
input takes more work than is allowed (`matching_limits`); nothing is known of such an input.

There are two parsers. The *fast path* (`fast_path`) reads messages that have only one derivation, at the speed of a
hand-written parser. Where it cannot decide, the *Earley parser* (`earley`) takes over with all that has been fed, and
reads regular rules as tokens (`token_rules`). Without tokens the Earley parser is the reference: it defines the right
answers, and knows what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from palaver.errors import Undecided
from palaver.grammar.ir import bodies_below, uses_binary
from palaver.matching.bound_paths import BoundPaths as BoundPaths
from palaver.matching.bound_paths import UnsupportedBound as UnsupportedBound
from palaver.matching.candidates import DecodedInput
from palaver.matching.earley import EarleyParser
from palaver.matching.fast_path import FastPath
from palaver.matching.fast_path_machine import FastPathMachine
from palaver.matching.fast_path_scanner import DONE, FALL_BACK, WAITING
from palaver.matching.grammar_slots import GrammarSlot
from palaver.matching.grammar_tables import BoundEvaluator as BoundEvaluator
from palaver.matching.length_bounds import NO_LENGTH_BOUNDS as NO_LENGTH_BOUNDS
from palaver.matching.length_bounds import BoundMeasure as BoundMeasure
from palaver.matching.length_bounds import LengthBound as LengthBound
from palaver.matching.length_bounds import LengthBounds as LengthBounds
from palaver.matching.parse_forest import first_tree, partial_trees, trees
from palaver.matching.token_rules import TokenTable
from palaver.spec.ast import Expr, Expression
from palaver.spec.traversal import computed_bounds
from palaver.trees.node import Node


class MatchProgress:
    """The result of reading so far. All offsets and lengths count units of the input: bytes, or characters of a str.

    may_go_on       True if more input could be read
    dead_at         the offset of the first unexpected unit; None as long as there is none, or if the message is
                    complete right at the end of the input
    expected        the terminals that could have stood at `failed_at`, in the order of the spec
    complete_here   True if all the input so far is a complete message
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
        return None if self._failure is None else self._failure()[0]

    @property
    def expected(self) -> tuple[str, ...]:
        return () if self._failure is None else self._failure()[1]

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
            f"Progress(complete={self.complete}, may_go_on={self.may_go_on}, dead_at={self.failed_at},"
            f" expected={self.expected})"
        )


class CompiledMatcher:
    """A compiled grammar, which makes matchers."""

    def __init__(
        self,
        rules: Mapping[str, Expr],
        start: str,
        bound: BoundEvaluator,
        is_pure: Callable[[Expression], bool],
        lengths: LengthBounds,
    ) -> None:
        self.start = start
        self.is_binary = uses_binary(rules, start)
        self._rules = rules
        self._bounds = bound, is_pure
        self._lengths = lengths
        self._compiled_inputs: dict[tuple[bool, bool], FastPath] = {}

    def matcher(
        self,
        *,
        binary: bool | None = None,
        whole: bool = False,
        history: Sequence[Node] = (),
        lazy: bool = True,
        reference: bool = False,
        prune: bool = True,
    ) -> Matcher:
        """A fresh matcher.

        `binary`: leaves are bytes (True) or text (False); by default, bytes if the grammar has any bytes or bits.
        `whole`: all that is fed is one message. Otherwise anything may follow a message, and all lengths at which it
        is complete are told. `history`: earlier messages, for computed repetition to look back at. `lazy`: nodes may be
        made when they are first used. `reference`: the Earley parser without tokens reads. `prune`: False only to test
        that its lookahead changes no answer.
        """
        key = self.is_binary if binary is None else binary, whole
        compiled = self._compiled_inputs.get(key)
        if compiled is None:
            compiled = self._compiled_inputs[key] = FastPath(
                self._rules, self.start, *self._bounds, *key, self._lengths
            )
        return Matcher(compiled, DecodedInput(key[0]), history, prune and not reference, lazy, prune)


def compile_matcher(
    rules: Mapping[str, Expr],
    start: str,
    *,
    bound: BoundEvaluator,
    is_pure: Callable[[Expression], bool] = lambda _: False,
    lengths: LengthBounds = NO_LENGTH_BOUNDS,
) -> CompiledMatcher:
    """The compiled grammar of `start`.

    `bound(expression, node)` computes a bound of a repetition from the node that the path in it selects, its trailing
    indices not yet applied; without a path the node is None. An error that it raises rules out that repetition and is
    kept in `Matcher.crashes`. `is_pure(expression)`: True if it depends on the text of that node only, so that it need
    not be computed twice. `lengths`: bounds of constraints on rules; `bound` computes these, too, and raises if the
    value is no number.

    :raises UnsupportedBound: a bound cannot be followed
    """
    bound_paths = BoundPaths()  # raises for such a bound now, not with the first input
    for body in bodies_below(rules, start).values():
        for expression in computed_bounds(body):
            bound_paths.track(expression)
    return CompiledMatcher(rules, start, bound, is_pure, lengths)


class Matcher:
    """Reads one message. Made by `CompiledMatcher.matcher`."""

    _has_ended = False
    _told = 0  # how many of the known ends have been put into `_lengths`
    _cached_failure: tuple[int, tuple[str, ...]] | None = None  # once failed: the offset, and what was expected
    # Parsers are made when they are needed.
    _machine: FastPathMachine | None = None
    _cached_parser: EarleyParser | None = None  # reads the input when the machine falls back
    _cached_reference: EarleyParser | None = None
    # Of a complete message that was read at once.
    _root: Node | None = None
    _text = ""

    def __init__(
        self,
        compiled: FastPath,
        source: DecodedInput,
        history: Sequence[Node],
        is_fast: bool,
        is_lazy: bool,
        prune: bool,
    ) -> None:
        self._compiled = compiled
        self._is_fast = is_fast
        self._is_lazy = is_lazy
        self._history = history
        self._prune = prune
        self._whole = compiled.whole
        self.binary = compiled.tables.binary  # True if leaves are bytes
        self._unit = compiled.tables.unit  # the number of parser positions per character
        self.source = source
        self._lengths: list[int] = []
        self._fast_path = compiled if is_fast and compiled.is_tried else None  # None: the Earley parser reads
        if not is_lazy and self._fast_path is not None:
            self._fast_path.forget()

    def prepare(self) -> None:
        """Compile now what would be compiled with the first message, for all matchers of this grammar."""
        if self._fast_path is not None:
            self._fast_path.prepare()

    @property
    def parser_name(self) -> str:
        """The parser that reads: "fast path" or "Earley"."""
        return "Earley" if self._fast_path is None else "fast path"

    @property
    def crashes(self) -> list[str]:
        """The errors that computed bounds raised."""
        if self._fast_path is not None or not self._parser.crashes:
            return []
        return self._reference_parser.crashes  # which has them in order

    @property
    def length(self) -> int:
        """The number of units fed."""
        return self.source.length

    def feed(self, data: str | bytes) -> MatchProgress:
        """Read a further piece. :raises ValueError: the end was told :raises TypeError: str and bytes are mixed"""
        if self._has_ended:
            raise ValueError("the end of the input has been told already")
        return self._read(self.source.take(data))

    def read_text(self, text: str, *, ended: bool = False) -> MatchProgress:
        """Read a piece that the shared source has decoded."""
        self._has_ended = ended
        return self._read(text)

    def finish(self, last: str | bytes = "") -> MatchProgress:
        """Read the last piece, if there is one more, and tell the end of the input.

        A complete message is read faster so than by `feed`, which must ask how it may go on.

        :raises ValueError: there is a piece, but the input has been told to be finished
        :raises TypeError: a text is fed partly as str and partly as bytes
        """
        if self._has_ended:
            if last:
                raise ValueError("the end of the input has been told already")
            return self.progress
        source, fast_path = self.source, self._fast_path
        is_whole = self._whole and not source.length
        text = source.take(last, is_last=True) if last else source.finish()
        self._has_ended = True
        if is_whole and fast_path is not None and not self._history:
            self._root, self._text = fast_path.read_whole(text, self._is_lazy), text
            if self._root is not None:
                self._machine = None  # it has not read anything
                return self._all_read()
        return self._read(text)

    @property
    def progress(self) -> MatchProgress:
        return self._read("")

    def trees(self, length: int | None = None) -> Iterator[Node]:
        """All derivations of the first `length` units (default: all the input), made as they are asked for.

        Their order is stated in `matching.parse_forest`. A matcher for a whole input has trees of its full length only.
        """
        if self._root is not None and (length is None or length == self.length):
            return iter((self._root,))
        if length is None:
            length = self.length
        characters = self.source.characters(length)
        if characters is None or (self._whole and length != self.length):
            return iter(())
        if self._fast_path is not None:
            node = self._only_tree(self._fast_path, characters)
            if self._fast_path is not None:
                return iter(() if node is None else (node,))
        return trees(self._parser, self._parser.ends.get(characters * self._unit, []))

    def partial_trees(self) -> Iterator[Node]:
        """All derivations of which the input is the beginning, as far as it goes.

        Nodes whose end has not been seen are `OpenNode`s. A terminal seen in part is a leaf with that part; one that
        matches what was seen counts as seen to its end, even if it could go on. Open nodes without children are left
        out, all but the root. If the input is complete, its complete trees come first; if it is empty, a tree of the
        symbols that it begins with.
        """
        yield from self.trees()
        parser = self._reference_parser
        if self.source.is_read_by(parser.limit // self._unit):
            yield from partial_trees(parser)

    def _read(self, text: str) -> MatchProgress:
        """Read more of the input, or its end."""
        if self._root is not None:
            return self._all_read()
        if self._fast_path is not None:
            progress = self._read_by_fast_path(self._machine or self._new_machine(self._fast_path), text)
            if progress is not None:
                return progress
            text = ""  # the Earley parser has read it by now
        return self._read_by_earley(text)

    def _all_read(self) -> MatchProgress:
        """The progress of a matcher that has read a complete message at once."""
        return MatchProgress((self.source.length,), True, False)

    def _new_machine(self, fast_path: FastPath) -> FastPathMachine:
        machine = self._machine = FastPathMachine(fast_path, *fast_path.starts[self._is_lazy])
        if self._history:
            machine.remember(self._history)
        return machine

    def _read_by_fast_path(self, machine: FastPathMachine, text: str) -> MatchProgress | None:
        """The progress; None if the machine falls back."""
        status = machine.read(text, ended=self._has_ended)
        size = machine.size
        complete_here = machine.would_be_done() if status == WAITING else status == DONE and machine.at == size
        if machine.status == FALL_BACK:
            self._leave_fast_path()
            return None
        is_read = self.source.is_read_by(size)
        if self._whole:
            complete_here = complete_here and is_read
            lengths = [self.length] if complete_here else []
        else:
            self._tell_lengths(machine.lengths)
            lengths = self._lengths
            if complete_here and size not in machine.lengths[-1:]:
                lengths = [*lengths, self.source.offset(size)]
            complete_here = is_read and self.length in lengths[-1:]
        failure = None if status == WAITING or complete_here else self._failure
        return MatchProgress(lengths, complete_here, status == WAITING, failure)

    def _only_tree(self, fast_path: FastPath, size: int) -> Node | None:
        """The tree of the first `size` characters, if there is one. The machine may fall back."""
        machine = reader = self._machine or self._new_machine(fast_path)
        if machine.status != DONE or machine.at != size:
            reader = self._new_machine(fast_path)
            self._machine = machine
            reader.read(machine.buffer[:size], ended=True)
        if reader.status == FALL_BACK:
            self._leave_fast_path()
        return reader.root if reader.status == DONE and reader.at == size else None

    def _leave_fast_path(self) -> None:
        """Let the Earley parser read from here on."""
        assert self._parser  # made here, it takes over the input of the machine
        self._fast_path = self._machine = None
        self._compiled.note_fallback()
        self._lengths = []
        self._told = 0

    @property
    def _parser(self) -> EarleyParser:
        """The Earley parser of all the input so far, made when the fast path is left or was never taken."""
        parser = self._cached_parser
        if parser is None:
            tokens = self._compiled.tokens if self._is_fast else None
            parser = self._cached_parser = self._new_parser(tokens)
            if self._machine is not None:
                parser.extend(self._machine.buffer)
        return parser

    @property
    def _reference_parser(self) -> EarleyParser:
        """A parser of all the input so far that knows open nodes and expected terminals."""
        if self._fast_path is None and self._parser.tracks_expected:
            return self._parser
        parser = self._cached_reference
        if parser is None:
            parser = self._cached_reference = self._new_parser()
        read = self._text if self._fast_path is not None else self._parser.buffer
        if self._machine is not None:
            read = self._machine.buffer
        # Input after the failure changes nothing.
        if parser.is_alive:
            parser.extend(read[len(parser.buffer) :])
        return parser

    def _new_parser(self, tokens: TokenTable | None = None) -> EarleyParser:
        compiled = self._compiled
        return EarleyParser(
            compiled.tables,
            compiled.bound,
            first_tree,
            self._history,
            prune=self._prune,
            tokens=tokens,
            lazy=self._is_lazy,
        )

    def _read_by_earley(self, text: str) -> MatchProgress:
        parser = self._parser
        parser.spend(0)  # raises if it has given up
        if parser.is_alive:
            parser.extend(text)
        self._tell_lengths(parser.end_positions, self._unit)
        complete_here = parser.limit in parser.ends and self.source.is_read_by(parser.limit // self._unit)
        lengths = self._lengths
        if self._whole:
            lengths = [self.length] if complete_here else []
        may_go_on = parser.is_alive and not self._has_ended
        if self._has_ended and complete_here:
            parser.release()
        failure = None if may_go_on or complete_here else self._failure
        return MatchProgress(lengths, complete_here, may_go_on, failure)

    def _tell_lengths(self, ends: list[int], unit: int = 1) -> None:
        """Take over the ends found since; `unit` is the number of positions per character."""
        for end in ends[self._told :]:
            if end % unit == 0:
                self._lengths.append(self.source.offset(end // unit))
        self._told = len(ends)

    def _failure(self) -> tuple[int, tuple[str, ...]]:
        """The offset at which the input failed, and the terminals expected there."""
        if self._cached_failure is None:
            position, slots, is_end = self._furthest()
            names = [slot.shown for slot in slots] + (["end of input"] if is_end else [])
            self._cached_failure = self.source.offset(position // self._unit), tuple(dict.fromkeys(names))
        return self._cached_failure

    def _furthest(self) -> tuple[int, list[GrammarSlot], bool]:
        """The position at which the input failed, the terminals expected there, and True if the end was, too."""
        try:
            parser = self._reference_parser
        except Undecided:  # that the input fails is known, though not what could have stood there
            return self._parser.furthest if self._fast_path is None else 0, [], False
        if parser.is_alive:
            expected = sorted((item.slot for item in parser.frontier), key=lambda slot: slot.order)
            return parser.limit, expected, False
        return parser.furthest, *parser.expected_at_furthest()
