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
below it on the stack is the position `Grown(goal, symbol)`. When the symbol ends, that position either goes on with a
rule that can begin with this symbol, of which it then is the first child, or it ends itself if this is the goal.

Computed repetition. How often `{int(<n>)}` goes round is known when it is reached. Routes from positions where that
may happen before the next message depend on the fields said so far, so they are found anew when those change. Which
rules can begin with which may depend on them, too. There the fields count as they are when the tree begins to grow, so
what it may grow into (`LeftCornerTable`) is found out then, and stays with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from palaver.grammar.analyse import reachable
from palaver.grammar.code import SPEC_CODE_RAISES, raised
from palaver.matching.cut import Dialogue, MessageType
from palaver.matching.items import (
    All,
    ComputedLoop,
    End,
    Enter,
    Fork,
    Grown,
    Item,
    Loop,
    LoopBounds,
    Mark,
    Put,
    RecursiveGroup,
    Row,
    Say,
    circles,
    computed_loops,
    empty_trees,
    items_of,
    nothing,
    start_item,
)
from palaver.matching.matching_limits import MAX_CLOSURE_PLACES
from palaver.matching.spine import Adding, Closing, Growth, Opening, Wrapping
from palaver.matching.tables import BoundEvaluator
from palaver.matching.trails import Trails
from palaver.spec.ast import Bound
from palaver.trees.node import Node, NonTerminal, Part

_MARK = Mark()
_CLOSING = Closing()


class Position:
    """What is left to do of a rule."""

    __slots__ = ("ending", "found", "growing", "is_over", "item", "parts", "rest")

    def __init__(self, item: Item, rest: Position | None, *, is_over: bool, parts: tuple[Part, ...] | None) -> None:
        self.item = item
        self.rest = rest  # None: this is the end, or a `Grown`
        self.is_over = is_over  # whether nothing can be said here any more
        self.parts = parts  # what is added if nothing is said; None if something must be
        self.ending: tuple[Growth, ...] | None = None if parts is None else _added(parts)
        self.found: ClosureResult | None = None
        self.growing: LeftCornerTable | None = None  # of a `Grown`: what the tree may grow into


class Route(NamedTuple):
    """A way to a message."""

    move: MessageType
    pushed: tuple[Position, ...]  # what comes onto the stack instead of the position, the outermost first
    after: Position  # in the innermost rule, once this is said
    growth: tuple[Growth, ...]
    marks: tuple[str, ...]  # the symbols that matter in the growth


class LeftCorner(NamedTuple):
    """That the rule of `outer` can begin with a `symbol` of its circle."""

    symbol: NonTerminal
    outer: NonTerminal
    before: tuple[Part, ...]
    after: Position


class LeftCornerTable:
    """What the trees of a circle may grow into: all its corners, as the fields have them when the first tree begins."""

    def __init__(self, group: RecursiveGroup, corners: tuple[LeftCorner, ...], *, is_asking: bool = False) -> None:
        self.is_asking = is_asking  # whether there may be others that only the fields tell
        self._corners: dict[str, list[LeftCorner]] = {name: [] for name in group}
        for corner in corners:
            self._corners[corner.symbol].append(corner)
        self._group = group
        self._seeds: dict[NonTerminal, tuple[NonTerminal, ...]] = {}

    def corners(self, symbol: NonTerminal) -> list[LeftCorner]:
        """The rules that can begin with `symbol`."""
        return self._corners[symbol]

    def corners_towards(self, goal: NonTerminal, symbol: NonTerminal) -> list[LeftCorner]:
        """Those of them from whose trees one of `goal` can grow."""
        seeds = self.seeds(goal)
        return [corner for corner in self._corners[symbol] if corner.outer in seeds]

    def seeds(self, goal: NonTerminal) -> tuple[NonTerminal, ...]:
        """The symbols from whose trees one of `goal` can grow, itself first."""
        if goal not in self._seeds:
            edges = {name: [corner.outer for corner in corners] for name, corners in self._corners.items()}
            others = (name for name in self._group if name != goal and goal in reachable(name, edges))
            self._seeds[goal] = (goal, *others)
        return self._seeds[goal]


