"""Branch distance of one condition (Korel 1990; Tracey et al. 1998), over all combinations of the nodes it mentions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import gcd, prod
from typing import Any, assert_never

from palaver.constraints.checks import values_of
from palaver.constraints.constraints_limits import MAX_COMBINATIONS
from palaver.constraints.distance_compiler import ConditionDistance
from palaver.constraints.node_selectors import Bindings, Select
from palaver.spec.ast import Expression
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.trees.node import Node
from palaver.trees.tree import SliceTree, Tree

# A condition that raises is farther than any that fails.
RAISED = 2.0
NOTHING_TO_CHOOSE = 1.0


class Raised(Exception):
    """The formula failed by an exception, and so its negation does not hold either."""


class LeafDistance:
    """One condition. `holding` and `failing` return its distance from that, and add the nodes to blame."""

    def __init__(
        self,
        expression: Expression,
        selects: Sequence[Select],
        variables: tuple[str, ...],
        condition: ConditionDistance,
    ) -> None:
        used = {node.id for node in ast.walk(expression.python) if isinstance(node, ast.Name)}
        self._mentions = expression.mentions
        self._selects = selects
        self._variables = variables
        # The positions of the variables that the condition uses.
        self._looked_at = [at for at, name in enumerate(variables, len(selects)) if name in used]
        self._distance, self._plain = condition
        is_simple = [mention.kind for mention in expression.mentions] == ["each"] and not variables
        self.holding = self._each if is_simple else self._sum
        self.failing = self._first

    def _each(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from holding for a condition with one mention, as most have."""
        total = 0.0
        try:
            found = self._selects[0](root, bound)
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += scope(root, bound)
            return RAISED
        for tree in found:
            try:
                distance = self._distance(tree)
            except SPEC_CODE_RAISES:
                distance = self._zero_or_one((tree,))
            if distance:
                total += distance
                blamed += nodes_of(tree)
        return total

    def _sum(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from holding for every combination."""
        try:
            found = self._found(root, bound, blamed)
        except Raised:
            return RAISED
        total = 0.0
        for values, distance in self._measured(found, bound):
            if distance:
                total += distance
                blamed += self._blame(values, found) or scope(root, bound)
        return total

    def _first(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from failing for some combination.

        :raises Raised: it fails because something raised
        """
        found = self._found(root, bound, blamed)
        nearest, seen = NOTHING_TO_CHOOSE, len(blamed)
        for values, distance in self._measured(found, bound):
            if not distance:
                del blamed[seen:]
                return 0.0
            blamed += self._blame(values, found)
            if distance == RAISED:
                raise Raised
            nearest = min(nearest, distance)
        if len(blamed) == seen:
            blamed += scope(root, bound)
        return nearest

    def _found(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> list[list[Tree]]:
        try:
            return [select(root, bound) for select in self._selects]
        except SPEC_CODE_RAISES:  # a computed index in the path
            blamed += scope(root, bound)
            raise Raised from None

    def _measured(self, found: Sequence[list[Tree]], bound: Bindings) -> Iterator[tuple[Sequence[Any], float]]:
        """Every combination, with its distance."""
        for values in _combinations(self._options(found, bound)):
            try:
                distance = self._distance(*values)
            except SPEC_CODE_RAISES:
                distance = self._zero_or_one(values)
            yield values, distance

    def _zero_or_one(self, values: Sequence[Any]) -> float:
        """The distance by the original condition, which need not raise where the rewritten one does."""
        if self._plain is None:
            return RAISED
        try:
            return float(self._plain(*values))
        except SPEC_CODE_RAISES:
            return RAISED

    def _options(self, found: Sequence[list[Tree]], bound: Bindings) -> list[Sequence[Any]]:
        """The values of each parameter of the condition, the Python variables in scope last."""
        options = [values_of(mention, trees) for mention, trees in zip(self._mentions, found, strict=True)]
        return [*options, *([bound[name]] for name in self._variables)]

    def _blame(self, values: Sequence[Any], found: Sequence[list[Tree]]) -> list[Tree]:
        blamed: list[Tree] = []
        for mention, value, trees in zip(self._mentions, values, found, strict=False):
            match mention.kind:
                case "each":
                    blamed += nodes_of(value)
                case "list":
                    for tree in trees:
                        blamed += nodes_of(tree)
                case "count":  # their number changes only with the nodes above them
                    blamed += [tree.parent for tree in trees if tree.parent is not None]
                case _:
                    assert_never(mention.kind)
        for at in self._looked_at:
            blamed += nodes_of(values[at])
        return blamed


def _combinations(options: Sequence[Sequence[Any]]) -> Iterable[Sequence[Any]]:
    """Every combination, or a sample from all over if there are too many."""
    count = prod(map(len, options))
    return product(*options) if count <= MAX_COMBINATIONS else _some_combinations(options, count)


def _some_combinations(options: Sequence[Sequence[Any]], count: int) -> Iterator[Sequence[Any]]:
    # An additive recurrence by the golden ratio: steps never line up with the lengths of the options. Without a common
    # divisor, no combination comes twice.
    step = count * 618 // 1000
    while gcd(step, count) != 1:
        step += 1
    at = 0
    for _ in range(MAX_COMBINATIONS):
        values, rest = [], at
        for choices in options:
            rest, position = divmod(rest, len(choices))
            values.append(choices[position])
        yield values
        at = (at + step) % count


# --- nodes to blame ---------------------------------------------------------------------------------------------------


def nodes_of(tree: Tree) -> list[Tree]:
    """The nodes to blame for `tree`: of a slice its parts and what it was cut from, of a leaf the node around it."""
    if isinstance(tree.node, Node) and not isinstance(tree, SliceTree):
        return [tree]
    found: list[Tree] = []
    stack = [tree]
    while stack:
        top = stack.pop()
        if isinstance(top, SliceTree):
            stack += [top.whole, *reversed(top.children)]
        elif isinstance(top.node, Node):
            found.append(top)
        elif top.parent is not None:
            stack.append(top.parent)
    return found


def scope(root: Tree, bound: Bindings) -> list[Tree]:
    """The nodes to blame if the condition looked at none: those that are bound, else the root."""
    return list(bound.values()) or [root]


def without_repetition(trees: Iterable[Tree]) -> tuple[Tree, ...]:
    """Each place once. By identity: equal trees in different places differ, and each place has one view."""
    return tuple({id(tree): tree for tree in trees}.values())
