"""What to do next: the way through the dialogue that covers most for what it costs.

How it works
============

The map (`atlas.py`) is searched from where the conversation is, the cheapest ways first. A message of ours costs 1; an
answer that is not certain costs what it takes until it comes; to end the conversation and begin another one costs a
little more. Every message has a *gain*: the paths that it is expected to cover, weighted by how likely they are where
they are up to the others. The plan is the way with the best ratio of gains to costs among all that end at most a step
later than the first one that gains anything. To go for the nearest gain alone would take one path next door over twenty
two steps on. To look further ahead saves hardly any messages and doubles the work.

When nothing is near, the rest of the map is searched with a *field*: for each place, how far it is at least to
something that is missing, found backwards from all that is. What is missing only becomes less, so a field remains true
when it is old; it is made anew when searching by it has cost more than that. If no place has anything missing that can
be reached, there is nothing left to plan for. A search that was merely cut off never says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple, TypeAlias

from palaver.navigation.atlas import Atlas, Edge, Place
from palaver.navigation.goals import Aim
from palaver.navigation.peer import Peer
from palaver.navigation.potential import Potential

# What it costs to end a conversation and begin another one, in messages.
RESET = 2.0
# An answer that comes every second time costs this much more than one that is certain.
_WAITING = 2.0
# Payload counts for at most so many paths: no message covers all that is missing below it.
_MOST_IN_A_MESSAGE = 6
# How many places plans look at before a field is used.
_NEARBY = 300
# How many places a field spans at most, and how many are looked at by one search.
_MOST_PLACES = 100_000
# What comes with some likelihood is given up after this part of the patience, divided by the likelihood: 5 times for
# what always comes, 15 times for what comes every third time; so one in a hundred is given up in vain.
_SURE_AFTER = 4
# Paths in answers that are this unlikely are not worth the try.
_LEAST_LIKELIHOOD = 0.005


class End(NamedTuple):
    """A step of a plan: end the conversation, and begin another."""


Step: TypeAlias = Edge | End
END = End()

# How a place was come to: from another one, by a step. Plain tuples, as one is made for each edge that is looked at.
Back: TypeAlias = "tuple[Back | None, Step]"


@dataclass(slots=True)
class Situation:
    """What a plan depends on, besides the map and what is covered."""

    last: str = ""  # what we said last
    tentative: Mapping[int, int] = field(default_factory=dict)  # states taken for covered
    refused: Mapping[str, object] = field(default_factory=dict)  # our messages that cannot be said in this conversation


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, and what they are for."""

    steps: tuple[Step, ...]
    target: int  # the state that the last step is to cover, or something below it
    gain: float
    cost: float


