"""Trees that satisfy constraints by construction: equations are solved, alternatives are chosen and made true.

How it works
============

`derive` goes through the equations of a plan in their order. For each instance in the tree (each binding of the
quantifiers, each combination of nodes) both sides are evaluated; where they do not agree, one side is written: the node
that its view looks at is exchanged for one that has the wanted value. If that cannot be, the other side is written.

`repair` makes a failing clause true where it is no equation: of an `or` one alternative, of an `exists` one node.

Trees never change, so each write gives a new tree. Nodes that later instances need are found again by their paths.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from palaver.chance import Chance
from palaver.constraints.check import Value
from palaver.constraints.select import Bindings
from palaver.generation.makers import Discarded
from palaver.grammar.bounds import last_symbol
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.solving.assign import Assigner
from palaver.solving.clauses import Clause
from palaver.solving.domains import HOLDS, inverse
from palaver.solving.placing import Placing
from palaver.solving.plan import Direction, Equation, Plan, directions_of
from palaver.solving.views import Kind, Reader
from palaver.spec.ast import And, Expression, Formula, Index, Leaf, Not, Or, Quantified
from palaver.trees.paths import Path
from palaver.trees.tree import Tree

# More instances of one equation in one tree are not looked at.
_MOST_INSTANCES = 10_000

# How often a node is drawn that has to differ from others.
_TRIES = 20


@dataclass(frozen=True)
class Constructor:
    """Solves and repairs in trees of one grammar. `is_frozen` tells what must not be touched."""

    plan: Plan
    assigner: Assigner
    placing: Placing
    reader: Reader
    chance: Chance
    is_frozen: Callable[[Path], bool] | None = None
    # Conditions inside of clauses, compiled when they first need a repair.
    _parts: dict[tuple[Expression, tuple[str, ...]], tuple[Clause, list[Direction]]] = field(
        default_factory=dict, repr=False
    )

    def derive(self, root: Tree) -> Tree:
        """The tree after every equation was solved once, in order."""
        for equation in self.plan.equations:
            root = self._solve(equation, root)
        return root

    def _solve(self, equation: Equation, root: Tree) -> Tree:
        clause = equation.clause
        instances = list(islice(_instances(clause, root), _MOST_INSTANCES))
        if equation.is_self_dependent:
            instances.reverse()  # what is inside comes after what is around it, and has to be right before
        before = root
        for bound, values in instances:
            if root is not before and (equation.is_self_dependent or self.placing.dependence.fields):
                try:
                    values = tuple(_found_again(value, root) for value in values)
                    bound = {name: root.at(tree.path) for name, tree in bound.items()}
                except IndexError:
                    break  # the tree has another shape now; there is another round
            root = self._written(equation.directions, clause, bound, values, root) or root
        return root

    def _written(
        self, directions: Sequence[Direction], clause: Clause, bound: Bindings, values: Sequence[Value], root: Tree
    ) -> Tree | None:
        """The tree in which an instance of an equation holds; None if it does already, or we cannot help it."""
        for direction in directions:
            relation = direction.relation
            try:
                wanted = direction.other(*values)
            except SPEC_CODE_RAISES:  # the check will report it, if it does not go away
                continue
            if relation.operator in HOLDS and _holds(direction, values, wanted):
                return None
            target = values[direction.position]
            try:
                written = self._write(direction, target, wanted, clause, bound, root)
            except (Discarded, IndexError):
                continue
            if written is not None:
                return written
        return None

    def _write(
        self, direction: Direction, target: Value, wanted: Any, clause: Clause, bound: Bindings, root: Tree
    ) -> Tree | None:
        """The tree with `wanted` written through the direction's view."""
        relation = direction.relation
        view = relation.view
        if view.kind is Kind.COUNT:
            return self._counted(direction, wanted, clause, bound, root) if relation.operator == "==" else None
        if view.kind is Kind.LIST:
            return self._listed(direction, target, wanted, root) if relation.operator == "==" else None
        if not isinstance(target, Tree) or not self.placing.can_write(target, self.is_frozen):
            return None
        node = self.assigner.assigned(target, view, relation.operator, wanted, self.chance)
        return None if node is None else self.placing.put(root, target, node)

    def _listed(self, direction: Direction, targets: Value, wanted: Any, root: Tree) -> Tree | None:
        """Each of several nodes gets the value that is at its place in a list."""
        element = direction.relation.view.element
        if not isinstance(wanted, list | tuple) or not isinstance(targets, list) or len(wanted) != len(targets):
            return None
        assert element is not None, "a list is a list of something"
        for target, value in zip(targets, wanted, strict=True):
            node = None
            if self.placing.can_write(target, self.is_frozen):
                node = self.assigner.assigned(target, element, "==", value, self.chance)
            if node is None:
                return None
            root = self.placing.put(root, target, node)
        return root

    def _counted(self, direction: Direction, wanted: Any, clause: Clause, bound: Bindings, root: Tree) -> Tree | None:
        """What holds the nodes is made anew, with as many of them as wanted."""
        path = clause.path_of(direction.relation.view.name)
        amount = inverse(direction.relation.view, wanted)
        if amount is None or any(isinstance(step, Index) for step in path.steps):
            return None
        holder = bound.get(path.base, root)
        if path.base not in bound and len(path.steps) == 1:
            holders = list(root.find_subtrees(path.base))
            holder = holders[0] if len(holders) == 1 else root
        if not self.placing.can_write(holder, self.is_frozen):
            return None
        node = self.assigner.counted(holder, last_symbol(path), amount, self.chance)
        return None if node is None else self.placing.put(root, holder, node)

    # --- what is no equation ------------------------------------------------------------------------------------------

    def repair(self, clause: Clause, root: Tree) -> Tree:
        """The tree after each failing instance of a clause was made true, as far as we know how."""
        paths = [{name: tree.path for name, tree in bound.items()} for bound, _ in clause.failures(root)]
        for each in paths:
            try:
                bound = {name: root.at(path) for name, path in each.items()}
            except IndexError:
                break  # the tree has another shape now
            root = self._made_true(clause, clause.body, bound, root) or root
        return root

    def _made_true(self, clause: Clause, formula: Formula, bound: Bindings, root: Tree) -> Tree | None:
        match formula:
            case Leaf(expression):
                return self._leaf_made_true(clause, expression, bound, root)
            case And(parts):
                for part in parts:
                    root = self._made_true(clause, part, _again(bound, root), root) or root
                return root
            case Or(parts):
                for at in _shuffled(len(parts), self.chance):
                    if (made := self._made_true(clause, parts[at], bound, root)) is not None:
                        return made
            case Quantified(every, variable, path, body):
                found = clause.select(path, root, bound)
                if not every:
                    found = [self.chance.pick(found)] if found else []
                if not found:
                    return None
                paths = [tree.path for tree in found]
                for each in paths:
                    inner = {**_again(bound, root), variable: root.at(each)}
                    root = self._made_true(clause, body, inner, root) or root
                return root
            case Not():
                pass
        return None

    def _leaf_made_true(self, clause: Clause, expression: Expression, bound: Bindings, root: Tree) -> Tree | None:
        variables = tuple(name for name in bound if not name.startswith("<"))
        key = (expression, variables)
        if key not in self._parts:
            part = clause.part(Leaf(expression), variables)
            self._parts[key] = (part, directions_of(part, self.reader))
        part, directions = self._parts[key]
        made: Tree | None = None
        for values in part.leaf.combinations(root, bound):
            if made is not None:
                break  # one at a time: the other combinations were looked up in the tree as it was
            if _is_all_different(expression):
                return self._made_different(values, root)
            order = [directions[at] for at in _shuffled(len(directions), self.chance)]
            made = self._written(order, part, bound, values, root)
        return made

    def _made_different(self, values: Sequence[Value], root: Tree) -> Tree | None:
        """Nodes that repeat an earlier one are drawn anew."""
        seen: set[str] = set()
        for tree in next((value for value in values if isinstance(value, list)), []):
            text = str(tree)
            for _ in range(_TRIES if text in seen else 0):
                if not self.placing.can_write(tree, self.is_frozen):
                    return None
                root = self.placing.renewed(root, root.at(tree.path))
                text = str(root.at(tree.path))
                if text not in seen:
                    break
            seen.add(text)
        return root


