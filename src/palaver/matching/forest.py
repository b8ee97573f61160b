"""From the links of a chart to trees: all of them, one at a time, in a stated order.

How it works
------------
Trees come out in this order: of two trees that differ, look at the outermost, leftmost place where they differ. If they
chose different alternatives there, the one declared first comes first; if they divide the text differently, the one
whose earlier part is longer comes first. In partial trees a part that is still open is longer than any other, and
a derivation that leaves something open comes before the one that leaves it out.

The links of the chart point backwards, from an end to its beginnings. Where there is one way only, they are simply
followed. Where there are several, all items on the way are turned round into a graph that points forwards, with the
edges of each item in the order above.

A tree is made by a small machine with a list of work and a list of finished parts, both linked lists that are never
changed. So a choice is remembered by keeping what the machine was about to do, and the next tree is found by going
back to the last choice that has something left. Nothing recurses: a tree may be as deep as it likes.

A nonterminal that contains itself over the same text could do so any number of times. Such rounds are left
out: a symbol is never expanded inside itself over the same span, and never open inside itself at the same position with
nothing before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from palaver.matching.chart import SKIP, Chart, Child, Context, Environment, Item, Result
from palaver.matching.collector import CollectorPaused
from palaver.matching.tables import BIT, LITERAL, Step
from palaver.trees.node import Leaf, Node, NonTerminal, OpenNode, Part, Parties, new

# Kinds of work.
_EXPAND, _REDUCE, _LEAF, _WALK, _OPEN, _REDUCE_OPEN = range(6)

# (kind, ..., the work after it), and (part, the parts before it).
_Work: TypeAlias = tuple[Any, ...] | None
_Parts: TypeAlias = tuple[Part, Any] | None
# The symbols (as results) around a place that have its span, innermost first; or all open contexts around it.
_Chain: TypeAlias = tuple[Any, Any] | None


class _Edge(NamedTuple):
    """A way on: over `child` to `target`. Without a target, the end is reached."""

    child: Child | Context
    target: Item | None


class _Graph(NamedTuple):
    """The items of one nonterminal, from its beginning to its end or ends."""

    starts: list[_Edge]
    edges: dict[Item, list[_Edge]]


class _Walk(NamedTuple):
    """A way through the graph of a result, or of a context that is open; `chain` is what it stands in."""

    graph: _Graph
    owner: Result | Context
    chain: _Chain


class _Choice(NamedTuple):
    """What the machine could also have done: `options`, the ways on from `item`, from `number` on."""

    options: list[_Edge]
    number: int
    item: Item | None
    walk: _Walk
    work: _Work
    parts: _Parts


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
            self.open_items[context][item] = inner

    def _spread(self, contexts: list[Context], found: dict[Context, None], limit: int) -> None:
        """What holds for a context holds for those around it that have nothing before it."""
        while contexts:
            context = contexts.pop()
            if context not in found:
                found[context] = None
                contexts += [item.context for item in context.waiters if item.context.pos < limit and _is_bare(item)]

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
                edges = []
                if inner is not None and inner in self.something:
                    edges.append(_Edge(inner, None))
                if inner is None and item.pos < self._limit:
                    edges.append(_Edge(None, None))  # the terminal that has been seen in part
                elif (inner is None or inner in self.nothing) and not _is_bare(item):
                    edges.append(_Edge(SKIP, None))
                graph.edges[item] = edges + [edge for edge in graph.edges.get(item, ()) if edge.target is not None]
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
        self._buffer = chart.buffer
        self._unit = chart.tables.unit
        self._binary = chart.tables.binary
        self._spine = spine
        self._choices: list[_Choice] = []
        self._work: _Work = None
        self._parts: _Parts = None

    def run(self, work: _Work) -> Iterator[Node]:
        self._work = work
        found = self._find(True)
        while found is not None:
            yield found
            found = self._find(self._go_back())

    def _find(self, going: bool) -> Node | None:
        """Work until a tree is done; None if there is no way to."""
        with CollectorPaused():
            while going and self._work is not None:
                going = self._do(self._work)
        if not going:
            return None
        assert self._parts is not None  # all work done: the root is finished
        root = self._parts[0]
        assert isinstance(root, Node)  # and it is a rule
        return root

    def _do(self, work: tuple[Any, ...]) -> bool:
        """One piece of work. Where it turns out to be impossible, back to the last choice; False if there is none."""
        kind = work[0]
        if kind == _LEAF:
            self._parts = (work[1], self._parts)
            self._work = work[2]
            return True
        if kind in (_REDUCE, _REDUCE_OPEN):
            self._reduce(*work[1:], is_open=kind == _REDUCE_OPEN)
            return True
        if kind == _EXPAND:
            possible = self._expand(*work[1:])
        elif kind == _OPEN:
            possible = self._open(*work[1:])
        else:
            _, walk, item, rest = work
            possible = self._choose(walk.graph.edges[item], 0, item, walk, rest)
        return possible or self._go_back()

    def _go_back(self) -> bool:
        while self._choices:
            options, number, item, walk, work, self._parts = self._choices.pop()
            if self._choose(options, number, item, walk, work):
                return True
        return False

    def _reduce(
        self, symbol: NonTerminal, parties: Parties | None, mark: _Parts, rest: _Work, *, is_open: bool
    ) -> None:
        children = []
        parts = self._parts
        while parts is not mark:
            assert parts is not None  # the mark lies below
            children.append(parts[0])
            parts = parts[1]
        children.reverse()
        self._work = rest
        if is_open and not children and rest is not None:
            return  # nothing to show for it, and it is not the root
        if is_open:
            self._parts = (OpenNode(symbol, tuple(children), (), parties), mark)
        else:
            self._parts = (new(Node, (symbol, tuple(children), (), parties)), mark)

    # --- Complete parts ---------------------------------------------------------------------------------------------

    def _expand(self, result: Result, parties: Parties | None, chain: _Chain, rest: _Work) -> bool:
        nonterminal = result.context.nonterminal
        inner = chain if nonterminal.is_cyclic else None
        if nonterminal.symbol is not None:
            rest = (_REDUCE, nonterminal.symbol, parties, self._parts, rest)
            if nonterminal.is_cyclic:
                inner = (result, chain)
        links = _only_way(result)
        if links is None:
            graph = result.graph
            if graph is None:
                graph = result.graph = _turn_round(list(_ways(result)))
            assert isinstance(graph, _Graph)  # nobody else puts anything there
            return self._choose(graph.starts, 0, None, _Walk(graph, result, inner), rest)
        # The links go from right to left, and so does making work.
        end = result.end
        for item, child in links:
            if child is None:
                rest = (_LEAF, self._leaf(item.step, item.pos, end), rest)
            elif isinstance(child, Result):
                around = self._around(inner, result, child)
                if _is_in(child, around):
                    return False
                rest = (_EXPAND, child, item.step.parties, around, rest)
            end = item.pos
        self._work = rest
        return True

    def _around(self, chain: _Chain, result: Result, child: Result) -> _Chain:
        same_span = chain is not None and child.end == result.end and child.context.pos == result.context.pos
        return chain if same_span else None

    def _choose(self, options: list[_Edge], number: int, item: Item | None, walk: _Walk, rest: _Work) -> bool:
        """Take the first of the options, from `number` on, that is possible, and keep the others in mind."""
        _, owner, chain = walk
        while number < len(options):
            edge = options[number]
            child = edge.child
            number += 1
            around: _Chain = None
            if isinstance(child, Context):
                if _is_open_in(child, chain):
                    continue
                around = chain
            elif isinstance(child, Result) and isinstance(owner, Result):
                around = self._around(chain, owner, child)
                if _is_in(child, around):
                    continue
            if number < len(options):
                self._choices.append(_Choice(options, number, item, walk, rest, self._parts))
            self._take(edge, item, walk, around, rest)
            return True
        return False

    def _take(self, edge: _Edge, item: Item | None, walk: _Walk, around: _Chain, rest: _Work) -> None:
        """Go over `edge` from `item`; `around` is what the child of the edge stands in."""
        child, target = edge
        owner = walk.owner
        if target is not None:
            rest = (_WALK, walk, target, rest)
        if child is None:
            assert item is not None  # only the way into a graph starts from nowhere, and it has no child
            if target is None and isinstance(owner, Context):
                leaf = self._slice(item.pos, len(self._buffer) * self._unit)
            else:
                end = target.pos if target is not None else owner.end if isinstance(owner, Result) else item.pos
                leaf = self._leaf(item.step, item.pos, end)
            self._parts = (leaf, self._parts)
        elif isinstance(child, Result):
            assert item is not None
            rest = (_EXPAND, child, item.step.parties, around, rest)
        elif isinstance(child, Context):
            assert item is not None
            rest = (_OPEN, child, item.step.parties, around, rest)
        self._work = rest

    def _leaf(self, step: Step, start: int, end: int) -> Leaf:
        if step.kind == LITERAL or step.kind == BIT:
            return step.leaf
        return self._slice(start, end)

    def _slice(self, start: int, end: int) -> Leaf:
        text = self._buffer[start // self._unit : end // self._unit]
        return text.encode("latin-1") if self._binary else text

    # --- Open parts -------------------------------------------------------------------------------------------------

    def _open(self, context: Context, parties: Parties | None, chain: _Chain, rest: _Work) -> bool:
        assert self._spine is not None  # only partial trees have open parts
        symbol = context.nonterminal.symbol
        if symbol is not None:
            rest = (_REDUCE_OPEN, symbol, parties, self._parts, rest)
        graph = self._spine.graph(context)
        return self._choose(graph.starts, 0, None, _Walk(graph, context, (context, chain)), rest)


def _only_way(result: Result) -> list[tuple[Item, Child]] | None:
    """The links of a result from its end to its beginning, if there is no choice among them."""
    if result.more is not None:
        return None
    item: Item = result.prev
    links: list[tuple[Item, Child]] = [(item, result.child)]
    while item.prev is not None:
        if item.more is not None:
            return None
        links.append((item.prev, item.child))
        item = item.prev
    return links


def _ways(entry: Item | Result) -> Iterator[tuple[Item, Child]]:
    """All links of an entry, one step back each."""
    if entry.prev is not None:
        yield entry.prev, entry.child
    if entry.more is not None:
        yield from entry.more


def _turn_round(ends: list[tuple[Item, Child]]) -> _Graph:
    """The graph of all items from which some end can be reached. An end is its last item and the child after it."""
    edges: dict[Item, list[_Edge]] = {}
    starts: dict[Item, None] = {}
    stack = []
    for item, child in ends:
        if item not in edges:
            edges[item] = []
            stack.append(item)
        edges[item].append(_Edge(child, None))
    while stack:
        item = stack.pop()
        if item.prev is None:
            starts[item] = None
        for before, child in _ways(item):
            if before not in edges:
                edges[before] = []
                stack.append(before)
            edges[before].append(_Edge(child, item))
    for item in edges:
        if len(edges[item]) > 1:
            edges[item].sort(key=_edge_key)
    ordered = sorted(starts, key=lambda item: item.step.order)
    return _Graph([_Edge(SKIP, item) for item in ordered], edges)


def _edge_key(edge: _Edge) -> tuple[Any, ...]:
    child, target = edge
    if target is None:
        return (-child.end, -1, _environment_key(child.env)) if isinstance(child, Result) else (0, -1, ())
    return -target.pos, target.step.order, _environment_key(target.env)


def _environment_key(env: Environment) -> tuple[tuple[int, int], ...]:
    return tuple([(-1, -1) if binding is None else (-binding.end, binding.start) for binding in env]) if env else ()


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
