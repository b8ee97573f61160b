"""Conditions by which two lists of nodes must become equal, such as `[*<echo>.<n>] == [*<add>.<n>]`.

Lists of nodes only grow, at their ends. Two that differ in a place which both have stay different, and the message with
which they began to differ has broken the condition. As long as one is the beginning of the other, the rest may come.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from palaver.constraints.checks import Failure
from palaver.constraints.node_selectors import Select, compile_path
from palaver.grammar.analysis import Analysis
from palaver.lean_dataclasses import dataclass, replace
from palaver.session.blame import MonitorState, Violation
from palaver.session.message_order import MessageOrder
from palaver.solving.clauses import Clause
from palaver.spec.ast import Expression, Mention
from palaver.spec.python_code import SPEC_CODE_RAISES, SpecFunction, compile_expression
from palaver.spec.traversal import last_symbol, step_symbols
from palaver.trees.node import OpenNode
from palaver.trees.tree import Tree

# The nodes of each mention, by its name.
Lists = Mapping[str, Sequence[Tree]]


@dataclass(frozen=True, eq=False)
class ListSide:
    """A side of a comparison: what it makes of its lists, and if that grows at its end when they do."""

    expression: Expression
    function: SpecFunction
    holders: tuple[frozenset[str], ...]  # for each mention, the messages that may contain nodes of its list
    grows: bool

    def value(self, lists: Lists) -> Any:
        return self.function(*(list(lists[mention.name]) for mention in self.expression.mentions))

    def is_ahead(self, ahead: Collection[str]) -> bool:
        """Return True if more nodes may come."""
        return any(not holders.isdisjoint(ahead) for holders in self.holders)


@dataclass(frozen=True, eq=False)
class ListComparison:
    """A clause that compares two lists: those of the session, or of each node of a state."""

    clause: int
    expression: Expression
    sides: tuple[ListSide, ListSide]
    state: str | None = None  # the symbol of the state, and the name that its node is bound to
    variable: str = ""
    selects: tuple[Select, ...] = ()  # of the mentions of both sides, in the state
    order: MessageOrder | None = None  # of the messages in the state

    @property
    def mentions(self) -> tuple[Mention, ...]:
        return tuple(mention for side in self.sides for mention in side.expression.mentions)

    def lists_now(self, state: MonitorState) -> Lists | None:
        """The lists of the session; None if they are not known."""
        nodes = state.checks.nodes(self.clause)
        names = [mention.name for mention in self.expression.mentions]
        return None if nodes is None or len(nodes) != len(names) else dict(zip(names, nodes, strict=True))

    def lists_of(self, failure: Failure) -> Lists:
        """The lists that the clause saw when it failed."""
        return {mention.name: value for mention, value in failure.values if isinstance(value, list)}

    def lists_in(self, node: Tree) -> Lists:
        """The lists of a node of the state."""
        bound = {self.variable: node}
        selected = zip(self.mentions, self.selects, strict=True)
        return {mention.name: select(node.get_root(), bound) for mention, select in selected}

    def may_go_on(self, symbol: str, ahead: Collection[str]) -> list[bool]:
        """For each side, whether more may come for it after a message, in this session or in this state."""
        following = ahead if self.order is None else [name for name in ahead if self.order.may_follow(name, symbol)]
        return [side.is_ahead(following) for side in self.sides]

    def have_diverged(self, lists: Lists, may_go_on: Sequence[bool]) -> bool:
        """Return True if the lists cannot become equal any more, where only some sides may go on."""
        if any(mention.name not in lists for mention in self.mentions):
            return False  # the code raised before it saw all
        if not all(side.grows or not changes for side, changes in zip(self.sides, may_go_on, strict=True)):
            return False
        left, right = self.sides
        try:
            values = left.value(lists), right.value(lists)
        except SPEC_CODE_RAISES:
            return False
        return _cannot_agree(*values, *may_go_on)


def _cannot_agree(left: Any, right: Any, left_grows: bool, right_grows: bool) -> bool:
    """Return True if two sequences differ, and still do if these have more items at their ends."""
    if type(left) is not type(right) or not isinstance(left, list | tuple | str | bytes):
        return False
    if not begins_with(left, right) and not begins_with(right, left):
        return True
    return (len(left) > len(right) and not right_grows) or (len(right) > len(left) and not left_grows)


def begins_with(sequence: Any, other: Any) -> bool:
    """Return True if a sequence begins with all items of another one of its type."""
    if type(sequence) is not type(other) or not isinstance(sequence, list | tuple | str | bytes):
        return False
    return bool(sequence[: len(other)] == other)


class ListComparisons:
    """All clauses of a spec that compare lists."""

    def __init__(self, clauses: Sequence[Clause], states: Container[str], incremental: Sequence[bool]) -> None:
        found = [
            each
            for at, clause in enumerate(clauses)
            if incremental[at] and (each := _comparison(at, clause, states)) is not None
        ]
        self.all = tuple(found)
        self._of_session = {each.clause: each for each in found if each.state is None}
        self._of_states = [each for each in found if each.state is not None]
        # The clauses that are undecided as long as the nodes are open that they speak of.
        self.of_states = frozenset(each.clause for each in self._of_states)

    def diverged(
        self, before: MonitorState, after: MonitorState, symbol: str, ahead: Collection[str], message: Tree | None
    ) -> Violation | None:
        """The clause whose lists cannot become equal after the latest message, of this symbol and in its place.

        Without a `message`, it is one that adds to no list.
        """
        for at, comparison in self._of_session.items():
            failure = after.checks.outcomes[at]
            may_go_on = comparison.may_go_on(symbol, ahead)
            if failure is None or not comparison.have_diverged(comparison.lists_of(failure), may_go_on):
                continue
            earlier = before.checks.outcomes[at]
            # A message after which nothing more can come for one list need not be what is wrong in the other.
            is_old = earlier is not None and comparison.have_diverged(comparison.lists_of(earlier), may_go_on)
            return Violation(at, failure, is_doubtful=is_old)
        if message is None:
            return None
        for comparison in self._of_states:
            for node in open_nodes(message, comparison.state):
                lists = comparison.lists_in(node)
                if comparison.have_diverged(lists, comparison.may_go_on(symbol, ahead)):
                    values = tuple((mention, list(lists[mention.name])) for mention in comparison.mentions)
                    failure = Failure(comparison.expression, values, {comparison.variable: node})
                    return Violation(comparison.clause, failure)
        return None

    def may_become_equal(self, clause: int, ahead: Collection[str]) -> bool:
        """Return True if more may come for the lists that a clause compares."""
        comparison = self._of_session.get(clause)
        return comparison is not None and any(side.grows and side.is_ahead(ahead) for side in comparison.sides)

    def is_full(self, violation: Violation, symbol: str, analysis: Analysis) -> bool:
        """Return True if a list is as long as it may be, so that no message of a symbol can be said that adds to it."""
        for comparison in (each for each in self.all if each.clause == violation.clause):
            lists = comparison.lists_of(violation.failure)
            for side, other in (comparison.sides, comparison.sides[::-1]):
                field = last_symbol(side.expression.mentions[0].path) if side.grows else ""
                if symbol not in side.holders[0] or not analysis.occurs_once_in(field, symbol):
                    continue
                with suppress(KeyError, *SPEC_CODE_RAISES):
                    own, wanted = side.value(lists), other.value(lists)
                    return isinstance(own, list | tuple) and len(own) > len(wanted)
        return False


def open_nodes(message: Tree, symbol: str | None) -> Iterator[Tree]:
    """The open nodes of a symbol around a message, the innermost first."""
    around = message.parent
    while around is not None:
        if isinstance(around.node, OpenNode) and around.node.symbol == symbol:
            yield around
        around = around.parent


def _comparison(at: int, clause: Clause, states: Container[str]) -> ListComparison | None:
    """The comparison of lists that a clause is; None if it is none."""
    expression = clause.expression
    if expression is None or clause.variables or len(clause.quantifiers) > 1:
        return None
    if not expression.mentions or any(mention.kind != "list" for mention in expression.mentions):
        return None
    if any(last_symbol(mention.path) in states for mention in expression.mentions):
        return None  # a node that is open changes
    match expression.python:
        case ast.Compare(left, [ast.Eq()], [right]):
            sides = _side(left, clause, expression), _side(right, clause, expression)
        case _:
            return None
    if not any(side.grows for side in sides):
        return None
    if not clause.quantifiers:
        return ListComparison(at, expression, sides)
    first = clause.quantifiers[0]
    bases = {mention.path.base for mention in expression.mentions}
    if not first.every or first.path.steps or first.path.base not in states or bases != {first.variable}:
        return None
    mentions = (mention for side in sides for mention in side.expression.mentions)
    selects = tuple(compile_path(mention.path, clause.analysis, clause.names, early=True) for mention in mentions)
    below = {first.path.base} | clause.analysis.below(first.path.base)
    bodies = {name: body for name, body in clause.analysis.grammar.bodies.items() if name in below}
    order = MessageOrder(bodies, clause.analysis)
    return ListComparison(at, expression, sides, first.path.base, first.variable, selects, order)


def _side(python: ast.expr, clause: Clause, expression: Expression) -> ListSide:
    used = {node.id for node in ast.walk(python) if isinstance(node, ast.Name)}
    mentions = tuple(mention for mention in expression.mentions if mention.name in used)
    # Expressions are told apart by their texts.
    own = replace(expression, text=f"{ast.unparse(python)} (one side)", mentions=mentions, python=python)
    function = compile_expression(own, clause.names)
    holders = tuple(_holders(mention, clause) for mention in mentions)
    names = {mention.name for mention in mentions}
    grows = len(mentions) == 1 and _GrowingCode(names, clause.names).is_sequence(python)
    return ListSide(own, function, holders, grows)


def _holders(mention: Mention, clause: Clause) -> frozenset[str]:
    """The messages that may contain nodes of a list: whatever its path goes through is in them, or around them."""
    analysis, messages = clause.analysis, [message.symbol for message in clause.analysis.messages]
    path = {mention.path.base, *step_symbols(mention.path)} & analysis.grammar.rules.keys()
    inside = {name: {name} | analysis.below_including_sources(name) for name in messages}
    wanted = {symbol for symbol in path if any(symbol in each for each in inside.values())}
    return frozenset(name for name in messages if wanted <= inside[name])


class _GrowingCode:
    """Finds out if the value of code grows at its end when a list does."""

    def __init__(self, lists: Container[str], names: Container[str]) -> None:
        self._lists = lists
        self._names = names

    def is_sequence(self, python: ast.expr) -> bool:
        """Return True for a list, a tuple or a text of one item for each node, or for some of them, in their order."""
        match python:
            case ast.List([ast.Starred(items)]) | ast.Tuple([ast.Starred(items)]):
                return self._is_items(items)
            case ast.Call(ast.Name("list" | "tuple" as name), [items], []):
                return name not in self._names and self._is_items(items)
            case ast.Call(ast.Attribute(ast.Constant(str() | bytes()), "join"), [items], []):
                return self._is_items(items)
            case ast.Name() | ast.ListComp():
                return self._is_items(python)
            case _:
                return False

    def _is_items(self, python: ast.expr) -> bool:
        match python:
            case ast.Name(name):
                return name in self._lists
            case ast.ListComp(item, [ast.comprehension(ast.Name(), items, conditions, 0)]) | ast.GeneratorExp(
                item, [ast.comprehension(ast.Name(), items, conditions, 0)]
            ):
                return self._is_items(items) and not any(map(self._sees_lists, (item, *conditions)))
            case ast.Call(ast.Name("map" | "filter" as name), [function, items], []):
                return name not in self._names and self._is_items(items) and not self._sees_lists(function)
            case _:
                return False

    def _sees_lists(self, python: ast.expr) -> bool:
        return any(isinstance(node, ast.Name) and node.id in self._lists for node in ast.walk(python))
