"""Strategy that follows plans (the paper's message guider, Algorithm 3).

It follows a plan as long as the session does, and makes another one when the plan is finished, or when the peer answers
otherwise. Where a history is ambiguous, the belief state prefers the hypothesis of the plan. When nothing is left to
plan for, the strategy takes the shortest way to the end of the session, and sets `is_done`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy

from palaver.matching.forecaster import Forecast, MessageType
from palaver.navigation.belief_state import BeliefState
from palaver.navigation.dialogue_map import HANG_UP, SILENCE, Edge, MapNode
from palaver.navigation.learnt_values import LearntValues
from palaver.navigation.navigation_limits import (
    MAX_NODES_TO_END,
    MAX_PLANS_IN_VAIN,
    MAX_PLANS_PER_MESSAGE,
    MAX_REFUSALS,
    MIN_RATIO_OF_SESSION,
)
from palaver.navigation.navigator import TargetNavigator
from palaver.navigation.peer_model import NewExchanges
from palaver.navigation.plan_search import PlanningContext, PlanStep, RoutePlan
from palaver.navigation.preparations import AwaitedAnswer, Preparations
from palaver.navigation.route_planner import RoutePlanner
from palaver.navigation.steering import PayloadSteering
from palaver.navigation.tours import Tour, TourPlanner
from palaver.random_source import RandomSource
from palaver.session.strategy import WAIT, ScriptedMessage, StrategyChoice
from palaver.trees.lazy import LazyNode
from palaver.trees.node import Node
from palaver.trees.tree import Tree


class GuidedStrategy:
    """The guided strategy for all sessions of a run."""

    def __init__(
        self,
        planner: RoutePlanner,
        scheme: RoutePlanner | TargetNavigator,
        belief: BeliefState,
        steering: PayloadSteering,
        values: LearntValues | None,
        chance: RandomSource,
    ) -> None:
        self.tours: TourPlanner | None = None  # if other sessions go on at the same time
        self.steering = steering
        self.values = values
        self.belief = belief
        self.is_done = False  # nothing is left to plan for
        self.plan: RoutePlan | None = None
        self.explanations: list[str] | None = None  # gets each plan and its reason
        self.planner = planner
        self._scheme = scheme
        self._map = planner.dialogue_map
        self._peer = planner.peer
        self._chance = chance
        self._steps: list[PlanStep] = []
        self._last = ""  # the symbol of our last message
        self._possible: tuple[str, ...] = ()  # the possible answers after the latest message
        self._refused: dict[str, None] = {}  # our messages that could not be made, since the peer's last one
        self.refusals: Counter[str] = Counter()  # the same, in all sessions
        self._planned: Edge | None = None  # the message that is being made
        self._ends_soon = False  # no more plans are made in this session
        self._has_covered = False  # since the plan was made, a message has covered something
        self._exchanges = NewExchanges()  # of this session
        self._is_tried = False  # since the plan was made, a message was sent or received
        self._is_fresh = False  # since then, an exchange was new
        self._in_vain = 0  # plans of this session in a row
        self._is_for_paths = True  # the plan is for k-paths
        self._is_for_values = False  # the plan is for value classes
        self._pairs_before = 0  # that were covered when the plan was made
        self._is_examined = False  # the plan was looked through for answers to prepare, in this session
        self.preparations: Preparations | None = None  # the paper's scheme has none
        if scheme is planner:
            self.preparations = Preparations(planner.dialogue_map, chance / "preparations")

    def beside(
        self, planner: RoutePlanner, belief: BeliefState, values: LearntValues | None, chance: RandomSource
    ) -> GuidedStrategy:
        """The strategy of sessions that go on beside these: what is learnt is known to both."""
        other = copy(self)
        other.steering = self.steering.beside(chance / "steering")
        other.values, other.belief = values, belief
        other.planner = other._scheme = planner
        other._chance = chance
        other.plan, other._steps = None, []
        if self.preparations is not None:
            other.preparations = self.preparations.beside(chance / "preparations")
        return other

    def is_worth_a_session(self) -> bool:
        """Return True if a session that begins beside others would gain enough for what it costs."""
        if self._steps or self.tours is None or self.tours.is_worth_a_session():
            return True
        if self.tours.has_others or self.is_done:
            return False
        pairs, others = self.belief.pairs, (self.belief.value_classes, self.belief.refusals)
        if (
            pairs is not None
            and pairs.ratio_from(self._map.beginning, self.belief.session_pairs) > MIN_RATIO_OF_SESSION
        ):
            return True
        return any(goal is not None and goal.reached < goal.total for goal in others)

    def follow(self, tour: Tour | None) -> None:
        """Let the next session follow a tour that was planned elsewhere."""
        assert self.tours is not None, "other sessions go on at the same time"
        self.tours.release()
        self.plan, self._is_for_paths, self._is_for_values = None, True, False
        self._steps = [] if tour is None else [*self.tours.follow(tour)]

    def begin(self) -> None:
        """Begin another session."""
        self.belief.begin()
        self._last = ""
        self._possible = ()
        self._refused = {}
        self._ends_soon = False
        self._exchanges = NewExchanges()
        self._is_tried = self._is_fresh = False
        self._in_vain = 0
        self._is_examined = False
        self._has_covered = False
        self.planner.begin()
        if self.preparations is not None:
            self.preparations.begin_session()
        if self.values is not None:
            self.values.begin_session()
        if self._steps and isinstance(self._steps[0], Edge) and self._steps[0].source is not self._map.beginning:
            self._drop("the previous session ended early")

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """Choose our next message by the plan."""
        self._planned = None
        here = [each.map_node for each in self.belief.hypotheses]
        moves = self.belief.dead_ends.allowed(moves, here, can_end=can_end)
        if (detour := self._choose_detour(moves)) is not None:
            return detour
        if self.preparations is not None and not self._ends_soon:
            edge = self._prepare(self.preparations, moves)
            if edge is not None:
                return self._say(edge, None)
        if self._steps and self.tours is not None and self._is_for_paths and self.tours.is_over(self._steps):
            self._drop("other sessions have covered what it was for")
        for _ in range(0 if self._ends_soon else MAX_PLANS_PER_MESSAGE):
            if not self._steps and not self._make_plan():
                break
            step = self._steps[0]
            if not isinstance(step, Edge):
                if can_end:
                    return None
                self._drop("the session cannot end here")
            elif not self._is_here(step):
                self._drop("the session is in another state")
            elif not step.is_ours:
                return WAIT
            elif self.belief.dead_ends.is_dead(step) or step.move in self.belief.dead_ends.barred():
                self.belief.dead_ends.note_detour(step)
                self._drop("a known finding has always followed")
            elif step.move in moves and step.move.symbol not in self._refused:
                return self._send(step)
            else:
                self._refuse(step)
        return self._choose_way_to_end(moves, can_end)

    def _choose_detour(self, moves: Sequence[MessageType]) -> StrategyChoice:
        """Choose another message, after which one that could not be made may be possible; None if none is due."""
        if self._ends_soon or self._scheme is not self.planner or not any(map(self._may_come_later, self._refused)):
            return None
        others = [move for move in moves if move.symbol not in self._refused]
        if not others:
            return None
        move = self._chance.pick(others)
        edges = self.belief.edges(move)
        self._tell(f"{move.symbol}: perhaps {', '.join(self._refused)} can be made after it")
        return self._say(edges[0], None) if edges else move

    def _may_come_later(self, symbol: str) -> bool:
        return self.refusals[symbol] < MAX_REFUSALS

    def _prepare(self, preparations: Preparations, moves: Sequence[MessageType]) -> Edge | None:
        """Choose a message that changes the history before an answer that did not come; None if none is due."""
        if not preparations.is_pending:
            if (self._steps and self._is_examined) or not (self._steps or self._make_plan()):
                return None
            self._is_examined = True
            may_prepare = self._is_for_paths or self.belief.session_pairs.is_pursued
            awaited = self._first_uncertain(preparations) if may_prepare else None
            if awaited is None or not preparations.is_due(awaited):
                return None
            edges = self._edges_before(awaited, moves, preparations)
            if not edges:
                return None
            self._steps, self.plan = [], None
            if preparations.wants_restart(awaited):
                self._tell(f"{awaited}; perhaps in a new session")
                self._ends_soon = True
                return None
            has_values = self.values is not None and awaited.message in self.values.holders
            kind, is_focused = preparations.start(awaited, list(edges), has_values=has_values)
            if self.values is not None:
                self.values.focus(is_focused)
            values = ", with the same values each time" if is_focused and self.values is not None else ""
            self._tell(f"{awaited}; another history first: {kind.value}{values}")
        assert preparations.awaited is not None, "something is prepared"
        edges = self._edges_before(preparations.awaited, moves, preparations)
        symbol = preparations.next(list(edges))
        if preparations.begins_round and self.values is not None:
            self.values.refocus()
        return None if symbol is None else edges[symbol]

    def _first_uncertain(self, preparations: Preparations) -> AwaitedAnswer | None:
        """The first answer of the plan that did not come before, or that had nothing new in it."""
        last = self._last
        for at, step in enumerate(self._steps):
            if not isinstance(step, Edge):
                return None  # the rest is examined in the next session
            symbol = step.move.symbol
            if step.is_ours:
                last = symbol
                continue
            is_doubtful = len(step.source.answers) > 1 and preparations.has_failed(last, symbol)
            if is_doubtful or (at == len(self._steps) - 1 and self.planner.is_fruitless(step)):
                return AwaitedAnswer(last, symbol, step.state, has_come=not is_doubtful)
        return None

    def _edges_before(
        self, awaited: AwaitedAnswer, moves: Sequence[MessageType], preparations: Preparations
    ) -> dict[str, Edge]:
        """The messages that we can send now, and after which an answer can still come; by symbol."""
        found: dict[str, Edge] = {}
        for move in moves:
            if move.symbol not in self._refused:
                for edge in self.belief.edges(move)[:1]:
                    if preparations.keeps(edge.to, awaited.state):
                        found.setdefault(move.symbol, edge)
        return found

    def finish_soon(self) -> None:
        """Drop the plan, and take the shortest way to the end of the session."""
        if not self._ends_soon:
            self._ends_soon = True
            self._drop("the session has used up its messages")

    def waited(self, forecast: Forecast) -> None:
        """Note that nothing came while we waited."""
        self._peer.note_answer(self._last, self._answers(forecast), SILENCE, self.belief.history)
        self._diverge("the peer sent nothing")

    def refused(self, move: MessageType) -> None:
        """Note that a message could not be made so that all constraints hold."""
        if self._planned is not None and self._steps:
            self._refuse(self._planned)
        else:
            self._note_refused(move.symbol)

    def _note_refused(self, symbol: str) -> None:
        self._refused[symbol] = None
        self.refusals[symbol] += 1

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """Note a message of ours or of the peer."""
        step = self._steps[0] if self._steps else None
        planned = step if isinstance(step, Edge) and step.move == move else None
        coverage = self._map.coverage
        covered = len(coverage.met)
        data = node.unexpanded[0] if isinstance(node, LazyNode) else Tree(node).serialised()
        self._is_tried, self._is_fresh = True, self._exchanges.note(data, is_ours=is_ours) or self._is_fresh
        if self.tours is not None:
            self.tours.reservations.messages += 1
        if is_ours:
            self._note_own(move.symbol, node)
        else:
            self._note_answer(move.symbol, node, step, self._possible or self._answers(before))
        self._possible = self._answers(after)
        edges = self.belief.advance(move, node, before, after, planned)
        is_new, missing = len(coverage.met) > covered, self.planner.missing_paths
        self._has_covered = self._has_covered or is_new
        if is_new or any(edge.state not in missing.closed and missing.has_missing(edge.state) for edge in edges):
            (self.planner.ours if is_ours else self._peer).note_content(node)
        if edges:
            self.planner.note_result(edges[0], is_new)
        if is_ours:
            self._last = move.symbol
        if planned is not None and edges and edges[0].is_like(planned):
            del self._steps[0]
        elif step is not None:
            self._diverge(f"{'we' if is_ours else 'the peer'} sent {move.symbol}")

    def _note_own(self, symbol: str, node: Node) -> None:
        if self.values is not None and self.explanations is not None:
            for choice in self.values.choices:
                if choice.node is not None:
                    self._tell(f"{symbol}: {choice}")
        if self.preparations is not None:
            self.preparations.note_said(symbol)
        if self.values is not None:
            self.values.said(symbol, node)

    def _note_answer(self, symbol: str, node: Node, planned: PlanStep | None, possible: tuple[str, ...]) -> None:
        # What could not be made may refer to what the peer has sent now.
        self._refused = {each: None for each in self._refused if not self._may_come_later(each)}
        # Preparations say what they say: that the same answer comes again is no attempt at another.
        is_preparing = self.preparations is not None and self.preparations.is_ready and planned is None
        if not is_preparing or not self._peer.has_come(self._last, possible, symbol):
            self._peer.note_answer(self._last, possible, symbol, self.belief.history)
        if self.values is not None and (self._last in self.values.holders or symbol in self.values.holders):
            self.values.heard(self._last, symbol, node, possible)
        if self.preparations is not None:
            expected = planned.move.symbol if isinstance(planned, Edge) else None
            self.preparations.note_answer(self._last, symbol, expected, len(possible) > 1)
            awaited = self.preparations.awaited
            if awaited is not None and isinstance(planned, Edge) and planned.state == awaited.state:
                self.preparations.note_content(awaited)
            if self.values is not None and self.values.is_focused and not self.preparations.is_ready:
                self.values.focus(False)

    def ended(self, can_end: bool) -> None:
        """Note that the session is over, and whether the grammar allows it to end there."""
        self.planner.note_lost(self.belief.end(can_end))
        if not can_end:
            self._diverge("the session was cut off")
        elif HANG_UP in self._possible and len(self._possible) > 1:
            self._peer.note_answer(self._last, self._possible, HANG_UP, self.belief.history)
            self._diverge("the session ended")
        if self._steps and not isinstance(self._steps[0], Edge):
            del self._steps[0]
        if not self._steps and self.tours is not None:
            self.tours.release()

    def _judge_plan(self) -> None:
        """Note if the plan, which is over, was in vain.

        It was if it has covered nothing and brought only answers that had come before, to the same messages: the peer's
        state does not change then, and further tries are not independent of this one. A plan for pairs was if it has
        brought no new one.
        """
        pairs = self.belief.pairs
        if self.plan is None or not self._is_tried or self._scheme is not self.planner:
            pass
        elif self._is_for_paths:
            if self._has_covered or self._is_fresh or self.belief.tentative.get(self.plan.target):
                self._in_vain = 0
            else:
                self._in_vain += 1
                self.planner.note_vain(self.plan)
        elif pairs is not None and self.belief.session_pairs.is_pursued:
            self._in_vain = 0 if pairs.reached > self._pairs_before else self._in_vain + 1
        self.plan = None
        self._is_tried = self._is_fresh = self._has_covered = False

    def _make_plan(self) -> bool:
        self._judge_plan()
        if self._in_vain >= MAX_PLANS_IN_VAIN:
            self._ends_soon = True
            self._tell("no further plan: too many were in vain in this session")
            return False
        nodes = [each.map_node for each in self.belief.hypotheses]
        if not nodes:
            return False
        context = PlanningContext(self._last, self.belief.tentative, self._refused, self.belief.dead_ends)
        scheme = self.tours or self._scheme
        # The preferred hypothesis comes first, so that what it has covered is not lost.
        self.plan = scheme.plan(nodes[:1], context) if len(nodes) > 1 else None
        if self.plan is None:
            self.plan = scheme.plan(nodes, context)
        self._is_for_paths = self.plan is not None
        if self.plan is None and self.tours is not None and self.tours.is_left_to_others(nodes, context):
            self._ends_soon = True
            self._tell("no further plan: other sessions are about to cover what is left")
            return False
        pairs, of_session = self.belief.pairs, self.belief.session_pairs
        if self.plan is None and pairs is not None:
            self.plan, self._pairs_before = pairs.plan(nodes, context, of_session), pairs.reached
        of_session.is_pursued = self.plan is not None and not self._is_for_paths
        if self.plan is None and pairs is not None and pairs.is_left_to_others(of_session):
            self._ends_soon = True
            return False
        self._is_for_values = self.plan is None
        if self.plan is None and self.belief.value_classes is not None:
            self.plan = self.belief.value_classes.plan(nodes, context)
        self._is_for_refusals = self.plan is None
        if self.plan is None and self.belief.refusals is not None:
            self.plan = self.belief.refusals.plan(nodes, context)
        if self.plan is None:
            if not self.is_done:
                self._tell("no plan is left: all is covered, or was tried in vain")
            self.is_done = self.is_done or not (self._refused or self.planner.has_vain_plans)
            return False
        self._steps = list(self.plan.steps)
        if self.explanations is not None:
            self._tell(self._shown(self.plan))
        return True

    def _shown(self, plan: RoutePlan) -> str:
        target = f"target {' > '.join(self._map.coverage.walks[plan.target])}"
        if self._is_for_values:
            target = "value classes of our messages" if not self._is_for_refusals else "wrong messages"
        elif not self._is_for_paths:
            target = "pairs of messages in time"
        steps = ", ".join(step.move.symbol if isinstance(step, Edge) else "end" for step in plan.steps)
        return f"{target}; plan: {steps} (gain {plan.gain:.1f}, cost {plan.cost:.1f})"

    def _is_here(self, edge: Edge) -> bool:
        return any(each.map_node is edge.source for each in self.belief.hypotheses)

    def _drop(self, why: str) -> None:
        self._tell(f"plan dropped: {why}")
        self._steps = []
        if self.tours is not None:
            self.tours.release()

    def _diverge(self, why: str) -> None:
        """Drop the plan, because the peer did not do what was planned."""
        step = self._steps[0] if self._steps else None
        if isinstance(step, Edge):
            self.planner.note_missed(step)
            why += f"; {step.move.symbol} was planned"
        self._drop(why)

    def _refuse(self, edge: Edge) -> None:
        self._note_refused(edge.move.symbol)
        self.planner.note_missed(edge)
        self._drop(f"no valid {edge.move.symbol} could be generated")

    def _send(self, edge: Edge) -> MessageType | ScriptedMessage:
        if self.plan is not None and self._steps:
            number = len(self.plan.steps) - len(self._steps) + 1
            self._tell(f"step {number} of {len(self.plan.steps)}: {edge.move.symbol}")
        self._planned = edge
        following = self._steps[1] if len(self._steps) > 1 and self._steps[0] is edge else None
        wanted = None  # if only one answer is possible, no value brings it
        if isinstance(following, Edge) and not following.is_ours and len(following.source.answers) > 1:
            wanted = following.move.symbol
        return self._say(edge, wanted)

    def _say(self, edge: Edge, wanted: str | None) -> MessageType | ScriptedMessage:
        """Let a message of ours be made, which is to bring an answer, or to change the history."""
        if self._is_for_values and self.belief.value_classes is not None:
            variant = self.belief.value_classes.variant(edge.move)
            if variant is not None:
                self._tell(f"{edge.move.symbol}: {self.belief.value_classes.chosen}")
                return variant
        self.steering.state = edge.above
        if self.belief.dead_ends.is_any and not self.planner.missing_paths.has_missing(edge.state):
            again = self.belief.dead_ends.take_unanswered(edge.move.symbol)
            if again is not None:
                self._tell(f"{edge.move.symbol}: as it was before a known finding")
                return ScriptedMessage(edge.move, again, is_exact=False)
        if self.values is not None:
            self.values.aim(edge.move.symbol, wanted)
        return edge.move

    def _answers(self, forecast: Forecast) -> tuple[str, ...]:
        return self._map.answers(forecast.moves, can_end=forecast.can_end)

    def _tell(self, what: str) -> None:
        if self.explanations is not None:
            self.explanations.append(what)

    def _choose_way_to_end(self, moves: Sequence[MessageType], can_end: bool) -> StrategyChoice:
        """End the session here if that is possible, else on the shortest way."""
        if can_end:
            return None
        allowed = [move for move in moves if move.symbol not in self._refused] or list(moves)
        edge = self._first_edge_to_end(allowed)
        if edge is None:
            move = self._chance.pick(allowed)
            edges = self.belief.edges(move)
            if not edges:
                return move
            edge = edges[0]
        return self._send(edge) if edge.is_ours else WAIT

    def _first_edge_to_end(self, moves: Sequence[MessageType]) -> Edge | None:
        """Return the first edge of a shortest way to the end, by breadth-first search; None if none was found."""
        starts = [each.map_node for each in self.belief.hypotheses]
        found: dict[MapNode, Edge | None] = dict.fromkeys(starts)
        todo = list(starts)
        for node in todo:
            for edge in self._map.edges(node):
                first = found[node] or edge
                if node in starts and edge.is_ours and edge.move not in moves:
                    continue
                if self._map.ending(edge.to) is not None:
                    return first
                if edge.to not in found and len(found) < MAX_NODES_TO_END:
                    found[edge.to] = first
                    todo.append(edge.to)
        return None
