"""Where a conversation is on the map, if that can be told, and what it has covered for certain.

How it works
============

A history may be explained in several ways, and each way is a *track*: a place of the atlas, with the messages that are
not yet counted. Tracks that can go on in the same ways are one; the one stays that is preferred. Preferred is the
track that the plan goes along while it lives, else the first. So a plan that has covered something in a way that only
later turns out to be the right one does not lose it to the next plan.

What all tracks agree on is covered at once: of the latest message all paths that begin below where the tracks differ,
and all history that they share. The rest is *tentative*: it is taken for covered by whoever plans, and counted when
only one track is left, or when the conversation ends. Tracks end when the forecaster's hypotheses do, which constraints
end.

The plain views are told of every message at once, and of where it was said as soon as that is certain.
"""

from __future__ import annotations

from typing import NamedTuple

from palaver.matching.cut import MessageType
from palaver.matching.dialogue import MOST_HYPOTHESES, Future
from palaver.matching.forecaster import Forecast, Forecaster, Hypothesis
from palaver.matching.positions import Fields
from palaver.navigation.atlas import Atlas, Edge, Place
from palaver.navigation.coverage import NOTHING
from palaver.navigation.potential import Potential
from palaver.navigation.views import Views
from palaver.trees.node import Node


class Explained(NamedTuple):
    """A message by an edge, after others."""

    before: Explained | None
    edge: Edge
    node: Node


class Track(NamedTuple):
    """One way to explain the history."""

    place: Place
    pending: Explained | None = None


