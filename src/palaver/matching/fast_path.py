"""Fast path: the compiled programs and generated functions of a grammar, and what its machines share.

Machines (`fast_path_machine`) read messages that come in pieces. A complete message is mostly read by a regex or a
generated function. The children of lazy nodes are made here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from palaver.lean_dataclasses import replace
from palaver.matching.bound_paths import together
from palaver.matching.earley import EarleyParser
from palaver.matching.fast_path_compiler import FastPathProgram
from palaver.matching.fast_path_machine import FastPathMachine, token_node
from palaver.matching.fast_path_scanner import DONE, FAILED, FALL_BACK
from palaver.matching.generated_functions import FunctionLibrary
from palaver.matching.generated_lookups import GaveUp
from palaver.matching.grammar_slots import Computed, GrammarSlot, Nonterminal
from palaver.matching.grammar_tables import BoundEvaluator, GrammarTables
from palaver.matching.instructions import (
    CALL,
    STOP,
    TOKEN,
    UNKNOWN,
    Dialect,
    Expansion,
    FieldValue,
    ParseInstruction,
    ReadFunction,
    Unsupported,
)
from palaver.matching.length_bounds import NO_LENGTH_BOUNDS, BoundMeasure, LengthBounds
from palaver.matching.lookahead import Lookahead
from palaver.matching.matching_limits import CALLS_BEFORE_GENERATING, MAX_FALLBACKS, MIN_CHARACTERS_TO_PAUSE_COLLECTOR
from palaver.matching.parse_forest import first_tree
from palaver.matching.regex_rules import RegexRules
from palaver.matching.rule_regexes import END_MARK
from palaver.matching.token_rules import TokenTable
from palaver.spec.ast import Expr, Expression
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.trees.lazy import with_serialised
from palaver.trees.node import Node, Part, new

_STOP: Final = ParseInstruction(STOP)
_DIGITS: Final = {chr(byte): f"{byte:08b}" for byte in range(256)}


class FastPath:
    """A grammar compiled for one kind of input: bytes or text, a `whole` message or one that anything may follow."""

    def __init__(
        self,
        rules: Mapping[str, Expr],
        start: str,
        bound: BoundEvaluator,
        is_pure: Callable[[Expression], bool],
        binary: bool,
        whole: bool,
        lengths: LengthBounds = NO_LENGTH_BOUNDS,
    ) -> None:
        self._lengths = lengths
        self._is_pure = is_pure
        self.tables = tables = GrammarTables(rules, start, binary=binary, whole=whole, is_pure=is_pure, lengths=lengths)
        self.paths = len(tables.bound_paths.paths)
        self.bound = bound
        self.whole = whole
        self._rules = rules
        self._rest: dict[Nonterminal, GrammarTables] = {}
        self._fallbacks = 0
        self.regex_rules = RegexRules(tables)
        lookahead, bit_lookahead = Lookahead(tables), Lookahead(tables, in_bits=True)
        self._programs = {
            dialect: FastPathProgram(self, dialect, bit_lookahead if dialect is Dialect.BITS else lookahead)
            for dialect in Dialect
        }
        self._libraries: dict[tuple[FastPathProgram, bool], FunctionLibrary] = {}
        # The programs for messages, with lazy nodes and without, and their first instructions.
        self.starts: dict[bool, tuple[FastPathProgram, ParseInstruction]] = {}
        for is_lazy, dialect in ((True, Dialect.SKETCH), (False, Dialect.FULL)):
            program = self._programs[dialect]
            self.starts[is_lazy] = program, program.call(tables.start, None, _STOP)

    @cached_property
    def is_tried(self) -> bool:
        """True unless machines would always fall back, in a left-recursive or limited grammar, or they often did."""
        return not self.tables.first_follow.is_left_recursive and not self.tables.has_limits

    @property
    def untried_because(self) -> str:
        """The reason for which machines would always fall back; "" if they would not."""
        if recursive := self.tables.first_follow.left_recursive:
            return f"left recursion in {_listed(recursive)}"
        limited = [each for each in self.tables.nonterminals if each.length is not None]
        return f"a constraint decides the length of {_listed(limited)}" if limited else ""

    def note_fallback(self) -> None:
        """Count a fall back of a machine."""
        self._fallbacks += 1
        if self._fallbacks >= MAX_FALLBACKS:
            self.is_tried = False

    @cached_property
    def without_limits(self) -> FastPath | None:
        """The same where lengths are free, if limits are why machines would fall back; None if not.

        A bound rules out derivations and adds none. So a whole input that has one derivation without bounds has no
        other with them, and the constraint that they come from decides on that one.
        """
        if not self.tables.has_limits or self.tables.first_follow.is_left_recursive:
            return None
        counts = {name: each for name, each in self._lengths.bounds.items() if each.measure is BoundMeasure.ROUNDS}
        start, free = self.tables.start.symbol, replace(self._lengths, bounds=counts)
        assert start is not None, "a message has a name"
        path = FastPath(self._rules, start, self.bound, self._is_pure, self.tables.binary, self.whole, free)
        path._lengths = self._lengths  # where a part is read by the Earley parser, bounds help
        return path

    @cached_property
    def tokens(self) -> TokenTable:
        """The tokens of the Earley parser."""
        return TokenTable(self)

    def forget(self) -> None:
        """Empty the caches of the message before."""
        self._programs[Dialect.FULL].forget()

    def prepare(self) -> None:
        """Compile now what would be compiled with the first message, and with the first look into its tree."""
        program, op = self.starts[True]
        program.prepare(op)
        detail = self._programs[Dialect.DETAIL]
        detail.prepare(detail.call(self.tables.start, None, _STOP))

    def read_whole(self, text: str, lazy: bool) -> Node | None:
        """The tree of a complete message, if a regex or function can read it; None says nothing."""
        _, op = self.starts[lazy]
        if END_MARK in text:
            return None
        if op.kind == TOKEN:
            match = op.match(text, 0)
            is_read = match is not None and match.end() == len(text)
            return token_node(op, text, binary=self.tables.binary) if is_read else None
        if op.kind != CALL or len(text) >= MIN_CHARACTERS_TO_PAUSE_COLLECTOR:
            return None
        read = op.reads[True]
        if read is None or isinstance(read, bool):
            return None
        try:
            end, children = read(text, 0, len(text), [None] * self.paths)
        except (GaveUp, RecursionError):
            return None
        if end < len(text):
            return None
        node = new(Node, (op.symbol, children, (), op.parties))
        return with_serialised(node, text.encode("latin-1") if self.tables.binary else text) if text else node

    @cached_property
    def token(self) -> ParseInstruction | None:
        """The instruction that reads all of a message, whatever follows it, by one regex; None if there is none."""
        program, op = self.starts[True]
        if not self.is_tried or self.paths:
            return None
        try:
            if op.kind == UNKNOWN:
                program.resolve(op)
        except (Unsupported, RecursionError):
            return None
        return op if op.kind == TOKEN and op.is_closed and not op.is_spelled_out else None

    def rule(self, nonterminal: Nonterminal, within: Dialect | None = None) -> Expansion:
        """The expansion of a rule for instructions of a dialect; for tokens of the Earley parser if that is None."""
        is_bits = self.regex_rules.width(nonterminal) is not None
        program = self._programs[Dialect.BITS if is_bits else Dialect.DETAIL]
        unpacked = is_bits and within is not Dialect.BITS
        return _RuleExpansion(self, program, lambda: program.entry(nonterminal), nonterminal, unpacked=unpacked)

    def slots(self, slots: Sequence[GrammarSlot]) -> Expansion:
        """The expansion of slots over bits in bytes."""
        program = self._programs[Dialect.BITS]
        return _RuleExpansion(self, program, lambda: program.chain(slots, _STOP), None, unpacked=True)

    def library(self, program: FastPathProgram, *, ended: bool) -> FunctionLibrary:
        """The generated functions for the rules of a program."""
        key = program, ended
        if key not in self._libraries:
            self._libraries[key] = FunctionLibrary(program, self.limits, binary=self.tables.binary, ended=ended)
        return self._libraries[key]

    def limits(self, op: ParseInstruction, fields: Sequence[FieldValue | None]) -> tuple[int, int | None] | int:
        """The limits of a repetition, or else a status."""
        least, most = op.least, op.most
        if isinstance(least, int) and not isinstance(most, Computed):
            return least, most
        text = None
        if op.path is not None:
            field = fields[op.path]
            if field is None:
                return FAILED if not isinstance(least, Computed) or least.advice is None else FALL_BACK
            text = field[1]
        # A limit that depends on a short field only is not computed twice.
        known = op.limits.get(text)
        if known is not None:
            return known
        limits = self._compute_limits(op, fields)
        if op.is_pure and text is not None and isinstance(limits, tuple):
            op.limits[text] = limits
        return limits

    def _compute_limits(
        self, op: ParseInstruction, fields: Sequence[FieldValue | None]
    ) -> tuple[int, int | None] | int:
        least, most = op.least, op.most
        try:
            low = least if isinstance(least, int) else self._count(least, fields)
            high = low if most == least else self._count(most, fields) if isinstance(most, Computed) else most
        except SPEC_CODE_RAISES:
            return FALL_BACK  # the Earley parser will report it, or read on without the bound
        if isinstance(least, Computed) and least.advice is not None:
            if low is None:
                return FALL_BACK
            return FAILED if (bounds := least.advice.bounds(low)) is None else bounds
        if low is None or (high is None and most is not None) or (high is not None and (high < 0 or low > high)):
            return FAILED
        return max(0, low), high

    def _count(self, computed: Computed, fields: Sequence[FieldValue | None]) -> int | None:
        found = [fields[path] for path in computed.paths]
        nodes = [field[0] for field in found if field is not None]
        return None if len(nodes) < len(found) else int(self.bound(computed.expression, together(nodes)))

    def read_by_earley(self, nonterminal: Nonterminal, text: str) -> tuple[Part, ...]:
        """The children of a rule over a text on which a machine fell back."""
        if nonterminal not in self._rest:
            assert nonterminal.symbol is not None  # only rules are read by themselves
            binary = self.tables.binary
            self._rest[nonterminal] = GrammarTables(
                self._rules, nonterminal.symbol, binary=binary, whole=True, lengths=self._lengths
            )
        parser = EarleyParser(self._rest[nonterminal], self.bound, first_tree)
        parser.extend(text)
        return first_tree(parser, parser.ends[parser.limit][0]).children


def _listed(nonterminals: Iterable[Nonterminal]) -> str:
    """The names of rules; those that were made up for groups and repetitions have none."""
    return ", ".join(dict.fromkeys(each.symbol for each in nonterminals if each.symbol is not None)) or "a group"


class _RuleExpansion:
    """Makes the children of a rule, or the parts of bits. `unpacked`: from bytes, by instructions for bits."""

    __slots__ = ("_entry", "_fast_path", "_first", "_nonterminal", "_patience", "_program", "_read", "_unpacked")

    def __init__(
        self,
        fast_path: FastPath,
        program: FastPathProgram,
        entry: Callable[[], ParseInstruction],
        nonterminal: Nonterminal | None,
        *,
        unpacked: bool,
    ) -> None:
        self._fast_path = fast_path
        self._program = program
        self._entry = entry
        self._first: ParseInstruction | None = None
        self._nonterminal = nonterminal
        self._unpacked = unpacked
        self._read: ReadFunction | None = None
        self._patience = CALLS_BEFORE_GENERATING

    def __call__(self, data: str | bytes) -> tuple[Part, ...]:
        return self.children(data if isinstance(data, str) else data.decode("latin-1"))

    def children(self, text: str) -> tuple[Part, ...]:
        digits = "".join([_DIGITS[char] for char in text]) if self._unpacked else text
        if self._read is not None:
            try:
                end, children = self._read(digits, 0, len(digits), [])
                if end == len(digits):
                    return children
            except GaveUp:
                pass
            except RecursionError:
                return self._children_by_machine(digits, text, is_fast=False)
        elif self._patience and self._nonterminal is not None:
            self._patience -= 1
            if self._patience == 0:
                self._read = self._fast_path.library(self._program, ended=True).function(self._nonterminal)
        return self._children_by_machine(digits, text)

    def _children_by_machine(self, digits: str, text: str, *, is_fast: bool = True) -> tuple[Part, ...]:
        try:
            if self._first is None:
                self._first = self._entry()
            machine = FastPathMachine(self._fast_path, self._program, self._first)
            machine.is_fast = is_fast
            if machine.read(digits, ended=True) == DONE and machine.at == len(digits):
                return tuple(machine.parts)
        except Unsupported:
            pass
        if self._nonterminal is None:
            raise Unsupported
        return self._fast_path.read_by_earley(self._nonterminal, text)
