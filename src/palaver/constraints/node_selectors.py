"""Selectors, compiled to closures (Feeley & Lapalme 1987) that find nodes.

`<a>` selects every node of that name in the tree, the root and the arguments of generators included; each further step
narrows or widens that. Nodes come in document order, as views (`Tree`) in their places. Open nodes, whose end has not
been seen (prefix parses), are searched, but never selected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, TypeAlias, assert_never

from palaver.grammar.analysis import Analysis
from palaver.spec.ast import Child, Descendant, Expression, Index, Selector, SelectorStep
from palaver.spec.python_code import compile_expression
from palaver.spec.traversal import steps_behind
from palaver.trees.node import BegunNode, Node, OpenNode
from palaver.trees.tree import FoundNodes, Tree

# The nodes that quantifiers have bound, by the names they gave them.
Bindings: TypeAlias = Mapping[str, Tree]
Select: TypeAlias = Callable[[Tree, Bindings], list[Tree]]


def compile_path(
    path: Selector,
    analysis: Analysis,
    names: dict[str, Any],
    *,
    open_too: bool = False,
    early: bool = False,
    every: bool = False,
) -> Select:
    """A function from a tree and bindings to the nodes that `path` selects.

    With `early`, open nodes are searched wherever the path comes through them, not only where it starts. With
    `open_too` they are selected, too; `every` is both.
    """
    last = len(path.steps) - 1
    open_too, early = open_too or every, early or every
    steps = [
        _compile_step(step, before, analysis, names, open_too if at == last else early)
        for at, (before, step) in enumerate(steps_behind(path))
    ]
    base, find = path.base, _whole_finder(path.base, analysis)
    if not steps:
        if open_too:
            return lambda root, bound: [bound[base]] if base in bound else list(find(root).every)
        return lambda root, bound: [bound[base]] if base in bound else list(find(root).complete)
    if len(steps) == 1:
        (only,) = steps
        return lambda root, bound: (
            only(bound[base]) if base in bound else [tree for each in find(root).every for tree in only(each)]
        )

    def select(root: Tree, bound: Bindings) -> list[Tree]:
        # Inside of an open node there may be complete ones.
        found = [bound[base]] if base in bound else find(root).every
        for step in steps:
            found = [tree for each in found for tree in step(each)]
        return found

    return select


def _compile_step(
    step: SelectorStep, before: str, analysis: Analysis, names: dict[str, Any], open_too: bool
) -> Callable[[Tree], list[Tree]]:
    match step:
        case Child(symbol) if open_too:
            return lambda tree: [
                child
                for child in tree.children
                if isinstance(child.node, Node) and child.node.symbol == symbol
                if type(child.node) is not BegunNode
            ]
        case Child(symbol):
            # Most nodes are exactly of type Node, and to find that out is faster than isinstance.
            return lambda tree: [
                child
                for child in tree.children
                if (child.node.symbol == symbol if type(child.node) is Node else _is(child, symbol))
            ]
        case Descendant(symbol):
            find = _inner_finder(symbol, before, analysis)
            if open_too:
                return lambda tree: list(find(tree).every)
            return lambda tree: list(find(tree).complete)
        case Index(index):
            return _compile_index(index, names)
        case _:
            assert_never(step)


def _compile_index(
    index: int | tuple[int | None, int | None, int | None] | Expression, names: dict[str, Any]
) -> Callable[[Tree], list[Tree]]:
    match index:
        case Expression():
            computed = compile_expression(index, names)
            return lambda tree: [tree[computed()]]
        case int():
            return lambda tree: [tree[index]]
        case (start, stop, stride):
            return lambda tree: [tree[start:stop:stride]]
        case _:
            assert_never(index)


def indexed(tree: Tree, path: Selector) -> Tree:
    """The part of `tree`, a node that the rest of `path` selects, that the indices at the end of `path` select."""
    for step in reversed(list(takewhile(lambda step: isinstance(step, Index), reversed(path.steps)))):
        match step:
            case Index(int() as at):
                tree = tree[at]
            case Index((start, stop, stride)):
                tree = tree[start:stop:stride]
            case Index() | Child() | Descendant():  # a computed index selects the whole node here
                pass
            case _:
                assert_never(step)
    return tree


def _is(tree: Tree, symbol: str) -> bool:
    node = tree.node
    return isinstance(node, Node) and node.symbol == symbol and not isinstance(node, OpenNode)


class _Leads(dict[str, bool]):
    """For each symbol, True if its nodes can contain one that is sought; the others are skipped."""

    def __init__(self, sought: frozenset[str], below: Callable[[str], frozenset[str]]) -> None:
        self.sought = sought
        self._below = below

    def __missing__(self, symbol: str) -> bool:
        leads = self[symbol] = not self.sought.isdisjoint(self._below(symbol))
        return leads


def _whole_finder(symbol: str, analysis: Analysis) -> Callable[[Tree], FoundNodes]:
    """A search through a whole tree. One walk finds the nodes that any constraint seeks, and they are kept with it."""
    leads = _Leads(analysis.sought | {symbol}, analysis.below_including_sources)

    def find(root: Tree) -> FoundNodes:
        if root.parent is not None:
            return _found(root, leads, sources=True)[symbol]
        caches = root.caches or root.make_caches()
        if (nodes := caches.found.get(symbol)) is None:
            caches.found = found = _found(root, leads, sources=True)
            nodes = found[symbol]
        return nodes

    return find


def _inner_finder(symbol: str, before: str, analysis: Analysis) -> Callable[[Tree], FoundNodes]:
    """A search below a node. Whoever seeks a second symbol there finds those that any `..` behind that name seeks, and
    they are kept."""
    alone = _Leads(frozenset((symbol,)), analysis.below)
    together = _Leads(analysis.sought_inside.get(before, frozenset()) | {symbol}, analysis.below)

    def find(tree: Tree) -> FoundNodes:
        caches = tree.caches or tree.make_caches()
        found = caches.found_inside
        if found is None:
            found = caches.found_inside = _found(tree, alone, sources=False)
        elif symbol not in found:
            found = caches.found_inside = {**found, **_found(tree, together, sources=False)}
        return found[symbol]

    return find


def _found(root: Tree, leads: _Leads, *, sources: bool) -> dict[str, FoundNodes]:
    every: dict[str, list[Tree]] = {symbol: [] for symbol in leads.sought}
    is_partial = False
    stack = [root]
    pop, extend = stack.pop, stack.extend
    while stack:
        tree = pop()
        node = tree.node
        if not isinstance(node, Node):
            continue
        name = node.symbol
        if name in every:
            if not isinstance(node, OpenNode):
                every[name].append(tree)
            elif type(node) is not BegunNode:
                every[name].append(tree)
                is_partial = True
        if leads[name]:
            extend(reversed(tree.children))
        if sources and node.sources:
            extend(reversed(tree.sources))
    if not is_partial:
        return {name: FoundNodes(trees, trees) for name, trees in every.items()}
    complete = {name: [tree for tree in trees if _is(tree, name)] for name, trees in every.items()}
    return {name: FoundNodes(trees, complete[name]) for name, trees in every.items()}
