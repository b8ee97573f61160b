"""What others have said before, and what it was: a server says the same few lines over and over.

Only what can be one thing is remembered: a short message that was complete and could not go on, with one tree. What a
message is must depend on its bytes alone, so messages with computed repetitions are read each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from palaver.grammar.analyse import Analysis
from palaver.grammar.ir import computed_bounds
from palaver.matching.forecaster import MessageType
from palaver.trees.node import Node

Reading: TypeAlias = tuple[MessageType, Node]

_LONGEST = 512  # bytes of a message that is remembered
_MOST = 1_000  # messages


class Heard:
    """Messages by what was expected and what came, for all sessions of a play."""

    def __init__(self, analysis: Analysis) -> None:
        rules = analysis.grammar.rules
        computed = {name for name, rule in rules.items() if any(computed_bounds(rule.body))}
        said = {message.symbol for message in analysis.messages}
        self._varying = frozenset(name for name in said if not computed.isdisjoint(analysis.below(name) | {name}))
        self._readings: dict[tuple[tuple[MessageType, ...], bytes], Reading] = {}

    def recall(self, expected: tuple[MessageType, ...], data: bytes) -> Reading | None:
        """What this was when it was said before, where the same messages were expected."""
        return self._readings.get((expected, data)) if len(data) <= _LONGEST else None

    def keep(self, expected: tuple[MessageType, ...], data: bytes, readings: Iterable[Reading]) -> None:
        """Remember what a message is that cannot go on, if it can be one thing only."""
        if len(data) > _LONGEST or any(move.symbol in self._varying for move in expected):
            return
        found = list(readings)
        if len(found) != 1:
            return
        if len(self._readings) == _MOST:
            self._readings.clear()
        assert found[0][1].children is not None, "who looks at them now makes them for all"
        self._readings[expected, data] = found[0]
