"""The k-paths of a grammar.

A k-path (Havrikov et al.) is a walk of up to k steps down the grammar: from a symbol to one that stands in its rule, to
one that stands in that one's, and at last perhaps to a terminal. Groups and repetitions are looked through, and what
stands there zero times is not there. Terminals are told apart by what the spec writes: text, bytes, bits, patterns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from palaver.grammar.analyse import reachable
from palaver.grammar.ir import Grammar
from palaver.grammar.names import label_of, names_in
from palaver.grammar.regex import compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Repeat
from palaver.spec.ast import Sequence as SequenceExpr
from palaver.trees.node import Leaf

# Symbols with their brackets, terminals as Python writes them.
KPath: TypeAlias = tuple[str, ...]


class KPaths:
    """The k-paths of one grammar, for one k."""

    def __init__(self, grammar: Grammar, k: int = 5) -> None:
        if k < 1:
            raise ValueError("a path has at least one symbol")
        self.k = k
        self._rules = grammar.rules
        self._start = grammar.start
        self._labels: dict[str, _Labels] = {}

    @cached_property
    def below(self) -> Mapping[str, tuple[str, ...]]:
        """What stands in the rule of each symbol that the start symbol leads to, in the order of the spec."""
        children = {name: tuple(dict.fromkeys(names_in(rule.body))) for name, rule in self._rules.items()}
        symbols = {name: [child for child in found if child in self._rules] for name, found in children.items()}
        return {name: children[name] for name in reachable(self._start, symbols)}

    def count(self) -> int:
        """How many there are, without making them."""
        names = dict.fromkeys((*self.below, *(child for found in self.below.values() for child in found)))
        walks = dict.fromkeys(names, 1)
        total = len(walks)
        for _ in range(self.k - 1):
            walks = {name: sum(walks[child] for child in self.below.get(name, ())) for name in names}
            total += sum(walks.values())
        return total

    def __iter__(self) -> Iterator[KPath]:
        """All of them, the short ones first, each length in the order of the spec."""
        names = dict.fromkeys((*self.below, *(child for found in self.below.values() for child in found)))
        paths: list[KPath] = [(name,) for name in names]
        for _ in range(self.k):
            yield from paths
            paths = [(*path, child) for path in paths for child in self.below.get(path[-1], ())]

    def label(self, symbol: str, leaf: Leaf) -> str:
        """The terminal in the rule of a symbol that a leaf below it was made from."""
        if symbol not in self._labels:
            self._labels[symbol] = _Labels(self._rules[symbol].body)
        return self._labels[symbol].of(leaf)


class _Labels:
    """The terminals of one rule."""

    def __init__(self, body: Expr) -> None:
        self._known: dict[tuple[type, Leaf], str] = {}
        self._patterns: list[tuple[str, str | bytes]] = []
        stack = [body]
        while stack:
            match stack.pop():
                case Literal(value) | Bit(value) as terminal:
                    label = label_of(terminal)
                    self._known[type(value), value] = label
                    if isinstance(value, str):  # in a binary tree, text is its bytes
                        self._known.setdefault((bytes, value.encode("utf-8", "surrogateescape")), label)
                case Pattern(source) as terminal:
                    self._patterns.append((label_of(terminal), source))
                case SequenceExpr(parts) | Permutation(parts) | Choice(parts):
                    stack.extend(reversed(parts))
                case Repeat(inner):
                    stack.append(inner)

    def of(self, leaf: Leaf) -> str:
        label = self._known.get((type(leaf), leaf))
        if label is not None:
            return label
        if len(self._patterns) == 1:
            return self._patterns[0][0]
        text = leaf.decode("latin-1") if isinstance(leaf, bytes) else str(leaf)
        return next((label for label, source in self._patterns if compile_pattern(source).matches(text)), repr(leaf))
