"""Forecaster: the messages that may come next in a session, and all partial trees of the messages so far.

The grammar is cut at its messages (`dialogue_grammar`): a message is a terminal here. A *hypothesis* is one derivation
of the history: a state of the dialogue automaton (`dialogue_automaton`), and the right edge of its tree with all that
is closed below (`open_tree`). A *forecast* is the set of hypotheses at one point of a session. It is immutable; a
message makes another one, so many continuations can be tried from the same point.

Of hypotheses that can go on in the same way only the preferred one is kept, unless they differ in symbols that matter
to the caller. An earlier alternative is preferred to a later one, another round of a loop to its end, and going on
inside a node to leaving it. At most `MAX_HYPOTHESES` are kept, the preferred ones.

A message costs the same at any point of a session. Nodes of states are made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from palaver.grammar.analysis import reachable
from palaver.lean_dataclasses import dataclass
from palaver.matching.bound_paths import NO_PATH_STATE
from palaver.matching.dialogue_automaton import DialogueAutomaton, DialogueState, MessageTransition
from palaver.matching.dialogue_grammar import MessageType, cut_at_messages
from palaver.matching.dialogue_rules import LoopFields
from palaver.matching.grammar_tables import BoundEvaluator
from palaver.matching.matching_limits import MAX_HYPOTHESES
from palaver.matching.open_tree import (
    AddAction,
    ClosedNodes,
    ClosedSubtree,
    OpenEdge,
    TreeAction,
    closed,
    cut_before,
    extended,
    grown,
    kinds_around,
    next_path,
    partial_tree,
    parts_of,
    recent_tree,
    root,
    symbols_around,
)
from palaver.spec.ast import Expr
from palaver.spec.traversal import refs
from palaver.trees.node import Node, NonTerminal, Part, Parties, TreePath

__all__ = ["MAX_HYPOTHESES", "Forecast", "Forecaster", "Hypothesis", "MessageType"]


class Forecaster:
    """The compiled dialogue grammar; one serves all sessions.

    `bound(expression, node)` computes a bound of a repetition from the latest node that the path in it selects. An
    error that it raises rules out that repetition, and is told in `Forecast.crashes`. That node is a message, or in
    one; a state is found only by its bare name, once it is complete. `distinguish` are the symbols of states that
    matter: hypotheses that differ in where nodes of these begin and end are kept apart.

    :raises UnsupportedBound: a bound cannot be followed
    """

    def __init__(
        self,
        rules: Mapping[str, Expr],
        start: str,
        *,
        bound: BoundEvaluator,
        distinguish: Collection[str] = frozenset(),
    ) -> None:
        self.start = NonTerminal(start)
        self.dialogue = cut_at_messages(rules, start)
        self.messages = self.dialogue.messages  # all message types, in the order of the spec
        self.texts = self.dialogue.texts  # expressions of symbols made up for terminals between messages, of `StdOut`
        self.compiled = DialogueAutomaton(self.dialogue, bound, distinguish)
        self.positions = self.compiled.positions
        # The messages in which a bound may find its field; True if a state may be one.
        counted = {path.names[-1] for path in self.positions.bound_paths.paths}
        children = {name: [ref.symbol for ref in refs(body)] for name, body in rules.items()}
        said = (move.symbol for move in self.messages)
        self.field_messages = frozenset(symbol for symbol in said if counted & reachable(symbol, children).keys())
        self.counts_states = any(symbol in self.positions.rules for symbol in counted)

    def begin(self) -> Forecast:
        """The forecast before the first message."""
        fields = None
        if self.positions.has_computed_loops:
            fields = LoopFields(self.positions, (None,) * len(self.positions.bound_paths.paths))
        edge = root(self.start)
        return Forecast(self, (Hypothesis(self, self.compiled.beginning, fields, edge, edge, [], 0),))


@dataclass(slots=True, eq=False)
class Hypothesis:
    """One derivation of the messages so far."""

    _forecaster: Forecaster
    # Equal for hypotheses that can go on in the same ways; where computed repetitions are ahead, `fields` decide too.
    future: DialogueState
    fields: LoopFields | None  # the fields of computed repetitions, if there are such
    _edge: OpenEdge
    _said: OpenEdge  # the edge with the latest message, before anything was closed by it
    _done: ClosedNodes
    _group: int  # equal for hypotheses that agree in all symbols that matter
    _closing: tuple[TreeAction, ...] | None = None  # the ending of the node that the latest message completes
    origin: int = 0  # the index, in the forecast before, of the hypothesis that this one continues

    @property
    def moves(self) -> tuple[MessageType, ...]:
        """The message types that may come next, in the order of the spec."""
        known = self.future.moves
        return self._forecaster.compiled.moves(self.future, self.fields) if known is None else known

    @property
    def can_end(self) -> bool:
        """True if the session may end here."""
        state = self.future
        return state.can_end if state.moves is not None else self._forecaster.compiled.can_end(state, self.fields)

    @property
    def ahead(self) -> frozenset[str]:
        """The symbols of the messages that may still come, now or later."""
        return self._forecaster.compiled.ahead(self.future)

    @property
    def crashes(self) -> tuple[str, ...]:
        """The errors that bounds raised when the next messages were computed."""
        if self.fields is None:
            return ()
        self._forecaster.compiled.moves(self.future, self.fields)
        return tuple(self.fields.crashes)

    @property
    def closed(self) -> tuple[Node, ...]:
        """The nodes of states that the latest message completed, in the order in which they end.

        A node is complete as soon as no message can come in it; otherwise, when a message comes after it. A tree that
        may still become the first child of another one is complete in this sense.
        """
        return tuple(_nodes_of(self._done)) if self._done else ()

    @property
    def closed_symbols(self) -> list[NonTerminal]:
        """The symbols of these nodes, which need not be made for it."""
        return [symbol for item in self._done for symbol in _symbols_of(item)]

    @property
    def around(self) -> Iterator[NonTerminal]:
        """The symbols of the nodes around the latest message, the innermost first."""
        return symbols_around(self._said)

    @property
    def newest(self) -> Part:
        """The latest message. :raises ValueError: there is none"""
        if self._said.children is None:
            raise ValueError("nothing has been said yet")
        item = self._said.children[1]
        return item.part if isinstance(item, ClosedSubtree) else item

    @property
    def kinds_around(self) -> frozenset[NonTerminal]:
        """The same symbols, each once."""
        return kinds_around(self._said)

    @property
    def latest(self) -> TreePath:
        """The path of the latest message in `tree()`. :raises ValueError: there is none"""
        if self._said.children is None:
            raise ValueError("nothing has been said yet")
        before, _ = self._said.children
        return next_path(OpenEdge(self._said.place, before))

    def tree(self) -> Node:
        """The tree of the messages so far, in which all nodes are open that may go on.

        A symbol that begins with itself grows from the bottom: the nodes around it are not there yet.
        """
        return partial_tree(self._edge)

    def recent_tree(self) -> tuple[Node, TreePath]:
        """A tree of the latest messages, of bounded size, and the path of the latest message in it."""
        return recent_tree(self._said, self._forecaster.start, _parts_added(self._closing))

    def recent_tree_without_latest(self) -> Node:
        """The same tree without the latest message; the nodes around it are open, as they were before it."""
        return cut_before(*self.recent_tree())

    @property
    def open_symbols(self) -> Iterator[NonTerminal]:
        """The symbols of the nodes that are open now, the innermost first."""
        return symbols_around(self._edge)

    @property
    def open_kinds(self) -> frozenset[NonTerminal]:
        """The same symbols, each once."""
        return kinds_around(self._edge)

    def complete_tree(self) -> Node:
        """The tree of the ended session. :raises ValueError: a message must follow"""
        if not self.can_end:
            raise ValueError("the dialogue cannot end here")
        done: ClosedNodes = []
        edge = self._edge
        level = self.future
        while True:
            edge = grown(edge, self._forecaster.positions.ending(level.position, self.fields) or (), done)
            if level.following is None:
                break
            edge, _ = closed(edge)
            level = level.following
        (tree,) = parts_of(edge.children)
        assert isinstance(tree, Node), "the start symbol is one"
        return tree

    def _steps(self, move: MessageType) -> tuple[MessageTransition, ...]:
        known = self.future.steps.get(move)
        return self._forecaster.compiled.steps(self.future, move, self.fields) if known is None else known

    def _after(
        self, step: MessageTransition, state: DialogueState, node: Node, groups: dict[object, int]
    ) -> Hypothesis:
        done: ClosedNodes = []
        edge = self._edge if step.then is None else _left(self._edge, step, done)
        edge = grown(edge, step.route.growth, done)
        group = self._next_group(edge, step, groups) if self._forecaster.positions.distinguished else 0
        edge = said = extended(edge, node)
        closing = step.closing
        if closing is not None:
            edge, finished = closed(grown(edge, closing, done))
            done.append(finished)
        fields = None if self.fields is None else self._next_fields(self.fields, said, node, done)
        return Hypothesis(self._forecaster, state, fields, edge, said, done, group, closing)

    def _next_group(self, edge: OpenEdge, step: MessageTransition, groups: dict[object, int]) -> int:
        """The number of the hypotheses that agree in the past and in this transition."""
        marks_of = self._forecaster.positions.marks_of
        marks = [marks for ending in _endings(step) if (marks := marks_of(ending))] if step.then is not None else ()
        # The number of closed symbols that matter follows from that of open ones.
        key = (self._group, edge.place.level, step.route.marks, *marks)
        return groups.setdefault(key, len(groups))

    def _next_fields(self, fields: LoopFields, said: OpenEdge, node: Node, done: ClosedNodes) -> LoopFields:
        """The fields, with those that are new."""
        bound_paths = self._forecaster.positions.bound_paths
        found: dict[int, Node] = {}
        if self._forecaster.counts_states:
            for state in _nodes_of(done):
                found |= dict.fromkeys(bound_paths.descend(NO_PATH_STATE, state.symbol)[1], state)
        if node.symbol in self._forecaster.field_messages:
            found |= dict(bound_paths.selected_in(node, said.place.path_state))
        if not found:
            return fields
        nodes = tuple(found.get(path, known) for path, known in enumerate(fields.nodes))
        return LoopFields(self._forecaster.positions, nodes)


def _symbols_of(item: ClosedSubtree | Node) -> Iterable[NonTerminal]:
    return item.symbols if isinstance(item, ClosedSubtree) else (item.symbol,)


def _nodes_of(done: ClosedNodes) -> Iterator[Node]:
    for item in done:
        yield from item.nodes if isinstance(item, ClosedSubtree) else (item,)


def _parts_added(closing: tuple[TreeAction, ...] | None) -> tuple[Part, ...] | None:
    """The empty parts at the end of a node; None if it does not end, or becomes a child of another one."""
    if closing is None or not all(isinstance(growth, AddAction) for growth in closing):
        return None
    return tuple(part for growth in closing if isinstance(growth, AddAction) for part in growth.parts)


def _left(edge: OpenEdge, step: MessageTransition, done: ClosedNodes) -> OpenEdge:
    """The edge after all dotted rules have ended that end before the route of a transition."""
    for ending in _endings(step):
        edge, finished = closed(grown(edge, ending, done))
        done.append(finished)
    return edge


def _endings(step: MessageTransition) -> Iterator[tuple[TreeAction, ...]]:
    """The endings of dotted rules before the route of a transition, the innermost first."""
    while step.then is not None:
        yield step.ending
        step = step.then


class Forecast:
    """All hypotheses at one point of a session; none if they have all been ruled out."""

    __slots__ = ("_forecaster", "_moves", "hypotheses")

    def __init__(self, forecaster: Forecaster, hypotheses: tuple[Hypothesis, ...]) -> None:
        self._forecaster = forecaster
        self._moves: tuple[MessageType, ...] | None = None
        self.hypotheses = hypotheses  # the preferred first

    @property
    def moves(self) -> tuple[MessageType, ...]:
        """The message types that may come next, each once, in the order of the spec."""
        if self._moves is None and len(self.hypotheses) == 1:
            self._moves = self.hypotheses[0].moves
        elif self._moves is None:
            found = dict.fromkeys(hypothesis.moves for hypothesis in self.hypotheses)
            moves = (move for moves in found for move in moves)
            self._moves = next(iter(found)) if len(found) == 1 else self._forecaster.compiled.in_order(moves)
        return self._moves

    @property
    def can_end(self) -> bool:
        """True if the session may end here."""
        return any(hypothesis.can_end for hypothesis in self.hypotheses)

    @property
    def crashes(self) -> tuple[str, ...]:
        """The errors that bounds raised when the next messages were computed."""
        return tuple(dict.fromkeys(crash for hypothesis in self.hypotheses for crash in hypothesis.crashes))

    def ahead_after(self, move: MessageType) -> frozenset[str]:
        """The symbols of the messages that may still come after this one under every hypothesis."""
        compiled = self._forecaster.compiled
        steps = [step for hypothesis in self.hypotheses for step in hypothesis._steps(move)]
        ahead = [compiled.ahead(compiled.state_after(step)) for step in steps]
        return frozenset.intersection(*ahead) if ahead else frozenset()

    def after(self, move: MessageType, node: Node) -> Forecast:
        """The forecast after a message; missing parties are set. :raises ValueError: it may not come here"""
        if node.symbol != move.symbol:
            raise ValueError(f"{node.symbol} is not the message {move.symbol}")
        if node.parties is None:
            node = node._replace(parties=Parties(move.sender, move.recipient))
        found = self._after(move, node)
        if not found:
            raise ValueError(f"{move.sender} may not say {move.symbol} here")
        return Forecast(self._forecaster, tuple(found))

    def _after(self, move: MessageType, node: Node) -> list[Hypothesis]:
        compiled = self._forecaster.compiled
        is_merging = not compiled.positions.distinguished
        found: dict[tuple[int, int, DialogueState], Hypothesis] = {}
        groups: dict[object, int] = {}
        for origin, hypothesis in enumerate(self.hypotheses):
            for step in hypothesis._steps(move):
                state = step.future() or compiled.state_after(step)
                if is_merging and found and any(compiled.covers(other, state) for *_, other in found):
                    continue
                following = hypothesis._after(step, state, node, groups)
                following.origin = origin
                # The same state may close nodes that matter at different times.
                found.setdefault((following._group, following._edge.place.shape, state), following)
                if len(found) >= MAX_HYPOTHESES:
                    MAX_HYPOTHESES.reached()
                    return list(found.values())
        return list(found.values())

    def in_order(self, order: Sequence[int]) -> Forecast:
        """The same with its hypotheses in another order, given as their places now."""
        return Forecast(self._forecaster, tuple(self.hypotheses[at] for at in order))

    def without(self, hypotheses: Collection[Hypothesis]) -> Forecast:
        """The same with some hypotheses ruled out."""
        return Forecast(self._forecaster, tuple(each for each in self.hypotheses if each not in hypotheses))