class Superposition:
    """The tracks of one conversation after the other."""

    def __init__(self, forecaster: Forecaster, atlas: Atlas, everything: Potential, views: Views) -> None:
        self._dialogue = forecaster.compiled
        self._counts_rounds = forecaster.positions.has_computed_loops
        self._distinguished = forecaster.positions.distinguished
        self._atlas = atlas
        self._coverage = atlas.coverage
        self._everything = everything  # what is missing of all paths, whatever is aimed at
        self._views = views
        self._hypotheses: tuple[Hypothesis, ...] = ()  # the forecaster's, after the latest message
        self.tracks: tuple[Track, ...] = ()  # the preferred first
        self.tentative: dict[int, int] = {}  # by state, how often the preferred track has met it without being counted

    def begin(self) -> None:
        """Nothing has been said."""
        self.tracks = (Track(self._atlas.beginning),)
        self.tentative = {}
        self._hypotheses = ()

    @property
    def preferred(self) -> Place | None:
        return self.tracks[0].place if self.tracks else None

    def edges(self, move: MessageType) -> list[Edge]:
        """All ways in which a message may go on, those of the preferred track first."""
        return [edge for track in self.tracks for edge in self._atlas.edges_by(track.place, move, None)]

    # --- Going on -----------------------------------------------------------------------------------------------------

    def advance(
        self, move: MessageType, node: Node, before: Forecast, after: Forecast, planned: Edge | None
    ) -> tuple[Edge, ...]:
        """A message was said or heard. The edges by which it may have come, the preferred first."""
        self._views.note_message(move, node)
        self._hypotheses = after.hypotheses
        fields: dict[Future, Fields | None] = {}
        if self._counts_rounds:
            fields = {hypothesis.future: hypothesis.fields for hypothesis in before.hypotheses}
        if len(self.tracks) == 1:
            # Nearly always there is no doubt, and nothing to weigh.
            (track,) = self.tracks
            edges = self._atlas.edges_by(track.place, move, fields.get(track.place.future))
            if len(edges) == 1 and self._is_alive(edges[0], after):
                self._settle_one(edges[0], node)
                self.tracks = (Track(edges[0].to),)
                self.tentative = {}
                return edges
        found: dict[Future, Track] = {}
        for track in self.tracks:
            for edge in self._atlas.edges_by(track.place, move, fields.get(track.place.future)):
                is_better = edge.to.future not in found or (planned is not None and edge.is_like(planned))
                if is_better and self._is_alive(edge, after):
                    found[edge.to.future] = Track(edge.to, Explained(track.pending, edge, node))
        first = None
        if planned is not None:
            first = next((track for track in found.values() if _latest(track).edge.is_like(planned)), None)
        if first is None and self.tracks:
            # Along the preferred track as long as it goes.
            preferred = self.tracks[0].place
            first = next((track for track in found.values() if _latest(track).edge.source is preferred), None)
            if first is None:
                self.tentative = {}
        tracks = [track for track in found.values() if track is not first]
        survived = first is not None
        self.tracks = ((first,) if first is not None else ()) + tuple(tracks)[: MOST_HYPOTHESES - 1]
        edges = tuple(_latest(track).edge for track in self.tracks)
        self._count(survived)
        return edges

    def _count(self, survived: bool) -> None:
        """Count what is certain."""
        if len(self.tracks) == 1:
            (track,) = self.tracks
            self._settle(track.pending)
            self.tracks = (Track(track.place),)
            self.tentative = {}
            return
        if not self.tracks:
            return
        latest = [_latest(track) for track in self.tracks]
        shared = self._shared_end([explained.edge.state for explained in latest])
        if shared != NOTHING:
            self._cover(latest[0].node, shared)
        first = latest[0].before
        if first is not None and all(explained.before is first for explained in latest):
            self._settle(first)
            self.tracks = tuple(
                Track(track.place, explained._replace(before=None))
                for track, explained in zip(self.tracks, latest, strict=True)
            )
            self.tentative = {}
            survived = False
        pending = self.tracks[0].pending
        while pending is not None:
            for state in pending.edge.states:
                self.tentative[state] = self.tentative.get(state, 0) + 1
            pending = None if survived else pending.before

    def _shared_end(self, states: list[int]) -> int:
        """The longest path that all of these end with."""
        shared, *others = (self._coverage.walks[state] for state in states)
        while shared and any(walk[-len(shared) :] != shared for walk in others):
            shared = shared[1:]
        return self._coverage.state(shared)

    def _settle(self, pending: Explained | None) -> None:
        chain = []
        while pending is not None:
            chain.append(pending)
            pending = pending.before
        for explained in reversed(chain):
            self._settle_one(explained.edge, explained.node)

    def _settle_one(self, edge: Edge, node: Node) -> None:
        for state in edge.marks:
            self._coverage.cover(state)
        self._cover(node, edge.state)
        self._views.note_transition(edge.source.future, edge.move, edge.to.future)

    def _cover(self, node: Node, state: int) -> None:
        """Count a message in a state, unless all is counted that can be below it."""
        if not self._everything.is_open(state):
            return
        self._coverage.cover(state)
        for child in node.children:
            self._coverage.cover_below(child, state)

    def end(self, can_end: bool) -> list[int]:
        """The conversation is over; if it was complete, the preferred track that is, is what happened.

        The states that seemed covered, and are not because nobody knows which track it was.
        """
        last = None
        for track in self.tracks if can_end else ():
            ending = self._atlas.ending(track.place)
            if ending is not None:
                self._settle(track.pending)
                for state in ending:
                    self._coverage.cover(state)
                last = track.place
                break
        self._note_dialogue(last)
        lost = [state for state in self.tentative if not self._coverage.is_covered[state]]
        self.tracks = ()
        self.tentative = {}
        return lost

    def _note_dialogue(self, last: Place | None) -> None:
        """Let the views see the states of the conversation: as it ended, or as far as it came, if that is certain."""
        if last is not None:
            for hypothesis in self._hypotheses:
                if hypothesis.can_end and self._dialogue.covers(hypothesis.future, last.future):
                    self._views.note_whole(hypothesis.complete_tree())
                    return
        elif len(self._hypotheses) == 1:
            self._views.note_dialogue(self._hypotheses[0].tree())

    # --- Which tracks live --------------------------------------------------------------------------------------------

    def _is_alive(self, edge: Edge, forecast: Forecast) -> bool:
        """Whether the forecaster still holds an explanation for possible, or one that goes on in more ways."""
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
        # Of the symbols around the message, those that make a difference to constraints are the same.
        mine = self._coverage.walks[edge.state][-2::-1]
        theirs = hypothesis.around[: len(mine)]
        if mine == theirs:
            return True
        others = ({a, b} for a, b in zip(mine, theirs, strict=False) if a != b)
        return all(names.isdisjoint(distinguished) for names in others)


def _latest(track: Track) -> Explained:
    assert track.pending is not None, "something was said just now"
    return track.pending
