"""Random walk that counts what it covers: the paper's baseline, and its exploitation phase."""

from __future__ import annotations

from palaver.matching.forecaster import Forecast, MessageType
from palaver.navigation.belief_state import BeliefState
from palaver.random_source import RandomSource
from palaver.session.strategy import RandomStrategy
from palaver.trees.node import Node


class RandomWalk(RandomStrategy):
    """The random strategy for all sessions of a run."""

    def __init__(self, belief: BeliefState, chance: RandomSource) -> None:
        super().__init__(chance)
        self._belief = belief
        self._chances = chance
        self._sessions = 0

    def begin(self) -> None:
        self._belief.begin()
        self._chance = self._chances / self._sessions
        self._sessions += 1

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        self._belief.advance(move, node, before, after, None)

    def ended(self, can_end: bool) -> None:
        self._belief.end(can_end)
