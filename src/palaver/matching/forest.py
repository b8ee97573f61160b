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
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeAlias

from palaver.matching.chart import SKIP, Chart, Child, Context, Environment, Item, Result
from palaver.matching.collector import CollectorPaused
from palaver.matching.steps import BIT, LITERAL, PLAIN, Step
from palaver.trees.node import Leaf, Node, OpenNode, Part, Parties, new

# Kinds of work.
_EXPAND, _REDUCE, _ADD, _WALK, _OPEN, _REDUCE_OPEN = range(6)
# In place of work: there is not only one way to do it.
_FORKED: Final = (-1,)

# (kind, ..., the work after it), and (part, the parts before it).
_Work: TypeAlias = tuple[Any, ...] | None
_Parts: TypeAlias = tuple[Part, Any] | None
# The symbols (as results) around a place that have its span, innermost first; or all open contexts around it.
_Chain: TypeAlias = tuple[Any, Any] | None


# A way that does not fork: its last item, and the child after it.
_Line: TypeAlias = tuple[Item, Child]

# A way on from an item: the next item; or, at the end, the last child. Or else all the way from beginning to end.
_Way: TypeAlias = Item | Child | Context | _Line


class _Graph:
    """The items of one nonterminal, from its beginning to its end or ends."""

    __slots__ = ("_ways", "ordered", "starts")

    def __init__(self, starts: list[Item], ways: dict[Item, list[_Way]]) -> None:
        self.starts = starts
        self._ways = ways
        self.ordered: dict[Item, list[_Way]] = {}  # the same in the stated order, where someone has been

    def ways_on(self, item: Item) -> list[_Way]:
        ways = self.ordered.get(item)
        if ways is None:
            ways = self.ordered[item] = _in_order(self._ways[item])
        return ways


# A way through the graph of a result, or of a context that is open: (graph, result or context, what it stands in).
# There is no graph if the way is a line.
_Walk: TypeAlias = tuple[_Graph | None, Result | Context, _Chain]

# What the machine could also have done: (ways on, from which on, from which item, the walk, the work after it, parts).
_Choice: TypeAlias = tuple[Sequence[_Way], int, Item | None, _Walk, _Work, _Parts]


def first_tree(chart: Chart, result: Result) -> Node:
    """The tree of a result that comes first in the stated order."""
    return next(trees(chart, [result]))


def trees(chart: Chart, results: list[Result]) -> Iterator[Node]:
    """All trees of some results with the same span."""
    for result in sorted(results, key=lambda result: _environment_key(result.env)):
        yield from _Machine(chart, None).run((_EXPAND, result, None, None, None))


def partial_trees(chart: Chart) -> Iterator[Node]:
    """All trees of the input so far that are still open, as far as it has been seen."""
    unfinished = chart.unfinished
    if not unfinished:
        return
    spine = _Spine(chart, unfinished)
    root = chart.root
    if root.pos == chart.limit and (beginning := spine.beginning(root)).children:
        yield beginning
    if root in spine.something:
        yield from _Machine(chart, spine).run((_OPEN, root, None, None, None))
    if root in spine.nothing:
        symbol = root.nonterminal.symbol
        assert symbol is not None  # the start symbol is a rule
        yield OpenNode(symbol, ())


