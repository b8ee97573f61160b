"""Which alternatives of each rule have been taken: options of choices, and how often something was repeated.

How it works
============

The alternatives of a rule are the options of its choices, and for each repetition that leaves a choice whether it goes
round not at all, once, or more often. Which of them a node took is read off its children by a small automaton: it runs
over them with all ways in which they could have come about at once, the preferred first, and each way remembers the
alternatives it has taken. Where a node could have come about in several ways, the first way counts: earlier
options before later ones, one more round before none. That is approximate, as are permutations, whose parts may come
in any order and number here, and the limits of repetitions. Of a node that is not finished, only that counts in which
all ways agree.

Rules of which all has been taken are not looked at again, nor are nodes below which nothing is left to be found. So
what was seen before costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from palaver.grammar.analyse import Analysis
from palaver.grammar.regex import Regex, compile_pattern
from palaver.grammar.show import show_expr
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat
from palaver.spec.ast import Sequence as SequenceExpr
from palaver.trees.node import Leaf, Node, OpenNode, Part

# How many rows of children are remembered, for each rule, with what they took.
_MOST_REMEMBERED = 1_000


class Alternative(NamedTuple):
    """What a rule may do: an option as the spec writes it, or a repetition and how often it goes round."""

    symbol: str
    text: str


class Alternatives:
    """The alternatives of all rules that a symbol leads to, and which of them have been taken."""

    def __init__(self, analysis: Analysis, start: str) -> None:
        self._below = analysis.below
        led_to = analysis.below(start) | {start}
        rules = analysis.grammar.bodies
        self._automata = {name: _Automaton(body) for name, body in rules.items() if name in led_to}
        self._open = {name: dict.fromkeys(automaton.texts) for name, automaton in self._automata.items()}
        self._taken: dict[Alternative, None] = {}
        # By symbol a rule below it of which something is still open; and the symbols for which there is no such.
        self._witness: dict[str, str] = {}
        self._done: set[str] = set()

    def __iter__(self) -> Iterator[Alternative]:
        """All there are, in the order of the spec."""
        return (Alternative(name, text) for name, automaton in self._automata.items() for text in automaton.texts)

    def __contains__(self, alternative: Alternative) -> bool:
        return alternative in self._taken

    def taken(self) -> Iterator[Alternative]:
        """Those that have been taken, in the order of the spec."""
        return (alternative for alternative in self if alternative in self._taken)

    def take(self, alternatives: Iterable[Alternative]) -> None:
        """Note that these have been taken. Those that the spec does not have are left out."""
        for symbol, text in alternatives:
            still_open = self._open.get(symbol, {})
            if text in still_open:
                del still_open[text]
                self._taken[Alternative(symbol, text)] = None

    def note(self, node: Node) -> None:
        """Note what the nodes of a tree took. Messages in a dialogue are not looked into."""
        done = self._done
        todo = [node]
        while todo:
            here = todo.pop()
            if here.symbol in done or self._is_done_below(here.symbol):
                continue
            if self._open[here.symbol]:
                self.take(self._taken_by(here))
            todo += [
                child
                for child in here.children
                if isinstance(child, Node) and child.symbol not in done and child.parties is None
            ]

    def _taken_by(self, node: Node) -> Iterator[Alternative]:
        automaton = self._automata[node.symbol]
        for text in automaton.taken(node.children, is_open=isinstance(node, OpenNode)):
            yield Alternative(node.symbol, text)

    def _is_done_below(self, symbol: str) -> bool:
        """Whether nothing is left to be found in a node of this symbol."""
        if self._open.get(self._witness.get(symbol, symbol)):
            return False
        below = self._below(symbol)
        for name, still_open in self._open.items():
            if still_open and (name == symbol or name in below):
                self._witness[symbol] = name
                return False
        self._done.add(symbol)
        return True


# --- One rule ---------------------------------------------------------------------------------------------------------

_NONE, _ONCE, _MORE = "none", "once", "more"


class _Rounds:
    """A repetition: what its alternatives are called, by how often it goes round."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def text(self, rounds: int) -> str | None:
        return self._texts.get(_NONE if rounds == 0 else _ONCE if rounds == 1 else _MORE)