class ClosureResult(NamedTuple):
    """All routes from a position, the preferred first, and whether there are more that only the fields tell."""

    routes: dict[MessageType, list[Route]]
    is_asking: bool
    corners: tuple[LeftCorner, ...]


class Fields:
    """The fields that computed loops count by, as one history has them, and what follows from them."""

    def __init__(self, positions: Positions, nodes: tuple[Node | None, ...]) -> None:
        self._positions = positions
        self.nodes = nodes  # by the numbers of the paths that bounds follow
        self.crashes: list[str] = []  # what bounds raised
        self.found: dict[Position, ClosureResult] = {}
        self.growing: dict[RecursiveGroup, LeftCornerTable] = {}
        self._rounds: dict[ComputedLoop, LoopBounds | None] = {}
        self._empty: dict[NonTerminal, Node] | None = None

    @property
    def empty(self) -> dict[NonTerminal, Node]:
        """The symbols that can be empty now."""
        if self._empty is None:
            self._empty = empty_trees(self._positions.perhaps_empty, self.rounds, self._positions.empty)
        return self._empty

    def rounds(self, loop: ComputedLoop) -> LoopBounds | None:
        """How many rounds a loop makes that is reached now; None: it cannot be passed."""
        if loop not in self._rounds:
            self._rounds[loop] = self._evaluate(loop)
        return self._rounds[loop]

    def _evaluate(self, loop: ComputedLoop) -> LoopBounds | None:
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

    def __init__(self, positions: Positions) -> None:
        super().__init__(positions, (None,) * len(positions.bound_paths.paths))

    @property
    def empty(self) -> dict[NonTerminal, Node]:
        return self._positions.empty_perhaps

    def rounds(self, loop: ComputedLoop) -> LoopBounds | None:
        return 0, None