def _instances(clause: Clause, root: Tree) -> Iterator[tuple[Bindings, tuple[Value, ...]]]:
    leaf = clause.leaf
    for bound in clause.bindings(root):
        try:
            for values in leaf.combinations(root, bound):
                yield bound, values
        except SPEC_CODE_RAISES:  # a computed index
            continue


def _holds(direction: Direction, values: Sequence[Value], wanted: Any) -> bool:
    try:
        return bool(HOLDS[direction.relation.operator](direction.side(*values), wanted))
    except SPEC_CODE_RAISES:
        return False


def _found_again(value: Value, root: Tree) -> Value:
    if isinstance(value, Tree):
        return root.at(value.path)
    return [root.at(tree.path) for tree in value] if isinstance(value, list) else value


def _again(bound: Bindings, root: Tree) -> dict[str, Tree]:
    return {name: root.at(tree.path) for name, tree in bound.items()}


def _shuffled(count: int, chance: Chance) -> list[int]:
    left = list(range(count))
    return [left.pop(chance.below(len(left))) for _ in range(count)]


def _is_all_different(expression: Expression) -> bool:
    """Whether this is `len(set(… *P …)) == len(*P)`, either way round."""
    python, mentions = expression.python, expression.mentions
    if not isinstance(python, ast.Compare) or len(mentions) != 2 or mentions[0].path != mentions[1].path:
        return False
    if not isinstance(python.ops[0], ast.Eq) or any(mention.kind == "each" for mention in mentions):
        return False
    return any(
        isinstance(node, ast.SetComp)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "set")
        for node in ast.walk(python)
    )
