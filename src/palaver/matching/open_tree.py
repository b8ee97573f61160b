"""Open trees: the right edge of a partial parse tree as a zipper (Huet 1997), an immutable list of open nodes.

An `OpenEdge` is a node whose end has not been seen, with its children so far. It points to its parent as that was when
the node was opened; the parent gets the node as a child when it is closed. One more child makes another `OpenEdge` of
the same `OpenPlace`, so old edges stay as they were and share all they can.

A node that is the last one of its parent is closed together with it, and with all above it that end there as well. That
takes constant time: a `ClosedSubtree` remembers the edge, and makes its nodes when they are asked for.

Where a left-recursive symbol is wanted, its tree grows from the bottom: there is a place without a symbol, with the
symbol as its goal. It holds the one node there is so far, and is shown as an open node of the goal until that is
reached. The root is such a place too; its goal is the start symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import TypeAlias

from palaver.lean_dataclasses import dataclass
from palaver.matching.bound_paths import NO_PATH_STATE, BoundPaths, PathState
from palaver.matching.matching_limits import RECENT_DEPTH, RECENT_WIDTH
from palaver.trees.node import Node, NonTerminal, OpenNode, Part, TreePath, new


class OpenPlace:
    """The place of an open node, shared by all edges that end in it."""

    __slots__ = (
        "goal", "height", "is_last", "kinds", "level", "parent", "path_state", "shape", "survivor", "symbol", "tail",
    )  # fmt: skip

    def __init__(
        self,
        symbol: NonTerminal | None,
        parent: OpenEdge | None,
        goal: NonTerminal,
        *,
        is_last: bool = False,
        tail: tuple[Part, ...] = (),
        is_marked: bool = False,
        path_state: PathState = NO_PATH_STATE,
    ) -> None:
        self.symbol = symbol
        self.parent = parent
        self.goal = goal  # the symbol itself, if there is one
        # True if the parent is closed together with this node, after adding some empty parts, the `tail`.
        self.is_last = is_last
        self.tail = tail
        # The nearest above that stays open when this is closed.
        self.survivor: OpenEdge | None = parent.place.survivor if is_last and parent is not None else parent
        above = None if parent is None else parent.place
        # The number of closings until all is closed.
        self.height: int = (above.height if above else 0) + (not is_last)
        # The number of open symbols that matter, and a hash of which of them will be closed together.
        self.level: int = (above.level if above else 0) + is_marked
        self.shape: int = above.shape if above else 0
        if is_marked:
            self.shape = hash((self.shape, self.height))
        self.path_state = path_state  # of the paths of computed bounds
        self.kinds: frozenset[NonTerminal] | None = None  # the symbols of the nodes that are open here, once asked for


class OpenEdge:
    """An open node, and its children so far: the latest one, and those before."""

    __slots__ = ("children", "place")

    def __init__(self, place: OpenPlace, children: ChildList) -> None:
        self.place = place
        self.children = children


class ClosedSubtree:
    """The node at `edge`, closed, with all above it that are closed with it."""

    __slots__ = ("_edge", "_made", "_part")

    def __init__(self, edge: OpenEdge) -> None:
        self._edge: OpenEdge | None = edge
        self._part: Part | None = None
        self._made: tuple[Node, ...] = ()

    @property
    def part(self) -> Part:
        """The child that the surviving place gets."""
        if self._edge is not None:
            _finish(self)
        assert self._part is not None, "made just now"
        return self._part

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that this closed, the innermost first."""
        if self._edge is not None:
            _finish(self)
        return self._made

    @property
    def symbols(self) -> list[NonTerminal]:
        """Their symbols, in the same order."""
        edge = self._edge
        if edge is None:
            return [node.symbol for node in self._made]
        found: list[NonTerminal] = []
        while True:
            place = edge.place
            if place.symbol is not None:
                found.append(place.symbol)
            if not place.is_last or place.parent is None:
                return found
            edge = place.parent

    def waits_for(self) -> list[ClosedSubtree]:
        """The subtrees that must be made before this one."""
        found: list[ClosedSubtree] = []
        edge = self._edge
        while edge is not None:
            children = edge.children
            while children is not None:
                children, item = children
                if isinstance(item, ClosedSubtree) and item._edge is not None:
                    found.append(item)
            edge = edge.place.parent if edge.place.is_last else None
        return found

    def make(self) -> None:
        """Make the nodes; those that this waits for have been made."""
        edge = self._edge
        if edge is None:
            return
        made: list[Node] = []
        parts = parts_of(edge.children)
        while True:
            place = edge.place
            if place.symbol is not None:
                made.append(new(Node, (place.symbol, tuple(parts), (), None)))
                parts = [made[-1]]
            if not place.is_last:
                break
            edge = place.parent
            assert edge is not None, "the root is the last of nothing"
            parts = [*parts_of(edge.children), *parts, *place.tail]
        (self._part,) = parts
        self._made = tuple(made)
        self._edge = None