class Positions:
    """All positions of a dialogue. There are more of them as more are asked for."""

    def __init__(self, dialogue: Dialogue, bound: BoundEvaluator, distinguished: Collection[str]) -> None:
        self.bound = bound
        self.rules = items_of(dialogue)
        self.bound_paths = Trails()
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
        self._positions: dict[tuple[Item, Position], Position] = {}
        self._counters: dict[tuple[Item, int, int | None], Loop] = {}
        self._permutations: dict[tuple[Item, ...], All] = {}
        self._grown: dict[tuple[LeftCornerTable, NonTerminal, NonTerminal], Position] = {}
        self._growing: dict[RecursiveGroup, LeftCornerTable] = {}
        self._growing_by_fields: dict[tuple[RecursiveGroup, tuple[LeftCorner, ...]], LeftCornerTable] = {}
        self._end = Position(End(), None, is_over=True, parts=())
        # Nothing ends together with the whole, so its end stays on the stack.
        self.beginning = self.at(start_item(dialogue), Position(End(), None, is_over=False, parts=()))

    def at(self, item: Item, rest: Position) -> Position:
        """The position with one item more to do before the rest."""
        match item:
            case Row(items=items):
                for each in reversed(items):
                    rest = self.at(each, rest)
                return rest
            case Loop(most=0):
                return rest
        key = (item, rest)
        if key not in self._positions:
            parts = nothing(item, self.empty, lambda _: None)
            is_over = rest.is_over and not item.can_talk and parts is not None
            all_parts = None if parts is None or rest.parts is None else parts + rest.parts
            self._positions[key] = Position(item, rest, is_over=is_over, parts=all_parts)
        return self._positions[key]

    def is_perhaps_empty(self, item: Item) -> bool:
        """Whether there may be fields with which nothing has to be said."""
        return self.has_computed_loops and nothing(item, self.empty_perhaps, lambda _: (0, None)) is not None

    def body(self, symbol: NonTerminal) -> Position:
        """The beginning of a rule."""
        return self.at(self.rules[symbol], self._end)

    def fewer(self, loop: Loop) -> Item:
        """A loop after one round."""
        return self.loop(loop.body, (max(0, loop.least - 1), None if loop.most is None else loop.most - 1))

    def loop(self, body: Item, rounds: LoopBounds) -> Loop:
        key = (body, *rounds)
        if key not in self._counters:
            self._counters[key] = Loop(*key)
        return self._counters[key]

    def without(self, every: All, number: int) -> Item:
        """A permutation after one of its parts."""
        parts = every.items[:number] + every.items[number + 1 :]
        if not parts:
            return Row(())
        if parts not in self._permutations:
            self._permutations[parts] = All(parts)
        return self._permutations[parts]

    def grown(self, growing: LeftCornerTable, goal: NonTerminal, symbol: NonTerminal) -> Position:
        """Where a tree of `symbol` has been finished on the way to one of `goal`."""
        key = (growing, goal, symbol)
        if key not in self._grown:
            item = Grown(goal, symbol)
            position = Position(item, None, is_over=False, parts=None)
            position.growing = growing
            position.ending = self._growth_to_goal(growing, item, None)
            self._grown[key] = position
        return self._grown[key]

    def _growth_to_goal(
        self, growing: LeftCornerTable, item: Grown, fields: Fields | None
    ) -> tuple[Growth, ...] | None:
        """What makes a tree of the goal of a finished one if nothing is said in between; None if nothing does."""
        growths: dict[NonTerminal, tuple[Growth, ...]] = {item.symbol: ()}
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
        return [_PredictionClosure(self, fields).run(self.body(name), name) for name in group]

    def routes(self, position: Position, fields: Fields | None) -> dict[MessageType, list[Route]]:
        """All routes from a position, the preferred first."""
        if fields is None or not self.is_asking(position):
            return self._found(position).routes
        if position not in fields.found:
            fields.found[position] = _PredictionClosure(self, fields).run(position)
        return fields.found[position].routes

    def is_asking(self, position: Position) -> bool:
        """Whether the next message, or that there is none, may depend on fields."""
        return self.has_computed_loops and self._found(position).is_asking

    def _found(self, position: Position) -> ClosureResult:
        if position.found is None:
            position.found = _PredictionClosure(self, None).run(position)
        return position.found

    def ending(self, position: Position, fields: Fields | None) -> tuple[Growth, ...] | None:
        """How a position ends if nothing is said any more; None if something must be."""
        if fields is None or not self.is_asking(position):
            return position.ending
        if isinstance(position.item, Grown) and position.growing is not None:
            return self._growth_to_goal(position.growing, position.item, fields)
        parts: list[Part] = []
        here: Position | None = position
        while here is not None:
            more = nothing(here.item, fields.empty, fields.rounds)
            if more is None:
                return None
            parts += more
            here = here.rest
        return _added(tuple(parts))

    def opening(
        self, goal: NonTerminal, *, is_node: bool = True, is_last: bool = False, tail: tuple[Part, ...] | None = ()
    ) -> Opening:
        """A node is opened, or a place where one will grow from the bottom."""
        symbol = goal if is_node else None
        is_marked = symbol in self.distinguished
        bound_paths = self.bound_paths if self.has_computed_loops else None
        return Opening(symbol, goal, is_last=is_last, tail=tail or (), is_marked=is_marked, bound_paths=bound_paths)

    def wrapping(self, corner: LeftCorner) -> Wrapping:
        return Wrapping(self.opening(corner.outer), Adding(corner.before))

    def wrapped(self, corner: LeftCorner, ending: tuple[Growth, ...]) -> tuple[Growth, ...]:
        """A tree put into another one that ends at once."""
        return (self.wrapping(corner), *ending, _CLOSING)

    def marks_of(self, growth: Iterable[Growth]) -> tuple[str, ...]:
        """The symbols that matter of what grows."""
        return tuple(mark for each in growth for mark in self._marks(each)) if self.distinguished else ()

    def _marks(self, growth: Growth) -> Iterator[str]:
        match growth:
            case Opening(symbol=NonTerminal() as symbol, is_marked=True):
                yield symbol
            case Wrapping(opening=opening, before=before):
                yield from self._marks(before)
                if opening.is_marked:
                    yield f"around: {opening.symbol}"
            case Adding(parts=parts):
                todo = list(parts)
                while todo:
                    part = todo.pop()
                    if isinstance(part, Node):
                        if part.symbol in self.distinguished:
                            yield f"empty: {part.symbol}"
                        todo += part.children


