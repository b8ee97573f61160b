"""Code generation: rules as recursive-descent functions (Aho, Sethi and Ullman 1986), for messages that are all there.

How it works. The machine pays for every instruction, because it must be able to stop anywhere. Most messages come in
one piece. So the instructions of a rule that is read often are written as Python source, with the rules it calls
inlined as far as they are not recursive, and compiled. The function

    read(text, at, size, fields) -> (end, children)

reads the rule from `at` on. If the text ends too soon, a choice is not decided, or it does not match, the function
raises `GaveUp` and the machine reads the rule. `fields` are the nodes that computed bounds look at. Each rule has two
functions: one is for a text that is known to have ended, and need not ask what else might come.

Parsed parts become *fragments*, pieces of the source of a tuple: the name of a variable that holds a node or a leaf, or
with a star one that holds several, `p` a tuple and `r` a list of rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from palaver.matching import instructions as ops
from palaver.matching.fast_path_compiler import FastPathProgram
from palaver.matching.generated_lookups import (
    GaveUp,
    NextCharacterTable,
    RunCache,
    TokenPeeks,
    settle,
)
from palaver.matching.grammar_slots import Computed, Nonterminal, is_one_number
from palaver.matching.instructions import FieldValue, ParseInstruction, ReadFunction, Unsupported
from palaver.matching.lookahead import UNDECIDED, LookaheadState
from palaver.matching.matching_limits import (
    MAX_FUNCTION_LINES,
    MAX_INLINED_RULES,
    MAX_KEPT_TEXT,
    MAX_SHARED_TEXT,
    TOKEN_PEEK_CHARACTERS,
)
from palaver.trees.lazy import LazyNode
from palaver.trees.node import Node, new

LimitsOf: TypeAlias = Callable[[ParseInstruction, Sequence[FieldValue | None]], tuple[int, int | None] | int]


class FunctionLibrary:
    """The functions of one program, generated when first asked for, for texts that have ended or for others."""

    def __init__(self, program: FastPathProgram, limits: LimitsOf, *, binary: bool, ended: bool) -> None:
        self.program = program
        self.limits = limits
        self.binary = binary
        self.ended = ended
        # A box for each function, so that functions can call one another before they exist. None: not possible.
        self._boxes: dict[Nonterminal, list[ReadFunction] | None] = {}

    def function(self, nonterminal: Nonterminal) -> ReadFunction | None:
        """The function of a rule; None if only the machine can read it."""
        if nonterminal not in self._boxes:
            made: dict[Nonterminal, list[ReadFunction]] = {nonterminal: []}
            try:
                for wanted in _growing(made):
                    if self._boxes.get(wanted, made) is None:
                        raise Unsupported
                    made[wanted].append(_FunctionWriter(self, made).compile(wanted))
            except (Unsupported, RecursionError):
                self._boxes[nonterminal] = None
            else:
                self._boxes.update(made)
        box = self._boxes[nonterminal]
        return box[0] if box is not None else None


def _growing(keys: dict[Nonterminal, Any]) -> Iterator[Nonterminal]:
    """All keys, also those that are added meanwhile."""
    done = 0
    while done < len(keys):
        for key in list(keys)[done:]:
            yield key
            done += 1


class _FunctionWriter:
    """Writes the source of one function, line by line."""

    def __init__(self, library: FunctionLibrary, boxes: dict[Nonterminal, list[ReadFunction]]) -> None:
        self._program = library.program
        self._binary = library.binary
        self._ended = library.ended
        self._limits_of = library.limits
        self._boxes = boxes
        self._lines: list[str] = []
        self._indent = 1
        self._variables = 0
        self._calls: list[Nonterminal] = []
        self._names: dict[str, Any] = {
            "GaveUp": GaveUp, "settle": settle, "limits": self._limits_now, "run_end": self._run_end, "new": new,
            "Node": Node, "LazyNode": LazyNode, "MAX_SHARED_TEXT": MAX_SHARED_TEXT,
        }  # fmt: skip

    def compile(self, nonterminal: Nonterminal) -> ReadFunction:
        """The function of a rule. :raises Unsupported: only the machine can read it"""
        self._calls.append(nonterminal)
        children = self._tuple(self._write_until(self._program.entry(nonterminal), ()))
        lines = ["def read(text, at, size, fields):", *self._lines, f" return at, {children}"]
        exec(compile("\n".join(lines), f"<{nonterminal.symbol} as code>", "exec"), self._names)
        function: ReadFunction = self._names["read"]
        return function

    def _line(self, line: str) -> None:
        self._lines.append(" " * self._indent + line)
        if len(self._lines) > MAX_FUNCTION_LINES:
            raise Unsupported

    def _give_up_if(self, condition: str) -> None:
        self._line(f"if {condition}: raise GaveUp")

    def _name(self, value: object) -> str:
        """A global name for a value that the function needs."""
        if value is None:
            return "None"
        name = f"k{len(self._names)}"
        self._names[name] = value
        return name

    def _fresh(self, letter: str) -> str:
        self._variables += 1
        return f"{letter}{self._variables}"

    def _tuple(self, fragments: list[str]) -> str:
        if len(fragments) == 1 and fragments[0].startswith("*p"):
            return fragments[0][1:]  # it is a tuple already
        return f"({', '.join(fragments)},)" if fragments else "()"

    def _write_until(self, op: ParseInstruction, stops: tuple[ParseInstruction, ...]) -> list[str]:
        """The source of all instructions from `op` on, up to one of the stops or the end of the rule."""
        fragments: list[str] = []
        while not any(op is stop for stop in stops) and op.kind not in (ops.END, ops.STOP):
            if op.kind == ops.UNKNOWN:
                self._program.resolve(op)
            if op.kind == ops.CHOOSE:
                fragments.append(self._choose(op))
                op = op.join
            elif op.kind == ops.BEGIN:
                fragments.append(self._counted(op))
                op = op.next.join
            else:
                if op.kind != ops.SWEEP:  # the loop after it reads the rounds
                    fragments.append(self._plain(op))
                op = op.next
        return fragments

    def _plain(self, op: ParseInstruction) -> str:
        if op.kind == ops.TOKEN:
            return self._token(op)
        if op.kind == ops.TEXT:
            return self._text(op)
        if op.kind == ops.CALL:
            return self._call(op)
        if op.kind == ops.RUN:
            return self._run(op)
        if op.kind == ops.PATTERN:
            return self._pattern(op)
        return self._bits(op)

    def _choose(self, op: ParseInstruction) -> str:
        if op.entry is not None:
            return self._loop(op, op.entry)
        way, parts = self._decide(op.lookahead_state), self._fresh("p")
        for number, option in enumerate(op.options):
            self._line("else:" if number == len(op.options) - 1 else f"{'el' if number else ''}if {way} == {number}:")
            self._indent += 1
            self._line(f"{parts} = {self._tuple(self._write_until(option, (op.join,)))}")
            self._indent -= 1
        return f"*{parts}"

    def _loop(self, op: ParseInstruction, entry: ParseInstruction) -> str:
        parts = self._fresh("r")
        self._line(f"{parts} = []")
        self._line("while True:")
        self._indent += 1
        if entry.kind == ops.SWEEP:
            self._sweep(entry, parts)
        self._line(f"if {self._decide(op.lookahead_state)}: break")
        self._add(parts, self._write_until(op.options[0], (entry,)))
        self._indent -= 1
        return f"*{parts}"

    def _add(self, parts: str, fragments: list[str]) -> None:
        if len(fragments) == 1 and not fragments[0].startswith("*"):
            self._line(f"{parts}.append({fragments[0]})")
        else:
            self._line(f"{parts} += {self._tuple(fragments)}")

    def _decide(self, lookahead_state: LookaheadState) -> str:
        if lookahead_state.may_be_last and not self._program.is_whole:
            raise Unsupported  # every end has to be noted
        way, look = self._fresh("w"), self._name(lookahead_state)
        ways = self._name(NextCharacterTable(lookahead_state))
        self._line("if at < size:")
        self._line(f" {way} = {ways}[text[at]]")
        self._line(f" if {way} < 0:")
        self._line(f"  {way} = settle({look}, text, at, size, {self._program.is_whole}, {self._ended})")
        self._line(f"  if {way} < 0: raise GaveUp")
        at_end = lookahead_state.way_at_end if self._ended else UNDECIDED
        self._line(f"else: {f'{way} = {at_end}' if at_end >= 0 else 'raise GaveUp'}")
        return way

    def _counted(self, begin: ParseInstruction) -> str:
        again = begin.next
        least, most = self._limits(begin)
        parts, count = self._fresh("r"), self._fresh("c")
        self._line(f"{parts} = []")
        if is_one_number(begin.least, begin.most):
            self._line(f"for {count} in range({least}):")
            self._indent += 1
        else:
            self._line(f"{count} = 0")
            self._line("while True:")
            self._indent += 1
            self._line(f"if {count} == {most}: break")
            self._line(f"if {count} >= {least}:")
            self._indent += 1
            self._line(f"if {self._decide(again.lookahead_state)}: break")
            self._indent -= 1
            self._line(f"{count} += 1")
        self._add(parts, self._write_until(again.options[0], (again,)))
        self._indent -= 1
        return f"*{parts}"

    def _limits(self, op: ParseInstruction) -> tuple[str, str]:
        """The source of the limits of a repetition."""
        if isinstance(op.least, int) and (op.most is None or isinstance(op.most, int)):
            return str(op.least), str(op.most)
        limits = self._fresh("l")
        compute = f"limits({self._name(op)}, fields)"
        if op.path is None:
            self._line(f"{limits} = {compute}")
        else:
            self._line(f"{limits} = fields[{op.path}]")
            self._give_up_if(f"{limits} is None")
            self._line(f"{limits} = {self._name(op.limits)}.get({limits}[1]) or {compute}")
        return f"{limits}[0]", f"{limits}[1]"

    def _limits_now(self, op: ParseInstruction, fields: Sequence[FieldValue | None]) -> tuple[int, int | None]:
        limits = self._limits_of(op, fields)
        if isinstance(limits, int):
            raise GaveUp
        return limits

    def _call(self, op: ParseInstruction) -> str:
        node = self._fresh("n")
        children = self._rule(op.target)
        self._line(f"{node} = new(Node, ({self._name(op.symbol)}, {children}, (), {self._name(op.parties)}))")
        self._track(op, node, "None")
        return node

    def _rule(self, target: Nonterminal) -> str:
        """The children of a rule: read inline, or by a function of its own."""
        is_inside = target not in self._calls and len(self._calls) < MAX_INLINED_RULES and target not in self._boxes
        if is_inside and len(self._lines) < MAX_FUNCTION_LINES // 4 and self._indent < MAX_INLINED_RULES:
            self._calls.append(target)
            children = self._tuple(self._write_until(self._program.entry(target), ()))
            self._calls.pop()
            return children
        children = self._fresh("c")
        box = self._boxes.setdefault(target, [])
        self._line(f"at, {children} = {self._name(box)}[0](text, at, size, fields)")
        return children

    def _track(self, op: ParseInstruction, node: str, text: str) -> None:
        """Let computed bounds find a node."""
        for path in self._program.selected(op.symbol) if op.is_tracked else ():
            self._line(f"fields[{path}] = {node}, {text}")

    def _token(self, op: ParseInstruction) -> str:
        node = self._fresh("n")
        # A token that may be empty mostly is, or has one character; then the next characters are enough.
        is_peeked_at = op.shortest == 0 <= op.short and not op.is_tracked
        if is_peeked_at:
            peeks, length = self._name(TokenPeeks(op, ended=self._ended)), self._fresh("e")
            self._line(f"{node}, {length} = {peeks}[text[at:at + {TOKEN_PEEK_CHARACTERS}]]")
            self._line(f"if {node}: at += {length}")
            self._line("else:")
            self._indent += 1
        if op.is_spelled_out:
            self._spelled_out(op, node)
        else:
            self._taken(op, node)
        if is_peeked_at:
            self._indent -= 1
        return node

    def _taken(self, op: ParseInstruction, node: str) -> None:
        """A token whose node is made from its text."""
        end, said = self._fresh("e"), self._fresh("t")
        if op.shortest == op.longest and op.shortest <= op.short:
            # The cached nodes tell if the text matches.
            self._line(f"{end} = at + {op.shortest}")
            self._line(f"{said} = text[at:{end}]")
            self._line(f"{node} = {self._name(op.known)}[{said}]")
            self._give_up_if(f"{node} is None")
        else:
            self._find_end(op, end)
            self._line(f"{said} = text[at:{end}]")
            self._line(f"{node} = {self._known_or_made(op, said, end)}")
        self._track(op, node, f"{said} if {end} - at <= MAX_SHARED_TEXT else None")
        self._line(f"at = {end}")

    def _spelled_out(self, op: ParseInstruction, node: str) -> None:
        """A token that is read rule by rule, unless it is short and cached."""
        end = self._fresh("e")
        self._find_end(op, end)
        self._line(f"if {end} - at <= {op.short}:")
        self._line(f" {node} = {self._name(op.known)}[text[at:{end}]]")
        self._line(f" at = {end}")
        self._line("else:")
        self._indent += 1
        children = self._rule(op.target)
        self._line(f"{node} = new(Node, ({self._name(op.symbol)}, {children}, (), {self._name(op.parties)}))")
        self._indent -= 1

    def _find_end(self, op: ParseInstruction, end: str) -> None:
        if op.takes_all and op.shortest == op.longest:
            self._line(f"{end} = at + {op.shortest}")
            self._give_up_if(f"{end} > size")
            return
        self._line(f"{end} = {self._name(op.match)}(text, at)")
        self._give_up_if(f"{end} is None")
        self._line(f"{end} = {end}.end()")
        if not op.is_closed and not self._ended:
            self._give_up_if(f"{end} == size")

    def _known_or_made(self, op: ParseInstruction, text: str, end: str) -> str:
        """The source of a node over a matched text."""
        known, longest = (op.kept, MAX_KEPT_TEXT) if op.kept is not None else (op.known, op.short)
        if op.shortest > longest:
            return self._made(op, text, end)
        known_node = f"{self._name(known)}[{text}]"
        if op.longest is not None and op.longest <= longest:
            return known_node
        return f"{known_node} if len({text}) <= {longest} else {self._made(op, text, end)}"

    def _made(self, op: ParseInstruction, text: str, end: str) -> str:
        symbol, parties = self._name(op.symbol), self._name(op.parties)
        if op.is_leaf:
            return f"new(Node, ({symbol}, ({self._said(text)},), (), {parties}))"
        expand = self._name(op.expand)
        full = f"new(Node, ({symbol}, {expand}.children({text}), (), {parties}))"
        if not op.is_lazy:
            return full
        lazy = f"new(LazyNode, ({symbol}, ({self._said(text)}, {expand}), (), {parties}))"
        return lazy if op.shortest else f"{lazy} if {end} > at else {full}"

    def _said(self, text: str) -> str:
        return f"{text}.encode('latin-1')" if self._binary else text

    def _text(self, op: ParseInstruction) -> str:
        if len(op.text) == 1:
            self._give_up_if(f"at == size or text[at] != {op.text!r}")
        elif op.text:
            self._give_up_if(f"not text.startswith({op.text!r}, at)")
        self._line(f"at += {len(op.text)}")
        return repr(op.leaf)

    def _pattern(self, op: ParseInstruction) -> str:
        if not op.is_proved:
            raise Unsupported
        leaf, end = self._fresh("t"), self._fresh("e")
        self._find_end(op, end)
        self._line(f"{leaf} = {self._said(f'text[at:{end}]')}")
        self._line(f"at = {end}")
        return leaf

    def _bits(self, op: ParseInstruction) -> str:
        if op.is_tracked:
            raise Unsupported
        parts, end = self._fresh("p"), self._fresh("e")
        self._find_end(op, end)
        self._line(f"{parts} = {self._name(op.expand)}.children(text[at:{end}])")
        self._line(f"at = {end}")
        return f"*{parts}"

    def _run(self, op: ParseInstruction) -> str:
        least, most = self._limits(op)
        parts, end = self._fresh("p"), self._fresh("e")
        runs = self._name(RunCache(op.known, None if op.takes_all else op.match))
        if is_one_number(op.least, op.most):
            self._line(f"{end} = at + {least}")
            self._give_up_if(f"{end} > size")
        elif isinstance(op.least, int) and not isinstance(op.most, Computed) and not op.takes_all:
            last = "" if op.most is None else f", at + {op.most}"
            self._line(f"{end} = {self._name(op.match)}(text, at{last}).end()")
            if op.least:
                self._give_up_if(f"{end} - at < {op.least}")
            if not self._ended:
                self._give_up_if(f"{end} == size" + (f" and {end} - at < {op.most}" if op.most is not None else ""))
        else:
            self._line(f"{end} = run_end(text, at, size, {least}, {most}, {self._name(op)})")
        self._line(f"{parts} = {runs}[text[at:{end}]]")
        self._line(f"at = {end}")
        return f"*{parts}"

    def _run_end(self, text: str, at: int, size: int, least: int, most: int | None, op: ParseInstruction) -> int:
        """The end of a repetition of single characters with computed limits, or of any characters."""
        last = size if most is None else min(size, at + most)
        match = None if op.takes_all else op.match(text, at, last)
        end = last if match is None else match.end()
        if end - at < least or (end == size and end - at != most and not self._ended):
            raise GaveUp
        return end

    def _sweep(self, op: ParseInstruction, parts: str) -> None:
        end = self._fresh("e")
        self._line(f"{end} = {self._name(op.match)}(text, at).end()")
        is_sure = op.is_closed or self._ended
        sure = "" if is_sure else f" and {end} < size and {self._name(op.goes_on)}[text[{end}]]"
        self._line(f"if {end} > at{sure}:")
        texts = f"{self._name(op.items)}(text, at, {end})"
        if op.kept is not None and op.longest is not None and op.longest <= MAX_KEPT_TEXT:
            self._line(f" {parts} += map({self._name(op.kept.__getitem__)}, {texts})")
        else:
            self._line(f" {parts} += [{self._known_or_made(op, 't', end)} for t in {texts}]")
        self._line(f" at = {end}")
