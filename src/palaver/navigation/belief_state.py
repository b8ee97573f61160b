"""Belief state (Russell & Norvig 1995): the nodes of the dialogue map where a session may be, and what is covered.

A history may have several explanations. Each is a *hypothesis*: a node of the map, with the messages that are not
counted yet. Hypotheses with the same future are merged, and the preferred one stays: the one that the plan follows
while it is possible, else the first. So a plan that has covered something in an explanation that only later turns out
to be right does not lose it to the next plan.

Coverage that all hypotheses agree on counts at once: the paths of the latest message that begin below the point where
they differ, and the history that they share. The rest is *tentative*: the planner takes it for covered, and it is
counted when only one hypothesis is left, or when the session ends. A hypothesis is dropped together with the
forecaster's hypothesis of the same future, which constraints may refute.

The coverage views are told of every message at once, and of its transition as soon as that is certain.
"""

from __future__ import annotations

from copy import copy
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from palaver.lean_dataclasses import dataclass
from palaver.matching.dialogue_automaton import DialogueState, LoopFields
from palaver.matching.dialogue_grammar import MessageType
from palaver.matching.forecaster import MAX_HYPOTHESES, Forecast, Forecaster, Hypothesis
from palaver.navigation.coverage import NOTHING
from palaver.navigation.coverage_views import CoverageViews
from palaver.navigation.dead_ends import DeadEnds
from palaver.navigation.dialogue_map import DialogueMap, Edge, MapNode
from palaver.navigation.goals import MissingPaths
from palaver.navigation.message_pairs import MessagePairs, SessionPairs
from palaver.navigation.refusal_cells import RefusalCells
from palaver.navigation.value_classes import ValueClasses
from palaver.trees.node import Node


class ExplainedMessage(NamedTuple):
    """A message, the edge that explains it, and the messages before it."""

    before: ExplainedMessage | None
    edge: Edge
    node: Node


class MapHypothesis(NamedTuple):
    """One explanation of the history."""

    map_node: MapNode
    pending: ExplainedMessage | None = None


@dataclass(slots=True)
class _Gains:
    """When something was reached, in all sessions."""

    reached: int = 0  # before the latest message
    in_vain: int = 0  # messages since something was reached, without the latest


