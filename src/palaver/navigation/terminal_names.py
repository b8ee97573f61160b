"""The terminals of a rule that its leaves come from, told by an automaton of the positions in it (Glushkov 1961).

A leaf does not know its terminal, and its text may fit several of the rule. Then the leaves beside it tell: the
automaton is run forward and backward over the children, and a leaf comes from those terminals that are on a way through
all of them. Where this leaves a choice, a text counts before patterns, and of patterns, all count: what was said is in
the language of each of them. Permutations and the bounds of repetitions are approximate here: their parts may come in
any order and number.

Neighbours are asked only in rules with several patterns. With one at most, a leaf that is no text of the rule comes
from that pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias, assert_never

from palaver.navigation.navigation_limits import MAX_CACHED_ROWS
from palaver.regular.regex import compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat
from palaver.spec.ast import Sequence as SequenceExpr
from palaver.spec.traversal import terminal_label, walk
from palaver.trees.node import Leaf, Node, Part

# The names that each leaf may stand for, in the order of the leaves.
_NamesOfLeaves: TypeAlias = tuple[tuple[str, ...], ...]


class TerminalNames:
    """The names of the terminals of one rule."""

    def __init__(self, body: Expr) -> None:
        self._body = body
        self._texts: dict[tuple[type, Leaf], str] = {}
        self._patterns: dict[str, str | bytes] = {}
        self._fitting: dict[tuple[type, Leaf], tuple[str, ...]] = {}
        self._found: dict[tuple[object, ...], _NamesOfLeaves] = {}
        for part in walk(body):
            match part:
                case Pattern(source):
                    self._patterns[terminal_label(part)] = source
                case Literal(value) | Bit(value):
                    name = self._texts[type(value), value] = terminal_label(part)
                    if isinstance(value, str):  # in a binary tree, text is its bytes
                        self._texts.setdefault((bytes, value.encode("utf-8", "surrogateescape")), name)
                case Ref() | SequenceExpr() | Choice() | Permutation() | Repeat():
                    pass
                case _:
                    assert_never(part)
        self.needs_neighbours = len(self._patterns) > 1

    def of_leaf(self, leaf: Leaf) -> str:
        """The name that a leaf has by itself."""
        name = self._texts.get((type(leaf), leaf))
        if name is None and len(self._patterns) == 1:
            (name,) = self._patterns
        return self._all_fitting(leaf)[0] if name is None else name

    def of_leaves(self, children: Sequence[Part]) -> _NamesOfLeaves:
        """The names of each leaf among the children of a node."""
        fitting = [(child.symbol,) if isinstance(child, Node) else self._all_fitting(child) for child in children]
        if all(len(names) == 1 for names in fitting):
            return tuple(names for child, names in zip(children, fitting, strict=True) if not isinstance(child, Node))
        key = tuple(fitting)
        if key not in self._found:
            if len(self._found) >= MAX_CACHED_ROWS:
                self._found.clear()
            chosen = self._automaton.on_a_way(fitting) or fitting
            self._found[key] = tuple(self._preferred(names) for names in chosen)
        found = self._found[key]
        return tuple(names for child, names in zip(children, found, strict=True) if not isinstance(child, Node))

    def _preferred(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return next(((name,) for name in names if name not in self._patterns), names)

    def _all_fitting(self, leaf: Leaf) -> tuple[str, ...]:
        """All that a leaf may come from, a text first; at least its own text."""
        key = (type(leaf), leaf)
        if key not in self._fitting:
            if len(self._fitting) >= MAX_CACHED_ROWS:
                self._fitting.clear()
            names = [self._texts[key]] if key in self._texts else []
            if not isinstance(leaf, int):
                text = leaf.decode("latin-1") if isinstance(leaf, bytes) else leaf
                names += [name for name, source in self._patterns.items() if compile_pattern(source).matches(text)]
            self._fitting[key] = tuple(names) or (repr(leaf),)
        return self._fitting[key]

    @cached_property
    def _automaton(self) -> _Positions:
        return _Positions(self._body)


class _EndsOfPart(NamedTuple):
    """A part of a rule: the positions that it begins and ends with, and if it may be empty."""

    first: frozenset[int]
    last: frozenset[int]
    is_empty: bool


_NOTHING: frozenset[int] = frozenset()


class _Positions:
    """The terminals and symbols of a rule, each with those that may follow."""

    def __init__(self, body: Expr) -> None:
        self._names: list[str] = []
        self._following: list[set[int]] = []
        self._whole = self._read(body)

    def on_a_way(self, fitting: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Of the names that each child may have, those on a way through the rule; nothing if there is none."""
        here = self._whole.first
        forward: list[set[int]] = []
        for names in fitting:
            forward.append({position for position in here if self._names[position] in names})
            here = frozenset(after for position in forward[-1] for after in self._following[position])
        usable = set(self._whole.last)
        backward: list[set[int]] = []
        for reached in reversed(forward):
            backward.append(reached & usable)
            usable = {each for each, after in enumerate(self._following) if not after.isdisjoint(backward[-1])}
        if not all(backward):
            return []
        return [
            tuple(name for name in names if any(self._names[position] == name for position in positions))
            for names, positions in zip(fitting, reversed(backward), strict=True)
        ]

    def _read(self, expr: Expr) -> _EndsOfPart:
        match expr:
            case Ref(symbol):
                return self._position(symbol)
            case Literal(value):  # an empty text need not have a leaf
                return self._position(terminal_label(expr), may_be_missing=not value)
            case Bit() | Pattern():
                return self._position(terminal_label(expr))
            case SequenceExpr(parts):
                return self._in_a_row(self._read(part) for part in parts)
            case Choice(options):
                return _any_of([self._read(option) for option in options])
            case Permutation(parts):
                return self._again(_any_of([self._read(part) for part in parts]))
            case Repeat(body, least, most):
                if most == 0:
                    return _EndsOfPart(_NOTHING, _NOTHING, True)
                piece = self._read(body)
                piece = piece if most == 1 else self._again(piece)
                return piece if isinstance(least, int) and least > 0 else piece._replace(is_empty=True)
            case _:
                assert_never(expr)

    def _position(self, name: str, *, may_be_missing: bool = False) -> _EndsOfPart:
        position = frozenset((len(self._names),))
        self._names.append(name)
        self._following.append(set())
        return _EndsOfPart(position, position, may_be_missing)

    def _in_a_row(self, pieces: Iterator[_EndsOfPart]) -> _EndsOfPart:
        whole = _EndsOfPart(_NOTHING, _NOTHING, True)
        for piece in pieces:
            for position in whole.last:
                self._following[position] |= piece.first
            whole = _EndsOfPart(
                whole.first | piece.first if whole.is_empty else whole.first,
                whole.last | piece.last if piece.is_empty else piece.last,
                whole.is_empty and piece.is_empty,
            )
        return whole

    def _again(self, piece: _EndsOfPart) -> _EndsOfPart:
        for position in piece.last:
            self._following[position] |= piece.first
        return piece


def _any_of(pieces: Sequence[_EndsOfPart]) -> _EndsOfPart:
    return _EndsOfPart(
        _NOTHING.union(*(piece.first for piece in pieces)),
        _NOTHING.union(*(piece.last for piece in pieces)),
        any(piece.is_empty for piece in pieces),
    )
