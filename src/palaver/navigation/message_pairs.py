"""Ordered pairs of messages, a coverage of histories (t-way sequence coverage, Kuhn et al. 2012).

k-paths see nesting, not history. A *pair* is covered if its second message comes when its first has come earlier in the
same session. It is *feasible* if the dialogue map has a way from the first to the second, so what is not is told for
nothing. Pairs are bits: for each message a mask of those that came before it, so a message costs three operations.

Plans for pairs are made when k-paths have none left. A uniform-cost search carries the messages of the session along,
and takes the way with the most new pairs for its cost. If none is near, the shortest way to one missing pair is taken,
perhaps in another session; a pair that was tried in vain some times is given up.

Pairs may also be a goal *as far as they are affordable*: of a dialogue with few messages and a small map, until there
were about half as many messages since the first plan for them as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

from palaver.lean_dataclasses import dataclass
from palaver.matching.dialogue_grammar import MessageType
from palaver.navigation.dialogue_map import DialogueMap, Edge, MapNode
from palaver.navigation.navigation_limits import (
    MAX_MESSAGES_WITH_PAIRS,
    MAX_NODES_FOR_PAIRS,
    MAX_NODES_OF_MAP,
    MAX_NODES_WITH_PAIRS,
    MAX_TRIES_OF_PAIR,
    SHARE_OF_MESSAGES_FOR_PAIRS,
)
from palaver.navigation.plan_search import (
    SESSION_END,
    PlanningContext,
    PlanStep,
    PossibleEdges,
    RoutePlan,
    StepChain,
    steps_of,
)


@dataclass(slots=True)
class SessionPairs:
    """The part of one session: the mask of its messages, and the pairs that its plan is for, as masks by message."""

    before: int = 0
    is_pursued: bool = False  # the present plan is for pairs
    planned: dict[int, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Begin another session."""
        self.before = 0
        self.planned = {}


