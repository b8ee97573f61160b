"""Plans as steps over the dialogue map, and the search for the cheapest ones: A* (Hart, Nilsson & Raphael 1968)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias

from palaver import interruption
from palaver.lean_dataclasses import dataclass
from palaver.limits import Limit
from palaver.matching.dialogue_grammar import MessageType
from palaver.navigation.dead_ends import DeadEnds
from palaver.navigation.dialogue_map import DialogueMap, Edge, MapNode

# The cost of ending a session and beginning another one, in messages.
RESET_COST = 2.0


class SessionEnd(NamedTuple):
    """A step of a plan: end the session, and begin another."""


PlanStep: TypeAlias = Edge | SessionEnd
SESSION_END = SessionEnd()

# The steps to a node, the last first. Plain tuples, because one is made for each edge that is expanded.
StepChain: TypeAlias = "tuple[StepChain | None, PlanStep]"


@dataclass(slots=True)
class PlanningContext:
    """The state of the session that a plan depends on."""

    last: str = ""  # the symbol of our last message
    tentative: Mapping[int, int] = field(default_factory=dict)  # coverage states that probably are covered
    refused: Mapping[str, object] = field(default_factory=dict)  # our messages that cannot be made in this session
    dead_ends: DeadEnds | None = None  # messages that must not come next, or first in the next session

    def barred_after(self, step: PlanStep | None) -> Collection[MessageType]:
        """The messages that must not follow the last step of a chain; None is where the session is now."""
        if self.dead_ends is None or not self.dead_ends.is_any or isinstance(step, Edge):
            return ()
        return self.dead_ends.barred() if step is None else self.dead_ends.barred_at_first()


@dataclass(frozen=True, slots=True)
class RoutePlan:
    """Steps, and their purpose."""

    steps: tuple[PlanStep, ...]
    target: int  # the coverage state that the last step is to cover, or something below it
    gain: float
    cost: float


# The possible edges from a node, in session 0 (this one) or 1 (the next), after our last message: each with its cost,
# its likelihood, and our last message afterwards.
PossibleEdges: TypeAlias = Callable[[MapNode, int, str, PlanningContext], Sequence[tuple[Edge, float, float, str]]]


class AStar:
    """A* search (Hart, Nilsson & Raphael 1968) on a map, over the end of this session into the next one.

    `expanded` counts the nodes expanded by all searches.
    """

    def __init__(
        self, dialogue_map: DialogueMap, edges: PossibleEdges, max_nodes: Limit, *, counts_messages: bool = False
    ) -> None:
        self._map = dialogue_map
        self._edges = edges
        self._max_nodes = max_nodes
        self._counts_messages = counts_messages  # each message costs 1
        self.expanded = 0

    def search(
        self,
        starts: Sequence[MapNode],
        context: PlanningContext,
        is_goal: Callable[[Edge], bool],
        at_least: Callable[[MapNode], float | None],
    ) -> tuple[tuple[PlanStep, ...], Edge, float] | None:
        """Find the cheapest steps whose last one is a goal; return them, the goal and the cost, or None.

        `at_least` is a lower bound of the cost from a node to a goal; None if no goal can be reached from there.
        """
        beginning = self._map.beginning
        heap: list[tuple[float, int, float, int, MapNode, StepChain | None, str, Edge | None]] = []
        for number, node in enumerate(starts):
            heap.append((at_least(node) or 0.0, number, 0.0, 0, node, None, context.last, None))
        heapify(heap)
        ticket = len(heap)
        done: set[tuple[int, MapNode]] = set()
        found = None
        while heap and found is None:
            if len(done) >= self._max_nodes:
                self._max_nodes.reached()
                break
            _, _, cost, session, node, steps, last, goal = heappop(heap)
            if goal is not None:
                found = steps_of(steps), goal, cost
            if goal is not None or (session, node) in done:
                continue
            barred = context.barred_after(None if steps is None else steps[1])
            if not barred:
                done.add((session, node))
            interruption.check()
            for edge, more, _, then_last in self._edges(node, session, last, context):
                if edge.move in barred:
                    continue
                total, further = cost + (1.0 if self._counts_messages else more), (steps, edge)
                if is_goal(edge):
                    heappush(heap, (total, ticket, total, session, edge.to, further, then_last, edge))
                elif (session, edge.to) not in done and (far := at_least(edge.to)) is not None:
                    heappush(heap, (total + far, ticket, total, session, edge.to, further, then_last, None))
                ticket += 1
            if session == 0 and (far := at_least(beginning)) is not None and self._map.ending(node) is not None:
                total = cost + RESET_COST
                heappush(heap, (total + far, ticket, total, 1, beginning, (steps, SESSION_END), "", None))
                ticket += 1
        self.expanded += len(done)
        return found


def steps_of(chain: StepChain | None) -> tuple[PlanStep, ...]:
    """The steps of a chain, the first one first."""
    steps: list[PlanStep] = []
    while chain is not None:
        chain, step = chain
        steps.append(step)
    return tuple(reversed(steps))
