"""k-path coverage (Havrikov & Zeller 2019): the k-paths of a grammar, and those that were seen.

A k-path is a walk of at most k symbols down the grammar: from a symbol to one in its rule, to one in that one's rule,
and at last perhaps to a terminal. Groups and repetitions are transparent; an element that stands there zero times does
not count. Terminals are named as the spec writes them: text, bytes, bits, patterns. Rules with a note are what a peer
may do and nobody wants of it, so paths through them do not count either.

Seen paths are noted by an automaton that is built on demand: a trie of paths with suffix links (Aho & Corasick 1975).
Its states are the k-paths themselves: at a node of a tree, the state is the last k symbols on the way from the root.
When a node is met in a state for the first time, that path is covered, and so are its suffixes, which are shorter paths
to the same node. So a node costs the same at any depth, and a state that was met before costs one look. States are
numbered as they are met; 0 is the empty path. A path is covered if and only if the flag of its state is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TypeAlias

from palaver.grammar.analysis import reachable
from palaver.grammar.ir import Grammar
from palaver.navigation.terminal_names import TerminalNames
from palaver.spec.traversal import names_in
from palaver.trees.node import Node, Part

NOTHING = 0

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
        self.noted = frozenset(name for name, rule in grammar.rules.items() if rule.note)
        self._terminals: dict[str, TerminalNames] = {}

    @cached_property
    def below(self) -> Mapping[str, tuple[str, ...]]:
        """The names in the rule of each symbol that is reachable from the start, in the order of the spec."""
        noted = self.noted
        children = {
            name: tuple(child for child in dict.fromkeys(names_in(rule.body)) if child not in noted)
            for name, rule in self._rules.items()
        }
        symbols = {name: [child for child in found if child in self._rules] for name, found in children.items()}
        return {name: children[name] for name in reachable(self._start, symbols)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All symbols and terminals that paths consist of."""
        return tuple(dict.fromkeys((*self.below, *(child for found in self.below.values() for child in found))))

    def goes_on(self, path: KPath, name: str) -> bool:
        """Return True if a path can go on with a name, or begin with it."""
        return name in (self.below.get(path[-1], ()) if path else self._all_names)

    @cached_property
    def _all_names(self) -> frozenset[str]:
        return frozenset(self.names)

    def count(self) -> int:
        """The number of paths, without making them."""
        walks = dict.fromkeys(self.names, 1)
        total = len(walks)
        for _ in range(self.k - 1):
            walks = {name: sum(walks[child] for child in self.below.get(name, ())) for name in self.names}
            total += sum(walks.values())
        return total

    def __iter__(self) -> Iterator[KPath]:
        """All paths, the short ones first, each length in the order of the spec."""
        paths: list[KPath] = [(name,) for name in self.names]
        for _ in range(self.k):
            yield from paths
            paths = [(*path, child) for path in paths for child in self.below.get(path[-1], ())]

    def terminals(self, symbol: str) -> TerminalNames:
        """The names of the terminals in the rule of a symbol."""
        found = self._terminals.get(symbol)
        if found is None:
            found = self._terminals[symbol] = TerminalNames(self._rules[symbol].body)
        return found


