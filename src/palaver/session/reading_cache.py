"""The reading cache: messages of the peer that were read before, for all sessions of a spec."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from palaver.grammar.analysis import Analysis
from palaver.matching.forecaster import MessageType
from palaver.session.session_limits import MAX_CACHED_BYTES, MAX_CACHED_READINGS
from palaver.spec.traversal import computed_bounds
from palaver.trees.node import Node

CachedReading: TypeAlias = tuple[MessageType, Node]


class ReadingCache:
    """Readings by the expected messages and the bytes, for all sessions: a server sends the same few lines often.

    Only short messages with one reading are kept, which were complete and could not go on. The reading must depend on
    the bytes alone, so messages with computed repetitions are not kept.
    """

    def __init__(self, analysis: Analysis) -> None:
        rules = analysis.grammar.rules
        computed = {name for name, rule in rules.items() if any(computed_bounds(rule.body))}
        symbols = {message.symbol for message in analysis.messages}
        self._varying = frozenset(name for name in symbols if not computed.isdisjoint(analysis.below(name) | {name}))
        self._readings: dict[tuple[tuple[MessageType, ...], bytes], CachedReading] = {}

    def get(self, expected: tuple[MessageType, ...], data: bytes) -> CachedReading | None:
        """The reading of this data when it came before, where the same messages were expected."""
        return self._readings.get((expected, data)) if len(data) <= MAX_CACHED_BYTES else None

    def add(self, expected: tuple[MessageType, ...], data: bytes, readings: Iterable[CachedReading]) -> None:
        """Keep the reading of a message that cannot go on, if it is the only one."""
        if len(data) > MAX_CACHED_BYTES or any(move.symbol in self._varying for move in expected):
            return
        found = list(readings)
        if len(found) != 1:
            return
        if len(self._readings) == MAX_CACHED_READINGS:
            self._readings.clear()
        assert found[0][1].children is not None, "who looks at them now makes them for all"
        self._readings[expected, data] = found[0]