class _Leave(NamedTuple):
    """A repetition is left."""

    rounds: _Rounds


# What a way remembers: an option, the beginning of a round, the end of a repetition; the latest first.
_Note: TypeAlias = str | _Rounds | _Leave
_Notes: TypeAlias = "tuple[_Notes, _Note] | None"


class _Jump:
    """Goes on at any of several places, the preferred first, and may note something."""

    __slots__ = ("note", "targets")

    def __init__(self, note: _Note | None, targets: list[int]) -> None:
        self.note = note
        self.targets = targets


class _Take(NamedTuple):
    """Takes one child, and goes on behind it."""

    expr: Ref | Literal | Bit | Pattern


class _Automaton:
    """The ways through one rule."""

    def __init__(self, body: Expr) -> None:
        self.texts: list[str] = []
        self._code: list[_Jump | _Take] = []
        self._literals: dict[tuple[type, Leaf], None] = {}
        self._patterns: dict[Pattern, Regex] = {}
        self._remembered: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._compile(body)

    def taken(self, children: Sequence[Part], *, is_open: bool) -> tuple[str, ...]:
        """The alternatives by which these are the children of a node; none if they are not."""
        key = (is_open, *map(self._kind, children))
        if key not in self._remembered:
            if len(self._remembered) == _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = self._find(children, is_open=is_open)
        return self._remembered[key]

    def _kind(self, part: Part) -> object:
        """What tells a child from others: the text of a terminal only where that matters."""
        if isinstance(part, Node):
            return part.symbol if part.parties is None else (part.symbol, part.parties)
        key = (type(part), part)
        return key if key in self._literals or len(self._patterns) > 1 else type(part)

    # --- Running ------------------------------------------------------------------------------------------------------

    def _find(self, children: Sequence[Part], *, is_open: bool) -> tuple[str, ...]:
        ways = self._closed([(0, None)])
        for child in children:
            ways = self._closed([(place + 1, notes) for place, notes in ways if self._takes(place, child)])
        if not is_open:
            ways = [way for way in ways if way[0] == len(self._code)][:1]
        if not ways:
            return ()
        first, *others = (dict.fromkeys(_alternatives(notes)) for _, notes in ways)
        return tuple(text for text in first if all(text in other for other in others))

    def _closed(self, ways: list[tuple[int, _Notes]]) -> list[tuple[int, _Notes]]:
        """All places where a child is taken, or the rule ends, that these lead to; the preferred first."""
        found: list[tuple[int, _Notes]] = []
        met: set[int] = set()
        todo = ways[::-1]
        while todo:
            place, notes = todo.pop()
            if place in met:
                continue
            met.add(place)
            step = self._code[place] if place < len(self._code) else None
            if isinstance(step, _Jump):
                after = notes if step.note is None else (notes, step.note)
                todo += [(target, after) for target in reversed(step.targets)]
            else:
                found.append((place, notes))
                if isinstance(step, _Take) and isinstance(step.expr, Literal) and not step.expr.value:
                    todo.append((place + 1, notes))  # of text without any length there need not be a leaf
        return found

    def _takes(self, place: int, child: Part) -> bool:
        step = self._code[place] if place < len(self._code) else None
        if not isinstance(step, _Take):
            return False
        expr = step.expr
        if isinstance(child, Node):
            return isinstance(expr, Ref) and expr.symbol == child.symbol and _is_said_by(expr, child)
        match expr:
            case Pattern():
                return self._is_pattern(expr, child)
            case Literal(value) | Bit(value):
                return any(type(child) is kind and child == known for kind, known in _values(value))
            case Ref():
                return False

    def _is_pattern(self, pattern: Pattern, leaf: Leaf) -> bool:
        if isinstance(leaf, int):
            return False
        if len(self._patterns) == 1 and (type(leaf), leaf) not in self._literals:
            return True
        return self._patterns[pattern].matches(leaf.decode("latin-1") if isinstance(leaf, bytes) else leaf)

    # --- Compiling ----------------------------------------------------------------------------------------------------

    def _compile(self, expr: Expr) -> None:
        match expr:
            case Ref():
                self._code.append(_Take(expr))
            case Literal(value) | Bit(value):
                self._literals |= dict.fromkeys(_values(value))
                self._code.append(_Take(expr))
            case Pattern(source):
                self._patterns[expr] = compile_pattern(source)
                self._code.append(_Take(expr))
            case SequenceExpr(parts):
                for part in parts:
                    self._compile(part)
            case Choice(options):
                self._compile_choice(options, [self._named(show_expr(option)) for option in options])
            case Permutation(parts):
                start = len(self._code)
                self._compile_choice(parts, [None] * len(parts))
                self._jump().targets.insert(0, start)
            case Repeat(body, _, most) if most != 0:
                self._compile_repeat(expr, body)

    def _compile_choice(self, options: Sequence[Expr], texts: Sequence[str | None]) -> None:
        fork = self._jump()
        fork.targets.clear()
        ends: list[_Jump] = []
        for option, text in zip(options, texts, strict=True):
            fork.targets.append(len(self._code))
            self._jump(text)
            self._compile(option)
            ends.append(self._jump())
        for end in ends:
            end.targets = [len(self._code)]

    def _compile_repeat(self, repeat: Repeat, body: Expr) -> None:
        classes = list(_classes(repeat))
        shown = show_expr(repeat)
        texts = {each: self._named(f"{shown} {each}") for each in classes} if len(classes) > 1 else {}
        rounds = _Rounds(texts)
        fork = self._jump()
        start = len(self._code)
        self._jump(rounds)
        self._compile(body)
        again = self._jump()
        if repeat.most != 1:
            again.targets.insert(0, start)
        if _NONE in classes:
            fork.targets.append(len(self._code))
        self._jump(_Leave(rounds))

    def _jump(self, note: _Note | None = None) -> _Jump:
        """A jump to what comes next."""
        jump = _Jump(note, [len(self._code) + 1])
        self._code.append(jump)
        return jump

    def _named(self, text: str) -> str:
        """The text, with a number if the rule says the same more than once."""
        name, count = text, 1
        while name in self.texts:
            count += 1
            name = f"{text} ({count})"
        self.texts.append(name)
        return name


