"""Who decides what we say where the grammar leaves it open."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, Literal, Protocol, TypeAlias

from palaver.chance import Chance
from palaver.generation.makers import Steering
from palaver.matching.forecaster import Forecast, MessageType
from palaver.trees.node import Node


class _Wait(Enum):
    WAIT = "wait"


WAIT: Final = _Wait.WAIT

# Our next message; None to end the conversation; or to wait for a while whether the others speak.
Choice: TypeAlias = MessageType | Literal[_Wait.WAIT] | None


class Player(Protocol):
    """Chooses our next message, and is told of all messages."""

    @property
    def steering(self) -> Steering | None:
        """What our messages are made by; None: by chance alone."""

    def begin(self) -> None:
        """A conversation begins."""

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> Choice:
        """One of our possible messages, or the end, if the conversation can end here, or a pause."""

    def waited(self, forecast: Forecast) -> None:
        """Nothing came in a pause. The next choice had better not be another one."""

    def refused(self, move: MessageType) -> None:
        """No such message was found that satisfies the constraints; another choice is asked for."""

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """A message has become part of the conversation."""

    def ended(self, can_end: bool) -> None:
        """The conversation is over, and whether it could end there."""


class RandomPlayer:
    """Walks at random: every admissible message, and the end, is as likely as any other."""

    steering: Steering | None = None

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def begin(self) -> None:
        """It does not matter what was said in other conversations."""

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> Choice:
        options: list[MessageType | None] = [*moves, *((None,) if can_end else ())]
        return self._chance.pick(options)

    def waited(self, forecast: Forecast) -> None:
        """It does not wait."""

    def refused(self, move: MessageType) -> None:
        """It is not offered again."""

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """It does not matter what was said."""

    def ended(self, can_end: bool) -> None:
        """It does not matter how conversations end."""
