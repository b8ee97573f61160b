"""Paths of computed bounds, matched against the ancestors of a node by a path automaton (YFilter, Diao et al. 2003).

A bound such as `{int(<head>.<count>)}` refers to the last node that its path selects before the repetition. That
depends on the names of the ancestors only, so it is known before the node is matched: a *path state* tells how far each
path has been followed by the ancestors of a place, and going down one level is one look-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias, assert_never

from palaver.spec.ast import Child, Descendant, Expression, Index, Selector
from palaver.trees.node import Node, NonTerminal


class UnsupportedBound(Exception):
    """Raised for a computed bound whose path cannot be followed while parsing."""

    def __init__(self, expression: Expression, reason: str) -> None:
        self.expression = expression
        self.reason = reason
        super().__init__(f"the bound {{{expression.text}}} {reason}")


class PathPrefix(NamedTuple):
    """The first `matched` names of a path are found among the ancestors of a place.

    If `anywhere`, the next name may be any number of levels further down, otherwise it must be on the next level.
    """

    path: int
    matched: int
    anywhere: bool


PathState: TypeAlias = tuple[PathPrefix, ...]
NO_PATH_STATE: PathState = ()


class TrackedPath(NamedTuple):
    """Names from the outside in; each may be any number of levels below the one before where `anywhere` is True."""

    names: tuple[str, ...]
    anywhere: tuple[bool, ...]


class BoundPaths:
    """All paths that the bounds of a grammar follow, numbered in the order of their first appearance."""

    def __init__(self) -> None:
        self.paths: list[TrackedPath] = []
        self._steps: dict[tuple[PathState, str], tuple[PathState, tuple[int, ...]]] = {}

    def track(self, expression: Expression) -> int | None:
        """The number of the path in `expression`, if it has one. :raises UnsupportedBound: it cannot be followed"""
        if not expression.mentions:
            return None
        if len(expression.mentions) > 1:
            raise UnsupportedBound(expression, "mentions more than one symbol")
        return self.track_each(expression)[0]

    def track_each(self, expression: Expression) -> tuple[int, ...]:
        """The numbers of all paths in `expression`. :raises UnsupportedBound: one cannot be followed"""
        numbers = []
        for mention in expression.mentions:
            if mention.kind != "each":
                raise UnsupportedBound(expression, "counts or lists symbols; only a single one can be looked up")
            path = _tracked(mention.path, expression)
            if path not in self.paths:
                self.paths.append(path)
            numbers.append(self.paths.index(path))
        return tuple(numbers)

    def descend(self, path_state: PathState, symbol: str) -> tuple[PathState, tuple[int, ...]]:
        """The path state below a node named `symbol` at `path_state`, and the paths that select this very node."""
        key = path_state, symbol
        if key not in self._steps:
            self._steps[key] = self._descend(path_state, symbol)
        return self._steps[key]

    def _descend(self, path_state: PathState, symbol: str) -> tuple[PathState, tuple[int, ...]]:
        below = {prefix for prefix in path_state if prefix.anywhere}
        selected = []
        for number, (names, anywhere) in enumerate(self.paths):
            reached = {0} | {prefix.matched for prefix in path_state if prefix.path == number}
            found = {matched + 1 for matched in reached if names[matched] == symbol}
            # `..<b>` includes the node it starts from.
            for matched in range(1, len(names)):
                if matched in found and anywhere[matched] and names[matched] == symbol:
                    found.add(matched + 1)
            if len(names) in found:
                selected.append(number)
            below |= {PathPrefix(number, matched, anywhere[matched]) for matched in found if matched < len(names)}
        return tuple(sorted(below)), tuple(selected)

    def selected_in(self, node: Node, path_state: PathState = NO_PATH_STATE) -> Iterator[tuple[int, Node]]:
        """Every (path, selected node) in a tree at `path_state`, in the order in which the nodes end."""
        stack: list[tuple[Node, PathState, tuple[int, ...] | None]] = [(node, path_state, None)]
        while stack:
            here, path_state, selected = stack.pop()
            if selected is not None:
                for path in selected:
                    yield path, here
                continue
            below, selected = self.descend(path_state, here.symbol)
            stack.append((here, path_state, selected))
            stack.extend((child, below, None) for child in reversed(here.children) if isinstance(child, Node))


def together(nodes: Sequence[Node]) -> Node | None:
    """The nodes of a bound as one: several as the children of another, in the order of its mentions; None of none."""
    if len(nodes) > 1:
        return Node(NonTerminal("<fields>"), tuple(nodes))
    return nodes[0] if nodes else None


def _tracked(path: Selector, expression: Expression) -> TrackedPath:
    steps = list(path.steps)
    # The evaluator of the bound applies trailing indices to the node it is given.
    while steps and isinstance(steps[-1], Index):
        steps.pop()
    names, anywhere = [path.base], [True]
    for step in steps:
        match step:
            case Child(symbol):
                names.append(symbol)
                anywhere.append(False)
            case Descendant(symbol):
                names.append(symbol)
                anywhere.append(True)
            case Index():
                raise UnsupportedBound(expression, "has an index in the middle of a path")
            case _:
                assert_never(step)
    return TrackedPath(tuple(names), tuple(anywhere))
