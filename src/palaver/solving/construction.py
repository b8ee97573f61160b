"""Construction by local propagation (Sussman & Steele 1980): equations are solved, alternatives chosen and made true.

How it works
============

`derive` goes through the equations of a plan in their order. For each instance in the tree (each binding of the
quantifiers, each combination of nodes) both sides are evaluated; where they differ, one side is written: the node of
its view is exchanged for one that has the required value. If that is impossible, the other side is written.

A count is written by regenerating the node around the counted ones, with more of them or fewer, and all else in it as
it was. That is the innermost node on the path that may be written: in a session, a part of our own message.

`repair` makes a failing clause true that is no equation: of an `or` one alternative, of an `exists` one node.

Trees never change. The writes of equations are collected and put into the tree at once; an instance that reads what
another has written sees the new node. Where generators and computed repetitions must be made to fit, each write gives a
new tree instead, and the nodes that later instances need are found again by their paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import islice
from typing import Any, TypeAlias, assert_never

from palaver.constraints.checks import Value
from palaver.constraints.node_selectors import Bindings
from palaver.errors import ConversionError
from palaver.generation.makers import Discarded
from palaver.lean_dataclasses import dataclass, replace
from palaver.random_source import RandomSource
from palaver.solving.assignment import Assigner, plain
from palaver.solving.clauses import Clause
from palaver.solving.invertible_views import OF_SEVERAL_NODES, View, ViewKind, ViewReader
from palaver.solving.placement import Edit, Edits, Placing, node_of
from palaver.solving.solving_limits import MAX_DISTINCT_DRAWS, MAX_GENERATOR_RUNS, MAX_INSTANCES
from palaver.solving.solving_plan import Direction, Equation, SolvingPlan, directions_of
from palaver.solving.view_values import HOLDS, inverse
from palaver.spec.ast import And, Child, Expression, Formula, Index, Not, Or, PythonCondition, Quantified, SelectorStep
from palaver.spec.ast import Selector as AstPath
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.spec.traversal import last_symbol
from palaver.trees.node import Node, TreePath
from palaver.trees.tree import Tree

# The bindings of the quantifiers, and the values of a condition's mentions.
_Instance: TypeAlias = tuple[Bindings, tuple[Value, ...]]


@dataclass(frozen=True)
class Constructor:
    """Solves equations and repairs clauses in trees of one grammar. Frozen nodes are not changed."""

    plan: SolvingPlan
    assigner: Assigner
    placing: Placing
    reader: ViewReader
    chance: RandomSource
    is_frozen: Callable[[TreePath], bool] | None = None
    _repairable: dict[Clause, bool] = field(default_factory=dict, repr=False)
    _inside: dict[tuple[Equation, str], bool] = field(default_factory=dict, repr=False)
    # Conditions inside of clauses, compiled when they first need a repair.
    _parts: dict[tuple[Expression, tuple[str, ...]], tuple[Clause, list[Direction]]] = field(
        default_factory=dict, repr=False
    )

    def derive(self, root: Tree) -> Tree:
        """The tree after each equation was solved once, in order."""
        if not self.placing.is_simple:
            for equation in self.plan.equations:
                root = self._solve_in_turn(equation, root)
            return root
        edits = Edits(root)
        for equation in self.plan.equations:
            if edits and (equation.regenerates or any(self._looks_into(equation, symbol) for symbol in edits.symbols)):
                root = edits.applied()
                edits = Edits(root)
            self._solve(equation, root, edits)
        return edits.applied()

    def _looks_into(self, equation: Equation, symbol: str) -> bool:
        """True if an equation looks inside of nodes of a symbol, and so must see the new ones."""
        key = (equation, symbol)
        if key not in self._inside:
            clause = equation.clause
            self._inside[key] = not clause.sought.isdisjoint(clause.analysis.below(symbol))
        return self._inside[key]

    def _solve(self, equation: Equation, root: Tree, edits: Edits) -> None:
        for bound, values in _instances(equation, root):
            if edits:
                values = tuple([_updated(value, edits.tree) for value in values])
            self._written(equation.directions, equation.clause, bound, values, root, edits.add_all)

    def _solve_in_turn(self, equation: Equation, root: Tree) -> Tree:
        """The tree after each instance was solved in the tree that the last one left, as a write may change others."""
        before = root
        for bound, values in _instances(equation, root):
            if root is not before and (equation.is_self_dependent or self.placing.dependence.fields):
                try:
                    values = tuple([_updated(value, partial(_same_place, root)) for value in values])
                    bound = _rebound(bound, root)
                except IndexError:
                    break  # the tree has another shape now; there is another round
            written = self._written(equation.directions, equation.clause, bound, values, root, self._putter(root))
            root = root if written is None else written
        return root

    def _putter(self, root: Tree) -> Callable[[Sequence[Edit]], Tree]:
        def put(writes: Sequence[Edit]) -> Tree:
            tree = root
            for place, node in writes:
                tree = self.placing.put(tree, place, node)
            return tree

        return put

    def _written(
        self,
        directions: Sequence[Direction],
        clause: Clause,
        bound: Bindings,
        values: Sequence[Value],
        root: Tree,
        apply: Callable[[Sequence[Edit]], Tree],
    ) -> Tree | None:
        """The tree that `apply` makes of writes that let an instance of an equation hold.

        None if it holds already, or no such writes are known.
        """
        for direction in directions:
            operator = direction.relation.operator
            try:
                wanted = direction.other(*values)
            except SPEC_CODE_RAISES:  # the check will report it, if it does not go away
                continue
            if operator in HOLDS and _holds(direction, values, wanted):
                return None
            try:
                writes = self._writes(direction, values, wanted, clause, bound, root)
                if writes is not None:
                    return apply(writes)
            except (Discarded, IndexError, ConversionError):
                continue
        return None

    def _writes(
        self, direction: Direction, values: Sequence[Value], wanted: Any, clause: Clause, bound: Bindings, root: Tree
    ) -> Sequence[Edit] | None:
        """The writes that give the direction's view the value `wanted`."""
        relation, target = direction.relation, values[direction.position]
        view = relation.view
        if view.kind in OF_SEVERAL_NODES:
            if relation.operator != "==":
                return None
            if view.kind is ViewKind.COUNT:
                return self._counted(direction, wanted, clause, bound, root)
            if view.kind is ViewKind.LIST:
                return self._listed(view.element, target, wanted)
            if view.kind is ViewKind.SUM:
                return self._summed(direction, target, wanted)
            return self._varied(direction, target, wanted, root)
        if not isinstance(target, Tree) or not self._can_write(target):
            return None
        node = None
        is_generated = self.placing.generated and self._is_generated(target)
        if is_generated and not (_is_whole(view) and relation.operator == "=="):
            # What a generator makes is not rewritten, unless a condition says what the whole value is to be.
            node = self._generated_anew(direction.position, values, target, clause, root)
            if node is None and not (_is_whole(view) and relation.operator == "in"):
                return None
        node = node or self.assigner.assigned(target, view, relation.operator, wanted, self.chance)
        return None if node is None else ((target, node),)

    def _generated_anew(
        self, position: int, values: Sequence[Value], target: Tree, clause: Clause, root: Tree
    ) -> Node | None:
        """A node that the generator of `target` makes, and that lets an instance hold; None if none comes soon."""
        elsewhere, changed = root.size() - target.size(), [*values]
        for _ in range(MAX_GENERATOR_RUNS):
            node = self.placing.fresh(target, elsewhere)
            changed[position] = Tree(node)
            try:
                if clause.leaf.function(*changed):
                    return node
            except SPEC_CODE_RAISES:
                continue
        return None

    def _summed(self, direction: Direction, targets: Value, wanted: Any) -> Sequence[Edit] | None:
        """Writes that share out the difference to a wanted sum among the numbers."""
        view = direction.relation.view
        total = inverse(view, wanted)
        if total is None or not isinstance(targets, list) or not targets or view.element is None:
            return None
        limits = [self.assigner.numbers(target, view.element) for target in targets]
        try:
            numbers = shared_out(total, [int(target) for target in targets], limits, self.chance)
        except ConversionError:
            return None
        return None if numbers is None else self._listed(view.element, targets, numbers)

    def _listed(self, element: View | None, targets: Value, wanted: Any) -> Sequence[Edit] | None:
        """Writes that give each of several nodes the value at its place in a list."""
        if not isinstance(wanted, list | tuple) or not isinstance(targets, list) or len(wanted) != len(targets):
            return None
        assert element is not None, "a list is a list of something"
        writes: list[Edit] = []
        for target, value in zip(targets, wanted, strict=True):
            node = None
            if self._can_write(target):
                node = self.assigner.assigned(target, element, "==", value, self.chance)
            if node is None:
                return None
            writes.append((target, node))
        return writes

    def _varied(self, direction: Direction, targets: Value, wanted: Any, root: Tree) -> Sequence[Edit] | None:
        """Writes that exchange some of several nodes, so that as many are different as wanted."""
        amount = inverse(direction.relation.view, wanted)
        if amount is None or not isinstance(targets, list) or not 0 < amount <= len(targets):
            return None
        groups: dict[Any, list[Tree]] = {}
        # Nodes that cannot be written come first, so that the others change.
        for tree in sorted(targets, key=self._can_write):
            groups.setdefault(plain(tree), []).append(tree)
        if len(groups) > amount:
            return self._made_alike(list(groups.values()), amount)
        return self._made_different(groups, amount, root)

    def _can_write(self, tree: Tree) -> bool:
        return self.placing.can_write(tree, self.is_frozen)

    def _is_generated(self, tree: Tree) -> bool:
        return isinstance(tree.node, Node) and tree.node.symbol in self.placing.generated

    def _can_rebuild(self, tree: Tree) -> bool:
        """True if other parts may be put into a node: it is free, and not what a generator made."""
        return self._can_write(tree) and not self._is_generated(tree)

    def _made_alike(self, groups: Sequence[list[Tree]], amount: int) -> Sequence[Edit] | None:
        """Writes that make all nodes like those of the first groups."""
        writes: list[Edit] = []
        for tree in [tree for group in groups[amount:] for tree in group]:
            (model, *_) = groups[self.chance.below(amount)]
            if not self._can_write(tree) or tree.symbol != model.symbol:
                return None
            writes.append((tree, node_of(model)))
        return writes

    def _made_different(self, groups: Mapping[Any, list[Tree]], amount: int, root: Tree) -> Sequence[Edit] | None:
        """Writes that replace nodes that repeat others, until there are enough different ones."""
        seen, elsewhere = set(groups), root.size()
        writes: list[Edit] = []
        for tree in filter(self._can_write, [tree for group in groups.values() for tree in group[1:]]):
            if len(seen) == amount:
                break
            fresh = (self.placing.fresh(tree, elsewhere) for _ in range(MAX_DISTINCT_DRAWS))
            node = next((node for node in fresh if plain(Tree(node)) not in seen), None)
            if node is None:
                return None  # there seem to be no others
            seen.add(plain(Tree(node)))
            writes.append((tree, node))
        return writes if len(seen) == amount else None

    def _counted(
        self, direction: Direction, wanted: Any, clause: Clause, bound: Bindings, root: Tree
    ) -> Sequence[Edit] | None:
        """The write that regenerates the node around the counted ones, with as many of them as wanted."""
        path = clause.path_of(direction.relation.view.name)
        amount = inverse(direction.relation.view, wanted)
        if amount is None:
            return None
        more = amount - len(clause.select(path, root, bound))
        for holder in self._holders(path, clause, bound, root):
            node = self.assigner.counted(holder, last_symbol(path), more, self.chance)
            if node is not None:
                return ((holder, node),)
        return None

    def _holders(self, path: AstPath, clause: Clause, bound: Bindings, root: Tree) -> Iterator[Tree]:
        """The nodes that can be regenerated so that a path selects more nodes or fewer: the innermost first.

        If the path comes through several nodes side by side, the node around them all is better, if it can be written.
        """
        several: list[Tree] = []
        for outer, step in _ways_in(path, clause, bound, root):
            if isinstance(step, Child):
                free = list(filter(self._can_rebuild, outer))
            else:
                free = [tree for each in outer for tree in self._outermost_free(each, last_symbol(path), clause)]
            if len(free) == 1:
                yield free[0]
            several += free if len(free) > 1 else ()
        if several:
            yield self.chance.pick(several)

    def _outermost_free(self, tree: Tree, symbol: str, clause: Clause) -> list[Tree]:
        """The tree, or the nodes inside of it, that can be rebuilt and can contain a symbol."""
        found: list[Tree] = []
        todo = [tree]
        while todo:
            current = todo.pop()
            if not isinstance(current.node, Node) or symbol not in clause.analysis.below(current.node.symbol):
                continue
            if self._can_rebuild(current):
                found.append(current)
            else:
                todo += reversed(current.children)
        return found

    def can_repair(self, clause: Clause) -> bool:
        """True if there may be a part of a clause that can be made true by writing."""
        if clause not in self._repairable:
            expression = clause.expression
            self._repairable[clause] = expression is None or bool(directions_of(clause, self.reader))
        return self._repairable[clause]

    def repair(self, clause: Clause, root: Tree) -> Tree:
        """The tree after each failing instance of a clause was made true, as far as possible."""
        paths = [{name: tree.path for name, tree in bound.items()} for bound, _ in clause.failures(root)]
        for each in paths:
            try:
                bound = {name: root.at(path) for name, path in each.items()}
            except IndexError:
                break  # the tree has another shape now
            root = self._with(clause, clause.body, bound, root)
        return root

    def _with(self, clause: Clause, formula: Formula, bound: Bindings, root: Tree) -> Tree:
        made = self._made_true(clause, formula, bound, root)
        return root if made is None else made

    def _made_true(self, clause: Clause, formula: Formula, bound: Bindings, root: Tree) -> Tree | None:
        match formula:
            case PythonCondition(expression):
                return self._leaf_made_true(clause, expression, bound, root)
            case And(parts):
                for part in parts:
                    root = self._with(clause, part, _rebound(bound, root), root)
                return root
            case Or(parts):
                for at in _shuffled(len(parts), self.chance):
                    if (made := self._made_true(clause, parts[at], bound, root)) is not None:
                        return made
                return None
            case Quantified(every, variable, path, body):
                found = clause.select(path, root, bound)
                if not every:
                    found = [self.chance.pick(found)] if found else []
                if not found:
                    return None
                paths = [tree.path for tree in found]
                for each in paths:
                    inner = {**_rebound(bound, root), variable: root.at(each)}
                    root = self._with(clause, body, inner, root)
                return root
            case Not():
                return None
            case _:
                assert_never(formula)

    def _leaf_made_true(self, clause: Clause, expression: Expression, bound: Bindings, root: Tree) -> Tree | None:
        variables = tuple(name for name in bound if not name.startswith("<"))
        key = (expression, variables)
        if key not in self._parts:
            part = replace(clause, body=PythonCondition(expression), variables=variables)
            self._parts[key] = (part, directions_of(part, self.reader))
        part, directions = self._parts[key]
        made: Tree | None = None
        for values in part.leaf.combinations(root, bound):
            if made is not None:
                break  # one at a time: the other combinations are of the old tree
            order = [directions[at] for at in _shuffled(len(directions), self.chance)]
            made = self._written(order, part, bound, values, root, self._putter(root))
        return made


