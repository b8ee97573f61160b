"""The alternatives of a rule that a tree node has taken, found by simulating nondeterministic automata (Thompson 1968).

The alternatives of a rule are the options of its choices, and for each repetition of variable length, whether it is
made not at all, once, or more often. An automaton for each rule reads the children of a node. It follows all threads at
once in order of preference, as Pike's regular expression machine does (Cox 2009), and each thread records its
alternatives. Where the children are ambiguous, the first thread counts: earlier options before later ones, one more
round before none. That is approximate, as are permutations, whose parts may come in any order and number here, and the
bounds of repetitions. For an unfinished node, only those alternatives count that all threads agree on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, assert_never

from palaver.grammar.printing import show_expr
from palaver.lean_dataclasses import dataclass
from palaver.navigation.navigation_limits import MAX_CACHED_ROWS
from palaver.regular.regex import Regex, compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat
from palaver.spec.ast import Sequence as SequenceExpr
from palaver.trees.node import Leaf, Node, Part

_NONE, _ONCE, _MORE = "none", "once", "more"


class _RepeatTexts:
    """A repetition: the texts of its alternatives, by number of rounds."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def text(self, rounds: int) -> str | None:
        return self._texts.get(_NONE if rounds == 0 else _ONCE if rounds == 1 else _MORE)


class _RepeatEnd(NamedTuple):
    """The end of a repetition."""

    rounds: _RepeatTexts


# The record of a thread: an option, the beginning of a round, the end of a repetition; the latest first.
_Note: TypeAlias = str | _RepeatTexts | _RepeatEnd
_Notes: TypeAlias = "tuple[_Notes, _Note] | None"


@dataclass(slots=True)
class _Jump:
    """An instruction: continue at any of several addresses, the preferred first, and record something."""

    note: _Note | None
    targets: list[int]


# An instruction: read one child, and continue at the next address.
_Take: TypeAlias = Ref | Literal | Bit | Pattern


