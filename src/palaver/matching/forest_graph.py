"""Forward graphs over Earley items: the ways through one goal, in the order in which trees come out.

The links of the Earley parser point backwards, from an end to its beginnings. `reversed_links` turns them round, and
`ForwardGraph` puts the ways on from an item in order when an enumeration comes there.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, TypeAlias

from palaver.matching.earley_items import CompletedGoal, EarleyItem, Environment, ItemChild, ParseGoal
from palaver.matching.steps import PLAIN

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
        before = item.prev
        if before is None:
            starts.append(item)
            continue
        if before in ways:
            ways[before].append(item)
        else:
            ways[before] = [item]
            stack.append(before)
        if item.more is not None:
            for before, _ in item.more:
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
