"""Shared packed parse forest (Scott 2008): all trees of an Earley parse, one at a time, in a stated order.

How it works. Of two trees that differ, look at the outermost, leftmost place where they differ. If they chose different
alternatives there, the one declared first comes first; if they divide the text differently, the one whose earlier part
is longer comes first. In partial trees an open part is longer than any other, and a derivation that leaves something
open comes before the one that leaves it out.

Where the parser's links leave one way only, they are followed from the end to the beginning. Where there are several
ways, they are turned round (`forest_graph`). Where no alternative has more than two slots, a way is known by its last
item, and it is enough to sort these.

Trees are made by backtracking over tasks and finished parts, both immutable linked lists: a choice point keeps the
tasks that were about to be done. Nothing recurses, so a tree may have any depth.

A nonterminal that contains itself over the same text could do so any number of times. Such cycles are left out: a
symbol is never expanded inside itself over the same span, and never open inside itself at the same position with
nothing before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from palaver import interruption
from palaver.matching.collector_pause import CollectorPaused
from palaver.matching.earley import EarleyParser
from palaver.matching.earley_items import NO_CHILD, CompletedGoal, EarleyItem, ItemChild, ParseGoal
from palaver.matching.forest_graph import (
    Continuation,
    ForwardGraph,
    OpenForest,
    environment_key,
    path_key,
    reversed_links,
)
from palaver.matching.grammar_slots import BIT, LITERAL, GrammarSlot
from palaver.trees.node import Leaf, Node, OpenNode, Part, Parties, new

# Kinds of tasks.
_EXPAND, _REDUCE, _ADD, _WALK, _OPEN, _REDUCE_OPEN = range(6)
# In place of a task: there is more than one way to do it.
_FORKED: Final = (-1,)

# (kind, ..., the task after it), and (part, the parts before it).
_ForestTask: TypeAlias = tuple[Any, ...] | None
_PartList: TypeAlias = tuple[Part, Any] | None
# The completed goals around a place that have its span, innermost first; or all open goals around it.
_Chain: TypeAlias = tuple[Any, Any] | None


# A walk through the graph of a completed or open goal: (graph, goal, the goals around it). A single path has no graph.
_GraphWalk: TypeAlias = tuple[ForwardGraph | None, CompletedGoal | ParseGoal, _Chain]

# A choice to come back to: (ways on, from which on, from which item, the walk, the task after it, the parts so far).
_ChoicePoint: TypeAlias = tuple[Sequence[Continuation], int, EarleyItem | None, _GraphWalk, _ForestTask, _PartList]


def first_tree(parser: EarleyParser, result: CompletedGoal) -> Node:
    """The first tree of a completed goal, in the stated order."""
    return next(trees(parser, [result]))


def trees(parser: EarleyParser, results: list[CompletedGoal]) -> Iterator[Node]:
    """All trees of completed goals with the same span."""
    for result in sorted(results, key=lambda result: environment_key(result.env)):
        yield from _TreeBuilder(parser, None).run((_EXPAND, result, None, None, None))


def partial_trees(parser: EarleyParser) -> Iterator[Node]:
    """All trees of the input so far that are still open, as far as it has been seen."""
    unfinished = parser.unfinished
    if not unfinished:
        return
    open_forest = OpenForest(parser, unfinished)
    root = parser.root
    if root.pos == parser.limit and (beginning := open_forest.beginning(root)).children:
        yield beginning
    if root in open_forest.something:
        yield from _TreeBuilder(parser, open_forest).run((_OPEN, root, None, None, None))
    if root in open_forest.nothing:
        symbol = root.nonterminal.symbol
        assert symbol is not None  # the start symbol is a rule
        yield OpenNode(symbol, ())


class _TreeBuilder:
    """Makes trees by a list of tasks, the parts finished so far, and the choices to come back to."""

    def __init__(self, parser: EarleyParser, open_forest: OpenForest | None) -> None:
        self._parser = parser
        self._shared = parser.shared
        self._buffer = parser.buffer
        self._unit = parser.tables.unit
        self._binary = parser.tables.binary
        self._open_forest = open_forest
        self._choices: list[_ChoicePoint] = []

    def run(self, task: _ForestTask) -> Iterator[Node]:
        found = self._find(task, None)
        while found is not None:
            yield found
            found = self._find(*self._go_back())

    def _find(self, task: _ForestTask, parts: _PartList) -> Node | None:
        """Do tasks until a tree is done; None if there is no further tree."""
        with CollectorPaused():
            while task is not None:
                kind = task[0]
                if kind == _ADD:
                    _, added, task = task
                    for part in added:
                        parts = part, parts
                elif kind == _REDUCE:
                    _, symbol, parties, mark, task = task
                    parts = new(Node, (symbol, _parts_since(mark, parts), (), parties)), mark
                elif kind == _REDUCE_OPEN:
                    _, symbol, parties, mark, task = task
                    children = _parts_since(mark, parts)
                    # An open node without children is left out, unless it is the root.
                    parts = (OpenNode(symbol, children, (), parties), mark) if children or task is None else mark
                else:
                    task = self._unfold(task, parts)
                    if task is None:
                        task, parts = self._go_back()
        if parts is None:
            return None
        root = parts[0]
        assert isinstance(root, Node)  # it is a rule
        return root

    def _unfold(self, task: tuple[Any, ...], parts: _PartList) -> _ForestTask:
        """The smaller tasks that one consists of; None if it is impossible."""
        kind = task[0]
        if kind == _EXPAND:
            _, result, parties, chain, rest = task
            return self._expand(result, parties, chain, rest, parts)
        if kind == _OPEN:
            _, goal, parties, chain, rest = task
            return self._open(goal, parties, chain, rest, parts)
        _, walk, item, rest = task
        return self._choose(walk[0].ways_on(item), 0, item, walk, rest, parts)

    def _go_back(self) -> tuple[_ForestTask, _PartList]:
        """The task and parts of the last choice that has an option left; (None, None) if none has."""
        while self._choices:
            interruption.check()
            options, number, item, walk, rest, parts = self._choices.pop()
            task = self._choose(options, number, item, walk, rest, parts)
            if task is not None:
                return task, parts
        return None, None

    def _expand(
        self, result: CompletedGoal, parties: Parties | None, chain: _Chain, rest: _ForestTask, parts: _PartList
    ) -> _ForestTask:
        nonterminal = result.goal.nonterminal
        inner = chain if nonterminal.is_cyclic else None
        if nonterminal.symbol is not None:
            rest = _REDUCE, nonterminal.symbol, parties, parts, rest
            if nonterminal.is_cyclic:
                inner = result, chain
        graph = result.graph
        if graph is None:
            is_certain = result.more is None and result.end not in self._shared
            ways = None if is_certain else self._parser.ways(result)
            if ways is None or len(ways) == 1:
                task = self._follow(result.prev, result.child, result, inner, rest)
                if task is not _FORKED:
                    return task
                ways = [(result.prev, result.child)]
            graph = result.graph = sorted(ways, key=path_key) if nonterminal.is_short else reversed_links(ways)
        if isinstance(graph, list):
            return self._choose(graph, 0, None, (None, result, inner), rest, parts)
        assert isinstance(graph, ForwardGraph)  # nobody else puts anything there
        starts = graph.starts
        if len(starts) == 1:
            return self._choose(graph.ways_on(starts[0]), 0, starts[0], (graph, result, inner), rest, parts)
        return self._choose(starts, 0, None, (graph, result, inner), rest, parts)

    def _follow(
        self, last: EarleyItem, child: ItemChild, result: CompletedGoal, chain: _Chain, task: _ForestTask
    ) -> _ForestTask:
        """Make all parts on the single path to a completed goal by `last` and then `child`; None if impossible."""
        item: EarleyItem | None = last
        end = result.end
        # The links go from right to left, and so tasks are put in front of others.
        while item is not None:
            if child is None:
                task = _ADD, self._between(item.slot, item.pos, end), task
            elif isinstance(child, CompletedGoal):
                around = None if chain is None else _around(chain, result, child)
                if around is not None and _is_in(child, around):
                    return None
                task = self._child(child, item.slot.parties, around, task)
            if item.more is not None:
                return _FORKED
            end = item.pos
            child, item = item.child, item.prev
        return task

    def _child(self, result: CompletedGoal, parties: Parties | None, chain: _Chain, rest: _ForestTask) -> _ForestTask:
        """The task of making a completed goal. Most are a node over a single terminal; that is made at once."""
        symbol = result.goal.nonterminal.symbol
        item = result.prev
        is_single = result.child is None and item.prev is None and result.more is None
        if symbol is None or not is_single or (result.end in self._shared and len(self._parser.ways(result)) > 1):
            return _EXPAND, result, parties, chain, rest
        return _ADD, (new(Node, (symbol, self._between(item.slot, item.pos, result.end), (), parties)),), rest

    def _choose(
        self,
        options: Sequence[Continuation],
        number: int,
        item: EarleyItem | None,
        walk: _GraphWalk,
        rest: _ForestTask,
        parts: _PartList,
    ) -> _ForestTask:
        """Take the first possible option from `number` on, and keep a choice point for the others."""
        _, owner, chain = walk
        while number < len(options):
            way = options[number]
            number += 1
            if isinstance(way, tuple):
                assert isinstance(owner, CompletedGoal)  # single paths lead to completed goals
                task = self._follow(*way, owner, chain, rest)
                if task is None:
                    continue
                if number < len(options):
                    self._choices.append((options, number, None, walk, rest, parts))
                return task
            child = _child_between(item, way) if isinstance(way, EarleyItem) else way
            around = None
            if chain is not None:
                if isinstance(child, ParseGoal):
                    if _is_open_in(child, chain):
                        continue
                    around = chain
                elif isinstance(child, CompletedGoal) and isinstance(owner, CompletedGoal):
                    around = _around(chain, owner, child)
                    if _is_in(child, around):
                        continue
            if number < len(options):
                self._choices.append((options, number, item, walk, rest, parts))
            target = None
            if isinstance(way, EarleyItem):
                target = way
                rest = _WALK, walk, target, rest
            return rest if item is None or child is NO_CHILD else self._take(child, item, target, owner, around, rest)
        return None

    def _take(
        self,
        child: ItemChild | ParseGoal,
        item: EarleyItem,
        target: EarleyItem | None,
        owner: CompletedGoal | ParseGoal,
        around: _Chain,
        rest: _ForestTask,
    ) -> _ForestTask:
        """Make `child`, which stands between `item` and `target`, or the end of `owner`, and in `around`."""
        if isinstance(child, CompletedGoal):
            return self._child(child, item.slot.parties, around, rest)
        if isinstance(child, ParseGoal):
            return _OPEN, child, item.slot.parties, around, rest
        if target is not None:
            added = self._between(item.slot, item.pos, target.pos)
        elif isinstance(owner, CompletedGoal):
            added = self._between(item.slot, item.pos, owner.end)
        else:
            added = (self._leaf(self._text(item.pos, len(self._buffer) * self._unit)),)
        return _ADD, added, rest

    def _between(self, slot: GrammarSlot, start: int, end: int) -> tuple[Part, ...]:
        """The parts that a terminal or a token has read."""
        if slot.kind == LITERAL or slot.kind == BIT:
            return (slot.leaf,)
        text = self._text(start, end)
        if slot.target is None:
            return (self._leaf(text),)
        token = self._parser.tokens[slot.target] if self._parser.tokens is not None else None
        assert token is not None  # only a token reads a nonterminal without a child
        return token.parts(text, slot.parties, lazy=self._parser.lazy)

    def _text(self, start: int, end: int) -> str:
        return self._buffer[start // self._unit : end // self._unit]

    def _leaf(self, text: str) -> Leaf:
        return text.encode("latin-1") if self._binary else text

    def _open(
        self, goal: ParseGoal, parties: Parties | None, chain: _Chain, rest: _ForestTask, parts: _PartList
    ) -> _ForestTask:
        assert self._open_forest is not None  # only partial trees have open parts
        symbol = goal.nonterminal.symbol
        if symbol is not None:
            rest = _REDUCE_OPEN, symbol, parties, parts, rest
        graph = self._open_forest.graph(goal)
        return self._choose(graph.starts, 0, None, (graph, goal, (goal, chain)), rest, parts)


def _parts_since(mark: _PartList, parts: _PartList) -> tuple[Part, ...]:
    """The parts that were finished since `mark`."""
    found = []
    while parts is not mark:
        assert parts is not None  # the mark lies below
        part, parts = parts
        found.append(part)
    found.reverse()
    return tuple(found)


def _child_between(item: EarleyItem | None, following: EarleyItem) -> ItemChild:
    """The child between two items. There is only one: children that end there differ in their environment."""
    if following.prev is item:
        return following.child
    return next(child for before, child in following.more or () if before is item)


def _around(chain: _Chain, result: CompletedGoal, child: CompletedGoal) -> _Chain:
    """The chain around `child`, if `chain` is that around `result`."""
    return chain if child.end == result.end and child.goal.pos == result.goal.pos else None


def _is_in(result: CompletedGoal, chain: _Chain) -> bool:
    while chain is not None:
        if chain[0] is result:
            return True
        chain = chain[1]
    return False


def _is_open_in(goal: ParseGoal, chain: _Chain) -> bool:
    while chain is not None and chain[0].pos == goal.pos:
        if chain[0] is goal:
            return True
        chain = chain[1]
    return False
