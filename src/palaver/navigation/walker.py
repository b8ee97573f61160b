"""A player that walks at random and counts what it covers: the paper's baseline, and its exploitation phase."""

from __future__ import annotations

from palaver.chance import Chance
from palaver.matching.forecaster import Forecast, MessageType
from palaver.navigation.superposition import Superposition
from palaver.session.player import RandomPlayer
from palaver.trees.node import Node


class Walker(RandomPlayer):
    """Plays all conversations of a run, one after the other."""

    def __init__(self, superposition: Superposition, chance: Chance) -> None:
        super().__init__(chance)
        self._superposition = superposition
        self._chances = chance
        self._conversations = 0

    def begin(self) -> None:
        self._superposition.begin()
        self._chance = self._chances / self._conversations
        self._conversations += 1

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        self._superposition.advance(move, node, before, after, None)

    def ended(self, can_end: bool) -> None:
        self._superposition.end(can_end)