def _corners_of(found: Iterable[ClosureResult]) -> tuple[LeftCorner, ...]:
    return tuple(corner for each in found for corner in each.corners)


def _added(parts: tuple[Part, ...]) -> tuple[Growth, ...]:
    return (Adding(parts),) if parts else ()


def _opened(growth: tuple[Growth, ...]) -> tuple[NonTerminal, ...]:
    """The symbols of the nodes that are opened, which is all that tells apart two ways to the same future."""
    openings = (each.opening if isinstance(each, Wrapping) else each for each in growth)
    return tuple(each.goal for each in openings if isinstance(each, Opening))


# --- Routes -----------------------------------------------------------------------------------------------------------


class _RuleFrame:
    """A rule on the way: what is below it on the stack, and its symbol if it was entered on this way."""

    __slots__ = ("pushed", "symbol")

    def __init__(self, pushed: tuple[Position, ...], symbol: NonTerminal | None) -> None:
        self.pushed = pushed
        self.symbol = symbol


class _ClosurePath(NamedTuple):
    """A place on the way to a message."""

    position: Position
    frame: _RuleFrame
    growth: tuple[Growth, ...] = ()
    marks: tuple[str, ...] = ()
    # Ends of rounds that began on this way, and finished trees that were put into others on it: not to be met again.
    blocked: tuple[Position, ...] = ()


