"""Which k-paths have been seen.

How it works
============

Seen paths are noted by an automaton. Its states are the k-paths themselves: at a node of a tree, the state is the last
k symbols on the way from the root. When a node is met in a state that was never met before, that path is covered, and
so are its ends, because they are shorter paths to the same node. So a node costs the same however deep it stands, and
what was met before costs nothing but a look. States are numbered as they are met; 0 is that of nothing.

A path is covered if and only if its own state is, so whoever wants to know what is missing looks at one flag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from palaver.navigation.kpaths import KPath, KPaths
from palaver.trees.node import Node, Part

NOTHING = 0


class Coverage:
    """The k-paths that were seen. It only ever grows."""

    def __init__(self, paths: KPaths) -> None:
        self.paths = paths
        self.walks: list[KPath] = [()]  # the path that each state is
        self.is_covered = bytearray(b"\1")
        self.watchers: list[Callable[[int], None]] = []  # told of each state when it is covered first
        self._steps: list[dict[str, int]] = [{}]
        self._ends: list[int] = [NOTHING]  # the state without its first symbol
        self._states: dict[KPath, int] = {(): NOTHING}
        self._covered: list[int] = []

    def __len__(self) -> int:
        return len(self._covered)

    def __contains__(self, path: KPath) -> bool:
        state = self._states.get(path)
        return state is not None and bool(self.is_covered[state])

    @cached_property
    def total(self) -> int:
        """How many paths there are to be seen."""
        return self.paths.count()

    def missing(self) -> Iterator[KPath]:
        """The paths that were not seen, in the order of `KPaths`."""
        return (path for path in self.paths if path not in self)

    def covered(self, since: int = 0) -> Iterator[KPath]:
        """What was seen, in the order in which it was, but for the first so many."""
        return (self.walks[state] for state in islice(self._covered, since, None))

    # --- States -------------------------------------------------------------------------------------------------------

    def step(self, state: int, name: str) -> int:
        """The state of a node of this name below one in `state`."""
        following = self._steps[state].get(name)
        return self._first_step(state, name) if following is None else following

    def _first_step(self, state: int, name: str) -> int:
        walks, steps, ends = self.walks, self._steps, self._ends
        # The shorter paths to the same node first, as each refers to the next.
        waiting = [state]
        while state and name not in steps[ends[state]]:
            state = ends[state]
            waiting.append(state)
        following = steps[ends[state]][name] if state else NOTHING
        for state in reversed(waiting):
            walk = walks[state]
            if len(walk) < self.paths.k:  # of a path that is as long as it may be, the first symbol is forgotten
                path = (*walk, name)
                ends.append(following)
                following = self._states[path] = len(walks)
                walks.append(path)
                self.is_covered.append(0)
                steps.append({})
            steps[state][name] = following
        return following

    def state(self, path: KPath) -> int:
        """The state that is a path of at most k symbols."""
        state = self._states.get(path)
        if state is None:
            state = NOTHING
            for name in path:
                state = self.step(state, name)
        return state

    def end_of(self, state: int) -> int:
        """The state without its first symbol."""
        return self._ends[state]

    # --- Noting -------------------------------------------------------------------------------------------------------

    def cover(self, state: int) -> None:
        """Note that a node was met in a state."""
        # What a path ends with is covered together with it, so the longest tells for all.
        while not self.is_covered[state]:
            self.is_covered[state] = 1
            self._covered.append(state)
            for watcher in self.watchers:
                watcher(state)
            state = self._ends[state]

    def cover_below(self, part: Part, state: int) -> None:
        """Note all paths in a tree that stands below a node in `state`, but for those that end above it."""
        walks, step, is_covered = self.walks, self.step, self.is_covered
        stack = [(part, state)]
        while stack:
            here, state = stack.pop()
            if isinstance(here, Node):
                following = step(state, here.symbol)
                stack.extend([(child, following) for child in reversed(here.children)])
            elif state:
                following = step(state, self.paths.label(walks[state][-1], here))
            else:
                continue
            if not is_covered[following]:
                self.cover(following)

    def add(self, part: Part, above: Sequence[str] = ()) -> int:
        """Note all paths in a tree that stands below these symbols, outermost first; how many were new.

        Paths that end above the tree are not noted by this.
        """
        before = len(self)
        self.cover_below(part, self.state(tuple(above[-self.paths.k :])))
        return len(self) - before

    def add_path(self, path: Sequence[str]) -> None:
        """Note one path, and what it ends with."""
        self.cover(self.state(tuple(path[-self.paths.k :])))

    def update(self, others: Iterable[KPath]) -> None:
        """Note what another run has seen."""
        for path in others:
            self.add_path(path)