class BeliefState:
    """The hypotheses of the present session."""

    def __init__(
        self, forecaster: Forecaster, dialogue_map: DialogueMap, missing_paths: MissingPaths, views: CoverageViews
    ) -> None:
        self._dialogue = forecaster.compiled
        self._counts_rounds = forecaster.positions.has_computed_loops
        self._distinguished = forecaster.positions.distinguished
        self._map = dialogue_map
        self._coverage = dialogue_map.coverage
        self._missing_paths = missing_paths  # of all paths, whatever the goal
        self._views = views
        self._forecast_hypotheses: tuple[Hypothesis, ...] = ()  # after the latest message
        self.hypotheses: tuple[MapHypothesis, ...] = ()  # the preferred first
        self.tentative: dict[int, int] = {}  # by state, its occurrences that are not counted yet
        self.dead_ends = DeadEnds(dialogue_map.ours)
        self.pairs: MessagePairs | None = None  # if they are a goal
        self.session_pairs = SessionPairs()  # those of this session
        self.value_classes: ValueClasses | None = None  # if they are a goal
        self.refusals: RefusalCells | None = None  # if they are a goal
        self.history = b""  # a digest of the symbols of all messages so far
        self._gains = _Gains()

    def beside(self) -> BeliefState:
        """The belief state of sessions that go on beside these, with the same coverage."""
        other = copy(self)
        other.dead_ends = self.dead_ends.beside()
        other._forecast_hypotheses, other.hypotheses, other.tentative, other.history = (), (), {}, b""
        if self.pairs is not None:
            other.session_pairs = self.pairs.session()
        return other

    def pursue(self, pairs: MessagePairs) -> None:
        """Let pairs of messages be a goal."""
        self.pairs, self.session_pairs = pairs, pairs.session()

    @property
    def messages_in_vain(self) -> int:
        """The number of messages since something was reached that counts for a goal, in all sessions."""
        return 0 if self.reached > self._gains.reached else self._gains.in_vain + 1

    @property
    def reached(self) -> int:
        """The number of all paths, pairs, value classes and refusals that were covered."""
        further = (goal.reached for goal in (self.pairs, self.value_classes, self.refusals) if goal is not None)
        return len(self._coverage.met) + sum(further)

    def begin(self) -> None:
        """Begin a session."""
        self.dead_ends.begin()
        self.session_pairs.begin()
        self.hypotheses = (MapHypothesis(self._map.beginning),)
        self.tentative = {}
        self.history = b""
        self._forecast_hypotheses = ()

    def edges(self, move: MessageType) -> list[Edge]:
        """The edges for a message, those of the preferred hypothesis first."""
        return [edge for hypothesis in self.hypotheses for edge in self._map.edges_for(hypothesis.map_node, move, None)]

    def advance(
        self, move: MessageType, node: Node, before: Forecast, after: Forecast, planned: Edge | None
    ) -> tuple[Edge, ...]:
        """Note a message of any party. Return the edges that explain it, the preferred first."""
        self._gains.in_vain, self._gains.reached = self.messages_in_vain, self.reached
        self._views.note_message(move, node)
        if self.pairs is not None:
            self.pairs.note(move, self.session_pairs)
        if self.value_classes is not None:
            self.value_classes.note(move, node)
        if move.sender in self.dead_ends.ours:
            self.dead_ends.sent(move, self.hypotheses[0].map_node if self.hypotheses else None, node)
        self.history = blake2b(self.history + move.symbol.encode(), digest_size=8).digest()
        self.dead_ends.prefix = self.history
        self._forecast_hypotheses = after.hypotheses
        fields: dict[DialogueState, LoopFields | None] = {}
        if self._counts_rounds:
            fields = {hypothesis.future: hypothesis.fields for hypothesis in before.hypotheses}
        if len(self.hypotheses) == 1:
            # The usual case: nothing is ambiguous.
            (hypothesis,) = self.hypotheses
            edges = self._map.edges_for(hypothesis.map_node, move, fields.get(hypothesis.map_node.future))
            if len(edges) == 1 and self._is_possible(edges[0], after):
                self._settle_one(edges[0], node)
                self.hypotheses = (MapHypothesis(edges[0].to),)
                self.tentative = {}
                return edges
        found: dict[DialogueState, MapHypothesis] = {}
        for hypothesis in self.hypotheses:
            for edge in self._map.edges_for(hypothesis.map_node, move, fields.get(hypothesis.map_node.future)):
                is_better = edge.to.future not in found or (planned is not None and edge.is_like(planned))
                if is_better and self._is_possible(edge, after):
                    found[edge.to.future] = MapHypothesis(edge.to, ExplainedMessage(hypothesis.pending, edge, node))
        first = None
        if planned is not None:
            first = next((each for each in found.values() if _latest(each).edge.is_like(planned)), None)
        if first is None and self.hypotheses:
            # The preferred hypothesis stays preferred while it is possible.
            preferred = self.hypotheses[0].map_node
            first = next((each for each in found.values() if _latest(each).edge.source is preferred), None)
            if first is None:
                self.tentative = {}
        others = [hypothesis for hypothesis in found.values() if hypothesis is not first]
        survived = first is not None
        self.hypotheses = ((first,) if first is not None else ()) + tuple(others)[: MAX_HYPOTHESES - 1]
        edges = tuple(_latest(hypothesis).edge for hypothesis in self.hypotheses)
        self._count(survived)
        return edges

    def _count(self, survived: bool) -> None:
        """Count the coverage that is certain."""
        if len(self.hypotheses) == 1:
            (hypothesis,) = self.hypotheses
            self._settle(hypothesis.pending)
            self.hypotheses = (MapHypothesis(hypothesis.map_node),)
            self.tentative = {}
            return
        if not self.hypotheses:
            return
        latest = [_latest(hypothesis) for hypothesis in self.hypotheses]
        shared = self._shared_suffix([explained.edge.state for explained in latest])
        if shared != NOTHING:
            self._cover(latest[0].node, shared)
        first = latest[0].before
        if first is not None and all(explained.before is first for explained in latest):
            self._settle(first)
            self.hypotheses = tuple(
                MapHypothesis(hypothesis.map_node, explained._replace(before=None))
                for hypothesis, explained in zip(self.hypotheses, latest, strict=True)
            )
            self.tentative = {}
            survived = False
        pending = self.hypotheses[0].pending
        while pending is not None:
            for state in pending.edge.states:
                self.tentative[state] = self.tentative.get(state, 0) + 1
            pending = None if survived else pending.before

    def _shared_suffix(self, states: list[int]) -> int:
        """The state of the longest common suffix of these states."""
        shared, *others = (self._coverage.walks[state] for state in states)
        while shared and any(walk[-len(shared) :] != shared for walk in others):
            shared = shared[1:]
        return self._coverage.state(shared)

    def _settle(self, pending: ExplainedMessage | None) -> None:
        chain = []
        while pending is not None:
            chain.append(pending)
            pending = pending.before
        for explained in reversed(chain):
            self._settle_one(explained.edge, explained.node)

    def _settle_one(self, edge: Edge, node: Node) -> None:
        if not edge.is_counted:  # what is covered stays covered
            edge.is_counted = True
            for state in edge.marks:
                self._coverage.cover(state)
        self._cover(node, edge.state)
        self._views.note_transition(edge.source.future, edge.move, edge.to.future)

    def _cover(self, node: Node, state: int) -> None:
        """Count the paths of a message in a state, unless nothing is missing below it."""
        if state in self._missing_paths.closed or not self._missing_paths.has_missing(state):
            return
        self._coverage.cover(state)
        self._coverage.cover_inside(node, state)

    def end(self, can_end: bool) -> list[int]:
        """End the session; if it was complete, the first complete hypothesis counts.

        Return the tentative states that are lost, because the history remained ambiguous.
        """
        last = None
        for hypothesis in self.hypotheses if can_end else ():
            ending = self._map.ending(hypothesis.map_node)
            if ending is not None:
                self._settle(hypothesis.pending)
                for state in ending:
                    self._coverage.cover(state)
                last = hypothesis.map_node
                break
        self._note_dialogue(last)
        lost = [state for state in self.tentative if not self._coverage.is_covered[state]]
        self.hypotheses = ()
        self.tentative = {}
        return lost

    def _note_dialogue(self, last: MapNode | None) -> None:
        """Note the tree of the session in the views: the complete one, or an incomplete one that is certain."""
        if last is not None:
            for hypothesis in self._forecast_hypotheses:
                if hypothesis.can_end and self._dialogue.covers(hypothesis.future, last.future):
                    self._views.note_complete_session(hypothesis.complete_tree())
                    return
        elif len(self._forecast_hypotheses) == 1:
            self._views.note_dialogue(self._forecast_hypotheses[0].tree())

    def _is_possible(self, edge: Edge, forecast: Forecast) -> bool:
        """Return True if the forecaster has a hypothesis with the continuations of an edge."""
        hypotheses = forecast.hypotheses
        if len(hypotheses) == 1:
            return self._agrees(hypotheses[0], edge)
        return any(self._agrees(hypothesis, edge) for hypothesis in hypotheses)

    def _agrees(self, hypothesis: Hypothesis, edge: Edge) -> bool:
        future = edge.to.future
        if hypothesis.future is not future and not self._dialogue.covers(hypothesis.future, future):
            return False
        distinguished = self._distinguished
        if not distinguished:
            return True
        # The symbols around the message that constraints distinguish must be the same.
        mine = self._coverage.walks[edge.state][-2::-1]
        theirs = tuple(islice(hypothesis.around, len(mine)))
        if mine == theirs:
            return True
        others = ({a, b} for a, b in zip(mine, theirs, strict=False) if a != b)
        return all(names.isdisjoint(distinguished) for names in others)


def _latest(hypothesis: MapHypothesis) -> ExplainedMessage:
    assert hypothesis.pending is not None, "a message was noted just now"
    return hypothesis.pending