class _Spine:
    """Which contexts are open at the end of the input, and what is open in them."""

    def __init__(self, chart: Chart, unfinished: list[Item]) -> None:
        self.open_items: dict[Context, dict[Item, Context | None]] = {}
        self.nothing: dict[Context, None] = {}  # those that can be open without any finished part
        self.something: dict[Context, None] = {}  # those that can be open with one
        self._graphs: dict[Context, _Graph] = {}
        self._limit = limit = chart.limit
        self._find_open(_distinct(unfinished, limit))
        nothing = [context for context in self.open_items if context.pos == limit]
        something = []
        for context, items in self.open_items.items():
            if context.pos < limit:
                for item, inner in items.items():
                    has_part = not _is_bare(item) or (inner is None and item.pos < limit)
                    if has_part:
                        something.append(context)
                    elif inner is None:
                        nothing.append(context)
        self._spread(nothing, self.nothing, limit)
        self._spread(something, self.something, limit)
        # Nothing at all has been read, so even the root is bare.
        if chart.root.pos == limit:
            self.nothing[chart.root] = None

    def _find_open(self, unfinished: list[Item]) -> None:
        stack: list[tuple[Item, Context | None]] = [(item, None) for item in unfinished]
        while stack:
            item, inner = stack.pop()
            context = item.context
            if context not in self.open_items:
                self.open_items[context] = {}
                stack.extend((waiter, context) for waiter in context.waiters)
                stack.extend((waiter, context) for waiter in context.tails)
            self.open_items[context][item] = inner

    def _spread(self, contexts: list[Context], found: dict[Context, None], limit: int) -> None:
        """What holds for a context holds for those around it that have nothing before it."""
        while contexts:
            context = contexts.pop()
            if context not in found:
                found[context] = None
                waiters = chain(context.waiters, context.tails)
                contexts += [item.context for item in waiters if item.context.pos < limit and _is_bare(item)]

    def beginning(self, root: Context) -> OpenNode:
        """The symbols that are open before anything has been read, down to the terminal declared first."""
        opened: dict[Context, Parties | None] = {}
        context: Context | None = root
        parties = None
        while context is not None:
            opened[context] = parties
            items = sorted(self.open_items[context].items(), key=lambda pair: pair[0].step.order)
            item, context = next(((item, inner) for item, inner in items if inner not in opened), (None, None))
            parties = item.step.parties if item is not None else None
        children: tuple[OpenNode, ...] = ()
        for context, parties in reversed(opened.items()):
            if context.nonterminal.symbol is not None:
                children = (OpenNode(context.nonterminal.symbol, children, (), parties),)
        return children[0]

    def graph(self, context: Context) -> _Graph:
        if context not in self._graphs:
            items = self.open_items[context]
            graph = _turn_round([(item, None) for item in items])
            for item, inner in items.items():
                ways: list[_Way] = []
                if inner is not None and inner in self.something:
                    ways.append(inner)
                if inner is None and item.pos < self._limit:
                    ways.append(None)  # the terminal that has been seen in part
                elif (inner is None or inner in self.nothing) and not _is_bare(item):
                    ways.append(SKIP)
                graph.ordered[item] = ways + [way for way in graph.ways_on(item) if isinstance(way, Item)]
            self._graphs[context] = graph
        return self._graphs[context]


def _distinct(unfinished: list[Item], limit: int) -> list[Item]:
    """Without the terminals seen in part whose leaf would be the same as that of one before them."""
    places: dict[object, Item] = {}
    for item in unfinished:
        place = (item.context, item.pos) if item.pos < limit and _is_bare(item) else item
        places.setdefault(place, item)
    return list(places.values())


def _is_bare(item: Item) -> bool:
    """Whether no part comes before `item` in its nonterminal."""
    while item.prev is not None and item.child is SKIP:
        item = item.prev
    return item.prev is None


