"""From the links of a chart to trees: all of them, one at a time, in a stated order.

How it works
------------
Trees come out in this order: of two trees that differ, look at the outermost, leftmost place where they differ. If they
chose different alternatives there, the one declared first comes first; if they divide the text differently, the one
whose earlier part is longer comes first. In partial trees a part that is still open is longer than any other, and
a derivation that leaves something open comes before the one that leaves it out.

The links of the chart point backwards, from an end to its beginnings. Where there is one way only, they are simply
followed. Where there are several, all items on the way are turned round into a graph that points forwards, and the ways
on from an item are put in the order above when someone comes there. But where no alternative has more than two steps,
every way is a line that is known by its last item, and it is enough to put these in order.

A tree is made by a small machine with a list of work and a list of finished parts, both linked lists that are never
changed. So a choice is remembered by keeping what the machine was about to do, and the next tree is found by going
back to the last choice that has something left. Nothing recurses: a tree may be as deep as it likes.

A nonterminal that contains itself over the same text could do so any number of times. Such rounds are left
out: a symbol is never expanded inside itself over the same span, and never open inside itself at the same position with
nothing before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from palaver.matching.chart import EarleyParser
from palaver.matching.collector import CollectorPaused
from palaver.matching.earley_items import NO_CHILD, CompletedGoal, EarleyItem, ItemChild, ParseGoal
from palaver.matching.forest_graph import (
    Continuation,
    ForwardGraph,
    environment_key,
    path_key,
    reversed_links,
)
from palaver.matching.open_forest import OpenForest
from palaver.matching.steps import BIT, LITERAL, GrammarSlot
from palaver.trees.node import Leaf, Node, OpenNode, Part, Parties, new

# Kinds of work.
_EXPAND, _REDUCE, _ADD, _WALK, _OPEN, _REDUCE_OPEN = range(6)
# In place of work: there is not only one way to do it.
_FORKED: Final = (-1,)

# (kind, ..., the work after it), and (part, the parts before it).
_Task: TypeAlias = tuple[Any, ...] | None
_PartList: TypeAlias = tuple[Part, Any] | None
# The symbols (as results) around a place that have its span, innermost first; or all open contexts around it.
_Chain: TypeAlias = tuple[Any, Any] | None


# A way through the graph of a result, or of a context that is open: (graph, result or context, what it stands in).
# There is no graph if the way is a line.
_GraphWalk: TypeAlias = tuple[ForwardGraph | None, CompletedGoal | ParseGoal, _Chain]

# What the machine could also have done: (ways on, from which on, from which item, the walk, the work after it, parts).
_ChoicePoint: TypeAlias = tuple[Sequence[Continuation], int, EarleyItem | None, _GraphWalk, _Task, _PartList]


def first_tree(parser: EarleyParser, result: CompletedGoal) -> Node:
    """The tree of a result that comes first in the stated order."""
    return next(trees(parser, [result]))


def trees(parser: EarleyParser, results: list[CompletedGoal]) -> Iterator[Node]:
    """All trees of some results with the same span."""
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
    """Makes trees: a list of work, the parts finished so far, and the choices to come back to."""

    def __init__(self, parser: EarleyParser, open_forest: OpenForest | None) -> None:
        self._parser = parser
        self._shared = parser.shared
        self._buffer = parser.buffer
        self._unit = parser.tables.unit
        self._binary = parser.tables.binary
        self._open_forest = open_forest
        self._choices: list[_ChoicePoint] = []

    def run(self, task: _Task) -> Iterator[Node]:
        found = self._find(task, None)
        while found is not None:
            yield found
            found = self._find(*self._go_back())

    def _find(self, task: _Task, parts: _PartList) -> Node | None:
        """Work until a tree is done; None if there is no way to."""
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
                    # Unless there is nothing to show for it, and it is not the root.
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

    def _unfold(self, task: tuple[Any, ...], parts: _PartList) -> _Task:
        """Smaller pieces of work in place of one; None if it turns out to be impossible."""
        kind = task[0]
        if kind == _EXPAND:
            _, result, parties, chain, rest = task
            return self._expand(result, parties, chain, rest, parts)
        if kind == _OPEN:
            _, goal, parties, chain, rest = task
            return self._open(goal, parties, chain, rest, parts)
        _, walk, item, rest = task
        return self._choose(walk[0].ways_on(item), 0, item, walk, rest, parts)

    def _go_back(self) -> tuple[_Task, _PartList]:
        """What to do instead, by the last choice that leaves something to do; nothing if none does."""
        while self._choices:
            options, number, item, walk, rest, parts = self._choices.pop()
            task = self._choose(options, number, item, walk, rest, parts)
            if task is not None:
                return task, parts
        return None, None

    # --- Complete parts ---------------------------------------------------------------------------------------------

    def _expand(
        self, result: CompletedGoal, parties: Parties | None, chain: _Chain, rest: _Task, parts: _PartList
    ) -> _Task:
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

    def _follow(self, last: EarleyItem, child: ItemChild, result: CompletedGoal, chain: _Chain, task: _Task) -> _Task:
        """Make all parts on the line that leads to a result by `last` and then `child`; None if that is impossible."""
        item: EarleyItem | None = last
        end = result.end
        # The links go from right to left, and so does making work.
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

    def _child(self, result: CompletedGoal, parties: Parties | None, chain: _Chain, rest: _Task) -> _Task:
        """The work of making a result. Most are a node over a single terminal; that is made at once."""
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
        rest: _Task,
        parts: _PartList,
    ) -> _Task:
        """Take the first of the options, from `number` on, that is possible, and keep the others in mind."""
        _, owner, chain = walk
        while number < len(options):
            way = options[number]
            number += 1
            if isinstance(way, tuple):
                assert isinstance(owner, CompletedGoal)  # lines lead to results
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
        rest: _Task,
    ) -> _Task:
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
        """What a terminal or a token has read."""
        if slot.kind == LITERAL or slot.kind == BIT:
            return (slot.leaf,)
        text = self._text(start, end)
        if slot.target is None:
            return (self._leaf(text),)
        token = self._parser.tokens[slot.target] if self._parser.tokens is not None else None
        assert token is not None  # or who has read it?
        return token.parts(text, slot.parties, lazy=self._parser.lazy)

    def _text(self, start: int, end: int) -> str:
        return self._buffer[start // self._unit : end // self._unit]

    def _leaf(self, text: str) -> Leaf:
        return text.encode("latin-1") if self._binary else text

    # --- Open parts -------------------------------------------------------------------------------------------------

    def _open(self, goal: ParseGoal, parties: Parties | None, chain: _Chain, rest: _Task, parts: _PartList) -> _Task:
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
    """What leads from an item to the next. There is only one: children that end there differ in their environment."""
    if following.prev is item:
        return following.child
    return next(child for before, child in following.more or () if before is item)


def _around(chain: _Chain, result: CompletedGoal, child: CompletedGoal) -> _Chain:
    """What `child` stands in, if `chain` is what `result` stands in."""
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