def _is_whole(view: View) -> bool:
    """True if a value of the view decides the whole value of the node, and not only a part or a property of it."""
    return view.kind is ViewKind.VALUE or (view.kind is ViewKind.NUMBER and not view.modulus)


def _ways_in(
    path: AstPath, clause: Clause, bound: Bindings, root: Tree
) -> Iterator[tuple[Sequence[Tree], SelectorStep | None]]:
    """The nodes that a path comes through, from the inside, with the step that follows; None leads anywhere.

    An index selects among the present children, so nodes around it cannot be regenerated.
    """
    for end in range(len(path.steps) - 1, -1, -1):
        if isinstance(path.steps[end], Index):
            return
        yield clause.select(replace(path, steps=path.steps[:end]), root, bound), path.steps[end]
    if path.base not in bound:
        yield [root], None


_UNBOUND: Sequence[Bindings] = ({},)


def _instances(equation: Equation, root: Tree) -> list[_Instance]:
    """The instances of an equation, in the order in which to solve them."""
    clause = equation.clause
    found: list[_Instance] = []
    for bound in clause.bindings(root) if clause.quantifiers else _UNBOUND:
        try:
            combinations = clause.leaf.combinations(root, bound)
        except SPEC_CODE_RAISES:  # a computed index
            continue
        found += [(bound, values) for values in islice(combinations, MAX_INSTANCES - len(found))]
        if len(found) >= MAX_INSTANCES:
            MAX_INSTANCES.reached()
            break
    if equation.is_self_dependent:
        found.reverse()  # inner nodes come after those around them, and have to be right before
    return found