class _Machine:
    """Makes trees: a list of work, the parts finished so far, and the choices to come back to."""

    def __init__(self, chart: Chart, spine: _Spine | None) -> None:
        self._chart = chart
        self._shared = chart.shared
        self._buffer = chart.buffer
        self._unit = chart.tables.unit
        self._binary = chart.tables.binary
        self._spine = spine
        self._choices: list[_Choice] = []

    def run(self, work: _Work) -> Iterator[Node]:
        found = self._find(work, None)
        while found is not None:
            yield found
            found = self._find(*self._go_back())

    def _find(self, work: _Work, parts: _Parts) -> Node | None:
        """Work until a tree is done; None if there is no way to."""
        with CollectorPaused():
            while work is not None:
                kind = work[0]
                if kind == _ADD:
                    _, added, work = work
                    for part in added:
                        parts = part, parts
                elif kind == _REDUCE:
                    _, symbol, parties, mark, work = work
                    parts = new(Node, (symbol, _above(mark, parts), (), parties)), mark
                elif kind == _REDUCE_OPEN:
                    _, symbol, parties, mark, work = work
                    children = _above(mark, parts)
                    # Unless there is nothing to show for it, and it is not the root.
                    parts = (OpenNode(symbol, children, (), parties), mark) if children or work is None else mark
                else:
                    work = self._unfold(work, parts)
                    if work is None:
                        work, parts = self._go_back()
        if parts is None:
            return None
        root = parts[0]
        assert isinstance(root, Node)  # it is a rule
        return root

    def _unfold(self, work: tuple[Any, ...], parts: _Parts) -> _Work:
        """Smaller pieces of work in place of one; None if it turns out to be impossible."""
        kind = work[0]
        if kind == _EXPAND:
            _, result, parties, chain, rest = work
            return self._expand(result, parties, chain, rest, parts)
        if kind == _OPEN:
            _, context, parties, chain, rest = work
            return self._open(context, parties, chain, rest, parts)
        _, walk, item, rest = work
        return self._choose(walk[0].ways_on(item), 0, item, walk, rest, parts)

    def _go_back(self) -> tuple[_Work, _Parts]:
        """What to do instead, by the last choice that leaves something to do; nothing if none does."""
        while self._choices:
            options, number, item, walk, rest, parts = self._choices.pop()
            work = self._choose(options, number, item, walk, rest, parts)
            if work is not None:
                return work, parts
        return None, None

    # --- Complete parts ---------------------------------------------------------------------------------------------

    def _expand(self, result: Result, parties: Parties | None, chain: _Chain, rest: _Work, parts: _Parts) -> _Work:
        nonterminal = result.context.nonterminal
        inner = chain if nonterminal.is_cyclic else None
        if nonterminal.symbol is not None:
            rest = _REDUCE, nonterminal.symbol, parties, parts, rest
            if nonterminal.is_cyclic:
                inner = result, chain
        graph = result.graph
        if graph is None:
            is_certain = result.more is None and result.end not in self._shared
            ways = None if is_certain else self._chart.ways(result)
            if ways is None or len(ways) == 1:
                work = self._follow(result.prev, result.child, result, inner, rest)
                if work is not _FORKED:
                    return work
                ways = [(result.prev, result.child)]
            graph = result.graph = sorted(ways, key=_line_key) if nonterminal.is_short else _turn_round(ways)
        if isinstance(graph, list):
            return self._choose(graph, 0, None, (None, result, inner), rest, parts)
        assert isinstance(graph, _Graph)  # nobody else puts anything there
        starts = graph.starts
        if len(starts) == 1:
            return self._choose(graph.ways_on(starts[0]), 0, starts[0], (graph, result, inner), rest, parts)
        return self._choose(starts, 0, None, (graph, result, inner), rest, parts)

    def _follow(self, last: Item, child: Child, result: Result, chain: _Chain, work: _Work) -> _Work:
        """Make all parts on the line that leads to a result by `last` and then `child`; None if that is impossible."""
        item: Item | None = last
        end = result.end
        # The links go from right to left, and so does making work.
        while item is not None:
            if child is None:
                work = _ADD, self._between(item.step, item.pos, end), work
            elif isinstance(child, Result):
                around = None if chain is None else _around(chain, result, child)
                if around is not None and _is_in(child, around):
                    return None
                work = self._child(child, item.step.parties, around, work)
            if item.more is not None:
                return _FORKED
            end = item.pos
            child, item = item.child, item.prev
        return work

    def _child(self, result: Result, parties: Parties | None, chain: _Chain, rest: _Work) -> _Work:
        """The work of making a result. Most are a node over a single terminal; that is made at once."""
        symbol = result.context.nonterminal.symbol
        item = result.prev
        is_single = result.child is None and item.prev is None and result.more is None
        if symbol is None or not is_single or (result.end in self._shared and len(self._chart.ways(result)) > 1):
            return _EXPAND, result, parties, chain, rest
        return _ADD, (new(Node, (symbol, self._between(item.step, item.pos, result.end), (), parties)),), rest

    def _choose(
        self, options: Sequence[_Way], number: int, item: Item | None, walk: _Walk, rest: _Work, parts: _Parts
    ) -> _Work:
        """Take the first of the options, from `number` on, that is possible, and keep the others in mind."""
        _, owner, chain = walk
        while number < len(options):
            way = options[number]
            number += 1
            if isinstance(way, tuple):
                assert isinstance(owner, Result)  # lines lead to results
                work = self._follow(*way, owner, chain, rest)
                if work is None:
                    continue
                if number < len(options):
                    self._choices.append((options, number, None, walk, rest, parts))
                return work
            child = _child_between(item, way) if isinstance(way, Item) else way
            around = None
            if chain is not None:
                if isinstance(child, Context):
                    if _is_open_in(child, chain):
                        continue
                    around = chain
                elif isinstance(child, Result) and isinstance(owner, Result):
                    around = _around(chain, owner, child)
                    if _is_in(child, around):
                        continue
            if number < len(options):
                self._choices.append((options, number, item, walk, rest, parts))
            target = None
            if isinstance(way, Item):
                target = way
                rest = _WALK, walk, target, rest
            return rest if item is None or child is SKIP else self._take(child, item, target, owner, around, rest)
        return None

    def _take(
        self,
        child: Child | Context,
        item: Item,
        target: Item | None,
        owner: Result | Context,
        around: _Chain,
        rest: _Work,
    ) -> _Work:
        """Make `child`, which stands between `item` and `target`, or the end of `owner`, and in `around`."""
        if isinstance(child, Result):
            return self._child(child, item.step.parties, around, rest)
        if isinstance(child, Context):
            return _OPEN, child, item.step.parties, around, rest
        if target is not None:
            added = self._between(item.step, item.pos, target.pos)
        elif isinstance(owner, Result):
            added = self._between(item.step, item.pos, owner.end)
        else:
            added = (self._leaf(self._text(item.pos, len(self._buffer) * self._unit)),)
        return _ADD, added, rest

    def _between(self, step: Step, start: int, end: int) -> tuple[Part, ...]:
        """What a terminal or a token has read."""
        if step.kind == LITERAL or step.kind == BIT:
            return (step.leaf,)
        text = self._text(start, end)
        if step.target is None:
            return (self._leaf(text),)
        token = self._chart.tokens[step.target] if self._chart.tokens is not None else None
        assert token is not None  # or who has read it?
        return token.parts(text, step.parties, lazy=self._chart.lazy)

    def _text(self, start: int, end: int) -> str:
        return self._buffer[start // self._unit : end // self._unit]

    def _leaf(self, text: str) -> Leaf:
        return text.encode("latin-1") if self._binary else text

    # --- Open parts -------------------------------------------------------------------------------------------------

    def _open(self, context: Context, parties: Parties | None, chain: _Chain, rest: _Work, parts: _Parts) -> _Work:
        assert self._spine is not None  # only partial trees have open parts
        symbol = context.nonterminal.symbol
        if symbol is not None:
            rest = _REDUCE_OPEN, symbol, parties, parts, rest
        graph = self._spine.graph(context)
        return self._choose(graph.starts, 0, None, (graph, context, (context, chain)), rest, parts)


def _above(mark: _Parts, parts: _Parts) -> tuple[Part, ...]:
    """The parts that were finished since `mark`."""
    found = []
    while parts is not mark:
        assert parts is not None  # the mark lies below
        part, parts = parts
        found.append(part)
    found.reverse()
    return tuple(found)


def _turn_round(ends: list[tuple[Item, Child]]) -> _Graph:
    """The graph of all items from which some end can be reached. An end is its last item and the child after it."""
    ways: dict[Item, list[_Way]] = {}
    starts: list[Item] = []
    stack: list[Item] = []
    for item, child in ends:
        if item in ways:
            ways[item].append(child)
        else:
            ways[item] = [child]
            stack.append(item)
    for item in stack:  # which grows
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
    starts.sort(key=lambda item: item.step.order)
    return _Graph(starts, ways)


def _child_between(item: Item | None, following: Item) -> Child:
    """What leads from an item to the next. There is only one: children that end there differ in their environment."""
    if following.prev is item:
        return following.child
    return next(child for before, child in following.more or () if before is item)


def _in_order(ways: list[_Way]) -> list[_Way]:
    if len(ways) == 1:
        return ways
    first = ways[0]
    if isinstance(first, Item) and first.step.mode == PLAIN and not first.env:
        return sorted(ways, key=_position, reverse=True)  # mostly, and ten times faster
    return sorted(ways, key=_way_key)


_position = attrgetter("pos")


def _line_key(line: _Line) -> tuple[int, int]:
    """Lines of the same alternative have the same last step."""
    item = line[0]
    return item.step.order, -item.pos


def _way_key(way: _Way) -> tuple[Any, ...]:
    if isinstance(way, Item):
        return -way.pos, way.step.order, _environment_key(way.env)
    return (-way.end, -1, _environment_key(way.env)) if isinstance(way, Result) else (0, -1, ())


def _environment_key(env: Environment) -> tuple[tuple[int, int], ...]:
    return tuple([(-1, -1) if binding is None else (-binding.end, binding.start) for binding in env]) if env else ()


def _around(chain: _Chain, result: Result, child: Result) -> _Chain:
    """What `child` stands in, if `chain` is what `result` stands in."""
    return chain if child.end == result.end and child.context.pos == result.context.pos else None


def _is_in(result: Result, chain: _Chain) -> bool:
    while chain is not None:
        if chain[0] is result:
            return True
        chain = chain[1]
    return False


def _is_open_in(context: Context, chain: _Chain) -> bool:
    while chain is not None and chain[0].pos == context.pos:
        if chain[0] is context:
            return True
        chain = chain[1]
    return False