EdgeItem: TypeAlias = Part | ClosedSubtree
ChildList: TypeAlias = "tuple[ChildList, EdgeItem] | None"


def root(start: NonTerminal) -> OpenEdge:
    """The edge of an empty tree."""
    return OpenEdge(OpenPlace(None, None, start), None)


def extended(edge: OpenEdge, item: EdgeItem) -> OpenEdge:
    """The edge with one child more."""
    return OpenEdge(edge.place, (edge.children, item))


def closed(edge: OpenEdge) -> tuple[OpenEdge, ClosedSubtree]:
    """The edge once the innermost node is closed, and the closed subtree."""
    survivor = edge.place.survivor
    assert survivor is not None, "the root is never closed"
    finished = ClosedSubtree(edge)
    return OpenEdge(survivor.place, (survivor.children, finished)), finished


def _finish(finished: ClosedSubtree) -> None:
    todo = [finished]
    while todo:
        waits_for = todo[-1].waits_for()
        if waits_for:
            todo += waits_for
        else:
            todo.pop().make()


def items_of(children: ChildList) -> list[EdgeItem]:
    items: list[EdgeItem] = []
    while children is not None:
        children, item = children
        items.append(item)
    items.reverse()
    return items


def parts_of(children: ChildList) -> list[Part]:
    return [item.part if isinstance(item, ClosedSubtree) else item for item in items_of(children)]


def partial_tree(edge: OpenEdge) -> Node:
    """The tree with all that is open as open nodes."""
    parts = parts_of(edge.children)
    while True:
        place = edge.place
        if place.symbol is not None or not _is_reached(place.goal, parts):
            parts = [new(OpenNode, (place.goal, tuple(parts), (), None))]
        if place.parent is None:
            break
        edge = place.parent
        parts = [*parts_of(edge.children), *parts]
    (tree,) = parts
    assert isinstance(tree, Node), "just made one"
    return tree


def _is_reached(goal: NonTerminal, parts: list[Part]) -> bool:
    return bool(parts) and isinstance(parts[0], Node) and parts[0].symbol == goal


def next_path(edge: OpenEdge) -> TreePath:
    """The path of the next child of the innermost node."""
    steps: list[int] = []
    step = len(items_of(edge.children))
    inner: NonTerminal | None = None
    while True:
        place = edge.place
        if place.symbol is not None or inner not in (None, place.goal):
            steps.append(step)
            step = 0
        inner = place.goal
        if place.parent is None:
            break
        edge = place.parent
        step += len(items_of(edge.children))
    steps.reverse()
    return tuple(steps)


def symbols_around(edge: OpenEdge) -> Iterator[NonTerminal]:
    """The symbols of the open nodes, the innermost first. There may be as many as messages; most want the first few."""
    above: OpenEdge | None = edge
    while above is not None:
        place = above.place
        if place.symbol is not None:
            yield place.symbol
        above = place.parent


def kinds_around(edge: OpenEdge) -> frozenset[NonTerminal]:
    """The different symbols of the open nodes: no more than the grammar has, so that a place can keep them."""
    places: list[OpenPlace] = []
    above: OpenEdge | None = edge
    kinds: frozenset[NonTerminal] = frozenset()
    while above is not None:
        place = above.place
        if place.kinds is not None:
            kinds = place.kinds
            break
        places.append(place)
        above = place.parent
    for place in reversed(places):
        if place.symbol is not None and place.symbol not in kinds:
            kinds |= {place.symbol}
        place.kinds = kinds
    return kinds


# Changes of an edge between two messages. Each `apply` returns the edge after it, and adds the closed nodes to `done`.

ClosedNodes: TypeAlias = list["ClosedSubtree | Node"]