def _holds(direction: Direction, values: Sequence[Value], wanted: Any) -> bool:
    try:
        return bool(HOLDS[direction.relation.operator](direction.side(*values), wanted))
    except SPEC_CODE_RAISES:
        return False


def _updated(value: Value, update: Callable[[Tree], Tree]) -> Value:
    if isinstance(value, Tree):
        return update(value)
    return [update(tree) for tree in value] if isinstance(value, list) else value


def _rebound(bound: Bindings, root: Tree) -> dict[str, Tree]:
    return {name: _same_place(root, tree) for name, tree in bound.items()}


def _same_place(root: Tree, tree: Tree) -> Tree:
    return root.at(tree.path)


def shared_out(
    total: int, numbers: Sequence[int], limits: Sequence[tuple[int, int | None]], chance: RandomSource
) -> list[int] | None:
    """Numbers within their bounds with this sum, each changed by about as much; None if none are found."""
    found = list(numbers)
    open_ones = list(range(len(found)))
    while open_ones and (missing := total - sum(found)):
        share, rest = divmod(missing, len(open_ones))
        first = chance.below(len(open_ones))
        kept = []
        for place, at in enumerate(open_ones[first:] + open_ones[:first]):
            low, high = limits[at]
            changed = found[at] + share + (place < rest)
            found[at] = max(low, changed if high is None else min(high, changed))
            if found[at] == changed:
                kept.append(at)
        if len(kept) == len(open_ones):
            break
        open_ones = kept
    return found if sum(found) == total else None


def _shuffled(count: int, chance: RandomSource) -> list[int]:
    left = list(range(count))
    return [left.pop(chance.below(len(left))) for _ in range(count)]
