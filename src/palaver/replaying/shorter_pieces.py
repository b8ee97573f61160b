"""Shorter pieces: neighbouring exchanges of a conversation in fewer messages, or in an order that needs fewer of them.

Where the grammar asks for a number of exchanges, none of them can be left out, but each may be one of the shortest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from palaver.matching.forecaster import Forecast, Forecaster, MessageType
from palaver.random_source import RandomSource
from palaver.replaying.replaying_limits import MAX_PIECE_EXCHANGES, MAX_REORDERED_EXCHANGES
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptLine
from palaver.trees.node import Node

ScriptedExchange: TypeAlias = Sequence[ScriptLine]
Piece: TypeAlias = tuple[ScriptLine, ...]


class ShorterPieces:
    """Proposes conversations with fewer messages that the grammar of the dialogue allows."""

    def __init__(self, setup: SessionSetup, chance: RandomSource) -> None:
        self._spec = setup.spec
        self._forecaster: Forecaster = setup.forecaster
        self._ours = frozenset(setup.ours)
        self._chance = chance
        self._smallest: dict[str, Node | None] = {}

    def is_possible(self, script: Sequence[ScriptLine]) -> bool:
        """Return False if the grammar does not allow us to say this, with the answers as they were."""
        return self._goes_on(self._forecaster.begin(), script)

    def replaced(self, exchanges: Sequence[ScriptedExchange], start: int, length: int) -> Iterator[Piece]:
        """The conversation with so many other messages in place of exchanges from `start` on; the most saved first."""
        before = _steps(exchanges[:start])
        forecast = self._follow(self._forecaster.begin(), before)
        if not isinstance(forecast, Forecast):
            return
        for end in range(min(len(exchanges), start + MAX_PIECE_EXCHANGES), start, -1):
            old, rest = _steps(exchanges[start:end]), _steps(exchanges[end:])
            if len(old) > length and not any(step.aside for step in old):
                for piece, after in self._pieces(forecast, length):
                    if self._goes_on(after, rest) and (rest or piece[-1].is_ours):
                        yield (*before, *piece, *rest)

    def reordered(self, exchanges: Sequence[ScriptedExchange]) -> Iterator[Piece]:
        """The conversation without one of its exchanges, and with two neighbours in the other order."""
        if len(exchanges) > MAX_REORDERED_EXCHANGES:
            return
        for left_out in range(len(exchanges)):
            rest = [each for at, each in enumerate(exchanges) if at != left_out]
            for at in range(len(rest) - 1):
                script = _steps([*rest[:at], rest[at + 1], rest[at], *rest[at + 2 :]])
                if self.is_possible(script):
                    yield script

    def _goes_on(self, forecast: Forecast, steps: Sequence[ScriptLine]) -> bool:
        after = self._follow(forecast, steps)
        return isinstance(after, Forecast) or not after.is_ours  # the peer may answer otherwise this time

    def _follow(self, forecast: Forecast, steps: Sequence[ScriptLine]) -> Forecast | ScriptLine:
        """The forecast after these messages, or the first of them that is not possible."""
        for step in steps:
            if step.aside:
                continue  # the dialogue goes on as if it had not been said
            after = self._after(forecast, step)
            if after is None:
                return step
            forecast = after
        return forecast

    def _after(self, forecast: Forecast, step: ScriptLine) -> Forecast | None:
        move = next((each for each in forecast.moves if (each.sender, each.symbol) == (step.sender, step.symbol)), None)
        assert step.node is not None, "what is tried has trees"
        return None if move is None else forecast.after(move, step.node)

    def _pieces(self, forecast: Forecast, length: int) -> Iterator[tuple[Piece, Forecast]]:
        """The beginnings of so many messages, the first of them ours, and the forecasts after each."""
        pieces: list[tuple[Piece, Forecast]] = [((), forecast)]
        for _ in range(length):
            pieces = [
                ((*piece, line), after)
                for piece, before in pieces
                for line in self._lines(before.moves)
                if (piece or line.is_ours) and (after := self._after(before, line)) is not None
            ]
        yield from pieces

    def _lines(self, moves: Sequence[MessageType]) -> Iterator[ScriptLine]:
        """The smallest messages of these types."""
        for move in moves:
            node = self._smallest_of(move.symbol)
            if node is not None:
                yield ScriptLine(move.sender, move.symbol, b"", move.sender in self._ours, node)

    def _smallest_of(self, symbol: str) -> Node | None:
        if symbol not in self._smallest:
            self._smallest[symbol] = self._spec.random_tree(symbol, self._chance / symbol, is_smallest=True)
        return self._smallest[symbol]


def _steps(exchanges: Sequence[ScriptedExchange]) -> Piece:
    return tuple(chain.from_iterable(exchanges))
