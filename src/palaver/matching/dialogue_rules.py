"""Positions in the rules of a dialogue, and the ways from there to the next message.

How it works
============

A *position* is what is left to do of a rule: a list of items. Lists share their ends, and equal ones are one object.
Working on an item replaces it by what it consists of: `<x>{2,5}` becomes `<x>`, then `<x>{1,4}`. So a counter is just
another item, and an endless loop comes back to the same position.

*Routes* lead from a position to the next message inside its rule: the rules entered on the way go onto a stack, and
the *growth* on the way (nodes opened, empty parts added) is noted for the tree. No rule that is entered on a route can
end on it: it would have said nothing, and for that there is one empty tree per symbol, put in place whole. The same
holds for the rounds of a loop. A position with nothing left to say is not put on the stack; its node is closed
together with the one that was entered last.

Left recursion. Symbols that can begin with each other form a *circle*. When one of them is wanted, it grows from
the bottom: the route enters the rule of any symbol of the circle, as far as it does not begin with another one, and
below it on the stack is the position `LeftCornerTerm(goal, symbol)`. When the symbol ends, that position either goes on with a
rule that can begin with this symbol, of which it then is the first child, or it ends itself if this is the goal.

Computed repetition. How often `{int(<n>)}` goes round is known when it is reached. Routes from positions where that
may happen before the next message depend on the fields said so far, so they are found anew when those change. Which
rules can begin with which may depend on them, too. There the fields count as they are when the tree begins to grow, so
what it may grow into (`LeftCornerTable`) is found out then, and stays with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator

from palaver.grammar.code import SPEC_CODE_RAISES, raised
from palaver.matching.bound_paths import BoundPaths
from palaver.matching.dialogue_grammar import DialogueGrammar, MessageType
from palaver.matching.dialogue_terms import (
    ComputedLoopTerm,
    DialogueTerm,
    LeftCornerTerm,
    LoopBounds,
    LoopTerm,
    PermutationTerm,
    RecursiveGroup,
    RuleEndTerm,
    SequenceTerm,
    circles,
    computed_loops,
    empty_trees,
    items_of,
    nothing,
    start_item,
)
from palaver.matching.dotted_rules import ClosureResult, DottedRule, LeftCorner, LeftCornerTable, Route, adding
from palaver.matching.open_tree import AddAction, CloseAction, OpenAction, TreeAction, WrapAction
from palaver.matching.prediction_closure import PredictionClosure
from palaver.matching.tables import BoundEvaluator
from palaver.spec.ast import Bound
from palaver.trees.node import Node, NonTerminal, Part

_CLOSE = CloseAction()


class Fields:
    """The fields that computed loops count by, as one history has them, and what follows from them."""

    def __init__(self, positions: DialogueRules, nodes: tuple[Node | None, ...]) -> None:
        self._positions = positions
        self.nodes = nodes  # by the numbers of the paths that bounds follow
        self.crashes: list[str] = []  # what bounds raised
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
        """How many rounds a loop makes that is reached now; None: it cannot be passed."""
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
            self.crashes.append(f"the bound {{{bound.text}}} {raised(error)}")
            return None


class AnyFields(Fields):
    """Fields with which a computed repetition goes round as often as one likes, for whoever asks what is possible."""

    def __init__(self, positions: DialogueRules) -> None:
        super().__init__(positions, (None,) * len(positions.bound_paths.paths))

    @property
    def empty(self) -> dict[NonTerminal, Node]:
        return self._positions.empty_perhaps

    def rounds(self, loop: ComputedLoopTerm) -> LoopBounds | None:
        return 0, None


class DialogueRules:
    """All positions of a dialogue. There are more of them as more are asked for."""

    def __init__(self, dialogue: DialogueGrammar, bound: BoundEvaluator, distinguished: Collection[str]) -> None:
        self.bound = bound
        self.rules = items_of(dialogue)
        self.bound_paths = BoundPaths()
        loops = [loop for item in self.rules.values() for loop in computed_loops(item)]
        self.has_computed_loops = bool(loops)
        for loop in loops:
            for limit in (loop.least, loop.most):
                if limit is not None and not isinstance(limit, int):
                    self.bound_paths.track(limit)
        # Where a bound looks for its field must be the same in histories that are taken for one.
        looked_at = {name for path in self.bound_paths.paths for name in path.names}
        self.distinguished = frozenset(distinguished) | frozenset(name for name in self.rules if name in looked_at)
        self.empty = empty_trees(self.rules, lambda _: None)
        self.empty_perhaps = empty_trees(self.rules, lambda _: (0, None)) if loops else self.empty
        # The rules that can be empty if the fields are right.
        self.perhaps_empty = {name: self.rules[name] for name in self.empty_perhaps if name not in self.empty}
        self.circles = circles(self.rules, self.empty_perhaps)
        self._positions: dict[tuple[DialogueTerm, DottedRule], DottedRule] = {}
        self._counters: dict[tuple[DialogueTerm, int, int | None], LoopTerm] = {}
        self._permutations: dict[tuple[DialogueTerm, ...], PermutationTerm] = {}
        self._grown: dict[tuple[LeftCornerTable, NonTerminal, NonTerminal], DottedRule] = {}
        self._growing: dict[RecursiveGroup, LeftCornerTable] = {}
        self._growing_by_fields: dict[tuple[RecursiveGroup, tuple[LeftCorner, ...]], LeftCornerTable] = {}
        self._end = DottedRule(RuleEndTerm(), None, is_over=True, parts=())
        # Nothing ends together with the whole, so its end stays on the stack.
        self.beginning = self.at(start_item(dialogue), DottedRule(RuleEndTerm(), None, is_over=False, parts=()))

    def at(self, item: DialogueTerm, rest: DottedRule) -> DottedRule:
        """The position with one item more to do before the rest."""
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
            is_over = rest.is_over and not item.can_talk and parts is not None
            all_parts = None if parts is None or rest.parts is None else parts + rest.parts
            self._positions[key] = DottedRule(item, rest, is_over=is_over, parts=all_parts)
        return self._positions[key]

    def is_perhaps_empty(self, item: DialogueTerm) -> bool:
        """Whether there may be fields with which nothing has to be said."""
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
        """Where a tree of `symbol` has been finished on the way to one of `goal`."""
        key = (growing, goal, symbol)
        if key not in self._grown:
            item = LeftCornerTerm(goal, symbol)
            position = DottedRule(item, None, is_over=False, parts=None)
            position.growing = growing
            position.ending = self._growth_to_goal(growing, item, None)
            self._grown[key] = position
        return self._grown[key]

    def _growth_to_goal(
        self, growing: LeftCornerTable, item: LeftCornerTerm, fields: Fields | None
    ) -> tuple[TreeAction, ...] | None:
        """What makes a tree of the goal of a finished one if nothing is said in between; None if nothing does."""
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

    def growing(self, group: RecursiveGroup, fields: Fields | None) -> LeftCornerTable:
        """What trees of a circle may grow into that begin now."""
        if group not in self._growing:
            found = self._explored(group, None)
            is_asking = any(each.is_asking for each in found)
            self._growing[group] = LeftCornerTable(group, _corners_of(found), is_asking=is_asking)
        always = self._growing[group]
        if fields is None or not always.is_asking:
            return always
        if group not in fields.growing:
            corners = _corners_of(self._explored(group, fields))
            # What may grow into the same is the same, so that histories with different fields can be taken for one.
            growing = self._growing_by_fields.setdefault((group, corners), LeftCornerTable(group, corners))
            fields.growing[group] = growing
        return fields.growing[group]

    def _explored(self, group: RecursiveGroup, fields: Fields | None) -> list[ClosureResult]:
        return [PredictionClosure(self, fields).run(self.body(name), name) for name in group]

    def routes(self, position: DottedRule, fields: Fields | None) -> dict[MessageType, list[Route]]:
        """All routes from a position, the preferred first."""
        if fields is None or not self.is_asking(position):
            return self._found(position).routes
        if position not in fields.found:
            fields.found[position] = PredictionClosure(self, fields).run(position)
        return fields.found[position].routes

    def is_asking(self, position: DottedRule) -> bool:
        """Whether the next message, or that there is none, may depend on fields."""
        return self.has_computed_loops and self._found(position).is_asking

    def _found(self, position: DottedRule) -> ClosureResult:
        if position.found is None:
            position.found = PredictionClosure(self, None).run(position)
        return position.found

    def ending(self, position: DottedRule, fields: Fields | None) -> tuple[TreeAction, ...] | None:
        """How a position ends if nothing is said any more; None if something must be."""
        if fields is None or not self.is_asking(position):
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
        """A node is opened, or a place where one will grow from the bottom."""
        symbol = goal if is_node else None
        is_marked = symbol in self.distinguished
        bound_paths = self.bound_paths if self.has_computed_loops else None
        return OpenAction(symbol, goal, is_last=is_last, tail=tail or (), is_marked=is_marked, bound_paths=bound_paths)

    def wrapping(self, corner: LeftCorner) -> WrapAction:
        return WrapAction(self.opening(corner.outer), AddAction(corner.before))

    def wrapped(self, corner: LeftCorner, ending: tuple[TreeAction, ...]) -> tuple[TreeAction, ...]:
        """A tree put into another one that ends at once."""
        return (self.wrapping(corner), *ending, _CLOSE)

    def marks_of(self, growth: Iterable[TreeAction]) -> tuple[str, ...]:
        """The symbols that matter of what grows."""
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


def _corners_of(found: Iterable[ClosureResult]) -> tuple[LeftCorner, ...]:
    return tuple(corner for each in found for corner in each.corners)
