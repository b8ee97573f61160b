"""Selections of a growing tree, semi-naively (Bancilhon & Ramakrishnan 1986): those so far, and those of a message.

A new message adds nodes at the end of the tree and completes some of the nodes above it; nothing else changes, so a
selection only grows. Nodes are selected once they are complete, also inside of nodes that are still open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, assert_never

from palaver.constraints.node_selectors import compile_path
from palaver.grammar.analysis import Analysis, reachable
from palaver.lean_dataclasses import dataclass
from palaver.spec.ast import (
    Bit,
    Child,
    Choice,
    Descendant,
    Expr,
    Index,
    Literal,
    Pattern,
    Permutation,
    Ref,
    Repeat,
    Selector,
)
from palaver.spec.ast import Sequence as InOrder
from palaver.spec.traversal import refs
from palaver.trees.node import Node
from palaver.trees.tree import Tree

Item = TypeVar("Item")


class AppendOnlyList(NamedTuple, Generic[Item]):
    """A persistent list that can only be appended to, as blocks merged by the logarithmic method (Bentley & Saxe 1980).

    Blocks get shorter towards the end, by half or more: there are few, and a long one is seldom copied.
    """

    blocks: tuple[tuple[Item, ...], ...] = ()
    length: int = 0

    def plus(self, items: Sequence[Item]) -> AppendOnlyList[Item]:
        if not items:
            return self
        last = tuple(items)
        kept = len(self.blocks)
        while kept and len(self.blocks[kept - 1]) < 2 * len(last):
            kept -= 1
            last = self.blocks[kept] + last
        return AppendOnlyList((*self.blocks[:kept], last), self.length + len(items))

    def since(self, start: int) -> list[Item]:
        """The items from a position on."""
        if start >= self.length:
            return []
        wanted: list[tuple[Item, ...]] = []
        missing = self.length - start
        for block in reversed(self.blocks):
            if missing <= 0:
                break
            wanted.append(block[-missing:] if missing < len(block) else block)
            missing -= len(block)
        return list(chain.from_iterable(reversed(wanted)))


class Selection(NamedTuple):
    """The nodes that a path from the root has selected so far, in the order in which they came.

    A path with a wrong index fails for good.
    """

    trees: AppendOnlyList[Tree] = AppendOnlyList()
    error: BaseException | None = None

    def selected(self, start: int = 0) -> list[Tree]:
        """The nodes from a position on. :raises BaseException: what the path raised"""
        if self.error is not None:
            raise self.error.with_traceback(None)  # or else it grows each time
        return self.trees.since(start)


Selections: TypeAlias = tuple[Selection, ...]


@dataclass(frozen=True, eq=False)
class WatchedPath:
    """A path from the root; `gain` gives the nodes that it selects because of a new node of one symbol."""

    symbol: str
    gain: Callable[[Tree], list[Tree]]


class WatchedPaths:
    """The paths from the root that are watched, by number; tells which paths can be."""

    def __init__(self, analysis: Analysis, names: dict[str, Any]) -> None:
        self._analysis = analysis
        self._names = names
        self._may_be_open = _above_messages(analysis)
        self._numbers: dict[Selector, int] = {}

    def number(self, path: Selector) -> int:
        """The number of a path's selection."""
        return self._numbers.setdefault(path, len(self._numbers))

    def watched(self) -> tuple[WatchedPath, ...]:
        """All paths that have a number."""
        return tuple(map(self._watched, self._numbers))

    def can_watch(self, path: Selector, *, order_matters: bool) -> bool:
        """True if new nodes alone tell what the path gains; with `order_matters`, also that it comes in tree order.

        They do not for an index into a node that is still open, nor for `..` from one if that depends on all that is
        around the new node. Arguments of generators above the messages are excluded because they are not announced.
        """
        if path.base in self._may_be_open and path.steps:
            match path.steps[0]:
                case Index():
                    return False
                case Descendant(symbol) if not self._is_always_inside(symbol, path.base):
                    return False
                case Child() | Descendant():
                    pass
                case _ as step:
                    assert_never(step)
        if self._sought(path) in self._in_sources_of_states:
            return False
        return not order_matters or self._comes_in_order(path)

    def _is_always_inside(self, symbol: str, base: str) -> bool:
        """True if each node of a symbol has exactly one of the name `base` above it, or is one; arguments aside."""
        start, children = self._analysis.grammar.start, self._analysis.children
        if self.is_recursive(base) or base in self._in_sources:
            return False
        elsewhere = {name: inner for name, inner in children.items() if name != base}
        return symbol == base or symbol not in reachable(start, elsewhere) or start == base

    def _sought(self, path: Selector) -> str:
        """The symbol whose new nodes can be new to the path.

        From a node that may be open it is the symbol of the first step: that node must be complete, and from there on
        nothing changes.
        """
        if path.base in self._may_be_open and path.steps:
            step = path.steps[0]
            assert isinstance(step, Child | Descendant), "nodes that may be open are not indexed"
            return step.symbol
        return path.base

    def _watched(self, path: Selector) -> WatchedPath:
        base, steps, analysis = path.base, path.steps, self._analysis
        if not steps:
            return WatchedPath(base, lambda tree: [tree])
        if base not in self._may_be_open:
            select = compile_path(path, analysis, self._names)
            return WatchedPath(base, lambda tree: select(tree, {base: tree}))
        times = _is_child_of if isinstance(steps[0], Child) else _is_said
        rest = compile_path(Selector(base, steps[1:]), analysis, self._names)
        return WatchedPath(self._sought(path), lambda tree: times(tree, base) * rest(tree, {base: tree}))

    @cached_property
    def _in_sources(self) -> frozenset[str]:
        """The symbols of arguments of generators, and of parts of these."""
        return self._in_sources_of(frozenset(self._analysis.arguments))

    @cached_property
    def _in_sources_of_states(self) -> frozenset[str]:
        """The same, for generators of nodes above the messages."""
        return self._in_sources_of(self._may_be_open)

    def _in_sources_of(self, symbols: frozenset[str]) -> frozenset[str]:
        found: set[str] = set()
        for symbol, arguments in self._analysis.arguments.items():
            if symbol in symbols:
                found.update(arguments, *map(self._analysis.below_including_sources, arguments))
        return frozenset(found)

    def _comes_in_order(self, path: Selector) -> bool:
        """True if the path selects nodes in the order of the tree.

        Of nested nodes the inner one is complete first, but the outer one comes first in the tree.
        """
        base = path.base
        if self._sought(path) in self._in_and_around_messages:
            return False
        if base not in self._may_be_open:
            return True
        if not path.steps:
            return not self.is_recursive(base)
        match path.steps[0]:
            case Child(symbol):
                return not self.is_recursive(base) or not self._may_follow(symbol, base)
            case Descendant(symbol):
                is_nested = symbol in self._may_be_open and self.is_recursive(symbol)
                return not self.is_recursive(base) and not is_nested
            case Index():
                return False
            case _ as step:
                assert_never(step)

    @cached_property
    def _in_and_around_messages(self) -> frozenset[str]:
        """The symbols of nodes that can be inside of messages and outside.

        If nodes of both kinds come with one message, it is unknown which comes first.
        """
        rules, start = self._analysis.grammar.rules, self._analysis.grammar.start
        unsent = {name: [ref.symbol for ref in refs(rule.body) if ref.sender is None] for name, rule in rules.items()}
        sent = {ref.symbol for rule in rules.values() for ref in refs(rule.body) if ref.sender is not None}
        return (
            frozenset(sent.union(*map(self._analysis.below_including_sources, sorted(sent))))
            & reachable(start, unsent).keys()
        )

    def is_recursive(self, symbol: str) -> bool:
        """True if a node of a symbol may have others of it inside."""
        return symbol in self._analysis.below_including_sources(symbol)

    def _may_follow(self, child: str, base: str) -> bool:
        """True if a child of a node named `base` can come after one that holds a further `base`."""
        rule = self._analysis.grammar.rules.get(base)
        return rule is not None and self._may_follow_in(rule.body, child, base)

    def _may_follow_in(self, expr: Expr, child: str, base: str) -> bool:
        match expr:
            case InOrder(parts):
                pairs = ((one, other) for at, one in enumerate(parts) for other in parts[at + 1 :])
            case Permutation(parts):
                pairs = ((one, other) for one in parts for other in parts if one is not other)
            case Choice(options):
                return any(self._may_follow_in(option, child, base) for option in options)
            case Repeat(body, _, most):
                parts = (body,)
                pairs = ((each, each) for each in parts if most != 1)
            case Literal() | Bit() | Pattern() | Ref():
                return False
            case _:
                assert_never(expr)
        is_between = any(
            self._holds(one, base) and any(ref.symbol == child for ref in refs(other)) for one, other in pairs
        )
        return is_between or any(self._may_follow_in(part, child, base) for part in parts)

    def _holds(self, expr: Expr, base: str) -> bool:
        below = self._analysis.below_including_sources
        return any(ref.symbol == base or base in below(ref.symbol) for ref in refs(expr))


def _above_messages(analysis: Analysis) -> frozenset[str]:
    """The symbols that may hold messages: their nodes are open while the session goes on."""
    rules = analysis.grammar.rules
    direct = {name for name, rule in rules.items() if any(ref.sender is not None for ref in refs(rule.body))}
    return frozenset((*direct, *analysis.above(direct), analysis.grammar.start))


def _is_child_of(tree: Tree, symbol: str) -> int:
    above = None if tree.parent is None else tree.parent.node
    return tree.step >= 0 and isinstance(above, Node) and above.symbol == symbol


def _is_said(tree: Tree, symbol: str) -> int:
    """True if a node is not part of an argument of a generator: then there is one node of that name around it."""
    climber: Tree | None = tree
    while climber is not None and (not isinstance(climber.node, Node) or climber.node.parties is None):
        if climber.step < 0:
            return False
        climber = climber.parent
    return climber is None or climber.step >= 0