@dataclass(slots=True, eq=False)
class OpenAction:
    """Opens a node or, without a symbol, a place where a tree grows from the bottom."""

    symbol: NonTerminal | None
    goal: NonTerminal
    _: KW_ONLY
    is_last: bool
    tail: tuple[Part, ...]
    is_marked: bool
    bound_paths: BoundPaths | None

    def apply(self, edge: OpenEdge, done: ClosedNodes) -> OpenEdge:
        path_state = edge.place.path_state
        if self.bound_paths is not None and self.symbol is not None:
            path_state = self.bound_paths.descend(path_state, self.symbol)[0]
        is_last, is_marked = self.is_last, self.is_marked
        place = OpenPlace(
            self.symbol, edge, self.goal, is_last=is_last, tail=self.tail, is_marked=is_marked, path_state=path_state
        )
        return OpenEdge(place, None)


class AddAction:
    """Adds empty parts to the innermost node."""

    __slots__ = ("nodes", "parts")

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self.parts = parts
        self.nodes = [part for part in parts if isinstance(part, Node)]

    def apply(self, edge: OpenEdge, done: ClosedNodes) -> OpenEdge:
        children = edge.children
        for part in self.parts:
            children = (children, part)
        done += self.nodes
        return OpenEdge(edge.place, children)


@dataclass(slots=True, eq=False)
class WrapAction:
    """Wraps the node at a place without a symbol into a new one, as its first child after empty parts."""

    opening: OpenAction
    before: AddAction

    def apply(self, edge: OpenEdge, done: ClosedNodes) -> OpenEdge:
        assert edge.children is not None, "there is something to wrap"
        _, wrapped = edge.children
        inner = self.opening.apply(OpenEdge(edge.place, None), done)
        return extended(self.before.apply(inner, done), wrapped)


class CloseAction:
    """Closes the innermost node."""

    __slots__ = ()

    def apply(self, edge: OpenEdge, done: ClosedNodes) -> OpenEdge:
        outer, finished = closed(edge)
        done.append(finished)
        return outer


TreeAction: TypeAlias = OpenAction | AddAction | WrapAction | CloseAction


def grown(edge: OpenEdge, growth: Iterable[TreeAction], done: ClosedNodes) -> OpenEdge:
    """The edge after all of these actions."""
    for each in growth:
        edge = each.apply(edge, done)
    return edge


def recent_tree(edge: OpenEdge, start: NonTerminal, closing: Sequence[Part] | None) -> tuple[Node, TreePath]:
    """A tree with the latest message and those just before it, and the path of the message.

    `closing` are the empty parts that come after the message if it completes its node; None if it does not.

    Open nodes of symbols that matter are complete: constraints compare the first message in such a node with the last.
    Of other nodes around the message the innermost ones are there, each with its latest children. The root is always
    one of the start symbol.
    """
    parts = _latest(edge)
    path = [len(parts) - 1]
    depth = 0
    is_complete = closing is not None
    parts += closing or ()
    while depth < RECENT_DEPTH or edge.place.level:
        parent = edge.place.parent
        if parent is None:
            break
        before = _latest(parent)
        if edge.place.symbol is None:  # a tree that grows from the bottom stands among the children above
            path[-1] += len(before)
        else:
            # A complete node is shown as such if all of it is there.
            kind = Node if is_complete and edge.place.level else OpenNode
            parts = [new(kind, (edge.place.symbol, tuple(parts), (), None))]
            path.append(len(before))
        is_complete = is_complete and edge.place.is_last
        parts = [*before, *parts, *(edge.place.tail if is_complete else ())]
        edge = parent
        depth += 1
    match parts:
        case [Node(symbol) as tree] if symbol == start:
            path.pop()
        case _:
            tree = new(OpenNode, (start, tuple(parts), (), None))
    path.reverse()
    return tree, tuple(path)


def cut_before(tree: Node, path: TreePath) -> Node:
    """A tree without the part at a path and what comes after it; the nodes around that are open."""
    around: list[Node] = []
    below: Part = tree
    for step in path:
        assert isinstance(below, Node), "what has children is a node"
        around.append(below)
        below = below.children[step]
    parts: tuple[Part, ...] = ()
    for node, step in zip(reversed(around), reversed(path), strict=True):
        tree = new(OpenNode, (node.symbol, (*node.children[:step], *parts), (), None))
        parts = (tree,)
    return tree


def _latest(edge: OpenEdge) -> list[Part]:
    """The latest children of an open node; all of them inside a node that matters."""
    found: list[Part] = []
    children = edge.children
    while children is not None and (edge.place.level or len(found) < RECENT_WIDTH):
        children, item = children
        found.append(item.part if isinstance(item, ClosedSubtree) else item)
    found.reverse()
    return found