class MessagePairs:
    """The ordered pairs of a dialogue, those that were covered, and plans for the others."""

    def __init__(self, dialogue_map: DialogueMap, edges: PossibleEdges, *, has_budget: bool = False) -> None:
        self.reached = 0
        self._sessions: list[SessionPairs] = []  # that go on at the same time
        self._has_budget = has_budget
        self._messages = 0  # of all sessions
        self._spent = 0  # of these, those since the first plan for pairs
        self._has_no_plan = False  # all are covered or given up
        self._map = dialogue_map
        self._edges = edges
        self._numbers: dict[MessageType, int] = {}
        self._covered: Counter[int] = Counter()  # by message, the mask of those before it
        self._tries: Counter[tuple[int, int]] = Counter()

    def _number(self, move: MessageType) -> int:
        return self._numbers.setdefault(move, len(self._numbers))

    @cached_property
    def _feasible(self) -> dict[int, int]:
        """By message, the mask of those that may come before it: a fixpoint over the dialogue map."""
        nodes = self._map.nodes(MAX_NODES_WITH_PAIRS)
        is_noted = self._map.coverage.is_noted
        edges = {node: [edge for edge in self._map.edges(node) if not is_noted(edge.state)] for node in nodes}
        after = dict.fromkeys(nodes, 0)
        sources: dict[MapNode, list[tuple[MapNode, int]]] = {}
        for node in nodes:
            for edge in edges[node]:
                sources.setdefault(edge.to, []).append((node, 1 << self._number(edge.move)))
        todo = list(reversed(nodes))
        while todo:
            node = todo.pop()
            for source, bit in sources.get(node, ()):
                if (more := after[source] | after.get(node, 0) | bit) != after[source]:
                    after[source] = more
                    todo.append(source)
        feasible: dict[int, int] = {}
        for node in nodes:
            for edge in edges[node]:
                number = self._number(edge.move)
                for later in _bits(after.get(edge.to, 0)):
                    feasible[later] = feasible.get(later, 0) | 1 << number
        return feasible

    @cached_property
    def total(self) -> int:
        """The number of feasible pairs."""
        return sum(mask.bit_count() for mask in self._feasible.values())

    @classmethod
    def affordable(cls, dialogue_map: DialogueMap, edges: PossibleEdges, messages: int) -> MessagePairs | None:
        """The pairs of a dialogue with so many messages, with a budget; None if there are too many."""
        if messages > MAX_MESSAGES_WITH_PAIRS or len(dialogue_map.nodes(MAX_NODES_OF_MAP)) >= MAX_NODES_OF_MAP:
            return None
        return cls(dialogue_map, edges, has_budget=True)

    @property
    def is_over(self) -> bool:
        """True if all is covered, or if there is a budget, and it is used up or of no more use."""
        return self.reached >= self.total or (self._has_budget and (self._has_no_plan or self._is_spent))

    @property
    def _is_spent(self) -> bool:
        return self._spent >= SHARE_OF_MESSAGES_FOR_PAIRS * (self._messages - self._spent)

    def session(self) -> SessionPairs:
        """The part of sessions that go on beside all others that this was called for."""
        self._sessions.append(SessionPairs())
        return self._sessions[-1]

    def note(self, move: MessageType, session: SessionPairs) -> None:
        """Note a message of any party."""
        self._messages += 1
        self._spent += session.is_pursued or self._spent > 0
        number = self._number(move)
        new = self._new(number, session.before)
        self._covered[number] |= new
        self.reached += new.bit_count()
        session.before |= 1 << number

    def _new(self, number: int, before: int) -> int:
        return self._feasible.get(number, 0) & before & ~self._covered[number]

    def missing(self) -> Iterator[tuple[str, str]]:
        """The symbols of the feasible pairs that were not covered."""
        missing = list(self._missing())
        symbols = {number: move.symbol for move, number in self._numbers.items()}
        return ((symbols[first], symbols[second]) for first, second in missing)

    def _missing(self) -> Iterator[tuple[int, int]]:
        for second, mask in self._feasible.items():
            for first in _bits(mask & ~self._covered[second]):
                yield first, second

    def retry_given_up(self) -> None:
        """Try again what was given up."""
        self._tries.clear()
        self._has_no_plan = False

    def as_data(self) -> dict[str, Any]:
        """The pairs that were covered and the numbers of messages, as JSON can hold them."""
        moves = {number: list(move) for move, number in self._numbers.items()}
        covered = [[*moves[first], *moves[second]] for second, mask in self._covered.items() for first in _bits(mask)]
        return {"covered": covered, "messages": self._messages, "spent": self._spent}

    def add_data(self, data: Mapping[str, Any]) -> None:
        """Add the pairs of another run."""
        for pair in data["covered"]:
            first, second = (self._number(MessageType(*each)) for each in (pair[:3], pair[3:]))
            new = self._new(second, 1 << first)
            self._covered[second] |= new
            self.reached += new.bit_count()
        self._messages += data["messages"]
        self._spent += data["spent"]

    def plan(self, starts: Sequence[MapNode], context: PlanningContext, session: SessionPairs) -> RoutePlan | None:
        """A plan for some missing pairs that no other session plans for; None if all are covered or given up."""
        session.planned = {}
        if self.is_over:
            return None
        others = self._planned_by_others(session)
        plan = self._best(starts, context, session.before, others) or self._shortest(starts, context, session, others)
        self._has_no_plan = plan is None and not others
        if plan is not None and len(self._sessions) > 1:
            session.planned = self._pairs_of(plan, session.before)
        return plan

    def is_left_to_others(self, session: SessionPairs) -> bool:
        """Return True if pairs are missing, and plans of other sessions are for some of them."""
        return not self.is_over and bool(self._planned_by_others(session))

    def ratio_from(self, beginning: MapNode, session: SessionPairs) -> float:
        """The missing pairs per message of the best plan for another session."""
        others = self._planned_by_others(session)
        plan = None if self.is_over else self._best([beginning], PlanningContext(), 0, others)
        return 0.0 if plan is None else plan.gain / plan.cost

    def _planned_by_others(self, session: SessionPairs) -> dict[int, int]:
        """The missing pairs that plans of other sessions are for, as masks by message."""
        planned: dict[int, int] = {}
        for other in self._sessions:
            if other is not session:
                for number, mask in other.planned.items():
                    if open_pairs := mask & ~self._covered[number]:
                        planned[number] = planned.get(number, 0) | open_pairs
        return planned

    def _pairs_of(self, plan: RoutePlan, before: int) -> dict[int, int]:
        """The missing pairs that a plan is for."""
        planned: dict[int, int] = {}
        for step in plan.steps:
            if not isinstance(step, Edge):
                before = 0
                continue
            number = self._number(step.move)
            if new := self._new(number, before):
                planned[number] = planned.get(number, 0) | new
            before |= 1 << number
        return planned

    def _best(
        self, starts: Sequence[MapNode], context: PlanningContext, so_far: int, others: Mapping[int, int]
    ) -> RoutePlan | None:
        """The plan with the most new pairs for its cost among those that are near, in this session."""
        heap: list[tuple[float, int, MapNode, int, StepChain | None, str, float]] = []
        for number, node in enumerate(starts):
            heap.append((0.0, number, node, so_far, None, context.last, 0.0))
        ticket, best, ratio = len(heap), None, 0.0
        done: set[tuple[MapNode, int]] = set()
        while heap and len(done) < MAX_NODES_FOR_PAIRS:
            cost, _, node, before, chain, last, gained = heappop(heap)
            if (node, before) in done:
                continue
            done.add((node, before))
            for edge, more, likelihood, then_last in self._edges(node, 0, last, context):
                number = self._number(edge.move)
                total, further = cost + more, (chain, edge)
                new = self._new(number, before)
                if others:
                    new &= ~others.get(number, 0)
                gain = gained + new.bit_count() * likelihood
                if gain > gained and gain / total > ratio:
                    ratio, best = gain / total, RoutePlan(steps_of(further), edge.state, gain, total)
                ticket += 1
                heappush(heap, (total, ticket, edge.to, before | 1 << number, further, then_last, gain))
        return best

    def _shortest(
        self, starts: Sequence[MapNode], context: PlanningContext, so_far: SessionPairs, others: Mapping[int, int]
    ) -> RoutePlan | None:
        """The shortest way to a missing pair that was tried least often."""
        while (pair := self._least_tried(others)) is not None:
            self._tries[pair] += 1
            first, second = pair
            for at, begins in (((), starts), ((SESSION_END,), [self._map.beginning])):
                session = len(at)
                steps = self._way(begins, second, session, context) if self._has(first, session, so_far) else None
                if steps is None and (lead := self._way(begins, first, session, context)) is not None:
                    last = lead[-1]
                    rest = self._way([last.to], second, session, context)
                    steps = None if rest is None else [*lead, *rest]
                end = self._way_to_end(starts, context) if session else []
                if steps is not None and end is not None:
                    every: tuple[PlanStep, ...] = (*end, *at, *steps)
                    return RoutePlan(every, steps[-1].state, 1.0, float(len(every)))
        return None

    def _least_tried(self, others: Mapping[int, int]) -> tuple[int, int] | None:
        free = (pair for pair in self._missing() if not others.get(pair[1], 0) >> pair[0] & 1)
        open_pairs = (pair for pair in free if self._tries[pair] < MAX_TRIES_OF_PAIR)
        return min(open_pairs, key=lambda pair: self._tries[pair], default=None)

    @staticmethod
    def _has(number: int, session: int, so_far: SessionPairs) -> bool:
        return session == 0 and bool(so_far.before >> number & 1)

    def _way(self, starts: Sequence[MapNode], number: int, session: int, context: PlanningContext) -> list[Edge] | None:
        """A shortest way whose last message is this one, by breadth-first search."""
        return self._search(starts, session, context, lambda edge: self._number(edge.move) == number)

    def _way_to_end(self, starts: Sequence[MapNode], context: PlanningContext) -> list[Edge] | None:
        if any(self._map.ending(node) is not None for node in starts):
            return []
        return self._search(starts, 0, context, lambda edge: self._map.ending(edge.to) is not None)

    def _search(
        self, starts: Sequence[MapNode], session: int, context: PlanningContext, is_goal: Callable[[Edge], bool]
    ) -> list[Edge] | None:
        """The edges of a shortest way to a goal, by breadth-first search; None if there is none."""
        ways: dict[MapNode, tuple[Edge, ...]] = dict.fromkeys(starts, ())
        todo = [(node, context.last) for node in starts]
        for node, last in todo:
            for edge, _, _, then_last in self._edges(node, session, last, context):
                if is_goal(edge):
                    return [*ways[node], edge]
                if edge.to not in ways and len(ways) < MAX_NODES_WITH_PAIRS:
                    ways[edge.to] = (*ways[node], edge)
                    todo.append((edge.to, then_last))
        return None


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
