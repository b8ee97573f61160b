"""The k-paths of a grammar, and which of them have been seen.

How it works
============

A k-path (Havrikov et al.) is a walk of up to k steps down the grammar: from a symbol to one that stands in its rule, to
one that stands in that one's, and at last perhaps to a terminal. Groups and repetitions are looked through, and what
stands there zero times is not there. Terminals are told apart by what the spec writes: text, bytes, bits, patterns.

Seen paths are noted by an automaton. Its states are the k-paths themselves: at a node of a tree, the state is the last
k symbols on the way from the root. When a node is met in a state that was never met before, that path is covered, and
so are its ends, because they are shorter paths to the same node. So a node costs the same however deep it stands, and
what was met before costs nothing but a look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from palaver.grammar.analyse import reachable
from palaver.grammar.ir import Grammar
from palaver.grammar.regex import compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat
from palaver.spec.ast import Sequence as SequenceExpr
from palaver.trees.node import Leaf, Node, Part

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
        children = {name: tuple(dict.fromkeys(_names_in(rule.body))) for name, rule in self._rules.items()}
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


def _names_in(expr: Expr) -> Iterator[str]:
    stack = [expr]
    while stack:
        match stack.pop():
            case Ref(symbol):
                yield symbol
            case Literal(value) | Bit(value):
                yield repr(value)
            case Pattern(source):
                yield f"r{source!r}"
            case SequenceExpr(parts) | Permutation(parts) | Choice(parts):
                stack.extend(reversed(parts))
            case Repeat(body, _, most) if most != 0:
                stack.append(body)


class _Labels:
    """The terminals of one rule."""

    def __init__(self, body: Expr) -> None:
        self._known: dict[tuple[type, Leaf], str] = {}
        self._patterns: list[tuple[str, str | bytes]] = []
        stack = [body]
        while stack:
            match stack.pop():
                case Literal(value) | Bit(value):
                    self._known[type(value), value] = repr(value)
                    if isinstance(value, str):  # in a binary tree, text is its bytes
                        self._known.setdefault((bytes, value.encode("utf-8", "surrogateescape")), repr(value))
                case Pattern(source):
                    self._patterns.append((f"r{source!r}", source))
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


class Coverage:
    """The k-paths that were seen. It only ever grows."""

    def __init__(self, paths: KPaths) -> None:
        self.paths = paths
        self._covered: dict[KPath, None] = {}
        # By state and symbol the state that follows; states are paths, and one object each.
        self._steps: dict[tuple[KPath, str], KPath] = {}
        self._states: dict[KPath, KPath] = {(): ()}

    def __len__(self) -> int:
        return len(self._covered)

    def __contains__(self, path: KPath) -> bool:
        return path in self._covered

    @cached_property
    def total(self) -> int:
        """How many paths there are to be seen."""
        return self.paths.count()

    def missing(self) -> Iterator[KPath]:
        """The paths that were not seen, in the order of `KPaths`."""
        return (path for path in self.paths if path not in self._covered)

    def add(self, part: Part, above: Sequence[str] = ()) -> int:
        """Note all paths in a tree that stands below these symbols, outermost first; how many were new.

        Paths that end above the tree are not noted by this.
        """
        before = len(self._covered)
        state: KPath = ()
        for symbol in above[-self.paths.k :]:
            state = self._after(state, symbol)
        stack: list[tuple[Part, KPath, str]] = [(part, state, above[-1] if above else "")]
        while stack:
            here, state, holder = stack.pop()
            if isinstance(here, Node):
                name: str = here.symbol
                following = self._after(state, name)
                self._cover(following)
                stack.extend((child, following, name) for child in reversed(here.children))
            elif holder:
                self._cover(self._after(state, self.paths.label(holder, here)))
        return len(self._covered) - before

    def add_path(self, path: Sequence[str]) -> None:
        """Note one path, and what it ends with."""
        state: KPath = ()
        for name in path:
            state = self._after(state, name)
        self._cover(state)

    def update(self, others: Iterable[KPath]) -> None:
        """Note what another run has seen."""
        self._covered.update(dict.fromkeys(map(tuple, others)))

    def covered(self) -> Iterator[KPath]:
        """What was seen, in the order in which it was."""
        return iter(self._covered)

    def _after(self, state: KPath, name: str) -> KPath:
        key = (state, name)
        following = self._steps.get(key)
        if following is None:
            path = (*state, name)[-self.paths.k :]
            following = self._steps[key] = self._states.setdefault(path, path)
        return following

    def _cover(self, state: KPath) -> None:
        # What a path ends with is covered together with it, so the longest tells for all.
        covered = self._covered
        while state and state not in covered:
            covered[state] = None
            state = state[1:]
