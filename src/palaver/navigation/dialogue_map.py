"""Dialogue map: the reachability graph of a dialogue (West 1978), with the k-paths of each message; built on demand.

A *node* of the map is a future of the forecaster together with the coverage states of the open tree nodes: two
histories are at the same node if they have the same continuations, which cover the same paths. An *edge* is a message
that is possible at a node. It has the coverage states of all tree nodes that are created before the message (states of
the dialogue that are entered, parts that are empty) and of the message itself, so following an edge tells what is
covered without looking at a tree. Nodes are created when they are first asked for, and kept for all sessions.

The tree of a left-recursive symbol grows from the bottom, and the number of nodes above it is known only at the end. So
its node exists once for each chain of symbols that may be around it, up to the length that makes a difference, and each
time that the tree is wrapped into another node, only those chains continue that expected it.

The number of rounds of a computed repetition is not known before it is reached: on the map it is arbitrary. In a
session, edges are looked up with the fields of that session.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field
from typing import NamedTuple, assert_never

from palaver import interruption
from palaver.lean_dataclasses import dataclass
from palaver.matching.dialogue_automaton import (
    AddAction,
    AnyFields,
    CloseAction,
    DialogueState,
    LoopFields,
    OpenAction,
    Route,
    TreeAction,
    WrapAction,
)
from palaver.matching.dialogue_grammar import MessageType
from palaver.matching.forecaster import Forecaster
from palaver.navigation.coverage import NOTHING, Coverage
from palaver.navigation.navigation_limits import MAX_EDGES_OF_NODE, MAX_LEFT_RECURSIVE_CHAINS
from palaver.trees.node import Node, NonTerminal, Part

# The answer if none comes, where we may send as well.
SILENCE = ""
# The answer if the peer ends the session, where only the peer may send, and the session may be over.
HANG_UP = "(end)"

_Chain = tuple[NonTerminal, ...]


@dataclass(slots=True, eq=False, repr=False)
class MapNode:
    """A node of the dialogue map."""

    future: DialogueState
    state: int  # of the innermost open tree node; where a tree grows from the bottom, of the one above it
    chain: _Chain  # the symbols around a tree that grows from the bottom
    following: MapNode | None
    number: int  # in the order of creation
    # Valid once `is_known`:
    is_known: bool = False
    edges: tuple[Edge, ...] = ()
    by_move: dict[MessageType, tuple[Edge, ...]] = field(default_factory=dict)
    # The symbols that others may send, sorted; SILENCE if we may send, else HANG_UP if the dialogue may end.
    answers: tuple[str, ...] = ()
    ending: tuple[int, ...] | None = None  # the states covered if the dialogue ends here; None if it cannot


@dataclass(slots=True, eq=False, repr=False)
class Edge:
    """A message that is possible at a node."""

    source: MapNode
    move: MessageType
    marks: tuple[int, ...]  # the states of the tree nodes that are created before the message, in order
    above: int  # the state of the parent of the message
    state: int  # of the message
    to: MapNode
    is_ours: bool
    states: tuple[int, ...]  # all that it covers itself: the marks and the message
    is_exhausted: bool = False  # all that it can cover is covered
    is_counted: bool = False  # its marks are covered

    def is_like(self, other: Edge) -> bool:
        """Return True if both are the same edge; computed repetitions create edges anew."""
        return self is other or (
            self.source is other.source
            and self.to is other.to
            and self.state == other.state
            and self.marks == other.marks
        )


class _LevelState(NamedTuple):
    """An open tree node of a map node that is being computed."""

    state: int
    chain: _Chain = ()


class _GrownLevels(NamedTuple):
    """The result of growth: the levels that replace the first one, and the states of new tree nodes."""

    levels: tuple[_LevelState, ...]
    marks: tuple[int, ...]

    @property
    def top(self) -> _LevelState:
        return self.levels[-1]

    def on(self, *levels: _LevelState, dropped: int = 0, marks: tuple[int, ...] = ()) -> _GrownLevels:
        kept = self.levels[: len(self.levels) - dropped]
        return _GrownLevels((*kept, *levels), _joined(self.marks, marks))


class _EdgeTemplate(NamedTuple):
    """An edge from a dialogue state, whatever the coverage states of its open tree nodes."""

    move: MessageType
    is_over: bool  # the innermost rule ends with the message
    future: DialogueState
    growth: tuple[TreeAction, ...]
    opened: tuple[tuple[NonTerminal, bool], ...] | None  # if it only opens nodes: each, and whether it is the last part
    futures: tuple[DialogueState, ...]  # then also the states of the open nodes afterwards, the outermost first


class DialogueMap:
    """The reachability graph of a dialogue in which we play the parties `ours`."""

    def __init__(self, forecaster: Forecaster, coverage: Coverage, ours: Collection[str]) -> None:
        self.coverage = coverage
        self._dialogue = forecaster.compiled
        self._positions = forecaster.positions
        self.ours = frozenset(ours)
        self._anything = AnyFields(self._positions) if self._positions.has_computed_loops else None
        self._nodes: dict[tuple[DialogueState, int, _Chain, MapNode | None], MapNode] = {}
        self._templates: dict[DialogueState, tuple[_EdgeTemplate, ...]] = {}
        self._chains: dict[tuple[NonTerminal, NonTerminal], tuple[_Chain, ...]] = {}
        self._answers: dict[tuple[tuple[MessageType, ...], bool], tuple[str, ...]] = {}
        self.beginning = self._node(self._dialogue.beginning, _LevelState(NOTHING), None)

    def __len__(self) -> int:
        return len(self._nodes)

    def _node(self, future: DialogueState, level_state: _LevelState, following: MapNode | None) -> MapNode:
        key = (future, level_state.state, level_state.chain, following)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = MapNode(*key, len(self._nodes))
        return node

    def edges(self, node: MapNode) -> tuple[Edge, ...]:
        """The edges from a node, the preferred first."""
        if not node.is_known:
            self._expand(node)
        return node.edges

    def nodes(self, most: int) -> list[MapNode]:
        """The nodes that are reachable from the beginning, in the order of a breadth-first search, up to a limit."""
        found = {self.beginning}
        nodes = [self.beginning]
        for node in nodes:
            interruption.check()
            for edge in self.edges(node):
                if edge.to not in found and len(found) < most:
                    found.add(edge.to)
                    nodes.append(edge.to)
        return nodes

    def ending(self, node: MapNode) -> tuple[int, ...] | None:
        """The states of the tree nodes that are created if the dialogue ends at a node; None if it cannot end."""
        if not node.is_known:
            self._expand(node)
        return node.ending

    def _expand(self, node: MapNode) -> None:
        edges: list[Edge] = []
        for edge in self._edges_from(node, self._anything):
            edges.append(edge)
            if len(edges) >= MAX_EDGES_OF_NODE:
                MAX_EDGES_OF_NODE.reached()
                break
        node.edges = tuple(edges)
        node.ending = self._end(node, self._anything)
        node.answers = self.answers(tuple([edge.move for edge in edges]), can_end=node.ending is not None)
        node.is_known = True

    def answers(self, moves: tuple[MessageType, ...], *, can_end: bool) -> tuple[str, ...]:
        """The possible answers where these messages are possible, as `MapNode.answers`."""
        key = (moves, can_end)
        if key not in self._answers:
            names = {SILENCE if move.sender in self.ours else move.symbol for move in moves}
            if can_end and SILENCE not in names:
                names.add(HANG_UP)
            self._answers[key] = tuple(sorted(names))
        return self._answers[key]

    def edges_for(self, node: MapNode, move: MessageType, fields: LoopFields | None) -> tuple[Edge, ...]:
        """The edges from a node for one message, in a session with these fields."""
        if node.future.depends_on_fields and fields is not None:
            return tuple([edge for edge in self._edges_from(node, fields) if edge.move == move])
        edges = node.by_move.get(move)
        if edges is None:
            edges = node.by_move[move] = tuple([edge for edge in self.edges(node) if edge.move == move])
        return edges

    def _edges_from(self, node: MapNode, fields: LoopFields | None) -> Iterator[Edge]:
        for level, ended in self._levels(node, fields):
            after = _GrownLevels((_LevelState(level.state, level.chain),), ended.marks)
            for template in self._templates_at(level.future, fields):
                if template.opened is not None and not level.chain:
                    yield self._edge_by(template, template.opened, node, level, ended.marks)
                    continue
                for grown in self._grown(after, template.growth):
                    yield self._edge(node, level, template, grown)

    def _templates_at(self, future: DialogueState, fields: LoopFields | None) -> tuple[_EdgeTemplate, ...]:
        """The edges from a dialogue state, without coverage states; made once unless they depend on fields."""
        is_kept = fields is self._anything
        templates = self._templates.get(future) if is_kept else None
        if templates is None:
            routes = self._positions.routes(future.position, fields)
            templates = tuple([self._template(future, route) for each in routes.values() for route in each])
            if is_kept:
                self._templates[future] = templates
        return templates

    def _template(self, future: DialogueState, route: Route) -> _EdgeTemplate:
        # A rule that ends with the message may end with empty parts.
        is_over = route.after.is_over
        growth = route.growth + (route.after.ending or () if is_over else ())
        after = self._dialogue.state_along(future, route)
        opened: list[tuple[NonTerminal, bool]] = []
        depth = 1 - is_over
        for action in growth:
            if not isinstance(action, OpenAction) or action.symbol is None or action.tail:
                return _EdgeTemplate(route.move, is_over, after, growth, None, ())
            opened.append((action.symbol, action.is_last))
            depth += not action.is_last
        return _EdgeTemplate(route.move, is_over, after, growth, tuple(opened), _futures(after, depth))

    def _edge_by(
        self,
        template: _EdgeTemplate,
        opened: tuple[tuple[NonTerminal, bool], ...],
        source: MapNode,
        level: MapNode,
        marks: tuple[int, ...],
    ) -> Edge:
        """The edge of a template that only opens tree nodes, which is the usual case."""
        step = self.coverage.step
        states = [level.state]
        if opened:
            new = list(marks)
            for symbol, is_last in opened:
                state = step(states[-1], symbol)
                new.append(state)
                if is_last:
                    states[-1] = state
                else:
                    states.append(state)
            marks = tuple(dict.fromkeys(new))
        above = states[-1]
        node = level.following
        nodes = self._nodes
        for future, state in zip(template.futures, states, strict=False):  # the last one may be over
            key = (future, state, (), node)
            node = nodes.get(key)
            if node is None:
                node = nodes[key] = MapNode(*key, len(nodes))
        assert node is not None, "the end of the whole is never over"
        state = step(above, template.move.symbol)
        is_ours = template.move.sender in self.ours
        return Edge(source, template.move, marks, above, state, node, is_ours, (*marks, state))

    def _levels(self, node: MapNode, fields: LoopFields | None) -> Iterator[tuple[MapNode, _GrownLevels]]:
        """The level of a node, and those above that are reached when levels end, each with the states until there."""
        todo = [(node, _GrownLevels((), ()))]
        while todo:
            level, grown = todo.pop()
            yield level, grown
            ending = self._positions.ending(level.future.position, fields)
            if level.following is not None and ending is not None:
                start = _GrownLevels((_LevelState(level.state, level.chain),), grown.marks)
                ends = [end for end in self._grown(start, ending) if _is_complete(end.top, level)]
                todo += [(level.following, _GrownLevels((), end.marks)) for end in reversed(ends)]

    def _end(self, node: MapNode, fields: LoopFields | None) -> tuple[int, ...] | None:
        for level, grown in self._levels(node, fields):
            ending = self._positions.ending(level.future.position, fields)
            if level.following is None and ending is not None:
                start = _GrownLevels((_LevelState(level.state, level.chain),), grown.marks)
                return next((end.marks for end in self._grown(start, ending)), None)
        return None

    def _edge(self, source: MapNode, level: MapNode, template: _EdgeTemplate, grown: _GrownLevels) -> Edge:
        above = grown.top.state
        move = template.move
        # The futures have the positions of the levels, the grown levels have their coverage states.
        levels = grown.levels[:-1] if template.is_over else grown.levels
        futures = _futures(template.future, len(levels))
        node = level.following
        for level_state, each in zip(levels, futures, strict=True):
            node = self._node(each, level_state, node)
        assert node is not None, "the end of the whole is never over"
        state = self.coverage.step(above, move.symbol)
        states = (*grown.marks, state)
        return Edge(source, move, grown.marks, above, state, node, move.sender in self.ours, states)

    def _grown(self, start: _GrownLevels, growth: tuple[TreeAction, ...]) -> list[_GrownLevels]:
        """All results of growth; several only where a tree grows from the bottom."""
        simple = self._grown_from_top(start, growth)
        if simple is not None:
            return [simple]
        results = [start]
        for each in growth:
            results = [further for one in results for further in self._grow(one, each)]
        return results

    def _grown_from_top(self, start: _GrownLevels, growth: tuple[TreeAction, ...]) -> _GrownLevels | None:
        """The result where nothing grows from the bottom, which is the usual case; None if something does."""
        (level_state,) = start.levels
        if level_state.chain:
            return None
        levels, marks, step = [level_state], list(start.marks), self.coverage.step
        for each in growth:
            if isinstance(each, OpenAction) and each.symbol is not None:
                above = levels[-1].state
                state = step(above, each.symbol)
                marks.append(state)
                if each.tail:
                    marks += self._states_in(each.tail, above)
                if each.is_last:
                    levels[-1] = _LevelState(state)
                else:
                    levels.append(_LevelState(state))
            elif isinstance(each, AddAction):
                marks += self._states_in(each.parts, levels[-1].state)
            else:
                return None
        return _GrownLevels(tuple(levels), tuple(dict.fromkeys(marks)))

    def _grow(self, grown: _GrownLevels, growth: TreeAction) -> Iterator[_GrownLevels]:
        top, step = grown.top, self.coverage.step
        match growth:
            case AddAction(parts=parts):
                yield grown.on(marks=tuple(self._states_in(parts, top.state)))
            case CloseAction():
                yield grown.on(dropped=1)
            case OpenAction(symbol=None, goal=goal, is_last=is_last, tail=tail):
                # The seed is opened next, and only then the chains to it are known.
                marks = tuple(self._states_in(tail, top.state))
                yield grown.on(_LevelState(top.state, (goal,)), dropped=int(is_last), marks=marks)
            case OpenAction(symbol=NonTerminal() as symbol, is_last=is_last, tail=tail) if not top.chain:
                state = step(top.state, symbol)
                marks = (state, *self._states_in(tail, top.state))
                yield grown.on(_LevelState(state), dropped=int(is_last), marks=marks)
            case OpenAction(symbol=seed):
                assert seed is not None, "the case above"
                for chain in self._chains_to(top.chain[0], seed):
                    states = self._states_along(top.state, chain)
                    yield grown.on(_LevelState(top.state, chain), _LevelState(states[-1]), dropped=1, marks=states)
            case WrapAction(opening=opening, before=before):
                for chain in self._chains_around(top.chain, opening.goal):
                    state = self._states_along(top.state, chain)[-1]
                    marks = (state, *self._states_in(before.parts, state))
                    yield grown.on(_LevelState(top.state, chain), _LevelState(state), dropped=1, marks=marks)
            case _:
                assert_never(growth)

    def _states_in(self, parts: tuple[Part, ...], state: int) -> Iterator[int]:
        todo = [(part, state) for part in reversed(parts)]
        while todo:
            part, above = todo.pop()
            if isinstance(part, Node):
                here = self.coverage.step(above, part.symbol)
                todo += [(child, here) for child in reversed(part.children)]
            else:
                terminals = self.coverage.paths.terminals(self.coverage.walks[above][-1])
                here = self.coverage.step(above, terminals.of_leaf(part))
            yield here

    def _states_along(self, state: int, chain: _Chain) -> tuple[int, ...]:
        states = []
        for symbol in chain:
            state = self.coverage.step(state, symbol)
            states.append(state)
        return tuple(states)

    def _chains_to(self, goal: NonTerminal, seed: NonTerminal) -> tuple[_Chain, ...]:
        """The chains of symbols from the goal to the seed in which each symbol can begin with the next.

        A chain that is longer than k stands for all longer ones with the same end.
        """
        key = (goal, seed)
        if key not in self._chains:
            found: dict[_Chain, None] = {}
            todo: list[_Chain] = [(seed,)]
            for chain in todo:
                if chain[0] == goal or len(chain) > self.coverage.paths.k:
                    found[chain] = None
                if len(chain) > self.coverage.paths.k:
                    continue
                if len(todo) >= MAX_LEFT_RECURSIVE_CHAINS:
                    MAX_LEFT_RECURSIVE_CHAINS.reached()
                else:
                    todo += [(outer, *chain) for outer in self._outers(chain[0])]
            self._chains[key] = tuple(found)
        return self._chains[key]

    def _outers(self, symbol: NonTerminal) -> tuple[NonTerminal, ...]:
        """The symbols whose rules can begin with this one."""
        growing = self._positions.growing(self._positions.circles[symbol], self._anything)
        return tuple(dict.fromkeys(corner.outer for corner in growing.corners(symbol)))

    def _chains_around(self, chain: _Chain, outer: NonTerminal) -> Iterator[_Chain]:
        """The chains that are left when the innermost node is wrapped into `outer`."""
        if len(chain) > 1 and chain[-2] == outer:
            rest = chain[:-1]
            if len(chain) > self.coverage.paths.k:
                for symbol in self._outers(rest[0]):
                    yield (symbol, *rest)
            yield rest


def _futures(future: DialogueState, depth: int) -> tuple[DialogueState, ...]:
    """The states of the innermost open nodes, the outermost of them first."""
    futures: list[DialogueState] = []
    each: DialogueState | None = future
    while len(futures) < depth:
        assert each is not None, "each level has its future"
        futures.append(each)
        each = each.following
    return tuple(reversed(futures))


def _is_complete(level_state: _LevelState, level: MapNode) -> bool:
    """Return True if no other node is expected around a tree that ends."""
    return not level.chain or len(level_state.chain) == 1


def _joined(marks: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*marks, *more))) if more else marks
