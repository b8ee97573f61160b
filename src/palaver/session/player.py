"""Who decides what we say where the grammar leaves it open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from palaver.chance import Chance
from palaver.matching.forecaster import Forecast, MessageType


class Player(Protocol):
    """Chooses our next message."""

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> MessageType | None:
        """One of our possible messages, or None to end the conversation if it can end here."""


class RandomPlayer:
    """Walks at random: every admissible message, and the end, is as likely as any other."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> MessageType | None:
        options: list[MessageType | None] = [*moves, *((None,) if can_end else ())]
        return self._chance.pick(options)
