"""Plans for sessions that go on at the same time: tours with reserved goals (receding horizon; Mayne et al. 2000).

How it works
============

Two sessions that plan for themselves choose the same goal, as it is the best one for both. So a plan *reserves* the
coverage states that it is for, and the planner takes what others have reserved for covered. What a session does soon
depends on where its plan ends. So a plan is made longer, by planning once more from its last node as if all before it
was covered, until it has enough steps: a *tour*. All of it is reserved, and given back when the tour is dropped, or
over, or when its session ends. When the peer diverges, a new tour is made from there.

To begin a session costs some messages, such as a greeting and a login, which cover nothing new. A session is begun
beside others only if its plan gains enough for its cost; else those that go on do its work on their way. And all that
is spent on beginning sessions beside others is a small share of the messages so far and of those that are still to
come, as far as the plan can tell. With one session at a time nothing is reserved, and plans are not made longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from palaver.lean_dataclasses import replace
from palaver.matching.dialogue_grammar import MessageType
from palaver.navigation.coverage import KPath
from palaver.navigation.dialogue_map import DialogueMap, Edge, MapNode
from palaver.navigation.navigation_limits import MAX_SHARE_OF_BEGINNINGS, MIN_RATIO_OF_SESSION, STEPS_OF_TOUR
from palaver.navigation.plan_search import RESET_COST, PlanningContext, PlanStep, RoutePlan
from palaver.navigation.route_planner import RoutePlanner


class Tour(NamedTuple):
    """A tour from the beginning of a session, in words that mean the same in every process."""

    steps: tuple[tuple[MessageType, KPath], ...]  # each message, and the path to it
    goals: tuple[KPath, ...]  # that are reserved for it


def tour_of(plan: RoutePlan, states: Iterable[int], walks: Sequence[KPath]) -> Tour:
    """A plan from the beginning of a session until its end, and the states that are reserved for it, as a tour."""
    edges = takewhile(lambda step: isinstance(step, Edge), plan.steps)
    steps = tuple((edge.move, walks[edge.state]) for edge in edges if isinstance(edge, Edge))
    return Tour(steps, tuple(walks[state] for state in sorted(states)))


def edges_of(tour: Tour, dialogue_map: DialogueMap) -> list[Edge]:
    """The edges of a tour from the beginning, as far as they are found on a map."""
    node, edges = dialogue_map.beginning, list[Edge]()
    walks = dialogue_map.coverage.walks
    for move, path in tour.steps:
        fitting = [edge for edge in dialogue_map.edges(node) if edge.move == move]
        best = next((edge for edge in fitting if walks[edge.state] == path), fitting[0] if fitting else None)
        if best is None:
            break
        edges.append(best)
        node = best.to
    return edges


class Reservations:
    """The coverage states that the plans of sessions are for, by the number of their lane."""

    def __init__(self) -> None:
        self.only: frozenset[int] | None = None  # all others are reserved for sessions that are held elsewhere
        self._of: dict[int, frozenset[int]] = {}
        self.counts: dict[int, int] = {}  # by state
        self.version = 0  # changes with every change
        self.messages = 0  # of all sessions
        self.spent = 0.0  # messages that covered nothing new, to begin sessions beside others
        self.idle_at: tuple[int, int] | None = None  # what was reserved and covered when no session was worth it

    def reserve(self, lane: int, states: Iterable[int]) -> None:
        """Reserve these states for a lane, in the place of those that it has reserved before."""
        self.release(lane)
        self._of[lane] = wanted = frozenset(states)
        for state in wanted:
            self.counts[state] = self.counts.get(state, 0) + 1
        self.version += 1

    def release(self, lane: int) -> None:
        """Give back what a lane has reserved."""
        for state in self._of.pop(lane, ()):
            left = self.counts[state] - 1
            if left:
                self.counts[state] = left
            else:
                del self.counts[state]
            self.version += 1

    def of(self, lane: int) -> frozenset[int]:
        """The states that a lane has reserved."""
        return self._of.get(lane, frozenset())

    def has_others(self, lane: int) -> bool:
        """True if another lane has reserved something."""
        return self.only is not None or len(self._of) > (lane in self._of)


class _Taken(Mapping[int, int]):
    """The states that count as covered for a lane: its own tentative ones, and those that others have reserved."""

    def __init__(self, reservations: Reservations, lane: int, own: Mapping[int, int]) -> None:
        self._counts = reservations.counts
        self._only = reservations.only
        self._mine = reservations.of(lane)
        self._own = own

    def __getitem__(self, state: int) -> int:
        count = self._own.get(state, 0) + self._counts.get(state, 0) - (state in self._mine)
        if self._only is not None and state not in self._only:
            count += 1
        if not count:
            raise KeyError(state)
        return count

    def __contains__(self, state: object) -> bool:
        return self.get(state, 0) > 0  # type: ignore[call-overload, no-any-return]  # whatever it is asked for

    def __iter__(self) -> Iterator[int]:
        return (state for state in {**self._own, **self._counts} if state in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class TourPlanner:
    """Plans tours for the sessions of one lane."""

    def __init__(self, planner: RoutePlanner, reservations: Reservations, lane: int) -> None:
        self._planner = planner
        self.reservations = reservations
        self._lane = lane

    def plan(self, starts: Sequence[MapNode], context: PlanningContext) -> RoutePlan | None:
        """A tour from one of these nodes, for what nobody else has reserved; None if that is nothing."""
        self.release()
        plan = self._planner.plan(starts, self._beside_others(context, context.tentative))
        if plan is not None:
            plan, states = self._longer(plan, context)
            self.reservations.reserve(self._lane, states)
        return plan

    def tour(self) -> Tour | None:
        """A tour from the beginning of a session that is held elsewhere; None if nothing is left for it."""
        plan = self.plan([self._planner.dialogue_map.beginning], PlanningContext(dead_ends=self._planner.dead_ends))
        if plan is None:
            return None
        return tour_of(plan, self.reservations.of(self._lane), self._planner.coverage.walks)

    def follow(self, tour: Tour) -> list[Edge]:
        """Reserve what a tour is for, and return its edges."""
        self.reservations.reserve(self._lane, map(self._planner.coverage.state, tour.goals))
        return edges_of(tour, self._planner.dialogue_map)

    def is_left_to_others(self, starts: Sequence[MapNode], context: PlanningContext) -> bool:
        """Return True if there is something to plan for, and other lanes have reserved it."""
        return self.has_others and self._planner.plan(starts, context) is not None

    @property
    def has_others(self) -> bool:
        """True if other lanes have reserved something."""
        return self.reservations.has_others(self._lane)

    def release(self) -> None:
        """Give back what is reserved."""
        self.reservations.release(self._lane)

    def is_over(self, steps: Iterable[object]) -> bool:
        """Return True if others have covered all that the rest of a tour was for."""
        missing = self._planner.missing_paths
        is_covered = self._planner.coverage.is_covered
        edges = [step for step in steps if isinstance(step, Edge)]
        return not any(
            missing.has_missing(edge.state) or not all(map(is_covered.__getitem__, edge.states)) for edge in edges
        )

    def is_worth_a_session(self) -> bool:
        """Return True if a session that begins now would gain enough for what it costs; then it is taken to begin."""
        reservations = self.reservations
        now = (reservations.version, len(self._planner.coverage))
        if reservations.idle_at == now:
            return False
        context = PlanningContext(dead_ends=self._planner.dead_ends)
        beginning = self._planner.dialogue_map.beginning
        plan = self._planner.plan([beginning], self._beside_others(context, {}))
        if plan is None or plan.gain < MIN_RATIO_OF_SESSION * plan.cost:
            reservations.idle_at = now
            return False
        others = _Taken(reservations, self._lane, {})
        vain = sum(not self._states_of_step(step, others) for step in plan.steps) + RESET_COST
        goal = self._planner.goal_progress
        to_come = (goal.total - goal.reached) * plan.cost / plan.gain
        if reservations.spent + vain > MAX_SHARE_OF_BEGINNINGS * (reservations.messages + to_come):
            reservations.idle_at = now
            return False
        reservations.spent += vain
        return True

    def _beside_others(self, context: PlanningContext, own: Mapping[int, int]) -> PlanningContext:
        return replace(context, tentative=_Taken(self.reservations, self._lane, own))

    def _longer(self, plan: RoutePlan, context: PlanningContext) -> tuple[RoutePlan, set[int]]:
        """The plan, continued until it has enough steps, and the states that it is for."""
        own, steps = dict(context.tentative), list(plan.steps)
        others = _Taken(self.reservations, self._lane, {})
        states = self._states(plan, others)
        while len(steps) < STEPS_OF_TOUR and isinstance(end := steps[-1], Edge):
            for state in states:
                own[state] = own.get(state, 0) + 1
            last = next(
                (step.move.symbol for step in reversed(steps) if isinstance(step, Edge) and step.is_ours), context.last
            )
            further = self._planner.plan([end.to], self._beside_others(replace(context, last=last), own))
            if further is None or not all(isinstance(step, Edge) for step in further.steps):
                break
            new = self._states(further, others) - states
            if not new:
                break
            steps += further.steps
            states |= new
            plan = replace(plan, steps=tuple(steps), gain=plan.gain + further.gain, cost=plan.cost + further.cost)
        return plan, states

    def _states(self, plan: RoutePlan, others: Mapping[int, int]) -> set[int]:
        """The states that a plan may cover, and those of its messages with something missing inside.

        What others have reserved stays theirs, except that several may wait for the same answer.
        """
        states: set[int] = set()
        for step in plan.steps:
            states |= self._states_of_step(step, others)
        return states

    def _states_of_step(self, step: PlanStep, others: Mapping[int, int]) -> set[int]:
        if not isinstance(step, Edge):
            return set()
        is_covered, missing = self._planner.coverage.is_covered, self._planner.missing_paths
        states = {state for state in step.states if not is_covered[state] and state not in others}
        if missing.has_missing(step.state) and not (step.is_ours and step.state in others):
            states.add(step.state)
        return states