class Planner:
    """Plans for one aim, with what is known of the others."""

    def __init__(self, atlas: Atlas, aim: Aim, potential: Potential, ours: Peer, peer: Peer) -> None:
        self._atlas = atlas
        self._aim = aim
        self._coverage = aim.coverage
        self._potential = potential
        self._ours = ours
        self._peer = peer
        self._fruitless: dict[int, int] = {}  # by state, how many messages there in a row had nothing new
        self._missed: dict[int, int] = {}  # by state, how often a message was waited for there in vain
        self._lost: dict[int, int] = {}  # by state, how often it was met, but nobody could tell
        self._worth: dict[int, tuple[tuple[int, int, int], float]] = {}
        self._field: dict[Place, float] = {}
        self._searched = 0  # places looked at by the field since it was made
        self._places: list[Place] = []
        self.expanded = 0  # places looked at, in all

    # --- What is known ------------------------------------------------------------------------------------------------

    def tried(self, edge: Edge, had_something_new: bool) -> None:
        """A message was said or heard."""
        self._missed.pop(edge.state, None)
        if had_something_new:
            self._fruitless.pop(edge.state, None)
        else:
            self._fruitless[edge.state] = self._fruitless.get(edge.state, 0) + 1

    def missed(self, edge: Edge) -> None:
        """A message that was planned for did not come, or could not be said."""
        self._missed[edge.state] = self._missed.get(edge.state, 0) + 1

    def times_missed(self, edge: Edge) -> int:
        """How often a message was waited for in vain."""
        return self._missed.get(edge.state, 0)

    def lost(self, states: Iterable[int]) -> None:
        """These were met, but the conversation broke off before it was clear how it was to be understood."""
        for state in states:
            self._lost[state] = self._lost.get(state, 0) + 1

    def ask_again(self) -> None:
        """What was given up is tried again, with twice the patience."""
        self._peer.patience *= 2
        self._fruitless.clear()
        self._missed.clear()
        self._lost.clear()
        self._field = {}

    def as_data(self) -> dict[str, Any]:
        """What was tried in vain, by path, as JSON can hold it."""
        counts = {"fruitless": self._fruitless, "missed": self._missed, "lost": self._lost}
        return {
            name: [[list(self._coverage.walks[state]), tries] for state, tries in each.items()]
            for name, each in counts.items()
        }

    def add_data(self, data: Mapping[str, Any]) -> None:
        """Go on from what another run has tried in vain."""
        for name, counts in (("fruitless", self._fruitless), ("missed", self._missed), ("lost", self._lost)):
            for path, tries in data[name]:
                state = self._coverage.state(tuple(path)[-self._coverage.paths.k :])
                counts[state] = counts.get(state, 0) + tries

    def _is_enough(self, tries: int, likelihood: float) -> bool:
        """Whether something this likely would have come in so many tries."""
        return tries >= self._peer.patience / _SURE_AFTER / likelihood + 2

    # --- Gains --------------------------------------------------------------------------------------------------------

    def gain(self, edge: Edge, tentative: Mapping[int, int]) -> float:
        """How many paths a message is expected to cover."""
        if edge.is_spent:
            return 0.0
        gain = 0.0
        is_spent = True
        is_covered = self._coverage.is_covered
        for state in edge.states:
            # With a path, all that it ends with is covered as well.
            if not is_covered[state] and not is_covered[self._aim.target(state)]:
                is_spent = False
                if state not in tentative and not self._is_enough(self._lost.get(state, 0), 1.0):
                    gain += 1.0
        if not self._potential.is_open(edge.state):
            edge.is_spent = is_spent
        else:
            # What was said in a superposition may still count; answers are too different to wait for that.
            said = tentative.get(edge.state, 0)
            if edge.is_ours and not said:
                gain += min(self._worth_below(edge), _MOST_IN_A_MESSAGE)
            elif not edge.is_ours and said <= 2:
                gain += self._worth_below(edge)
        return gain

    def _worth_below(self, edge: Edge) -> float:
        """How many of the paths that are missing inside of a message it may be expected to have."""
        state = edge.state
        missing = self._potential.missing(state)
        tries = self._fruitless.get(state, 0)
        speaker = self._ours if edge.is_ours else self._peer
        key = (tries, len(missing), speaker.symbols[self._coverage.walks[state][-1]])
        known = self._worth.get(state)
        if known is None or known[0] != key:
            worth = 0.0
            for _, steps in missing.values():
                likelihood = speaker.likelihood_of(steps)
                if likelihood > _LEAST_LIKELIHOOD:
                    if edge.is_ours:
                        likelihood = 1.0  # we choose what we say
                    if not self._is_enough(tries, likelihood):
                        worth += likelihood
            known = self._worth[state] = (key, worth)
        return known[1]

    # --- Plans --------------------------------------------------------------------------------------------------------

    def plan(self, starts: Iterable[Place], situation: Situation) -> Plan | None:
        """What to do from one of these places on; None if there is nothing left to do, from anywhere."""
        starts = list(starts)
        plan = self._best(starts, situation)
        if plan is not None:
            return plan
        if not self._field or self._searched > len(self._places):
            self._make_field()
        plan = self._by_field(starts, situation)
        if plan is None and self._searched:
            self._make_field()
            plan = self._by_field(starts, situation)
        return plan

    def ways_on(
        self, place: Place, layer: int, last: str, situation: Situation
    ) -> list[tuple[Edge, float, float, str]]:
        """The edges that can be had at a place: what each costs, how likely it is, and what we said last then.

        In layer 0, which is this conversation, what was refused is not said again.
        """
        edges = self._atlas.edges(place)
        answers = place.answers
        if len(answers) == 1 and not self._missed and (layer or not situation.refused):
            # Only we may speak, or only one thing may come, and nothing speaks against it.
            return [(edge, 1.0, 1.0, edge.move.symbol if edge.is_ours else last) for edge in edges]
        ways = []
        for edge in edges:
            if layer == 0 and edge.is_ours and edge.move.symbol in situation.refused:
                continue
            cost, likelihood = self._cost(edge, last, answers)
            if likelihood:
                ways.append((edge, cost, likelihood, edge.move.symbol if edge.is_ours else last))
        return ways

    def _cost(self, edge: Edge, last: str, answers: tuple[str, ...]) -> tuple[float, float]:
        """What a message costs, and how likely it is; at likelihood 0 it cannot be had."""
        missed = self._missed.get(edge.state)
        if edge.is_ours and not missed:
            return 1.0, 1.0
        likelihood = 1.0 if edge.is_ours else self._peer.likelihood(last, answers, edge.move.symbol)
        if missed and likelihood and self._is_enough(missed, likelihood):
            return 0.0, 0.0
        return (1.0 + _WAITING * (1 / likelihood - 1) if likelihood else 0.0), likelihood

    def _best(self, starts: list[Place], situation: Situation) -> Plan | None:
        """The plan with the best ratio among those that are near."""
        best: tuple[Back, Edge, float, float] | None = None  # the way, its last edge, what it gains and costs
        ratio = 0.0
        first = float("inf")  # what it costs at least to gain anything; nobody looks further
        done: tuple[set[Place], set[Place]] = (set(), set())  # in this conversation, and in the next one
        expanded = 0
        heap: list[tuple[float, int, int, Place, Back | None, str, float]] = []
        for number, place in enumerate(starts):
            heap.append((0.0, number, 0, place, None, situation.last, 0.0))
        ticket = len(heap)
        while heap and expanded < _NEARBY:
            cost, _, layer, place, back, last, gained = heappop(heap)
            seen = done[layer]
            if place in seen:
                continue
            if cost > first:
                break
            seen.add(place)
            expanded += 1
            for edge, more, likelihood, said in self.ways_on(place, layer, last, situation):
                total, gain = cost + more, gained
                further = (back, edge)
                if not edge.is_spent and (new := self.gain(edge, situation.tentative) * likelihood) > 0:
                    gain += new
                    first = min(first, total)
                    if gain / total > ratio:
                        ratio = gain / total
                        best = further, edge, gain, total
                if total <= first and edge.to not in seen:
                    heappush(heap, (total, ticket, layer, edge.to, further, said, gain))
                    ticket += 1
            if layer == 0 and cost + RESET <= first and self._atlas.ending(place) is not None:
                again = (cost + RESET, ticket, 1, self._atlas.beginning, (back, END), "", gained)
                heappush(heap, again)
                ticket += 1
        self.expanded += expanded
        if best is None:
            return None
        way, edge, gain, total = best
        return Plan(steps_back(way), self._target(edge, situation.tentative), gain, total)

    def _target(self, edge: Edge, tentative: Mapping[int, int]) -> int:
        """What an edge is taken for: the longest of the missing paths."""
        missing = [state for state in edge.states if self._aim.is_missing(state) and state not in tentative]
        return max(missing, key=lambda state: len(self._coverage.walks[state]), default=edge.state)

    # --- Far away -----------------------------------------------------------------------------------------------------

    def _make_field(self) -> None:
        """How far it is, at least, from each place to something that is missing."""
        self._explore()
        known = set(self._places)
        sources: dict[Place, list[tuple[Place, float]]] = {}
        distance: dict[Place, float] = {}
        for place in self._places:
            edges = self._atlas.edges(place)
            answers = place.answers
            for edge in edges:
                cost, likelihood = self._cost(edge, "", answers)
                if likelihood:
                    sources.setdefault(edge.to, []).append((place, cost))
                    if self.gain(edge, {}) > 0:
                        distance[place] = min(cost, distance.get(place, cost))
                if edge.to not in known:
                    distance[edge.to] = 0.0  # who knows what is there
            if self._atlas.ending(place) is not None:
                sources.setdefault(self._atlas.beginning, []).append((place, RESET))
        heap = [(far, place.number, place) for place, far in distance.items()]
        heapify(heap)
        while heap:
            far, _, place = heappop(heap)
            if far > distance[place]:
                continue
            for source, cost in sources.get(place, ()):
                if far + cost < distance.get(source, float("inf")):
                    distance[source] = far + cost
                    heappush(heap, (far + cost, source.number, source))
        self._field = distance
        self._searched = 0

    def _explore(self) -> None:
        """Find all places, up to a limit. They only ever become more."""
        if self._places:
            return
        found = {self._atlas.beginning: None}
        todo = [self._atlas.beginning]
        for place in todo:
            for edge in self._atlas.edges(place):
                if edge.to not in found and len(found) < _MOST_PLACES:
                    found[edge.to] = None
                    todo.append(edge.to)
        self._places = todo

    def _by_field(self, starts: list[Place], situation: Situation) -> Plan | None:
        """The nearest gain, found by the field."""
        far = self._field
        done: set[tuple[int, Place]] = set()
        heap: list[tuple[float, int, float, int, Place, Back | None, str, Edge | None]] = []
        ticket = 0
        for place in starts:
            # A place that the field has not seen, in a conversation that went deeper than it, may be anywhere.
            heap.append((far.get(place, 0.0), ticket, 0.0, 0, place, None, situation.last, None))
            ticket += 1
        heapify(heap)
        while heap and len(done) < _MOST_PLACES:
            _, _, cost, layer, place, back, last, goal = heappop(heap)
            if goal is not None:
                self._note_search(len(done))
                return Plan(steps_back(back), self._target(goal, situation.tentative), 1.0, cost)
            if (layer, place) in done:
                continue
            done.add((layer, place))
            for edge, more, _, said in self.ways_on(place, layer, last, situation):
                further = (back, edge)
                if self.gain(edge, situation.tentative) > 0:
                    heappush(heap, (cost + more, ticket, cost + more, layer, edge.to, further, said, edge))
                elif (layer, edge.to) not in done and (edge.to in far or not edge.to.is_known):
                    guess = cost + more + far.get(edge.to, 0.0)
                    heappush(heap, (guess, ticket, cost + more, layer, edge.to, further, said, None))
                ticket += 1
            beginning = self._atlas.beginning
            if layer == 0 and self._atlas.ending(place) is not None and beginning in far:
                again = cost + RESET
                heappush(heap, (again + far[beginning], ticket, again, 1, beginning, (back, END), "", None))
                ticket += 1
        self._note_search(len(done))
        return None

    def _note_search(self, places: int) -> None:
        self._searched += places
        self.expanded += places


def steps_back(back: Back | None) -> tuple[Step, ...]:
    steps: list[Step] = []
    while back is not None:
        back, step = back
        steps.append(step)
    steps.reverse()
    return tuple(steps)
