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
reads regular rules as tokens (`token_rules`); if only the end of a regular message is not certain, an automaton does
(`regular_scanner`). Without tokens the Earley parser is the reference: it defines the right
answers, and knows what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from palaver.errors import Undecided
from palaver.grammar.ir import bodies_below, uses_binary
from palaver.matching.bound_paths import BoundPaths as BoundPaths
from palaver.matching.bound_paths import UnsupportedBound as UnsupportedBound
from palaver.matching.candidates import DecodedInput
from palaver.matching.candidates import MatchProgress as MatchProgress
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
from palaver.matching.matching_limits import MAX_CHARACTERS_EXPLAINED, PIECE_WITH_BUDGET
from palaver.matching.parse_forest import first_tree, partial_trees, trees
from palaver.matching.reading_budget import ReadingBudget as ReadingBudget
from palaver.matching.regular_scanner import RegularScanner
from palaver.matching.rule_regexes import END_MARK
from palaver.matching.token_rules import TokenTable
from palaver.spec.ast import Expr, Expression
from palaver.spec.traversal import computed_bounds
from palaver.trees.node import Node


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
        if binary is None:
            binary = self.is_binary
        compiled = self._compiled_inputs.get((binary, whole)) or self.fast_path(binary, whole)
        return Matcher(self, compiled, DecodedInput(binary), history, prune and not reference, lazy, prune)

    def fast_path(self, binary: bool, whole: bool) -> FastPath:
        """The fast path for one kind of input."""
        compiled = self._compiled_inputs.get((binary, whole))
        if compiled is None:
            compiled = FastPath(self._rules, self.start, *self._bounds, binary, whole, self._lengths)
            self._compiled_inputs[binary, whole] = compiled
        return compiled


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
    _left_because = ""  # the reason for which the machine fell back, if it did
    _cached_parser: EarleyParser | None = None  # reads the input when the machine falls back
    _cached_reference: EarleyParser | None = None
    # Of a complete message that was read at once.
    _root: Node | None = None
    _text = ""
    # Reads the input when the machine falls back, if its end is all that is not certain.
    _scanner: RegularScanner | None = None
    budget: ReadingBudget | None = None  # of an input that must not take much memory

    def __init__(
        self,
        shape: CompiledMatcher,
        compiled: FastPath,
        source: DecodedInput,
        history: Sequence[Node],
        is_fast: bool,
        is_lazy: bool,
        prune: bool,
    ) -> None:
        self._shape = shape
        self._compiled = compiled
        self._is_fast = is_fast
        self._is_lazy = is_lazy
        self._history = history
        self._prune = prune
        self._whole = compiled.whole
        self.binary = compiled.tables.binary  # True if leaves are bytes
        self.source = source
        self._lengths: list[int] = []
        self._fast_path = compiled if is_fast and compiled.is_tried else None  # None: the Earley parser reads
        if self._fast_path is None:
            self._scanner = self._new_scanner()
        elif not is_lazy:
            self._fast_path.forget()

    @property
    def _unit(self) -> int:
        """The number of positions of the Earley parser per character."""
        return self._compiled.tables.unit

    def prepare(self) -> None:
        """Compile now what would be compiled with the first message, for all matchers of this grammar."""
        if self._fast_path is not None:
            self._fast_path.prepare()

    @property
    def parser_name(self) -> str:
        """The parser that reads: "fast path", "automaton" or "Earley"."""
        return "fast path" if self._fast_path is not None else "Earley" if self._scanner is None else "automaton"

    @property
    def general_reason(self) -> str:
        """The reason for which the Earley parser reads; "" if it does not."""
        if self._root is not None or self.parser_name != "Earley":
            return ""
        return self._left_because or self._compiled.untried_because

    @property
    def crashes(self) -> list[str]:
        """The errors that computed bounds raised."""
        if self._fast_path is not None or self._scanner is not None or self._root is not None:
            return []
        if not self._parser.crashes:
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
        if is_whole and self._is_fast and not self._history:
            root = self._read_without_limits(text) if fast_path is None else fast_path.read_whole(text, self._is_lazy)
            self._root, self._text = root, text
            if root is not None:
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
        if self._scanner is not None:
            return self._scanned_trees(self._scanner, length, characters)
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
            text = ""  # the other parser has read it by now
        if self._scanner is not None:
            if END_MARK not in text:
                return self._read_by_scanner(self._scanner, text)
            text, self._scanner = self._scanner.buffer + text, None  # regexes cannot tell it from the end
        return self._read_by_earley(text)

    def _read_without_limits(self, text: str) -> Node | None:
        """The tree of a whole input that has only one, whatever bounds say of lengths; None says nothing."""
        free = self._compiled.without_limits
        if free is None or not free.is_tried:
            return None
        node = free.read_whole(text, self._is_lazy)
        if node is None:
            machine = FastPathMachine(free, *free.starts[self._is_lazy])
            status = machine.read(text, ended=True)
            node = machine.root if status == DONE and machine.at == len(text) else None
            if machine.status == FALL_BACK:
                free.note_fallback()
        return node

    def _new_scanner(self) -> RegularScanner | None:
        """A scanner of the message, if it is regular, and not known to be whole."""
        if self._whole or not self._is_fast:
            return None
        start = self._compiled.regex_rules.automaton_of(self._compiled.tables.start)
        return None if start is None else RegularScanner(start, lambda position: self.source.offset(position))

    def _read_by_scanner(self, scanner: RegularScanner, text: str) -> MatchProgress:
        scanner.read(text)
        complete_here = scanner.is_complete and self.source.is_read_by(scanner.size)
        may_go_on = scanner.may_go_on and not self._has_ended
        failure = None if may_go_on or complete_here else self._failure
        return MatchProgress(scanner.ends, complete_here, may_go_on, failure)

    def _scanned_trees(self, scanner: RegularScanner, length: int, characters: int) -> Iterator[Node]:
        if not MatchProgress(scanner.ends, False, False).is_complete_at(length):
            return iter(())
        text = scanner.buffer[:characters]
        matcher = self._shape.matcher(binary=self.binary, whole=True, lazy=self._is_lazy)
        data = text.encode("latin-1") if self.binary else text
        matcher.budget = self.budget
        start = 0
        if self.budget is not None:
            # In pieces: then a budget is used up before there are items for all of a long text.
            for start in range(0, max(len(data) - PIECE_WITH_BUDGET, 0), PIECE_WITH_BUDGET):
                matcher.feed(data[start : start + PIECE_WITH_BUDGET])
            start = matcher.length
        matcher.finish(data[start:])
        return matcher.trees()

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
        if status == WAITING and self.budget is not None and size > self.budget.depth:
            machine.stay_within(self.budget)
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
        """Let another parser read from here on, which takes over the input of the machine."""
        read = self._machine.buffer if self._machine is not None else ""
        self._left_because = "" if self._machine is None else self._machine.stuck_because
        self._scanner = self._new_scanner() if END_MARK not in read else None
        if self._scanner is not None:
            self._scanner.read(read)
        else:
            assert self._parser  # made here
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
        is_read_at_once = self._fast_path is not None or self._root is not None
        if not is_read_at_once and self._scanner is None and self._parser.tracks_expected:
            return self._parser
        parser = self._cached_reference
        if parser is None:
            parser = self._cached_reference = self._new_parser()
        if self._scanner is not None:
            read = self._scanner.buffer
        else:
            read = self._text if is_read_at_once else self._parser.buffer
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
            budget=self.budget,
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
        scanner = self._scanner
        if scanner is not None and scanner.size > MAX_CHARACTERS_EXPLAINED:
            return scanner.size if scanner.failed_at is None else scanner.failed_at, [], False
        if self._machine is not None:
            self._machine.forget_parts()  # of a message that is none
        try:
            parser = self._reference_parser
        except Undecided:  # that the input fails is known, though not what could have stood there
            if self._fast_path is None and scanner is None:
                return self._parser.furthest, [], False
            return 0 if self._machine is None else self._machine.at * self._unit, [], False
        if parser.is_alive:
            expected = sorted((item.slot for item in parser.frontier), key=lambda slot: slot.order)
            return parser.limit, expected, False
        return parser.furthest, *parser.expected_at_furthest()
