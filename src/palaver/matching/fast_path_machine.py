"""Fast path: a deterministic top-down parser with lookahead (LL, Rosenkrantz and Stearns 1970), run as a machine.

How it works. The machine runs the instructions of a `FastPathProgram` over the buffer. It has a position, the parts of
the current node, and the calls to return to. At every choice it looks ahead (`lookahead`) until one option is left; it
never guesses, so what it reads has exactly one tree. When it cannot decide, its status is FALL_BACK: the Earley parser
reads the input from the beginning.

Where a rule is regular, one regex reads all of it (`regex_rules`), and its node is *lazy*: it knows its text, and its
children are made by another machine when someone asks. If the regex does not see the end because the rest has not come
yet, the rule is called after all.

At the end of the buffer the machine stops where it is, in the middle of a terminal or a decision if need be, and goes
on there when more comes. Calls form an immutable linked list, so trials of how the input may end cost nothing to undo.
If anything may follow the message (the input is not *whole*), the machine notes every length at which it could stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from palaver.errors import Undecided
from palaver.matching.bound_paths import NO_PATH_STATE, PathState
from palaver.matching.collector_pause import CollectorPaused
from palaver.matching.fast_path_compiler import FastPathProgram
from palaver.matching.fast_path_scanner import DONE, FAILED, FALL_BACK, WAITING, FastPathScanner
from palaver.matching.generated_lookups import GaveUp
from palaver.matching.instructions import (
    AGAIN,
    BEGIN,
    BITS,
    CALL,
    CHOOSE,
    END,
    PATTERN,
    RUN,
    SWEEP,
    TEXT,
    TOKEN,
    UNKNOWN,
    ParseInstruction,
    Unsupported,
)
from palaver.matching.lookahead import NO_ALTERNATIVE, UNDECIDABLE, UNDECIDED
from palaver.matching.matching_limits import (
    MAX_KEPT_TEXT,
    MAX_NESTED_TRIALS,
    MAX_SHARED_TEXT,
    MIN_CHARACTERS_TO_PAUSE_COLLECTOR,
)
from palaver.matching.reading_budget import ReadingBudget
from palaver.matching.rule_regexes import END_MARK
from palaver.trees.lazy import LazyNode, with_serialised
from palaver.trees.node import Node, Part, new

if TYPE_CHECKING:
    from palaver.matching.fast_path import FastPath

# A call: its instruction; the parts, frame and path state of the caller; the paths that select the node.
CallFrame: TypeAlias = tuple[ParseInstruction, list[Part], Any, PathState, tuple[int, ...]] | None
# Of each repetition that is counted, innermost first: (rounds, least, most, the others)
LoopCounters: TypeAlias = tuple[int, int, int | None, Any] | None


class FastPathMachine(FastPathScanner):
    """Parses one message, of which only the part not yet parsed is at hand: a *window* that begins at `_base`."""

    # Class attributes as defaults: most messages are read before any of them changes.
    status = WAITING
    _window = ""
    _base = 0
    _place = 0  # in the window; all before is parsed
    _frame: CallFrame = None
    _counters: LoopCounters = None
    _path_state: PathState = NO_PATH_STATE
    _trials = 0  # nested trials that this machine is one of
    is_fast = True  # False once a generated function has hit the recursion limit

    def __init__(self, fast_path: FastPath, program: FastPathProgram, start: ParseInstruction) -> None:
        self.fast_path = fast_path
        self._env = [None] * fast_path.paths
        self._program = program
        self._op = start
        self.parts: list[Part] = []  # of the node that the machine is in; when done, of the outermost
        self.lengths: list[int] = []  # at which the message is complete, but may go on
        self._pieces: list[str] = []  # all the input

    def remember(self, history: Sequence[Node]) -> None:
        """Let computed bounds look back at earlier messages."""
        bound_paths = self.fast_path.tables.bound_paths
        for message in history if bound_paths.paths else ():
            for path, node in bound_paths.selected_in(message):
                self._env[path] = node, None

    def read(self, text: str, *, ended: bool = False) -> int:
        """Read a further piece, the last one if `ended`; return the status."""
        if text:
            self._take(text)
        if self.status == WAITING:
            if self.size < MIN_CHARACTERS_TO_PAUSE_COLLECTOR:
                self.status = self._run(self._window, ended=ended, trial=False)
            else:
                with CollectorPaused():
                    self.status = self._run(self._window, ended=ended, trial=False)
            if self.status == DONE and not self.fast_path.whole and self.at not in self.lengths[-1:]:
                self.lengths.append(self.at)
        return self.status

    def stay_within(self, budget: ReadingBudget) -> None:
        """Give up if too many rules are open. :raises Undecided: there are"""
        if budget.is_too_deep(self._frame):
            raise Undecided(f"it is nested deeper than {budget.depth} rules")

    def forget_parts(self) -> None:
        """Drop what was made of an input that has failed."""
        if self.status == FAILED:
            self.parts, self._frame, self._counters = [], None, None

    def _take(self, text: str) -> None:
        self._pieces.append(text)
        self._window = self._window[self._place :] + text
        self._base += self._place
        if self._scan is not None:
            known, reached = self._scan
            self._scan = known, reached - self._place
        self._place = 0
        if END_MARK in text:
            self.status = FALL_BACK

    @property
    def at(self) -> int:
        """The number of characters parsed."""
        return self._base + self._place

    @property
    def size(self) -> int:
        """The number of characters fed."""
        return self._base + len(self._window)

    @property
    def buffer(self) -> str:
        """All the input so far."""
        if len(self._pieces) != 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    @property
    def root(self) -> Node:
        """The tree of the message."""
        (node,) = self.parts
        assert isinstance(node, Node)  # the start symbol is a rule
        if self.at == 0 or isinstance(node, LazyNode):
            return node
        text = self.buffer[: self.at]
        return with_serialised(node, text.encode("latin-1") if self.fast_path.tables.binary else text)

    @property
    def stuck_because(self) -> str:
        """The reason for which this machine has fallen back."""
        if self._op.kind == UNKNOWN:
            return f"{self._op.symbol} is, or has in it, a permutation, or bits that fill no bytes"
        rule = self.fast_path.tables.start.symbol if self._frame is None else self._frame[0].symbol
        return f"where {rule} goes on, several ways look alike for too long, or one of them may be the end"

    def would_be_done(self) -> bool:
        """Return True if a waiting machine has read a whole message; the status may become FALL_BACK."""
        op, rest = self._op, ""
        if op.kind in (CHOOSE, AGAIN):
            rest = self._window[self._place :]
        elif self._scan is None:
            return False  # a text that has not been seen to its end
        elif op.kind in (TOKEN, BITS):
            if not self._scan[0].accepts:
                return False
            op = op.next
        elif op.kind == PATTERN:
            verify = op.slot.verify
            if not self._scan[0].accepts or (verify is not None and not verify(self._window[self._place :])):
                return False
            op = op.next
        else:
            least, _ = self._scan[0]
            if len(self._window) - self._place < least:
                return False
            op = op.next
        return self._can_end(op, rest, self._frame, self._counters, self._path_state)

    def _can_end(
        self, op: ParseInstruction, rest: str, frame: CallFrame, counters: LoopCounters, path_state: PathState
    ) -> bool:
        """Return True if the message can end after `rest`, from `op` on."""
        result = self._try(op, rest, frame, counters, path_state, ended=True)
        if result == FALL_BACK:
            self.status = FALL_BACK
        return result == DONE

    def _run(self, buffer: str, *, ended: bool, trial: bool) -> int:
        """Run until the status is decided. A trial leaves the parts of its caller alone.

        The hot loop: one branch per instruction, all state in local variables. It is one function because a call per
        instruction, with that state passed in and out, would slow down every message.
        """
        op, at, parts, frame, counters, path_state = (
            self._op, self._place, self.parts, self._frame, self._counters, self._path_state
        )  # fmt: skip
        size = len(buffer)
        binary = self.fast_path.tables.binary
        descend = self.fast_path.tables.bound_paths.descend
        status = WAITING
        while True:
            kind = op.kind
            if kind == TOKEN:
                match = op.match(buffer, at)
                end = match.end() if match is not None else -1
                if end < 0 or not (end < size or op.is_closed or ended):
                    if not ended and self._is_worth_waiting_for(op, buffer, at):
                        break
                    self._scan = None
                    if op.call is None:
                        status = FAILED
                        break
                    op = op.call
                    continue
                self._scan = None
                text = buffer[at:end]
                if end - at <= op.short:
                    node = op.known[text]
                elif op.is_spelled_out and op.call is not None:
                    op = op.call
                    continue
                else:
                    node = token_node(op, text, binary=binary)
                parts.append(node)
                if op.is_tracked:
                    self._select(descend(path_state, op.symbol)[1], node, text if end - at <= MAX_SHARED_TEXT else None)
                at = end
                op = op.next
            elif kind == TEXT:
                if buffer.startswith(op.text, at):
                    parts.append(op.leaf)
                    at += len(op.text)
                    op = op.next
                else:
                    is_cut = not ended and size - at < len(op.text) and op.text.startswith(buffer[at:])
                    status = WAITING if is_cut else FAILED
                    break
            elif kind in (CHOOSE, AGAIN):
                if kind == AGAIN:
                    assert counters is not None  # BEGIN came before
                    rounds, least, most, outer = counters
                    if rounds < least:
                        counters = rounds + 1, least, most, outer
                        op = op.options[0]
                        continue
                    if rounds == most:
                        counters = outer
                        op = op.options[1]
                        continue
                way = self._decide(op, buffer, at, frame, counters, path_state, ended=ended, trial=trial)
                if way < 0:
                    status = WAITING if way == UNDECIDED else FAILED if way == NO_ALTERNATIVE else FALL_BACK
                    break
                if kind == AGAIN:
                    counters = outer if way else (rounds + 1, least, most, outer)
                op = op.options[way]
            elif kind == CALL:
                if op.reads[ended] is not False and not trial and self.is_fast:
                    done = self._read_at_once(op, buffer, at, ended=ended)
                    if done is not None:
                        at, node = done
                        parts.append(node)
                        if op.is_tracked:
                            self._select(descend(path_state, op.symbol)[1], node, None)
                        op = op.next
                        continue
                if op.is_tracked:
                    below, selected = descend(path_state, op.symbol)
                    frame = op, parts, frame, path_state, selected
                    path_state = below
                else:
                    frame = op, parts, frame, path_state, ()
                parts = []
                op = op.body
            elif kind == END:
                if frame is None:
                    status = DONE
                    break
                op, outer_parts, frame, path_state, selected = frame
                node = new(Node, (op.symbol, tuple(parts), (), op.parties))
                if selected:
                    if trial:
                        return FALL_BACK  # its parts are not known in a trial
                    self._select(selected, node, None)
                parts = [] if trial else outer_parts
                parts.append(node)
                op = op.next
            elif kind == RUN:
                end = self._run_end(op, buffer, at, ended=ended)
                if end < 0:
                    status = ~end
                    break
                parts += map(op.known.__getitem__, buffer[at:end])
                at = end
                op = op.next
            elif kind == SWEEP:
                match = op.match(buffer, at)
                assert match is not None  # no round is a match, too
                end = match.end()
                is_sure = ended or op.is_closed or (end < size and op.goes_on[buffer[end]])
                if is_sure and end > at:
                    for text in op.items(buffer, at, end):
                        is_short = len(text) <= MAX_SHARED_TEXT
                        parts.append(op.known[text] if is_short else token_node(op, text, binary=binary))
                    at = end
                op = op.next
            elif kind == PATTERN:
                match = op.match(buffer, at) if self._scan is None else None
                end = match.end() if match is not None else -1
                if end < 0 or not (end < size or op.is_closed or ended):
                    end = self._pattern_end(op.slot, buffer, at, ended=ended)
                    if end < 0:
                        status = ~end
                        break
                text = buffer[at:end]
                parts.append(text.encode("latin-1") if binary else text)
                at = end
                op = op.next
            elif kind == BEGIN:
                limits = self.fast_path.limits(op, self._env)
                if isinstance(limits, int):
                    status = limits
                    break
                counters = 0, *limits, counters
                op = op.next
            elif kind == BITS:
                match = op.match(buffer, at)
                if match is None:
                    status = WAITING if not ended and self._is_standing(op, buffer, at) else FAILED
                    break
                self._scan = None
                found = self._bits(op, match.group(), path_state)
                if found is None:
                    status = FALL_BACK
                    break
                parts += found
                at = match.end()
                op = op.next
            elif kind == UNKNOWN:
                try:
                    self._program.resolve(op)
                except (Unsupported, RecursionError):
                    status = FALL_BACK
                    break
            else:
                status = DONE
                break
        self._op, self._place, self.parts, self._frame, self._counters, self._path_state = (
            op, at, parts, frame, counters, path_state
        )  # fmt: skip
        return status

    def _read_at_once(self, op: ParseInstruction, buffer: str, at: int, *, ended: bool) -> tuple[int, Node] | None:
        """The end and node of a rule, if a generated function can read it."""
        read = op.reads[ended]
        if read is None:
            op.patience -= 1
            if op.patience > 0:
                return None
            read = op.reads[ended] = self.fast_path.library(self._program, ended=ended).function(op.target) or False
        if isinstance(read, bool):
            return None
        fields = list(self._env)
        try:
            end, children = read(buffer, at, len(buffer), fields)
        except GaveUp:
            return None
        except RecursionError:
            self.is_fast = False  # one level further in, it would be no better
            return None
        self._env = fields
        return end, new(Node, (op.symbol, children, (), op.parties))

    def _bits(self, op: ParseInstruction, text: str, path_state: PathState) -> tuple[Part, ...] | None:
        """The parts of a row of bits; None if only the Earley parser can tell."""
        try:
            found = op.expand.children(text)
        except Unsupported:
            return None
        if op.is_tracked:
            for part in found:
                if isinstance(part, Node):
                    self._select(self.fast_path.tables.bound_paths.descend(path_state, part.symbol)[1], part, None)
        return found

    def _decide(
        self,
        op: ParseInstruction,
        buffer: str,
        at: int,
        frame: CallFrame,
        counters: LoopCounters,
        path_state: PathState,
        *,
        ended: bool,
        trial: bool,
    ) -> int:
        """The number of the option to take, or a negative answer; an interrupted lookahead is kept in `_scan`."""
        lookahead_state, ahead = op.lookahead_state, at
        if self._scan is not None:
            lookahead_state, ahead = self._scan
            self._scan = None
        elif lookahead_state.may_be_last and not self.fast_path.whole and not trial:
            self._note_end(op, at, frame, counters, path_state)
            if self.status == FALL_BACK:
                return UNDECIDABLE
        way, size = lookahead_state.way, len(buffer)
        while way == UNDECIDED:
            if ahead < size:
                lookahead_state = lookahead_state[buffer[ahead]]
                ahead += 1
                way = lookahead_state.way
                if way == UNDECIDED and lookahead_state.may_be_last and not self.fast_path.whole:
                    return UNDECIDABLE  # one option ends here, another goes on
            elif ended:
                return lookahead_state.way_at_end
            else:
                way = UNDECIDED if ahead == at else self._way_ahead(op, buffer[at:], frame, counters, path_state)
                if way == UNDECIDED:
                    self._scan = lookahead_state, ahead
                return way
        return way

    def _way_ahead(
        self, op: ParseInstruction, rest: str, frame: CallFrame, counters: LoopCounters, path_state: PathState
    ) -> int:
        """The option to take, as far as `rest` tells, which is all the input there is.

        Lookahead knows neither the callers nor the loop counters, so trials may rule out what it finds possible.
        """
        possible = []
        for way, option in enumerate(op.options):
            inner = counters
            if op.kind == AGAIN:
                assert counters is not None  # BEGIN came before
                rounds, least, most, outer = counters
                inner = outer if way else (rounds + 1, least, most, outer)
            result = self._try(option, rest, frame, inner, path_state, ended=False)
            if result == FALL_BACK:
                return UNDECIDABLE
            if result != FAILED:
                possible.append(way)
        return UNDECIDED if len(possible) > 1 else possible[0] if possible else NO_ALTERNATIVE

    def _try(
        self,
        op: ParseInstruction,
        rest: str,
        frame: CallFrame,
        counters: LoopCounters,
        path_state: PathState,
        *,
        ended: bool,
    ) -> int:
        """The status after reading `rest` from `op` on."""
        trial = FastPathMachine(self.fast_path, self._program, op)
        trial._frame, trial._counters, trial._path_state = frame, counters, path_state
        trial._env = list(self._env)
        trial._trials = self._trials + 1
        if trial._trials > MAX_NESTED_TRIALS:
            return FALL_BACK
        result = trial._run(rest, ended=ended, trial=True)
        return FAILED if result == DONE and trial.at < len(rest) else result

    def _note_end(
        self, op: ParseInstruction, at: int, frame: CallFrame, counters: LoopCounters, path_state: PathState
    ) -> None:
        length = self._base + at
        if length not in self.lengths[-1:] and self._can_end(op, "", frame, counters, path_state):
            self.lengths.append(length)

    def _select(self, paths: tuple[int, ...], node: Node, text: str | None) -> None:
        for path in paths:
            self._env[path] = node, text


def token_node(op: ParseInstruction, text: str, *, binary: bool) -> Node:
    """The node of a token."""
    said = text.encode("latin-1") if binary else text
    if op.is_leaf:
        return new(Node, (op.symbol, (said,), (), op.parties))
    if op.is_lazy and text:
        return new(LazyNode, (op.symbol, (said, op.expand), (), op.parties))
    if op.kept is not None and len(text) <= MAX_KEPT_TEXT:
        known: Node = op.kept[text]
        return known
    return new(Node, (op.symbol, op.expand.children(text), (), op.parties))
