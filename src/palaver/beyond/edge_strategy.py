"""A strategy that says right messages at the edge of the spec: a field is as short or as long as it may be.

They are messages like others, and so are the verdicts on the answers to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palaver.beyond.beyond_limits import EDGE_SHARE
from palaver.generation.makers import Steering, ValueSource
from palaver.matching.forecaster import Forecast, MessageType
from palaver.random_source import RandomSource
from palaver.session.strategy import ScriptedMessage, Strategy, StrategyChoice
from palaver.trees.node import Node


class EdgeStrategy:
    """Chooses as another strategy does, and sometimes says what it chose by `at_the_edge`."""

    def __init__(
        self,
        strategy: Strategy,
        at_the_edge: Callable[[MessageType, RandomSource], ScriptedMessage | None],
        chance: RandomSource,
    ) -> None:
        self._strategy = strategy
        self._at_the_edge = at_the_edge
        self._chance = chance
        self._turns = 0

    @property
    def steering(self) -> Steering | None:
        """The one of the other strategy."""
        return self._strategy.steering

    @property
    def values(self) -> ValueSource | None:
        """Those of the other strategy."""
        return self._strategy.values

    def begin(self) -> None:
        """A session begins."""
        self._strategy.begin()

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """The choice of the other strategy, now and then with a field at one of its bounds."""
        choice = self._strategy.choose(moves, forecast, can_end)
        if not isinstance(choice, MessageType):
            return choice
        self._turns += 1
        chance = self._chance / self._turns
        if chance.random() >= EDGE_SHARE:
            return choice
        return self._at_the_edge(choice, chance) or choice

    def finish_soon(self) -> None:
        """The session has nearly used up its messages."""
        self._strategy.finish_soon()

    def waited(self, forecast: Forecast) -> None:
        """Nothing came in a pause."""
        self._strategy.waited(forecast)

    def refused(self, move: MessageType) -> None:
        """No such message was found."""
        self._strategy.refused(move)

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """A message was added to the session."""
        self._strategy.said(move, node, before, after, is_ours)

    def ended(self, can_end: bool) -> None:
        """The session is over."""
        self._strategy.ended(can_end)