class Coverage:
    """The k-paths that were seen. The set only ever grows."""

    def __init__(self, paths: KPaths) -> None:
        self.paths = paths
        self.walks: list[KPath] = [()]  # by state, its path
        self.is_covered = bytearray(b"\1")
        self.watchers: list[Callable[[int], None]] = []  # called with each state when it is covered
        self._steps: list[dict[str, int]] = [{}]
        self._suffixes: list[int] = [NOTHING]  # by state, the state without its first symbol
        self.met: list[int] = []  # the covered states, in the order in which they were met
        self._outside: set[int] = set()  # states of rules with a note: nothing is missing there

    def __len__(self) -> int:
        return len(self.met)

    def __contains__(self, path: KPath) -> bool:
        state = NOTHING
        for name in path:
            following = self._steps[state].get(name)
            if following is None:
                return False
            state = following
        return len(path) <= self.paths.k and bool(self.is_covered[state]) and state not in self._outside

    @cached_property
    def total(self) -> int:
        """The number of paths of the grammar."""
        return self.paths.count()

    def missing(self) -> Iterator[KPath]:
        """The uncovered paths, in the order of `KPaths`."""
        return (path for path in self.paths if path not in self)

    def covered(self, since: int = 0) -> Iterator[KPath]:
        """The covered paths in the order in which they were seen, without the first `since`."""
        return (self.walks[state] for state in islice(self.met, since, None))

    def step(self, state: int, name: str) -> int:
        """The state of a node with this name below one in `state`."""
        following = self._steps[state].get(name)
        return self._first_step(state, name) if following is None else following

    def _first_step(self, state: int, name: str) -> int:
        walks, steps, suffixes = self.walks, self._steps, self._suffixes
        # The shorter paths to the same node come first, because each links to the next.
        waiting = [state]
        while state and name not in steps[suffixes[state]]:
            state = suffixes[state]
            waiting.append(state)
        following = steps[suffixes[state]][name] if state else NOTHING
        for state in reversed(waiting):
            walk = walks[state]
            if len(walk) < self.paths.k:  # a longer path drops its first symbol
                suffixes.append(following)
                following = len(walks)
                walks.append((*walk, name))
                is_outside = bool(self.paths.noted) and (state in self._outside or not self.paths.goes_on(walk, name))
                if is_outside:
                    self._outside.add(following)
                self.is_covered.append(is_outside)
                steps.append({})
            steps[state][name] = following
        return following

    def state(self, path: KPath) -> int:
        """The state of a path of at most k symbols."""
        state = NOTHING
        for name in path:
            state = self.step(state, name)
        return state

    def suffix_of(self, state: int) -> int:
        """The state of the path without its first symbol."""
        return self._suffixes[state]

    def is_noted(self, state: int) -> bool:
        """True if the path leads through a rule with a note, so that nobody aims for it."""
        return state in self._outside

    def cover(self, state: int) -> None:
        """Note that a node was met in a state."""
        # The suffixes of a covered path are covered, too.
        while not self.is_covered[state] or state in self._outside:
            if state in self._outside:
                state = self._suffixes[state]
                continue
            self.is_covered[state] = 1
            self.met.append(state)
            for watcher in self.watchers:
                watcher(state)
            state = self._suffixes[state]

    def cover_below(self, part: Part, state: int) -> None:
        """Note all paths that end in a tree below a node in `state`."""
        self._cover_all([(part, state)])

    def cover_inside(self, node: Node, state: int) -> None:
        """Note all paths that end below a node that is itself in `state`."""
        self._cover_all(self._inside(node, state))

    def _cover_all(self, stack: list[tuple[Part, int]]) -> None:
        walks, step, is_covered, terminals = self.walks, self.step, self.is_covered, self.paths.terminals
        while stack:
            here, state = stack.pop()
            if isinstance(here, Node):
                following = step(state, here.symbol)
                stack += self._inside(here, following)
            elif state:
                following = step(state, terminals(walks[state][-1]).of_leaf(here))
            else:
                continue
            if not is_covered[following] or following in self._outside:
                self.cover(following)

    def _inside(self, node: Node, state: int) -> list[tuple[Part, int]]:
        """The children of a node, the last first; without leaves that only all of them tell apart, which are noted."""
        terminals = self.paths.terminals(node.symbol)
        if not terminals.needs_neighbours:
            return [(child, state) for child in reversed(node.children)]
        for names in terminals.of_leaves(node.children):
            for name in names:
                self.cover(self.step(state, name))
        return [(child, state) for child in reversed(node.children) if isinstance(child, Node)]

    def add(self, part: Part, above: Sequence[str] = ()) -> int:
        """Note all paths that end in a tree below these symbols, outermost first; return the number of new ones."""
        before = len(self)
        self.cover_below(part, self.state(tuple(above[-self.paths.k :])))
        return len(self) - before

    def add_path(self, path: Sequence[str]) -> None:
        """Note one path and its suffixes."""
        self.cover(self.state(tuple(path[-self.paths.k :])))
