"""Forward graphs over Earley items (forests of Scott 2008): the ways through one goal, in the order of its trees.

The links of the Earley parser point backwards, from an end to its beginnings. `reversed_links` turns them round, and
`ForwardGraph` puts the ways on from an item in order when an enumeration comes there. `OpenForest` does the same for
goals that are not complete at the end of the input.
"""

from __future__ import annotations

from itertools import chain
from operator import attrgetter
from typing import Any, TypeAlias

from palaver.matching.earley import EarleyParser
from palaver.matching.earley_items import NO_CHILD, CompletedGoal, EarleyItem, Environment, ItemChild, ParseGoal
from palaver.matching.grammar_slots import PLAIN
from palaver.trees.node import OpenNode, Parties

# A path without branches: its last item, and the child after it.
SinglePath: TypeAlias = tuple[EarleyItem, ItemChild]

# A way on from an item: the next item or, at the end, the last child; or the single path from beginning to end.
Continuation: TypeAlias = EarleyItem | ItemChild | ParseGoal | SinglePath


class ForwardGraph:
    """The items of one nonterminal, from its beginning to its end or ends."""

    __slots__ = ("_ways", "ordered", "starts")

    def __init__(self, starts: list[EarleyItem], ways: dict[EarleyItem, list[Continuation]]) -> None:
        self.starts = starts
        self._ways = ways
        self.ordered: dict[EarleyItem, list[Continuation]] = {}  # sorted, for items that were visited

    def ways_on(self, item: EarleyItem) -> list[Continuation]:
        ways = self.ordered.get(item)
        if ways is None:
            ways = self.ordered[item] = _in_order(self._ways[item])
        return ways


def reversed_links(ends: list[tuple[EarleyItem, ItemChild]]) -> ForwardGraph:
    """The graph of all items from which some end can be reached. An end is its last item and the child after it."""
    ways: dict[EarleyItem, list[Continuation]] = {}
    starts: list[EarleyItem] = []
    stack: list[EarleyItem] = []
    for item, child in ends:
        if item in ways:
            ways[item].append(child)
        else:
            ways[item] = [child]
            stack.append(item)
    for item in stack:  # the list grows meanwhile
        if item.prev is None:
            starts.append(item)
            continue
        for before in [item.prev] if item.more is None else [item.prev, *[link[0] for link in item.more]]:
            if before in ways:
                ways[before].append(item)
            else:
                ways[before] = [item]
                stack.append(before)
    starts.sort(key=lambda item: item.slot.order)
    return ForwardGraph(starts, ways)


def _in_order(ways: list[Continuation]) -> list[Continuation]:
    if len(ways) == 1:
        return ways
    first = ways[0]
    if isinstance(first, EarleyItem) and first.slot.mode == PLAIN and not first.env:
        return sorted(ways, key=_position, reverse=True)  # the usual case, ten times faster
    return sorted(ways, key=_way_key)


_position = attrgetter("pos")


def path_key(line: SinglePath) -> tuple[int, int]:
    """The sort key of single paths; those of the same alternative have the same last slot."""
    item = line[0]
    return item.slot.order, -item.pos


def _way_key(way: Continuation) -> tuple[Any, ...]:
    if isinstance(way, EarleyItem):
        return -way.pos, way.slot.order, environment_key(way.env)
    return (-way.end, -1, environment_key(way.env)) if isinstance(way, CompletedGoal) else (0, -1, ())


def environment_key(env: Environment) -> tuple[tuple[int, int], ...]:
    return tuple([(-1, -1) if binding is None else (-binding.end, binding.start) for binding in env]) if env else ()


