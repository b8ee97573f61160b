"""Dotted rules of a dialogue grammar and routes to the next message; left corners (Rosenkrantz and Lewis 1970).

A *dotted rule* is the rest of a rule, a linked list of terms. Moving the dot replaces a term by what it consists of:
`<x>{2,5}` becomes `<x>`, then `<x>{1,4}`, as in partial derivatives of regular expressions (Antimirov 1996). So a
counter is just another term, and an endless loop comes back to the same dotted rule.

A *route* leads from a dotted rule to the next message (`dotted_rules`): the rules entered on the way go onto a
stack, and the tree actions on the way are noted. No rule entered on a route can end on it: it would have no message,
and for that there is one empty tree per symbol. The same holds for the rounds of a loop. A dotted rule in which no
message can come is not put on the stack; its node is closed together with the one that was entered last.

Left recursion. Symbols that can begin with each other form a *recursive group*. When one of them is wanted, its tree
grows from the bottom: the route enters the rule of any symbol of the group, as far as it does not begin with another
one, above a `LeftCornerTerm(goal, symbol)` on the stack. When the symbol ends, that term goes on with a rule that can
begin with the symbol, or ends itself if the symbol is the goal.

Computed repetition. The bounds of `{int(<n>)}` are known when the loop is reached. Routes on which that may happen
before the next message depend on the fields so far, and so may the left corners. There the fields count as they are
when the tree begins to grow, and its `LeftCornerTable` stays with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import assert_never

from palaver.matching.bound_paths import BoundPaths
from palaver.matching.dialogue_grammar import (
    ComputedLoopTerm,
    DialogueGrammar,
    DialogueTerm,
    LeftCornerTerm,
    LoopBounds,
    LoopTerm,
    MessageType,
    PermutationTerm,
    RecursiveGroup,
    RuleEndTerm,
    SequenceTerm,
    computed_loops,
    empty_trees,
    left_recursive_groups,
    nothing,
    term,
    terms_of,
)
from palaver.matching.dotted_rules import (
    ClosureResult,
    DottedRule,
    LeftCorner,
    LeftCornerTable,
    PredictionClosure,
    Route,
    adding,
)
from palaver.matching.grammar_tables import BoundEvaluator
from palaver.matching.open_tree import AddAction, CloseAction, OpenAction, TreeAction, WrapAction
from palaver.spec.ast import Bound
from palaver.spec.python_code import SPEC_CODE_RAISES, describe_error
from palaver.trees.node import Node, NonTerminal, Part

_CLOSE = CloseAction()


class LoopFields:
    """The fields of computed loops in one history, and what follows from them."""

    def __init__(self, positions: DialogueRules, nodes: tuple[Node | None, ...]) -> None:
        self._positions = positions
        self.nodes = nodes  # by the numbers of the paths of bounds
        self.crashes: list[str] = []  # errors of bounds
        self.found: dict[DottedRule, ClosureResult] = {}
        self.growing: dict[RecursiveGroup, LeftCornerTable] = {}
        self._rounds: dict[ComputedLoopTerm, LoopBounds | None] = {}
        self._empty: dict[NonTerminal, Node] | None = None

    @property
    def empty(self) -> dict[NonTerminal, Node]:
        """The symbols that can be empty now."""
        if self._empty is None:
            self._empty = empty_trees(self._positions.perhaps_empty, self.rounds, self._positions.empty)
        return self._empty

    def rounds(self, loop: ComputedLoopTerm) -> LoopBounds | None:
        """The bounds of a loop that is reached now; None if it cannot be passed."""
        if loop not in self._rounds:
            self._rounds[loop] = self._evaluate(loop)
        return self._rounds[loop]

    def _evaluate(self, loop: ComputedLoopTerm) -> LoopBounds | None:
        least = self._value(loop.least)
        if least is None or loop.most is None:
            return None if least is None else (least, None)
        most = least if loop.most == loop.least else self._value(loop.most)
        return None if most is None or least > most else (least, most)

    def _value(self, bound: Bound) -> int | None:
        if isinstance(bound, int):
            return bound
        path = self._positions.bound_paths.track(bound)
        node = None if path is None else self.nodes[path]
        if path is not None and node is None:
            return None
        try:
            return max(0, self._positions.bound(bound, node))
        except SPEC_CODE_RAISES as error:
            self.crashes.append(f"the bound {{{bound.text}}} {describe_error(error)}")
            return None


class AnyFields(LoopFields):
    """Fields with which a computed loop has any number of rounds, to ask what is possible."""

    def __init__(self, positions: DialogueRules) -> None:
        super().__init__(positions, (None,) * len(positions.bound_paths.paths))

    @property
    def empty(self) -> dict[NonTerminal, Node]:
        return self._positions.empty_perhaps

    def rounds(self, loop: ComputedLoopTerm) -> LoopBounds | None:
        return 0, None


class DialogueRules:
    """All dotted rules of a dialogue grammar, made when they are asked for. Equal ones are one object."""

    def __init__(self, dialogue: DialogueGrammar, bound: BoundEvaluator, distinguished: Collection[str]) -> None:
        self.bound = bound
        self.rules = terms_of(dialogue)
        self.bound_paths = BoundPaths()
        loops = [loop for item in self.rules.values() for loop in computed_loops(item)]
        self.has_computed_loops = bool(loops)
        for loop in loops:
            for limit in (loop.least, loop.most):
                if limit is not None and not isinstance(limit, int):
                    self.bound_paths.track(limit)
        # Histories that are merged must agree in where a bound looks for its field.
        looked_at = {name for path in self.bound_paths.paths for name in path.names}
        self.distinguished = frozenset(distinguished) | frozenset(name for name in self.rules if name in looked_at)
        self.empty = empty_trees(self.rules, lambda _: None)
        self.empty_perhaps = empty_trees(self.rules, lambda _: (0, None)) if loops else self.empty
        # The rules that can be empty if the fields are right.
        self.perhaps_empty = {name: self.rules[name] for name in self.empty_perhaps if name not in self.empty}
        self.circles = left_recursive_groups(self.rules, self.empty_perhaps)
        self._positions: dict[tuple[DialogueTerm, DottedRule], DottedRule] = {}
        self._counters: dict[tuple[DialogueTerm, int, int | None], LoopTerm] = {}
        self._permutations: dict[tuple[DialogueTerm, ...], PermutationTerm] = {}
        self._grown: dict[tuple[LeftCornerTable, NonTerminal, NonTerminal], DottedRule] = {}
        self._growing: dict[RecursiveGroup, LeftCornerTable] = {}
        self._growing_by_fields: dict[tuple[RecursiveGroup, tuple[LeftCorner, ...]], LeftCornerTable] = {}
        self._end = DottedRule(RuleEndTerm(), None, is_over=True, parts=())
        # The end of the whole dialogue stays on the stack.
        self.beginning = self.at(
            term(dialogue.start, dialogue), DottedRule(RuleEndTerm(), None, is_over=False, parts=())
        )

    def at(self, item: DialogueTerm, rest: DottedRule) -> DottedRule:
        """The dotted rule with one term before the rest."""
        match item:
            case SequenceTerm(items=items):
                for each in reversed(items):
                    rest = self.at(each, rest)
                return rest
            case LoopTerm(most=0):
                return rest
        key = (item, rest)
        if key not in self._positions:
            parts = nothing(item, self.empty, lambda _: None)
            is_over = rest.is_over and not item.can_send and parts is not None
            all_parts = None if parts is None or rest.parts is None else parts + rest.parts
            self._positions[key] = DottedRule(item, rest, is_over=is_over, parts=all_parts)
        return self._positions[key]

    def is_perhaps_empty(self, item: DialogueTerm) -> bool:
        """Return True if there may be fields with which no message has to come."""
        return self.has_computed_loops and nothing(item, self.empty_perhaps, lambda _: (0, None)) is not None

    def body(self, symbol: NonTerminal) -> DottedRule:
        """The beginning of a rule."""
        return self.at(self.rules[symbol], self._end)

    def fewer(self, loop: LoopTerm) -> DialogueTerm:
        """A loop after one round."""
        return self.loop(loop.body, (max(0, loop.least - 1), None if loop.most is None else loop.most - 1))

    def loop(self, body: DialogueTerm, rounds: LoopBounds) -> LoopTerm:
        key = (body, *rounds)
        if key not in self._counters:
            self._counters[key] = LoopTerm(*key)
        return self._counters[key]

    def without(self, every: PermutationTerm, number: int) -> DialogueTerm:
        """A permutation after one of its parts."""
        parts = every.items[:number] + every.items[number + 1 :]
        if not parts:
            return SequenceTerm(())
        if parts not in self._permutations:
            self._permutations[parts] = PermutationTerm(parts)
        return self._permutations[parts]

    def grown(self, growing: LeftCornerTable, goal: NonTerminal, symbol: NonTerminal) -> DottedRule:
        """The dotted rule after a complete tree of `symbol`, on the way to one of `goal`."""
        key = (growing, goal, symbol)
        if key not in self._grown:
            item = LeftCornerTerm(goal, symbol)
            position = DottedRule(item, None, is_over=False, parts=None)
            position.growing = growing
            position.ending = self._growth_to_goal(growing, item, None)
            self._grown[key] = position
        return self._grown[key]

    def _growth_to_goal(
        self, growing: LeftCornerTable, item: LeftCornerTerm, fields: LoopFields | None
    ) -> tuple[TreeAction, ...] | None:
        """The actions that make a tree of the goal without a message in between; None if there are none."""
        growths: dict[NonTerminal, tuple[TreeAction, ...]] = {item.symbol: ()}
        todo = deque([item.symbol])
        while todo and item.goal not in growths:
            inner = todo.popleft()
            for corner in growing.corners_towards(item.goal, inner):
                ending = self.ending(corner.after, fields)
                if ending is not None and corner.outer not in growths:
                    growths[corner.outer] = growths[inner] + self.wrapped(corner, ending)
                    todo.append(corner.outer)
        return growths.get(item.goal)

    def growing(self, group: RecursiveGroup, fields: LoopFields | None) -> LeftCornerTable:
        """The left corners of trees of a recursive group that begin now."""
        if group not in self._growing:
            found = self._explored(group, None)
            depends_on_fields = any(each.depends_on_fields for each in found)
            self._growing[group] = LeftCornerTable(group, _corners_of(found), depends_on_fields=depends_on_fields)
        always = self._growing[group]
        if fields is None or not always.depends_on_fields:
            return always
        if group not in fields.growing:
            corners = _corners_of(self._explored(group, fields))
            # Equal left corners are one table, so that histories with different fields can be merged.
            growing = self._growing_by_fields.setdefault((group, corners), LeftCornerTable(group, corners))
            fields.growing[group] = growing
        return fields.growing[group]

    def _explored(self, group: RecursiveGroup, fields: LoopFields | None) -> list[ClosureResult]:
        return [PredictionClosure(self, fields).run(self.body(name), name) for name in group]

    def routes(self, position: DottedRule, fields: LoopFields | None) -> dict[MessageType, list[Route]]:
        """All routes from a dotted rule, the preferred first."""
        if fields is None or not self.depends_on_fields(position):
            return self._found(position).routes
        if position not in fields.found:
            fields.found[position] = PredictionClosure(self, fields).run(position)
        return fields.found[position].routes

    def depends_on_fields(self, position: DottedRule) -> bool:
        """Return True if the next message, or the end, may depend on fields."""
        return self.has_computed_loops and self._found(position).depends_on_fields

    def _found(self, position: DottedRule) -> ClosureResult:
        if position.found is None:
            position.found = PredictionClosure(self, None).run(position)
        return position.found

    def ending(self, position: DottedRule, fields: LoopFields | None) -> tuple[TreeAction, ...] | None:
        """The actions that end a dotted rule without a message; None if one must come."""
        if fields is None or not self.depends_on_fields(position):
            return position.ending
        if isinstance(position.item, LeftCornerTerm) and position.growing is not None:
            return self._growth_to_goal(position.growing, position.item, fields)
        parts: list[Part] = []
        here: DottedRule | None = position
        while here is not None:
            more = nothing(here.item, fields.empty, fields.rounds)
            if more is None:
                return None
            parts += more
            here = here.rest
        return adding(tuple(parts))

    def opening(
        self, goal: NonTerminal, *, is_node: bool = True, is_last: bool = False, tail: tuple[Part, ...] | None = ()
    ) -> OpenAction:
        """The action that opens a node, or a place where one will grow from the bottom."""
        symbol = goal if is_node else None
        is_marked = symbol in self.distinguished
        bound_paths = self.bound_paths if self.has_computed_loops else None
        return OpenAction(symbol, goal, is_last=is_last, tail=tail or (), is_marked=is_marked, bound_paths=bound_paths)

    def wrapping(self, corner: LeftCorner) -> WrapAction:
        return WrapAction(self.opening(corner.outer), AddAction(corner.before))

    def wrapped(self, corner: LeftCorner, ending: tuple[TreeAction, ...]) -> tuple[TreeAction, ...]:
        """The actions that wrap a tree into another one, which ends at once."""
        return (self.wrapping(corner), *ending, _CLOSE)

    def marks_of(self, growth: Iterable[TreeAction]) -> tuple[str, ...]:
        """The symbols that matter in some actions."""
        return tuple(mark for each in growth for mark in self._marks(each)) if self.distinguished else ()

    def _marks(self, growth: TreeAction) -> Iterator[str]:
        match growth:
            case OpenAction(symbol=NonTerminal() as symbol, is_marked=True):
                yield symbol
            case WrapAction(opening=opening, before=before):
                yield from self._marks(before)
                if opening.is_marked:
                    yield f"around: {opening.symbol}"
            case AddAction(parts=parts):
                todo = list(parts)
                while todo:
                    part = todo.pop()
                    if isinstance(part, Node):
                        if part.symbol in self.distinguished:
                            yield f"empty: {part.symbol}"
                        todo += part.children
            case OpenAction() | CloseAction():
                pass
            case _:
                assert_never(growth)


def _corners_of(found: Iterable[ClosureResult]) -> tuple[LeftCorner, ...]:
    return tuple(corner for each in found for corner in each.corners)
