"""Shortcuts: the shortest ways through the dialogue to a message, by breadth-first search (Moore 1959)."""

from __future__ import annotations

from collections.abc import Iterator

from palaver.navigation.guidance import Guidance
from palaver.random_source import RandomSource
from palaver.replaying.replaying_limits import MAX_SHORTCUT_NODES
from palaver.session.strategy import ScriptLine


class Shortcuts:
    """Finds short beginnings of a dialogue, with the smallest messages of ours."""

    def __init__(self, guidance: Guidance, chance: RandomSource) -> None:
        self._map = guidance.dialogue_map
        self._spec = guidance.spec
        self._chance = chance

    def ways_to(self, wanted: ScriptLine) -> Iterator[tuple[ScriptLine, ...]]:
        """Messages that may be sent before a message, the shortest sequence first."""
        start = self._map.beginning
        ways: dict[object, tuple[ScriptLine, ...]] = {start: ()}
        todo = [start]
        for node in todo:
            edges = self._map.edges(node)
            if any((edge.move.sender, edge.move.symbol) == (wanted.sender, wanted.symbol) for edge in edges):
                yield ways[node]
            for edge in edges:
                if edge.to not in ways and len(ways) < MAX_SHORTCUT_NODES:
                    ways[edge.to] = (*ways[node], self._line(edge.move.sender, edge.move.symbol, edge.is_ours))
                    todo.append(edge.to)

    def _line(self, sender: str, symbol: str, is_ours: bool) -> ScriptLine:
        node = self._spec.random_tree(symbol, self._chance / symbol, is_smallest=True) if is_ours else None
        return ScriptLine(sender, symbol, b"", is_ours, node)