class RuleAutomaton:
    """The automaton of one rule."""

    def __init__(self, body: Expr) -> None:
        self.texts: list[str] = []
        self._code: list[_Jump | _Take] = []
        self._literals: dict[tuple[type, Leaf], None] = {}
        self._patterns: dict[Pattern, Regex] = {}
        self._cache: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._compile(body)

    def taken(self, children: Sequence[Part], *, is_open: bool) -> tuple[str, ...]:
        """The alternatives of a node with these children; none if the rule cannot produce them."""
        key = (is_open, *map(self._kind, children))
        if key not in self._cache:
            if len(self._cache) >= MAX_CACHED_ROWS:
                self._cache.clear()
            self._cache[key] = self._find(children, is_open=is_open)
        return self._cache[key]

    def _kind(self, part: Part) -> object:
        """A key for the cache: it has the text of a terminal only where that makes a difference."""
        if isinstance(part, Node):
            return part.symbol if part.parties is None else (part.symbol, part.parties)
        key = (type(part), part)
        return key if key in self._literals or len(self._patterns) > 1 else type(part)

    def _find(self, children: Sequence[Part], *, is_open: bool) -> tuple[str, ...]:
        threads = self._closed([(0, None)])
        for child in children:
            threads = self._closed([(address + 1, notes) for address, notes in threads if self._takes(address, child)])
        if not is_open:
            threads = [thread for thread in threads if thread[0] == len(self._code)][:1]
        if not threads:
            return ()
        first, *others = (dict.fromkeys(_alternatives(notes)) for _, notes in threads)
        return tuple(text for text in first if all(text in other for other in others))

    def _closed(self, threads: list[tuple[int, _Notes]]) -> list[tuple[int, _Notes]]:
        """The threads at a `_Take` or the end of the rule that these lead to, the preferred first."""
        found: list[tuple[int, _Notes]] = []
        met: set[int] = set()
        todo = threads[::-1]
        while todo:
            address, notes = todo.pop()
            if address in met:
                continue
            met.add(address)
            step = self._code[address] if address < len(self._code) else None
            if isinstance(step, _Jump):
                after = notes if step.note is None else (notes, step.note)
                todo += [(target, after) for target in reversed(step.targets)]
            else:
                found.append((address, notes))
                if isinstance(step, Literal) and not step.value:
                    todo.append((address + 1, notes))  # an empty text need not have a leaf
        return found

    def _takes(self, address: int, child: Part) -> bool:
        step = self._code[address] if address < len(self._code) else None
        if isinstance(child, Node):
            return isinstance(step, Ref) and step.symbol == child.symbol and _has_parties_of(step, child)
        match step:
            case Pattern():
                return self._is_pattern(step, child)
            case Literal(value) | Bit(value):
                return any(type(child) is kind and child == known for kind, known in _values(value))
            case Ref() | _Jump() | None:
                return False
            case _:
                assert_never(step)

    def _is_pattern(self, pattern: Pattern, leaf: Leaf) -> bool:
        if isinstance(leaf, int):
            return False
        if len(self._patterns) == 1 and (type(leaf), leaf) not in self._literals:
            return True
        return self._patterns[pattern].matches(leaf.decode("latin-1") if isinstance(leaf, bytes) else leaf)

    def _compile(self, expr: Expr) -> None:
        match expr:
            case Ref():
                self._code.append(expr)
            case Literal(value) | Bit(value):
                self._literals |= dict.fromkeys(_values(value))
                self._code.append(expr)
            case Pattern(source):
                self._patterns[expr] = compile_pattern(source)
                self._code.append(expr)
            case SequenceExpr(parts):
                for part in parts:
                    self._compile(part)
            case Choice(options):
                self._compile_choice(options, [self._named(show_expr(option)) for option in options])
            case Permutation(parts):
                start = len(self._code)
                self._compile_choice(parts, [None] * len(parts))
                self._jump().targets.insert(0, start)
            case Repeat(body, _, most):
                if most != 0:
                    self._compile_repeat(expr, body)
            case _:
                assert_never(expr)

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
        rounds = _RepeatTexts(texts)
        fork = self._jump()
        start = len(self._code)
        self._jump(rounds)
        self._compile(body)
        again = self._jump()
        if repeat.most != 1:
            again.targets.insert(0, start)
        if _NONE in classes:
            fork.targets.append(len(self._code))
        self._jump(_RepeatEnd(rounds))

    def _jump(self, note: _Note | None = None) -> _Jump:
        """Append a jump to the next address."""
        jump = _Jump(note, [len(self._code) + 1])
        self._code.append(jump)
        return jump

    def _named(self, text: str) -> str:
        """The text, with a number if the rule has it more than once."""
        name, count = text, 1
        while name in self.texts:
            count += 1
            name = f"{text} ({count})"
        self.texts.append(name)
        return name


def _classes(repeat: Repeat) -> Iterator[str]:
    """The classes of the number of rounds of a repetition. A computed bound may be any number."""
    least = repeat.least if isinstance(repeat.least, int) else 0
    most = repeat.most if isinstance(repeat.most, int) else None
    if least == 0:
        yield _NONE
    if least <= 1 and most != 0:
        yield _ONCE
    if most is None or most > 1:
        yield _MORE


def _alternatives(notes: _Notes) -> Iterator[str]:
    """The alternatives in the record of a thread."""
    found: list[_Note] = []
    while notes is not None:
        notes, note = notes
        found.append(note)
    rounds: dict[_RepeatTexts, int] = {}
    for note in reversed(found):
        match note:
            case str():
                yield note
            case _RepeatTexts():
                rounds[note] = rounds.get(note, 0) + 1
            case _RepeatEnd(repetition):
                text = repetition.text(rounds.pop(repetition, 0))
                if text is not None:
                    yield text
            case _:
                assert_never(note)


def _has_parties_of(ref: Ref, child: Node) -> bool:
    """Return True if a child that is a message has the parties of the reference."""
    return child.parties is None or ref.sender is None or (ref.sender, ref.recipient) == child.parties


def _values(value: Leaf) -> Iterator[tuple[type, Leaf]]:
    """The leaves that a terminal may produce: in a binary tree, text is its bytes."""
    yield type(value), value
    if isinstance(value, str):
        yield bytes, value.encode("utf-8", "surrogateescape")
    elif isinstance(value, bytes):
        yield str, value.decode("latin-1")
