"""Plans with the best gain per cost: uniform-cost search (Dijkstra 1959) nearby, A* (Hart et al. 1968) beyond.

The dialogue map is searched from the node of the session, the cheapest ways first. A message of ours costs 1; an
uncertain answer costs what it takes until it comes; ending the session and beginning another costs a little more. The
*gain* of a message is the number of paths that it is expected to cover; paths in answers are weighted by their
likelihood. The plan is the way with the best ratio of gain to cost among all that are at most as expensive as the
cheapest one with any gain, which counts as the more expensive the less likely it is. The nearest gain alone would
prefer one path next door to twenty paths two steps on. Looking further ahead saves hardly any messages and doubles the
work. The map is made on demand: once a search has a plan, it explores only a few more nodes that no search has come to
before, so twenty ways in each state do not slow it down.

When nothing is near, A* searches the rest of the map. Its lower bound is the distance from each node to the nearest
missing path, found by Dijkstra's algorithm backwards from all of them at once. Paths are only ever covered, so old
distances remain lower bounds; they are computed anew when searches with them have expanded more nodes than that takes.
If no missing path can be reached from any node, there is nothing left to plan for. Nodes that were not explored have
distance 0, so they are never taken for unreachable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import field
from heapq import heapify, heappop, heappush
from typing import Any

from palaver import interruption
from palaver.lean_dataclasses import dataclass
from palaver.navigation.dead_ends import DeadEnds
from palaver.navigation.dialogue_map import DialogueMap, Edge, MapNode
from palaver.navigation.goals import GoalProgress, MissingPaths, StepsDown
from palaver.navigation.navigation_limits import (
    CERTAIN_PATIENCE_DIVISOR,
    FREE_PLANS_IN_VAIN,
    MAX_GAIN_OF_MESSAGE,
    MAX_NEW_NODES_NEARBY,
    MAX_NODES_NEARBY,
    MAX_NODES_OF_FAR_SEARCH,
    MAX_NODES_WITH_DISTANCE,
    MAX_SESSIONS_IN_VAIN,
    MIN_GAIN,
    MIN_LIKELIHOOD,
    MISSES_THAT_HALVE,
)
from palaver.navigation.peer_model import PeerModel
from palaver.navigation.plan_search import (
    RESET_COST,
    SESSION_END,
    AStar,
    PlanningContext,
    RoutePlan,
    StepChain,
    steps_of,
)
from palaver.random_source import RandomSource

# The additional cost of an answer that comes every second time.
_WAITING_COST = 2.0


@dataclass(slots=True)
class _DistanceField:
    """Lower bounds of the cost from nodes to something that is missing."""

    distances: dict[MapNode, float] = field(default_factory=dict)
    explored: list[MapNode] = field(default_factory=list)
    searched: int = 0  # nodes expanded since the distances were computed


class RoutePlanner:
    """Plans for one goal, with what is known of the peer."""

    def __init__(
        self,
        dialogue_map: DialogueMap,
        goal_progress: GoalProgress,
        missing_paths: MissingPaths,
        ours: PeerModel,
        peer: PeerModel,
        chance: RandomSource,
    ) -> None:
        self.dialogue_map = dialogue_map
        self.goal_progress = goal_progress
        self.coverage = goal_progress.coverage
        self.missing_paths = missing_paths
        self.ours = ours
        self.peer = peer
        self.dead_ends = DeadEnds(dialogue_map.ours)  # those of the run stand in the belief state
        self._random = chance.random  # breaks ties, so that seeds differ
        # By coverage state:
        self._fruitless: dict[int, int] = {}  # messages in a row that covered nothing new
        self._missed: dict[int, int] = {}  # messages that were planned for and did not come
        self._lost: dict[int, int] = {}  # possible occurrences that could not be counted
        self._vain: dict[int, int] = {}  # plans of this session that were in vain
        self._vain_sessions: dict[int, int] = {}  # sessions in a row with too many of these
        self._frozen: dict[int, dict[int, float]] = {}  # likelihoods of what is below, when it was last seen
        self._worth: dict[int, tuple[tuple[int, int, int], float]] = {}
        # By message type, and whether it is ours: likelihoods of contents, and the counts that they are valid for.
        self._contents: dict[tuple[str, bool], tuple[tuple[int, int], dict[StepsDown, float]]] = {}
        self._field = _DistanceField()
        self._a_star = AStar(dialogue_map, self.possible_edges, MAX_NODES_OF_FAR_SEARCH)

    def beside(self, dead_ends: DeadEnds, chance: RandomSource) -> RoutePlanner:
        """The same for sessions that go on beside these: only plans in vain are those of one session."""
        other = copy(self)
        other.dead_ends = dead_ends
        other._random = chance.random
        other._vain = {}
        return other

    def note_result(self, edge: Edge, had_something_new: bool) -> None:
        """Note that a message was sent or received."""
        self._missed.pop(edge.state, None)
        if had_something_new:
            for counts in (self._fruitless, self._vain, self._vain_sessions, self._frozen):
                counts.pop(edge.state, None)
        else:
            self._fruitless[edge.state] = self._fruitless.get(edge.state, 0) + 1

    def note_missed(self, edge: Edge) -> None:
        """Note that a planned message did not come, or could not be made."""
        self._missed[edge.state] = self._missed.get(edge.state, 0) + 1

    def begin(self) -> None:
        """Begin another session, in which plans that were in vain in the last one may not be."""
        for state, times in self._vain.items():
            if times > FREE_PLANS_IN_VAIN:
                self._vain_sessions[state] = self._vain_sessions.get(state, 0) + 1
        if self._vain:
            self._vain.clear()
            self._field.distances = {}

    def note_vain(self, plan: RoutePlan) -> None:
        """Note that a plan, carried out or not, has covered nothing and has brought only what had come before."""
        for step in plan.steps:
            if isinstance(step, Edge) and (self.missing_paths.has_missing(step.state) or step.state == plan.target):
                self._vain[step.state] = self._vain.get(step.state, 0) + 1

    @property
    def has_vain_plans(self) -> bool:
        """True if plans of this session are worth less than they would be in another one."""
        return any(times > FREE_PLANS_IN_VAIN for times in self._vain.values())

    def is_fruitless(self, edge: Edge) -> bool:
        """Return True if a message like this was the last time without anything new."""
        return self._fruitless.get(edge.state, 0) > 0

    def times_missed(self, edge: Edge) -> int:
        """The number of times that a planned message did not come."""
        return self._missed.get(edge.state, 0)

    def note_lost(self, states: Iterable[int]) -> None:
        """Note states that occurred in a session which broke off while it was still ambiguous."""
        for state in states:
            self._lost[state] = self._lost.get(state, 0) + 1

    def retry_given_up(self) -> None:
        """Try again what was given up, with twice the patience."""
        self.peer.retry_given_up()
        self._worth.clear()
        self._fruitless.clear()
        self._missed.clear()
        self._lost.clear()
        self._vain.clear()
        self._vain_sessions.clear()
        self._frozen.clear()
        self._field.distances = {}

    def as_data(self) -> dict[str, Any]:
        """The unsuccessful attempts, by path, as JSON can hold them."""
        counts = {"fruitless": self._fruitless, "missed": self._missed, "lost": self._lost}
        return {
            name: [[list(self.coverage.walks[state]), tries] for state, tries in each.items()]
            for name, each in counts.items()
        }

    def add_data(self, data: Mapping[str, Any]) -> None:
        """Add the unsuccessful attempts of another run."""
        for name, counts in (("fruitless", self._fruitless), ("missed", self._missed), ("lost", self._lost)):
            for path, tries in data[name]:
                state = self.coverage.state(tuple(path)[-self.coverage.paths.k :])
                counts[state] = max(0, counts.get(state, 0) + tries)  # those of others may have been in vain no more

    def _is_enough(self, tries: int, likelihood: float) -> bool:
        """Return True if something this likely would have come in so many tries."""
        return tries >= self.peer.patience / CERTAIN_PATIENCE_DIVISOR / likelihood + 2

    def gain(self, edge: Edge, tentative: Mapping[int, int]) -> float:
        """The number of paths that a message is expected to cover."""
        if edge.is_exhausted:
            return 0.0
        gain = 0.0
        is_exhausted = True
        is_covered = self.coverage.is_covered
        for state in edge.states:
            # A path is covered together with all its suffixes.
            if not is_covered[state] and not is_covered[self.goal_progress.relevant(state)]:
                is_exhausted = False
                if state not in tentative and not self._is_enough(self._lost.get(state, 0), 1.0):
                    gain += 1.0
        if not self.missing_paths.has_missing(edge.state):
            edge.is_exhausted = is_exhausted
        else:
            # An ambiguous message of ours may still count; answers are too different to wait for that.
            times = tentative.get(edge.state, 0)
            if edge.is_ours and not times:
                gain += min(self._worth_below(edge), MAX_GAIN_OF_MESSAGE)
            elif not edge.is_ours and times <= 2:
                gain += self._worth_below(edge) * self._hope(edge.state)
        return gain if gain >= MIN_GAIN else 0.0

    def _hope(self, state: int) -> float:
        """The share that is left of the worth of an answer, after plans for it that were in vain."""
        if self._vain_sessions.get(state, 0) >= MAX_SESSIONS_IN_VAIN:
            return 0.0
        return float(0.5 ** max(0, self._vain.get(state, 0) - FREE_PLANS_IN_VAIN))

    def _worth_below(self, edge: Edge) -> float:
        """The expected number of missing paths inside of a message."""
        state = edge.state
        missing = self.missing_paths.missing(state)
        tries = self._fruitless.get(state, 0)
        model = self.ours if edge.is_ours else self.peer
        seen = model.symbols.get(edge.move.symbol, 0)
        key = (tries, len(missing), seen)
        # Before the first try, a message is worth the same in all contexts that have the same paths below it.
        place = state if tries else self.missing_paths.context(state)
        known = self._worth.get(place)
        if known is None or known[0] != key:
            worth = self._worth_tried(edge, model, missing) if tries else self._worth_untried(edge, model, missing)
            known = self._worth[place] = (key, worth)
        return known[1]

    def _worth_tried(self, edge: Edge, model: PeerModel, missing: Mapping[int, StepsDown]) -> float:
        worth = 0.0
        tries = self._fruitless.get(edge.state, 0)
        for target, steps in missing.items():
            likelihood = self._likelihood(edge.state, target, model, steps)
            if likelihood > MIN_LIKELIHOOD:
                if edge.is_ours:
                    likelihood = 1.0  # we choose the content
                if not self._is_enough(tries, likelihood):
                    worth += likelihood
        return worth

    def _worth_untried(self, edge: Edge, model: PeerModel, missing: Mapping[int, StepsDown]) -> float:
        symbol = edge.move.symbol
        version = (model.symbols.get(symbol, 0), model.patience)
        known = self._contents.get((symbol, edge.is_ours))
        if known is None or known[0] != version:
            known = self._contents[symbol, edge.is_ours] = (version, {})
        likelihoods = known[1]
        worth = 0.0
        for steps in missing.values():
            likelihood = likelihoods.get(steps)
            if likelihood is None:
                likelihood = likelihoods[steps] = model.content_likelihood(steps)
            if likelihood > MIN_LIKELIHOOD:
                worth += 1.0 if edge.is_ours else likelihood
        return worth

    def _likelihood(self, state: int, target: int, model: PeerModel, steps: Sequence[tuple[str, str]]) -> float:
        """The likelihood of a path below a state, as it was when tries for it began.

        Once all its steps were seen, tries without success would make it less likely, and so demand ever more tries.
        Wald's sequential test (1945) compares them with the likelihood before.
        """
        frozen = self._frozen.setdefault(state, {})
        if target in frozen:
            return frozen[target]
        likelihood = model.content_likelihood(steps)
        if self._fruitless.get(state) and all(model.pairs[step] for step in steps):
            frozen[target] = likelihood
        return likelihood

    def plan(self, starts: Iterable[MapNode], context: PlanningContext) -> RoutePlan | None:
        """Plan from one of these nodes; None if nothing is left to plan for, from any node."""
        starts = list(starts)
        plan = self._best(starts, context)
        if plan is not None:
            return plan
        if not self._field.distances or self._field.searched > len(self._field.explored):
            self._compute_distances()
        plan = self._nearest(starts, context)
        if plan is None and self._field.searched:
            self._compute_distances()
            plan = self._nearest(starts, context)
        return plan

    def possible_edges(
        self, node: MapNode, session: int, last: str, context: PlanningContext
    ) -> list[tuple[Edge, float, float, str]]:
        """The edges from a node that are not given up: with cost, likelihood, and our last message afterwards.

        In session 0, which is the present one, messages that were refused are left out.
        """
        edges = self.dialogue_map.edges(node)
        answers = node.answers
        if len(answers) == 1 and not self._missed and not self.dead_ends.is_any and (session or not context.refused):
            # Only we may send, or only one answer may come, and none was missed before.
            return [(edge, 1.0, 1.0, edge.move.symbol if edge.is_ours else last) for edge in edges]
        possible = []
        for edge in edges:
            if session == 0 and edge.is_ours and edge.move.symbol in context.refused:
                continue
            cost, likelihood = self._cost(edge, last, answers)
            if likelihood:
                possible.append((edge, cost, likelihood, edge.move.symbol if edge.is_ours else last))
        return possible

    def _cost(self, edge: Edge, last: str, answers: tuple[str, ...]) -> tuple[float, float]:
        """The cost of a message, and its likelihood, which is 0 if the message is given up."""
        missed = self._missed.get(edge.state)
        if self.dead_ends.is_dead(edge):
            return 0.0, 0.0
        if edge.is_ours and not missed:
            return 1.0, 1.0
        likelihood = 1.0 if edge.is_ours else self.peer.answer_likelihood(last, answers, edge.move.symbol)
        if missed and likelihood and self._is_enough(missed, likelihood):
            return 0.0, 0.0
        if missed:
            likelihood *= MISSES_THAT_HALVE / (MISSES_THAT_HALVE + missed)
        return (1.0 + _WAITING_COST * (1 / likelihood - 1) if likelihood else 0.0), likelihood

    def _best(self, starts: list[MapNode], context: PlanningContext) -> RoutePlan | None:
        """The plan with the best ratio of gain to cost among those that are near."""
        best: tuple[StepChain, Edge, float, float] | None = None  # the steps, the last edge, gain and cost
        ratio = 0.0
        first = float(
            "inf"
        )  # the least cost of a whole path, or of a path divided by its likelihood; no way costs more
        done: tuple[set[MapNode], set[MapNode]] = (set(), set())  # in this session, and in the next one
        expanded = explored = 0
        random = self._random
        heap: list[tuple[float, float, int, int, MapNode, StepChain | None, str, float]] = []
        for number, node in enumerate(starts):
            heap.append((0.0, 0.0, number, 0, node, None, context.last, 0.0))
        ticket = len(heap)
        while heap and expanded < MAX_NODES_NEARBY:
            cost, _, _, session, node, chain, last, gained = heappop(heap)
            seen = done[session]
            if node in seen:
                continue
            if cost > first:
                break
            if best is not None and not node.is_known:
                if explored >= MAX_NEW_NODES_NEARBY:
                    continue
                explored += 1
            # A node where something must not follow is expanded once more if the way comes back to it.
            barred = context.barred_after(None if chain is None else chain[1])
            if not barred:
                seen.add(node)
            expanded += 1
            for edge, more, likelihood, then_last in self.possible_edges(node, session, last, context):
                if edge.move in barred:
                    continue
                total, gain = cost + more, gained
                further = (chain, edge)
                if not edge.is_exhausted and (new := self.gain(edge, context.tentative) * likelihood) > 0:
                    gain += new
                    first = min(first, total / min(new, 1.0))
                    if gain / total > ratio:
                        ratio = gain / total
                        best = further, edge, gain, total
                if total <= first and edge.to not in seen:
                    heappush(heap, (total, random(), ticket, session, edge.to, further, then_last, gain))
                    ticket += 1
            if session == 0 and cost + RESET_COST <= first and self.dialogue_map.ending(node) is not None:
                start, at_end = self.dialogue_map.beginning, (chain, SESSION_END)
                heappush(heap, (cost + RESET_COST, random(), ticket, 1, start, at_end, "", gained))
                ticket += 1
        if best is None:
            return None
        chain, edge, gain, total = best
        return RoutePlan(steps_of(chain), self._target(edge, context.tentative), gain, total)

    def _target(self, edge: Edge, tentative: Mapping[int, int]) -> int:
        """The longest missing path that an edge covers itself; else the state of its message."""
        missing = [state for state in edge.states if self.goal_progress.is_missing(state) and state not in tentative]
        return max(missing, key=lambda state: len(self.coverage.walks[state]), default=edge.state)

    def _compute_distances(self) -> None:
        """Compute lower bounds of the cost from each explored node to something that is missing."""
        if not self._field.explored:
            self._field.explored = self.dialogue_map.nodes(MAX_NODES_WITH_DISTANCE)
        known = set(self._field.explored)
        sources: dict[MapNode, list[tuple[MapNode, float]]] = {}
        distances: dict[MapNode, float] = {}
        for node in self._field.explored:
            interruption.check()
            for edge in self.dialogue_map.edges(node):
                cost, likelihood = self._cost(edge, "", node.answers)
                if likelihood:
                    sources.setdefault(edge.to, []).append((node, cost))
                    if self.gain(edge, {}) > 0:
                        distances[node] = min(cost, distances.get(node, cost))
                if edge.to not in known:
                    distances[edge.to] = 0.0
            if self.dialogue_map.ending(node) is not None:
                sources.setdefault(self.dialogue_map.beginning, []).append((node, RESET_COST))
        heap = [(far, node.number, node) for node, far in distances.items()]
        heapify(heap)
        while heap:
            far, _, node = heappop(heap)
            if far > distances[node]:
                continue
            for source, cost in sources.get(node, ()):
                if far + cost < distances.get(source, float("inf")):
                    distances[source] = far + cost
                    heappush(heap, (far + cost, source.number, source))
        self._field.distances = distances
        self._field.searched = 0

    def _nearest(self, starts: list[MapNode], context: PlanningContext) -> RoutePlan | None:
        """The cheapest plan with any gain, found by A* with the distances."""
        found = self._a_star.search(
            starts,
            context,
            lambda edge: self.gain(edge, context.tentative) > 0,
            # A node beyond those explored, in a session that went deeper, may be anywhere.
            lambda node: self._field.distances.get(node, None if node.is_known else 0.0),
        )
        self._field.searched += self._a_star.expanded
        self._a_star.expanded = 0
        if found is None:
            return None
        steps, goal, cost = found
        return RoutePlan(steps, self._target(goal, context.tentative), 1.0, cost)
