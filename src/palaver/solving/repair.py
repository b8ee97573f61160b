"""Trees that do not satisfy their constraints are mended, a little at a time.

Two moves, tried in turn until every check passes or the steps are spent. An equation with a plain symbol on one side
(`<len> == f(<body>)`, also inside `str`, `int` or `bytes`) is solved: the other side is evaluated and its value
parsed into place. For anything else, one of the nodes that the failing check looked at is made anew. Each result is
checked in full; a move is advice, the check is law.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from palaver.chance import Chance
from palaver.constraints.check import Check, Failure
from palaver.grammar.bounds import Dependence
from palaver.grammar.code import SPEC_CODE_RAISES, Function, compile_expression
from palaver.spec.ast import Expression
from palaver.trees.node import Node
from palaver.trees.tree import SliceTree, Tree

# Steps of mending before a tree is given up for a fresh one. Most specs need as many as they have equations.
STEPS_PER_TREE = 40


@dataclass(frozen=True, slots=True)
class Mender:
    """Mends trees of one grammar.

    `make` makes a node of a symbol below the given ones, with some nodes in it given, next to so many nodes
    elsewhere; `read` parses a value as a symbol; `is_generated` tells whether a symbol has a generator, because what
    a generator made is mended as a whole or not at all; `dependence` tells what has to be made anew together.
    """

    checks: Sequence[Check]
    names: dict[str, Any]
    make: Callable[[str, tuple[str, ...], Mapping[str, Node], int], Node]
    read: Callable[[str, Any], Node | None]
    is_generated: Callable[[str], bool]
    dependence: Dependence
    # One side of an equation as a function; compiled when it first fails.
    _sides: dict[tuple[Expression, bool], Function] = field(default_factory=dict, repr=False)

    def mend(self, tree: Tree, chance: Chance) -> tuple[Tree | None, Failure | None, int]:
        """A tree that passes every check (or None), the failure that was left, and how many steps it took."""
        failure = None
        for step in range(STEPS_PER_TREE):
            failure = self.first_failure(tree)
            if failure is None:
                return tree, None, step
            mended = self._step(failure, chance)
            if mended is None:
                return None, failure, step
            tree = Tree(mended)
        return None, failure, STEPS_PER_TREE

    def first_failure(self, tree: Tree) -> Failure | None:
        """The first constraint that does not hold."""
        for check in self.checks:
            if (failure := check.failure(tree)) is not None:
                return failure
        return None

    def _step(self, failure: Failure, chance: Chance) -> Node | None:
        solutions = list(self._solutions(failure))
        # Now and then anew even where an equation could be solved: the wanted value itself may be the problem.
        if solutions and chance.random() < 0.9:
            return chance.pick(solutions)
        blamed = [tree for tree in _blamed(failure) if isinstance(tree.node, Node)]
        if not blamed:
            return None
        return self._remade(self._whole(self._movable(chance.pick(blamed))), {})

    def _solutions(self, failure: Failure) -> Iterator[Node]:
        for target, wanted in self._equations(failure):
            if not isinstance(target.node, Node) or self._movable(target) is not target:
                continue
            value = wanted.node if isinstance(wanted, Tree) and not isinstance(wanted.node, Node) else wanted
            solved = self.read(target.node.symbol, value)
            if solved is None:
                continue
            solved, whole = _keeping_parties(solved, target.node), self._whole(target)
            yield _put(target, solved) if whole is target else self._remade(whole, {solved.symbol: solved})

    def _equations(self, failure: Failure) -> Iterator[tuple[Tree, Any]]:
        """The nodes that an equation leaves open, each with the value it should have."""
        python = failure.leaf.python
        if not isinstance(python, ast.Compare) or len(python.ops) != 1 or not isinstance(python.ops[0], ast.Eq):
            return
        values = {mention.name: value for mention, value in failure.values}
        for is_left, side in ((True, python.left), (False, python.comparators[0])):
            target = values.get(_plain_mention(side))
            if isinstance(target, Tree) and not isinstance(target, SliceTree):
                try:
                    yield target, self._other_side(failure, is_left)
                except SPEC_CODE_RAISES:  # the check has reported, or will report, what the spec's code raises
                    continue

    def _other_side(self, failure: Failure, is_left: bool) -> Any:
        bound = failure.bound or {}
        variables = [name for name in bound if not name.startswith("<")]
        key = (failure.leaf, is_left)
        if key not in self._sides:
            python = failure.leaf.python
            assert isinstance(python, ast.Compare), "only comparisons have sides"
            other = python.comparators[0] if is_left else python.left
            self._sides[key] = compile_expression(replace(failure.leaf, python=other), self.names, variables)
        return self._sides[key](*(value for _, value in failure.values), *(bound[name] for name in variables))

    def _remade(self, tree: Tree, given: Mapping[str, Node]) -> Node:
        """The whole derivation with a fresh node in the place of `tree`."""
        assert isinstance(tree.node, Node), "only nodes are blamed, and above a node is a node"
        elsewhere = tree.get_root().size() - tree.size()
        fresh = self.make(tree.node.symbol, _symbols_above(tree), given, elsewhere)
        return _put(tree, _keeping_parties(fresh, tree.node))

    def _whole(self, tree: Tree) -> Tree:
        """The node that has to be made anew when `tree` changes: itself, unless a repetition counts by it."""
        assert isinstance(tree.node, Node), "only nodes are mended"
        for _ in range(self.dependence.to_remake(tree.node.symbol, reversed(_symbols_above(tree)))):
            assert tree.parent is not None, "there is a node for each symbol above"
            tree = tree.parent
        return tree

    def _movable(self, tree: Tree) -> Tree:
        """`tree`, or the outermost generated node it is inside of (as a part or as a source)."""
        found, current = tree, tree.parent
        while current is not None:
            if isinstance(current.node, Node) and self.is_generated(current.node.symbol):
                found = current
            current = current.parent
        return found


def _put(tree: Tree, node: Node) -> Node:
    """The whole derivation with `node` in the place of `tree`."""
    whole = tree.get_root().replaced(tree, node).node
    assert isinstance(whole, Node), "a node was put into a node"
    return whole


def _keeping_parties(fresh: Node, old: Node) -> Node:
    return fresh if old.parties is None else fresh._replace(parties=old.parties)


def _symbols_above(tree: Tree) -> tuple[str, ...]:
    above: list[str] = []
    while (parent := tree.parent) is not None:
        assert isinstance(parent.node, Node), "only nodes have children"
        above.append(parent.node.symbol)
        tree = parent
    return tuple(reversed(above))


def _blamed(failure: Failure) -> list[Tree]:
    """Every node the failing leaf looked at. Of a slice these are what is in it, and what it was cut from."""
    seen = [tree for _, value in failure.values for tree in (value if isinstance(value, list) else [value])]
    found = [tree for tree in seen if isinstance(tree, Tree)] or list((failure.bound or {}).values())
    while any(isinstance(tree, SliceTree) for tree in found):  # there are slices of slices
        found = [each for tree in found for each in ((*tree, tree.whole) if isinstance(tree, SliceTree) else (tree,))]
    return found


def _plain_mention(side: ast.expr) -> str:
    """The mention in `<x>`, `str(<x>)`, `int(<x>)` or `bytes(<x>)`; else nothing."""
    match side:
        case (
            ast.Name(id=name)
            | ast.Call(func=ast.Name(id="str" | "int" | "bytes"), args=[ast.Name(id=name)], keywords=[])
        ):
            return name
    return ""