class OpenForest:
    """The goals that are open at the end of the input, and the items that are open in each."""

    def __init__(self, parser: EarleyParser, unfinished: list[EarleyItem]) -> None:
        self.open_items: dict[ParseGoal, dict[EarleyItem, ParseGoal | None]] = {}
        self.nothing: dict[ParseGoal, None] = {}  # goals that can be open without any finished part
        self.something: dict[ParseGoal, None] = {}  # goals that can be open with one
        self._graphs: dict[ParseGoal, ForwardGraph] = {}
        self._limit = limit = parser.limit
        self._find_open(_distinct(unfinished, limit))
        nothing = [goal for goal in self.open_items if goal.pos == limit]
        something = []
        for goal, items in self.open_items.items():
            if goal.pos < limit:
                for item, inner in items.items():
                    has_part = not _begins_goal(item) or (inner is None and item.pos < limit)
                    if has_part:
                        something.append(goal)
                    elif inner is None:
                        nothing.append(goal)
        self._spread(nothing, self.nothing, limit)
        self._spread(something, self.something, limit)
        # Nothing has been read, so even the root has no part.
        if parser.root.pos == limit:
            self.nothing[parser.root] = None

    def _find_open(self, unfinished: list[EarleyItem]) -> None:
        stack: list[tuple[EarleyItem, ParseGoal | None]] = [(item, None) for item in unfinished]
        while stack:
            item, inner = stack.pop()
            goal = item.goal
            if goal not in self.open_items:
                self.open_items[goal] = {}
                stack.extend((waiter, goal) for waiter in goal.waiters)
                stack.extend((waiter, goal) for waiter in goal.tails)
            self.open_items[goal][item] = inner

    def _spread(self, goals: list[ParseGoal], found: dict[ParseGoal, None], limit: int) -> None:
        """Add to `found` the goals, and those around each that have nothing before it."""
        while goals:
            goal = goals.pop()
            if goal not in found:
                found[goal] = None
                waiters = chain(goal.waiters, goal.tails)
                goals += [item.goal for item in waiters if item.goal.pos < limit and _begins_goal(item)]

    def beginning(self, root: ParseGoal) -> OpenNode:
        """The symbols that are open before anything has been read, down to the terminal declared first."""
        opened: dict[ParseGoal, Parties | None] = {}
        goal: ParseGoal | None = root
        parties = None
        while goal is not None:
            opened[goal] = parties
            items = sorted(self.open_items[goal].items(), key=lambda pair: pair[0].slot.order)
            item, goal = next(((item, inner) for item, inner in items if inner not in opened), (None, None))
            parties = item.slot.parties if item is not None else None
        children: tuple[OpenNode, ...] = ()
        for goal, parties in reversed(opened.items()):
            if goal.nonterminal.symbol is not None:
                children = (OpenNode(goal.nonterminal.symbol, children, (), parties),)
        return children[0]

    def graph(self, goal: ParseGoal) -> ForwardGraph:
        if goal not in self._graphs:
            items = self.open_items[goal]
            graph = reversed_links([(item, None) for item in items])
            for item, inner in items.items():
                ways: list[Continuation] = []
                if inner is not None and inner in self.something:
                    ways.append(inner)
                if inner is None and item.pos < self._limit:
                    ways.append(None)  # the terminal that has been seen in part
                elif (inner is None or inner in self.nothing) and not _begins_goal(item):
                    ways.append(NO_CHILD)
                graph.ordered[item] = ways + [way for way in graph.ways_on(item) if isinstance(way, EarleyItem)]
            self._graphs[goal] = graph
        return self._graphs[goal]


def _distinct(unfinished: list[EarleyItem], limit: int) -> list[EarleyItem]:
    """The items without terminals seen in part whose leaf would equal that of an earlier one."""
    places: dict[object, EarleyItem] = {}
    for item in unfinished:
        place = (item.goal, item.pos) if item.pos < limit and _begins_goal(item) else item
        places.setdefault(place, item)
    return list(places.values())


def _begins_goal(item: EarleyItem) -> bool:
    """Return True if no part comes before `item` in its nonterminal."""
    while item.prev is not None and item.child is NO_CHILD:
        item = item.prev
    return item.prev is None
