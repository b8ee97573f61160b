"""Selectors become functions that find nodes.

`<a>` is every node of that name in the tree, the root and the arguments of generators included; each further step
narrows or widens that. What is found comes in document order, as views (`Tree`) in their places. Nodes whose end has
not been seen (prefix parses) are looked through, but never selected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, TypeAlias

from palaver.grammar.analyse import Analysis
from palaver.grammar.code import compile_expression
from palaver.spec.ast import Child, Descendant, Expression, Index, Path, Step
from palaver.trees.node import Node, OpenNode
from palaver.trees.tree import Tree

# What quantifiers have bound so far, by the name they gave it.
Bindings: TypeAlias = Mapping[str, Tree]
Select: TypeAlias = Callable[[Tree, Bindings], list[Tree]]


def compile_path(path: Path, analysis: Analysis, names: dict[str, Any]) -> Select:
    """A function from a tree (and what is bound) to the nodes that `path` selects in it."""
    steps = [_compile_step(step, analysis, names) for step in path.steps]
    base, find = path.base, _finder(path.base, analysis.below_or_source, sources=True)
    open_too = bool(steps)  # what is inside an open node may be complete

    def select(root: Tree, bound: Bindings) -> list[Tree]:
        found = [bound[base]] if base in bound else find(root, open_too)
        for step in steps:
            found = [tree for each in found for tree in step(each)]
        return found

    return select


def _compile_step(step: Step, analysis: Analysis, names: dict[str, Any]) -> Callable[[Tree], list[Tree]]:
    match step:
        case Child(symbol):
            return lambda tree: [child for child in tree.children if _is(child, symbol)]
        case Descendant(symbol):
            find = _finder(symbol, analysis.below, sources=False)
            return lambda tree: find(tree, False)
        case Index(Expression() as expression):
            computed = compile_expression(expression, names)
            return lambda tree: [tree[computed()]]
        case Index(int() as at):
            return lambda tree: [tree[at]]
        case Index((start, stop, stride)):
            return lambda tree: [tree[start:stop:stride]]
    raise AssertionError(f"no such step: {step}")


def indexed(tree: Tree, path: Path) -> Tree:
    """What the indices at the end of `path` select in a node that the rest of it has selected."""
    indices = list(takewhile(lambda step: isinstance(step, Index), reversed(path.steps)))
    for step in reversed(indices):
        match step:
            case Index(int() as at):
                tree = tree[at]
            case Index((start, stop, stride)):
                tree = tree[start:stop:stride]
    return tree


def _is(tree: Tree, symbol: str) -> bool:
    node = tree.node
    return isinstance(node, Node) and node.symbol == symbol and not isinstance(node, OpenNode)


def _finder(
    symbol: str, below: Callable[[str], frozenset[str]], *, sources: bool
) -> Callable[[Tree, bool], list[Tree]]:
    """A search through a whole subtree.

    `below` tells what a symbol can contain, so that the rest need not be looked at.
    """
    leads_there: dict[str, bool] = {}

    def find(root: Tree, open_too: bool) -> list[Tree]:
        found: list[Tree] = []
        stack = [root]
        while stack:
            tree = stack.pop()
            node = tree.node
            if not isinstance(node, Node):
                continue
            name = node.symbol
            if name == symbol and (open_too or not isinstance(node, OpenNode)):
                found.append(tree)
            leads = leads_there.get(name)
            if leads is None:
                leads = leads_there[name] = symbol in below(name)
            if leads:
                stack.extend(reversed(tree.children))
            if sources and node.sources:
                stack.extend(reversed(tree.sources))
        return found

    return find
