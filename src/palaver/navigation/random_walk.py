"""Random walk over a dialogue (the paper's baseline, and its exploitation phase)."""

from __future__ import annotations

from collections.abc import Sequence

from palaver.lean_dataclasses import dataclass
from palaver.matching.forecaster import Forecast, MessageType
from palaver.navigation.belief_state import BeliefState
from palaver.navigation.dialogue_map import DialogueMap
from palaver.navigation.learnt_values import LearntValues
from palaver.navigation.peer_model import PeerModel
from palaver.random_source import RandomSource
from palaver.session.strategy import RandomStrategy, StrategyChoice
from palaver.trees.node import Node


@dataclass(slots=True)
class WalkCounts:
    """The knowledge that all walks of a run share: their number, and the most messages before one heads for its end."""

    sessions: int = 0  # each has random numbers of its own
    most_messages: int | None = None


class RandomWalk(RandomStrategy):
    """Random walk that counts what it covers."""

    def __init__(
        self,
        belief: BeliefState,
        dialogue_map: DialogueMap,
        peer: PeerModel,
        values: LearntValues | None,
        chance: RandomSource,
    ) -> None:
        super().__init__(chance)
        self.values: LearntValues | None = values
        self._belief = belief
        self._map = dialogue_map
        self._peer = peer
        self._last = ""
        self._chances = chance
        self.walks = WalkCounts()
        self._messages = 0  # of this session

    def beside(self, belief: BeliefState, values: LearntValues | None) -> RandomWalk:
        """The walk of sessions that go on beside these."""
        other = RandomWalk(belief, self._map, self._peer, values, self._chances)
        other.walks = self.walks
        return other

    def begin(self) -> None:
        super().begin()
        self._belief.begin()
        if self.values is not None:
            self.values.begin_session()
        self._last = ""
        self._messages = 0
        self._chance = self._chances / self.walks.sessions
        self.walks.sessions += 1

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        here = [each.map_node for each in self._belief.hypotheses]
        allowed = self._belief.dead_ends.allowed(moves, here, can_end=can_end)
        choice = super().choose(allowed, forecast, can_end) if allowed else None
        if self.values is not None and isinstance(choice, MessageType):
            self.values.aim(choice.symbol, is_walking=True)
        return choice

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        self._messages += 1
        if self.walks.most_messages is not None and self._messages >= self.walks.most_messages:
            self.finish_soon()
        if is_ours:
            self._last = move.symbol
            if self.values is not None:
                self.values.said(move.symbol, node)
        else:  # plans that are made later know what has come
            answers = self._map.answers(before.moves, can_end=before.can_end)
            self._peer.note_answer(self._last, answers, move.symbol, self._belief.history)
            if self.values is not None and (self._last in self.values.holders or move.symbol in self.values.holders):
                self.values.heard(self._last, move.symbol, node, answers)
        self._belief.advance(move, node, before, after, None)

    def ended(self, can_end: bool) -> None:
        self._belief.end(can_end)
