"""How far one Python condition is from holding, or from failing, for every combination of what its mentions select."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import gcd, prod
from typing import Any

from palaver.constraints.blame import nodes_of, scope
from palaver.constraints.guided import Graded
from palaver.constraints.select import Bindings, Select
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.spec.ast import Expression
from palaver.trees.tree import Tree

# A condition that raises is farther than any that fails.
RAISED = 2.0
NOTHING_TO_CHOOSE = 1.0

# A leaf with many mentions of many nodes has more combinations than anyone can wait for.
_MOST_COMBINATIONS = 2000


class Raised(Exception):
    """What decides whether a formula fails has raised, and so its negation does not hold either."""


class GradedLeaf:
    """One Python condition. `holding` and `failing` say how far it is from that, and add the nodes to blame."""

    def __init__(
        self, expression: Expression, selects: Sequence[Select], variables: tuple[str, ...], condition: Graded
    ) -> None:
        used = {node.id for node in ast.walk(expression.python) if isinstance(node, ast.Name)}
        self._kinds = tuple(mention.kind for mention in expression.mentions)
        self._selects = selects
        self._variables = variables
        # Which values of a combination are looked at: not every variable in scope is used.
        self._looked_at = [at for at, name in enumerate(variables, len(selects)) if name in used]
        self._distance, self._plain = condition
        self.holding = self._each if self._kinds == ("each",) and not variables else self._sum
        self.failing = self._first

    def _each(self, root: Tree, bound: Bindings, blamed: list[Tree]) -> float:
        """The distance from holding for a condition with one mention, which most have."""
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
                distance = self._again((tree,))
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
        for values, distance in self._graded(found, bound):
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
        for values, distance in self._graded(found, bound):
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

    def _graded(self, found: Sequence[list[Tree]], bound: Bindings) -> Iterator[tuple[Sequence[Any], float]]:
        """Every combination, with its distance."""
        for values in _combinations(self._options(found, bound)):
            try:
                distance = self._distance(*values)
            except SPEC_CODE_RAISES:
                distance = self._again(values)
            yield values, distance

    def _again(self, values: Sequence[Any]) -> float:
        """The condition has raised as a distance. As it is, it need not."""
        if self._plain is None:
            return RAISED
        try:
            return float(self._plain(*values))
        except SPEC_CODE_RAISES:
            return RAISED

    def _options(self, found: Sequence[list[Tree]], bound: Bindings) -> list[Sequence[Any]]:
        """What each parameter of the condition may be, the Python variables in scope last."""
        options: list[Sequence[Any]] = []
        for kind, trees in zip(self._kinds, found, strict=True):
            match kind:
                case "each":
                    options.append(trees)
                case "list":
                    options.append([trees])
                case "count":
                    options.append([len(trees)])
        options += [[bound[name]] for name in self._variables]
        return options

    def _blame(self, values: Sequence[Any], found: Sequence[list[Tree]]) -> list[Tree]:
        blamed: list[Tree] = []
        for kind, value, trees in zip(self._kinds, values, found, strict=False):
            match kind:
                case "each":
                    blamed += nodes_of(value)
                case "list":
                    for tree in trees:
                        blamed += nodes_of(tree)
                case "count":  # there are more or fewer only if what is above them changes
                    blamed += [tree.parent for tree in trees if tree.parent is not None]
        for at in self._looked_at:
            blamed += nodes_of(values[at])
        return blamed


def _combinations(options: Sequence[Sequence[Any]]) -> Iterable[Sequence[Any]]:
    """Every combination, or some from all over if there are too many."""
    count = prod(map(len, options))
    return product(*options) if count <= _MOST_COMBINATIONS else _some_combinations(options, count)


def _some_combinations(options: Sequence[Sequence[Any]], count: int) -> Iterator[Sequence[Any]]:
    # By the golden ratio: the steps never line up with the lengths of the options. Without a common divisor, no
    # combination comes twice.
    step = count * 618 // 1000
    while gcd(step, count) != 1:
        step += 1
    at = 0
    for _ in range(_MOST_COMBINATIONS):
        values, rest = [], at
        for choices in options:
            rest, position = divmod(rest, len(choices))
            values.append(choices[position])
        yield values
        at = (at + step) % count
