"""The strategy of a session: it chooses our next message where the grammar leaves it open."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from palaver.generation.makers import Steering
from palaver.matching.forecaster import Forecast, MessageType
from palaver.random_source import RandomSource
from palaver.session.findings import SessionMessage
from palaver.trees.node import Node


class _Wait(Enum):
    WAIT = "wait"


WAIT: Final = _Wait.WAIT


class ScriptedMessage(NamedTuple):
    """A message of ours that is known already, such as one of an earlier session."""

    move: MessageType
    node: Node


# Our next message; None to end the session; WAIT to let the peer send first for a while.
StrategyChoice: TypeAlias = MessageType | ScriptedMessage | Literal[_Wait.WAIT] | None


class Strategy(Protocol):
    """Chooses our next message, and is told of all messages."""

    @property
    def steering(self) -> Steering | None:
        """The steering of our messages' contents; None: they are random."""

    def begin(self) -> None:
        """A session begins."""

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """One of our possible messages, or the end, if the session can end here, or a pause."""

    def finish_soon(self) -> None:
        """The session has nearly used up its messages: take the shortest way to its end from here on."""

    def waited(self, forecast: Forecast) -> None:
        """Nothing came in a pause. The next choice had better not be another one."""

    def refused(self, move: MessageType) -> None:
        """No such message was found that satisfies the constraints; another choice is asked for."""

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """A message was added to the session."""

    def ended(self, can_end: bool) -> None:
        """The session is over; `can_end` if it could end there."""


class RandomStrategy:
    """Random walk: every possible message, and the end, is equally likely."""

    steering: Steering | None = None

    def __init__(self, chance: RandomSource) -> None:
        self._chance = chance
        self._ends_soon = False

    def begin(self) -> None:
        """Begin another session."""
        self._ends_soon = False

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """A random one of our messages, or the end."""
        if self._ends_soon:
            return None if can_end else self._towards_the_end(moves, forecast)
        options: list[MessageType | None] = [*moves, *((None,) if can_end else ())]
        return self._chance.pick(options)

    def _towards_the_end(self, moves: Sequence[MessageType], forecast: Forecast) -> MessageType:
        """A random one of the messages after which the fewest others may still come."""
        ahead = [len(forecast.ahead_after(move)) for move in moves]
        return self._chance.pick([move for move, count in zip(moves, ahead, strict=True) if count == min(ahead)])

    def finish_soon(self) -> None:
        """End the session as soon as it can end."""
        self._ends_soon = True

    def waited(self, forecast: Forecast) -> None:
        """It never waits."""

    def refused(self, move: MessageType) -> None:
        """The message is not offered again."""

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """Earlier messages do not matter."""

    def ended(self, can_end: bool) -> None:
        """The way sessions end does not matter."""


class ShortestStrategy(RandomStrategy):
    """Takes the shortest way to the end from the beginning on."""

    def begin(self) -> None:
        """Begin another session, and come to its end."""
        self.finish_soon()


class ScriptedStrategy:
    """Sends the messages of an earlier session again, as they were, and ends after the last of them."""

    steering: Steering | None = None

    def __init__(self, messages: Sequence[SessionMessage]) -> None:
        self._script = deque(message for message in messages if message.is_ours)

    def begin(self) -> None:
        """There is only one session."""

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """The next message of the script, if it is possible."""
        if not self._script:
            return None
        wanted = self._script.popleft()
        found = [move for move in moves if (move.sender, move.symbol) == (wanted.sender, wanted.symbol)]
        return ScriptedMessage(found[0], wanted.node) if found else None

    def finish_soon(self) -> None:
        """The script has an end of its own."""

    def waited(self, forecast: Forecast) -> None:
        """It never waits."""

    def refused(self, move: MessageType) -> None:
        """The script cannot go on."""
        self._script.clear()

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """The script does not depend on answers."""

    def ended(self, can_end: bool) -> None:
        """The way the session ends does not matter."""
