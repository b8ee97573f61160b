"""The player that follows plans (the paper's message guider, Algorithm 3).

It keeps to its plan as long as the conversation does, and makes another when the plan is at its end, or when the others
answer otherwise. Where two plans may explain the same history, the superposition keeps to the side of the plan.
When nothing is left to plan for, the way to the end of the conversation is taken, and `is_done` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from palaver.chance import Chance
from palaver.matching.forecaster import Forecast, MessageType
from palaver.navigation.atlas import LEAVING, SILENCE, Atlas, Edge, Place
from palaver.navigation.peer import Peer
from palaver.navigation.planner import Plan, Situation, Step
from palaver.navigation.potential import Potential
from palaver.navigation.steering import PayloadSteering
from palaver.navigation.superposition import Superposition
from palaver.session.player import WAIT, Choice
from palaver.trees.node import Node

# How often a plan is made anew for one message, if those before cannot be followed.
_MOST_PLANS = 12
# How far the way to the end of a conversation is looked for.
_MOST_PLACES = 5_000


class Scheme(Protocol):
    """How plans are made."""

    def plan(self, starts: Sequence[Place], situation: Situation) -> Plan | None: ...

    def tried(self, edge: Edge, had_something_new: bool) -> None: ...

    def missed(self, edge: Edge) -> None: ...

    def lost(self, states: Iterable[int]) -> None: ...


class Guide:
    """Plays all conversations of a run, one after the other."""

    def __init__(
        self,
        atlas: Atlas,
        scheme: Scheme,
        superposition: Superposition,
        potential: Potential,
        ours: Peer,
        peer: Peer,
        steering: PayloadSteering,
        chance: Chance,
    ) -> None:
        self.steering = steering
        self.superposition = superposition
        self.is_done = False  # there is nothing left to plan for
        self.plan: Plan | None = None
        self.explain: Callable[[str], None] | None = None  # told what is planned, and why
        self._atlas = atlas
        self._scheme = scheme
        self._potential = potential
        self._ours = ours
        self._peer = peer
        self._chance = chance
        self._steps: list[Step] = []
        self._last = ""
        self._possible: tuple[str, ...] = ()  # what may come now, as far as was said
        self._refused: dict[str, None] = {}
        self._planned: Edge | None = None  # what we are about to say

    # --- The player ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Another conversation begins."""
        self.superposition.begin()
        self._last = ""
        self._possible = ()
        self._refused = {}
        if self._steps and isinstance(self._steps[0], Edge) and self._steps[0].source is not self._atlas.beginning:
            self._drop("the conversation has ended before")

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> Choice:
        """Our next message by the plan."""
        self._planned = None
        for _ in range(_MOST_PLANS):
            if not self._steps and not self._make_plan():
                break
            step = self._steps[0]
            if not isinstance(step, Edge):
                if can_end:
                    return None
                self._drop("the conversation may not end here")
            elif not self._is_here(step):
                self._drop("the conversation is elsewhere")
            elif not step.is_ours:
                return WAIT
            elif step.move in moves and step.move.symbol not in self._refused:
                return self._say(step)
            else:
                self._refuse(step)
        return self._to_the_end(moves, can_end)

    def waited(self, forecast: Forecast) -> None:
        """We waited, and nothing came."""
        self._peer.answered(self._last, self._answers(forecast), SILENCE)
        self._diverge("nothing came")

    def refused(self, move: MessageType) -> None:
        """A message could not be made so that all constraints hold."""
        self._refused[move.symbol] = None
        if self._planned is not None and self._steps:
            self._refuse(self._planned)

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """A message was said, by us or by others."""
        step = self._steps[0] if self._steps else None
        planned = step if isinstance(step, Edge) and step.move == move else None
        coverage = self._atlas.coverage
        covered = len(coverage)
        if not is_ours:
            self._peer.answered(self._last, self._possible or self._answers(before), move.symbol)
        self._possible = self._answers(after)
        edges = self.superposition.advance(move, node, before, after, planned)
        is_new = len(coverage) > covered
        if is_new or any(self._potential.is_open(edge.state) for edge in edges):
            (self._ours if is_ours else self._peer).contained(node)
        if edges:
            self._scheme.tried(edges[0], is_new)
        if is_ours:
            self._last = move.symbol
        if planned is not None and edges and edges[0].is_like(planned):
            del self._steps[0]
        elif step is not None:
            self._diverge(f"{move.symbol} came")

    def ended(self, can_end: bool) -> None:
        """The conversation is over; whether it might end there."""
        self._scheme.lost(self.superposition.end(can_end))
        if not can_end:
            self._diverge("the conversation broke off")
        elif LEAVING in self._possible and len(self._possible) > 1:
            self._peer.answered(self._last, self._possible, LEAVING)
            self._diverge("the end came")
        if self._steps and not isinstance(self._steps[0], Edge):
            del self._steps[0]

    # --- Plans --------------------------------------------------------------------------------------------------------

    def _make_plan(self) -> bool:
        places = [track.place for track in self.superposition.tracks]
        if not places:
            return False
        situation = Situation(self._last, self.superposition.tentative, self._refused)
        # Along the preferred track as long as that leads anywhere, so that what it has covered is not lost.
        self.plan = self._scheme.plan(places[:1], situation) if len(places) > 1 else None
        if self.plan is None:
            self.plan = self._scheme.plan(places, situation)
        if self.plan is None:
            if not self.is_done:
                self._tell("nothing is left that can be planned for")
            self.is_done = self.is_done or not self._refused
            return False
        self._steps = list(self.plan.steps)
        if self.explain is not None:
            self._tell(self._shown(self.plan))
        return True

    def _shown(self, plan: Plan) -> str:
        target = " > ".join(self._atlas.coverage.walks[plan.target])
        steps = ", ".join(step.move.symbol if isinstance(step, Edge) else "end" for step in plan.steps)
        return f"target {target}; plan {steps} (gain {plan.gain:.1f}, cost {plan.cost:.1f})"

    def _is_here(self, edge: Edge) -> bool:
        return any(track.place is edge.source for track in self.superposition.tracks)

    def _drop(self, why: str) -> None:
        self._tell(f"planned anew: {why}")
        self._steps = []

    def _diverge(self, why: str) -> None:
        """The others did not do what was planned."""
        step = self._steps[0] if self._steps else None
        if isinstance(step, Edge):
            self._scheme.missed(step)
            why += f" instead of {step.move.symbol}"
        self._drop(why)

    def _refuse(self, edge: Edge) -> None:
        self._refused[edge.move.symbol] = None
        self._scheme.missed(edge)
        self._drop(f"{edge.move.symbol} cannot be said")

    def _say(self, edge: Edge) -> MessageType:
        if self.plan is not None and self._steps:
            number = len(self.plan.steps) - len(self._steps) + 1
            self._tell(f"step {number} of {len(self.plan.steps)}: {edge.move.symbol}")
        self._planned = edge
        self.steering.state = edge.above
        return edge.move

    def _answers(self, forecast: Forecast) -> tuple[str, ...]:
        return self._atlas.answers(forecast.moves, can_end=forecast.can_end)

    def _tell(self, what: str) -> None:
        if self.explain is not None:
            self.explain(what)

    # --- The end ------------------------------------------------------------------------------------------------------

    def _to_the_end(self, moves: Sequence[MessageType], can_end: bool) -> Choice:
        """There is nothing to plan for: end here if that is possible, else on the shortest way."""
        if can_end:
            return None
        allowed = [move for move in moves if move.symbol not in self._refused] or list(moves)
        edge = self._first_to_the_end(allowed)
        if edge is None:
            move = self._chance.pick(allowed)
            edges = self.superposition.edges(move)
            if not edges:
                return move
            edge = edges[0]
        return self._say(edge) if edge.is_ours else WAIT

    def _first_to_the_end(self, moves: Sequence[MessageType]) -> Edge | None:
        starts = [track.place for track in self.superposition.tracks]
        found: dict[Place, Edge | None] = dict.fromkeys(starts)
        todo = list(starts)
        for place in todo:
            for edge in self._atlas.edges(place):
                first = found[place] or edge
                if place in starts and edge.is_ours and edge.move not in moves:
                    continue
                if self._atlas.ending(edge.to) is not None:
                    return first
                if edge.to not in found and len(found) < _MOST_PLACES:
                    found[edge.to] = first
                    todo.append(edge.to)
        return None