class _PredictionClosure:
    """Finds all routes from one position."""

    def __init__(self, positions: Positions, fields: Fields | None) -> None:
        self._positions = positions
        self._fields = fields
        self._empty = positions.empty if fields is None else fields.empty
        self._routes: dict[tuple[object, ...], Route] = {}
        self._corners: list[LeftCorner] = []
        self._is_asking = False

    def run(self, start: Position, symbol: NonTerminal | None = None) -> ClosureResult:
        """Explore; from the beginning of the rule of `symbol`, if that is given."""
        first = _RuleFrame((), symbol)
        todo = [_ClosurePath(start, first)]
        visited: set[tuple[Position, _RuleFrame, tuple[str, ...]]] = set()
        while todo and len(visited) < MAX_CLOSURE_PLACES:
            way = todo.pop()
            key = (way.position, way.frame, way.marks)
            if way.position not in way.blocked and key not in visited:
                visited.add(key)
                todo.extend(reversed(list(self._ways_from(way, is_first=way.frame is first))))
        routes: dict[MessageType, list[Route]] = {}
        for route in self._routes.values():
            routes.setdefault(route.move, []).append(route)
        return ClosureResult(routes, self._is_asking, tuple(self._corners))

    def _ways_from(self, way: _ClosurePath, *, is_first: bool) -> Iterator[_ClosurePath]:
        at = self._positions.at
        rest = way.position.rest
        if isinstance(way.position.item, Grown) and way.position.growing is not None:
            yield from self._wrapped(way, way.position.item, way.position.growing)
        if rest is None:
            return
        match way.position.item:
            case Say(move=move):
                route = Route(move, way.frame.pushed, rest, way.growth, way.marks)
                self._routes.setdefault((move, route.pushed, rest, way.marks, _opened(way.growth)), route)
            case Enter() as item:
                yield from self._entered(way, item, rest, is_first=is_first)
                yield from self._passed(way, (item,), rest)
            case Put(part=leaf):
                yield self._added(way, (leaf,), rest)
            case Mark():
                yield way._replace(position=rest)
            case Fork(options=options):
                yield from (way._replace(position=at(option, rest)) for option in options)
            case Loop(body=body, least=least) as loop:
                if body.can_talk:
                    yield self._round(way, body, at(self._positions.fewer(loop), rest))
                yield from self._passed(way, (body,) * least, rest)
            case ComputedLoop(body=body) as loop:
                self._is_asking = True
                rounds = None if self._fields is None else self._fields.rounds(loop)
                if rounds is not None:
                    yield way._replace(position=at(self._positions.loop(body, rounds), rest))
            case All(items=items) as every:
                for number, part in enumerate(items):
                    if part.can_talk:
                        yield self._round(way, part, at(self._positions.without(every, number), rest))
                    # A part that is empty by what was said so far need not be when more was said: now is not later.
                    if len(items) > 1 and self._positions.is_perhaps_empty(part):
                        yield from self._passed(way, (part,), at(self._positions.without(every, number), rest))
                yield from self._passed(way, items, rest)

    def _round(self, way: _ClosurePath, body: Item, then: Position) -> _ClosurePath:
        """Into a part that must say something before the rest is done."""
        mark = self._positions.at(_MARK, then)
        return way._replace(position=self._positions.at(body, mark), blocked=(*way.blocked, mark))

    def _passed(self, way: _ClosurePath, items: tuple[Item, ...], rest: Position) -> Iterator[_ClosurePath]:
        """Past items in which nothing is said, if that is possible."""
        parts = nothing(Row(items), self._empty, self._rounds)
        if parts is not None:
            yield self._added(way, parts, rest)
        elif self._fields is None and not self._is_asking:
            self._is_asking = self._positions.is_perhaps_empty(Row(items))

    def _rounds(self, loop: ComputedLoop) -> LoopBounds | None:
        return None if self._fields is None else self._fields.rounds(loop)

    def _added(self, way: _ClosurePath, parts: tuple[Part, ...], rest: Position) -> _ClosurePath:
        return self._grown(way, _added(parts))._replace(position=rest)

    def _grown(self, way: _ClosurePath, growth: tuple[Growth, ...]) -> _ClosurePath:
        if not growth:
            return way
        return way._replace(growth=way.growth + growth, marks=way.marks + self._positions.marks_of(growth))

    def _entered(self, way: _ClosurePath, item: Enter, rest: Position, *, is_first: bool) -> Iterator[_ClosurePath]:
        symbol = item.symbol
        if not item.can_talk:
            return
        positions = self._positions
        group = positions.circles.get(symbol, ())
        if way.frame.symbol in group:
            # A rule that begins with its own circle: it is come to from the other side, when that has been finished.
            if is_first and way.frame.symbol is not None:
                before = [part for growth in way.growth if isinstance(growth, Adding) for part in growth.parts]
                self._corners.append(LeftCorner(symbol, way.frame.symbol, tuple(before), rest))
            return
        pushed = way.frame.pushed if rest.is_over else (*way.frame.pushed, rest)
        tail = rest.parts if rest.is_over else ()
        if not group:
            opening = positions.opening(symbol, is_last=rest.is_over, tail=tail)
            yield self._grown(way, (opening,))._replace(
                position=positions.body(symbol), frame=_RuleFrame(pushed, symbol)
            )
            return
        place = positions.opening(symbol, is_node=False, is_last=rest.is_over, tail=tail)
        growing = positions.growing(group, self._fields)
        self._is_asking = self._is_asking or growing.is_asking
        for seed in growing.seeds(symbol):
            frame = _RuleFrame((*pushed, positions.grown(growing, symbol, seed)), seed)
            entered = self._grown(way, (place, positions.opening(seed)))
            yield entered._replace(position=positions.body(seed), frame=frame)

    def _wrapped(self, way: _ClosurePath, item: Grown, growing: LeftCornerTable) -> Iterator[_ClosurePath]:
        """On with the rules that can begin with what has been finished."""
        positions = self._positions
        blocked = (*way.blocked, way.position)
        for corner in growing.corners_towards(item.goal, item.symbol):
            outer = positions.grown(growing, item.goal, corner.outer)
            inside = self._grown(way, (positions.wrapping(corner),))
            yield inside._replace(
                position=corner.after, frame=_RuleFrame((*way.frame.pushed, outer), None), blocked=blocked
            )
            ending = positions.ending(corner.after, self._fields)
            if ending is not None:
                whole = self._grown(way, positions.wrapped(corner, ending))
                yield whole._replace(position=outer, blocked=blocked)
