"""Dotted rules of a dialogue grammar and their closure: all routes to the next message, like LR items (Knuth 1965)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, assert_never

from palaver.grammar.analysis import reachable
from palaver.lean_dataclasses import dataclass
from palaver.matching.dialogue_grammar import (
    ChoiceTerm,
    ComputedLoopTerm,
    DialogueTerm,
    EmptyTextTerm,
    LeftCornerTerm,
    LoopBounds,
    LoopTerm,
    MessageTerm,
    MessageType,
    PermutationTerm,
    RecursiveGroup,
    RoundEndTerm,
    RuleEndTerm,
    SequenceTerm,
    StateTerm,
    nothing,
)
from palaver.matching.matching_limits import MAX_CLOSURE_PLACES
from palaver.matching.open_tree import AddAction, OpenAction, TreeAction, WrapAction
from palaver.trees.node import NonTerminal, Part

if TYPE_CHECKING:
    from palaver.matching.dialogue_rules import DialogueRules, LoopFields

_ROUND_END = RoundEndTerm()


class DottedRule:
    """The rest of a rule after the dot: a term, and the rest after it."""

    __slots__ = ("ending", "found", "growing", "is_over", "item", "parts", "rest")

    def __init__(
        self, item: DialogueTerm, rest: DottedRule | None, *, is_over: bool, parts: tuple[Part, ...] | None
    ) -> None:
        self.item = item
        self.rest = rest  # None: this is the end, or a `LeftCornerTerm`
        self.is_over = is_over  # True if no message can come here any more
        self.parts = parts  # added if no message comes; None if one must
        self.ending: tuple[TreeAction, ...] | None = None if parts is None else adding(parts)
        self.found: ClosureResult | None = None
        self.growing: LeftCornerTable | None = None  # of a `LeftCornerTerm`: the rules that can begin with its tree


class Route(NamedTuple):
    """A way from a dotted rule to a message."""

    move: MessageType
    pushed: tuple[DottedRule, ...]  # put on the stack instead of the dotted rule, the outermost first
    after: DottedRule  # in the innermost rule, after the message
    growth: tuple[TreeAction, ...]
    marks: tuple[str, ...]  # the symbols that matter in the growth


class LeftCorner(NamedTuple):
    """The rule of `outer` can begin with `symbol`, which is left-recursive with it."""

    symbol: NonTerminal
    outer: NonTerminal
    before: tuple[Part, ...]
    after: DottedRule


class LeftCornerTable:
    """The left corners of a recursive group, as the fields have them when the first tree begins."""

    def __init__(
        self, group: RecursiveGroup, corners: tuple[LeftCorner, ...], *, depends_on_fields: bool = False
    ) -> None:
        self.depends_on_fields = depends_on_fields  # True if fields may add others
        self._corners: dict[str, list[LeftCorner]] = {name: [] for name in group}
        for corner in corners:
            self._corners[corner.symbol].append(corner)
        self._group = group
        self._seeds: dict[NonTerminal, tuple[NonTerminal, ...]] = {}

    def corners(self, symbol: NonTerminal) -> list[LeftCorner]:
        """The rules that can begin with `symbol`."""
        return self._corners[symbol]

    def corners_towards(self, goal: NonTerminal, symbol: NonTerminal) -> list[LeftCorner]:
        """Those of them from which `goal` can be reached."""
        seeds = self.seeds(goal)
        return [corner for corner in self._corners[symbol] if corner.outer in seeds]

    def seeds(self, goal: NonTerminal) -> tuple[NonTerminal, ...]:
        """The symbols from which `goal` can be reached by left corners, itself first."""
        if goal not in self._seeds:
            edges = {name: [corner.outer for corner in corners] for name, corners in self._corners.items()}
            others = (name for name in self._group if name != goal and goal in reachable(name, edges))
            self._seeds[goal] = (goal, *others)
        return self._seeds[goal]


class ClosureResult(NamedTuple):
    """All routes from a dotted rule, the preferred first; `depends_on_fields` if fields may add others."""

    routes: dict[MessageType, list[Route]]
    depends_on_fields: bool
    corners: tuple[LeftCorner, ...]


def adding(parts: tuple[Part, ...]) -> tuple[TreeAction, ...]:
    return (AddAction(parts),) if parts else ()


@dataclass(slots=True, eq=False)
class _RuleFrame:
    """A rule on the way: the stack below it, and its symbol if it was entered on this way."""

    pushed: tuple[DottedRule, ...]
    symbol: NonTerminal | None


class _ClosurePath(NamedTuple):
    """A place on the way to a message."""

    position: DottedRule
    frame: _RuleFrame
    growth: tuple[TreeAction, ...] = ()
    marks: tuple[str, ...] = ()
    # Ends of rounds that began on this way, and left corners passed on it: not to be met again.
    blocked: tuple[DottedRule, ...] = ()


class PredictionClosure:
    """Finds all routes from one dotted rule, depth first."""

    def __init__(self, positions: DialogueRules, fields: LoopFields | None) -> None:
        self._positions = positions
        self._fields = fields
        self._empty = positions.empty if fields is None else fields.empty
        self._routes: dict[tuple[object, ...], Route] = {}
        self._corners: list[LeftCorner] = []
        self._depends_on_fields = False

    def run(self, start: DottedRule, symbol: NonTerminal | None = None) -> ClosureResult:
        """The routes from `start`, which is the beginning of the rule of `symbol` if that is given."""
        first = _RuleFrame((), symbol)
        todo = [_ClosurePath(start, first)]
        visited: set[tuple[DottedRule, _RuleFrame, tuple[str, ...]]] = set()
        while todo:
            if len(visited) >= MAX_CLOSURE_PLACES:
                MAX_CLOSURE_PLACES.reached()
                break
            way = todo.pop()
            key = (way.position, way.frame, way.marks)
            if way.position not in way.blocked and key not in visited:
                visited.add(key)
                todo.extend(reversed(list(self._ways_from(way, is_first=way.frame is first))))
        routes: dict[MessageType, list[Route]] = {}
        for route in self._routes.values():
            routes.setdefault(route.move, []).append(route)
        return ClosureResult(routes, self._depends_on_fields, tuple(self._corners))

    def _ways_from(self, way: _ClosurePath, *, is_first: bool) -> Iterator[_ClosurePath]:
        at = self._positions.at
        rest = way.position.rest
        if isinstance(way.position.item, LeftCornerTerm) and way.position.growing is not None:
            yield from self._wrapped(way, way.position.item, way.position.growing)
        if rest is None:
            return
        match way.position.item:
            case MessageTerm(move=move):
                route = Route(move, way.frame.pushed, rest, way.growth, way.marks)
                self._routes.setdefault((move, route.pushed, rest, way.marks, _opened(way.growth)), route)
            case StateTerm() as item:
                yield from self._entered(way, item, rest, is_first=is_first)
                yield from self._passed(way, item, rest)
            case EmptyTextTerm(part=leaf):
                yield self._added(way, (leaf,), rest)
            case RoundEndTerm():
                yield way._replace(position=rest)
            case ChoiceTerm(options=options):
                yield from (way._replace(position=at(option, rest)) for option in options)
            case LoopTerm(body=body) as loop:
                if body.can_send:
                    yield self._round(way, body, at(self._positions.fewer(loop), rest))
                yield from self._passed(way, loop, rest)
            case ComputedLoopTerm(body=body) as loop:
                self._depends_on_fields = True
                rounds = None if self._fields is None else self._fields.rounds(loop)
                if rounds is not None:
                    yield way._replace(position=at(self._positions.loop(body, rounds), rest))
            case PermutationTerm(items=items) as every:
                for number, part in enumerate(items):
                    if part.can_send:
                        yield self._round(way, part, at(self._positions.without(every, number), rest))
                    # A part that is empty by the fields so far need not be when more messages have come.
                    if len(items) > 1 and self._positions.is_perhaps_empty(part):
                        yield from self._passed(way, part, at(self._positions.without(every, number), rest))
                yield from self._passed(way, every, rest)
            case SequenceTerm() | LeftCornerTerm() | RuleEndTerm():
                raise AssertionError("dissolved by `at`, wrapped above, or without a rest")
            case _:
                assert_never(way.position.item)

    def _round(self, way: _ClosurePath, body: DialogueTerm, then: DottedRule) -> _ClosurePath:
        """Enter a part in which a message must come before its end."""
        mark = self._positions.at(_ROUND_END, then)
        return way._replace(position=self._positions.at(body, mark), blocked=(*way.blocked, mark))

    def _passed(self, way: _ClosurePath, item: DialogueTerm, rest: DottedRule) -> Iterator[_ClosurePath]:
        """Pass a term without a message, if that is possible."""
        parts = nothing(item, self._empty, self._rounds)
        if parts is not None:
            yield self._added(way, parts, rest)
        elif self._fields is None and not self._depends_on_fields:
            self._depends_on_fields = self._positions.is_perhaps_empty(item)

    def _rounds(self, loop: ComputedLoopTerm) -> LoopBounds | None:
        return None if self._fields is None else self._fields.rounds(loop)

    def _added(self, way: _ClosurePath, parts: tuple[Part, ...], rest: DottedRule) -> _ClosurePath:
        return self._grown(way, adding(parts))._replace(position=rest)

    def _grown(self, way: _ClosurePath, growth: tuple[TreeAction, ...]) -> _ClosurePath:
        if not growth:
            return way
        return way._replace(growth=way.growth + growth, marks=way.marks + self._positions.marks_of(growth))

    def _entered(
        self, way: _ClosurePath, item: StateTerm, rest: DottedRule, *, is_first: bool
    ) -> Iterator[_ClosurePath]:
        symbol = item.symbol
        if not item.can_send:
            return
        positions = self._positions
        group = positions.circles.get(symbol, ())
        if way.frame.symbol in group:
            # A rule that begins with its own group is entered from its left corner, when that is complete.
            if is_first and way.frame.symbol is not None:
                before = [part for growth in way.growth if isinstance(growth, AddAction) for part in growth.parts]
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
        self._depends_on_fields = self._depends_on_fields or growing.depends_on_fields
        for seed in growing.seeds(symbol):
            frame = _RuleFrame((*pushed, positions.grown(growing, symbol, seed)), seed)
            entered = self._grown(way, (place, positions.opening(seed)))
            yield entered._replace(position=positions.body(seed), frame=frame)

    def _wrapped(self, way: _ClosurePath, item: LeftCornerTerm, growing: LeftCornerTable) -> Iterator[_ClosurePath]:
        """Go on with the rules that can begin with the complete tree."""
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


def _opened(growth: tuple[TreeAction, ...]) -> tuple[NonTerminal, ...]:
    """The symbols of the nodes that are opened: only these tell apart two ways to the same state."""
    openings = (each.opening if isinstance(each, WrapAction) else each for each in growth)
    return tuple(each.goal for each in openings if isinstance(each, OpenAction))