def _classes(repeat: Repeat) -> Iterator[str]:
    """How often a repetition may go round. What is computed may be anything."""
    least = repeat.least if isinstance(repeat.least, int) else 0
    most = repeat.most if isinstance(repeat.most, int) else None
    if least == 0:
        yield _NONE
    if least <= 1 and most != 0:
        yield _ONCE
    if most is None or most > 1:
        yield _MORE


def _alternatives(notes: _Notes) -> Iterator[str]:
    """The alternatives that a way has taken."""
    found: list[_Note] = []
    while notes is not None:
        notes, note = notes
        found.append(note)
    rounds: dict[_Rounds, int] = {}
    for note in reversed(found):
        match note:
            case str():
                yield note
            case _Rounds():
                rounds[note] = rounds.get(note, 0) + 1
            case _Leave(repetition):
                text = repetition.text(rounds.pop(repetition, 0))
                if text is not None:
                    yield text


def _is_said_by(ref: Ref, child: Node) -> bool:
    """Whether a child is the message that is meant, if one is."""
    return child.parties is None or ref.sender is None or (ref.sender, ref.recipient) == child.parties


def _values(value: Leaf) -> Iterator[tuple[type, Leaf]]:
    """What a terminal may be in a tree: in one of bytes, text is its bytes."""
    yield type(value), value
    if isinstance(value, str):
        yield bytes, value.encode("utf-8", "surrogateescape")
    elif isinstance(value, bytes):
        yield str, value.decode("latin-1")
