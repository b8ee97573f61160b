"""Nogoods (Stallman & Sussman 1977): messages of ours after which every session has ended in a known finding.

A known crash ends a session whenever its cause is met, so all that comes behind it stays uncovered, and to try it again
and again would waste the run. A message is *barred* after a prefix, all messages of a session until then, if sessions
with that prefix have ended so each time; "the first message of a session" may be one, and the same message harmless
later. It is *dead* at a node of the dialogue map, so that no plan leads over it, if that was so after two prefixes, or
if plans have led to it again and again and found no other way. A message that went well there once is neither.

What was said last before a known finding counts as covered, but no answer has shown what it brings. So it is said once
more where the same message may go well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from copy import copy
from typing import TypeAlias

from palaver.matching.dialogue_grammar import MessageType
from palaver.navigation.dialogue_map import Edge, MapNode
from palaver.navigation.navigation_limits import (
    DEATHS_OF_BARRED_PREFIX,
    MAX_REMEMBERED_PLACES,
    MAX_UNANSWERED_MESSAGES,
    PREFIXES_OF_DEAD_END,
)
from palaver.trees.node import Node
from palaver.trees.tree import Tree

_Prefix: TypeAlias = bytes  # a digest of the symbols of all messages of a session until then
_InSession: TypeAlias = tuple[_Prefix, MessageType]
_OnMap: TypeAlias = tuple[MapNode | None, MessageType]


class DeadEnds:
    """The dead ends of a run, and the place of the present session."""

    def __init__(self, ours: Collection[str]) -> None:
        self._deaths: Counter[_InSession] = Counter()
        self._fatal_prefixes: dict[_OnMap, set[_Prefix]] = {}
        self._detours: Counter[_OnMap] = Counter()  # plans that led to it where it was barred
        self._survived: set[_InSession | _OnMap] = set()
        self.ours = frozenset(ours)
        self.prefix: _Prefix = b""  # of the present session
        self._pending: tuple[_InSession, _OnMap] | None = None  # our last message
        self._last: Node | None = None  # its tree
        self._unanswered: dict[str, list[Node]] = {}  # the last messages before known findings, by symbol
        self._said_again: set[str | bytes] = set()

    @property
    def is_any(self) -> bool:
        """True if some session has ended in a known finding."""
        return bool(self._deaths)

    def beside(self) -> DeadEnds:
        """The same dead ends, for sessions that go on beside these."""
        other = copy(self)
        other.begin()
        return other

    def begin(self) -> None:
        """Begin a session."""
        self.prefix, self._pending, self._last = b"", None, None

    def sent(self, move: MessageType, place: MapNode | None, node: Node) -> None:
        """Note a message of ours, sent at a node of the map."""
        self._survive()
        self._pending, self._last = ((self.prefix, move), (place, move)), node

    def end(self, *, is_dead: bool) -> None:
        """End the session; in a known finding, or otherwise."""
        if not is_dead:
            self._survive()
        if self._pending is not None:
            in_session, on_map = self._pending
            self._deaths[in_session] += 1
            self._fatal_prefixes.setdefault(on_map, set()).add(in_session[0])
            self._note_unanswered(self._last)
        self._pending = self._last = None

    def _note_unanswered(self, node: Node | None) -> None:
        if node is None or len(self._said_again) >= MAX_UNANSWERED_MESSAGES:
            return
        data = Tree(node).serialised()
        if data not in self._said_again:
            self._said_again.add(data)
            self._unanswered.setdefault(node.symbol, []).append(node)

    def take_unanswered(self, symbol: str) -> Node | None:
        """A message that was the last one before a known finding, to be said once more."""
        waiting = self._unanswered.get(symbol)
        return waiting.pop() if waiting else None

    def _survive(self) -> None:
        if self._pending is not None and len(self._survived) >= MAX_REMEMBERED_PLACES:
            MAX_REMEMBERED_PLACES.reached()
        elif self._pending is not None:
            self._survived.update(self._pending)
        self._pending = None

    def note_detour(self, edge: Edge) -> None:
        """Note that a plan led to a message that is barred here."""
        self._detours[edge.source, edge.move] += 1

    def is_dead(self, edge: Edge) -> bool:
        """Return True if no plan should lead over a message."""
        return self.is_any and edge.is_ours and self._is_dead_at(edge.source, edge.move)

    def _is_dead_at(self, node: MapNode, move: MessageType) -> bool:
        place = (node, move)
        prefixes = self._fatal_prefixes.get(place)
        if prefixes is None or place in self._survived:
            return False
        return len(prefixes) + self._detours[place] >= PREFIXES_OF_DEAD_END

    def deaths(self, edge: Edge) -> int:
        """The number of sessions that have ended in a known finding after a message at its node."""
        prefixes = self._fatal_prefixes.get((edge.source, edge.move), set())
        return sum(self._deaths[prefix, edge.move] for prefix in prefixes)

    def barred(self) -> frozenset[MessageType]:
        """Our messages that must not come next in this session."""
        return self._barred_after(self.prefix)

    def barred_at_first(self) -> frozenset[MessageType]:
        """Our messages that must not begin a session."""
        return self._barred_after(b"")

    def _barred_after(self, prefix: _Prefix) -> frozenset[MessageType]:
        return frozenset(
            place[1]
            for place, times in self._deaths.items()
            if place[0] == prefix and times >= DEATHS_OF_BARRED_PREFIX and place not in self._survived
        )

    def allowed(self, moves: Sequence[MessageType], nodes: Collection[MapNode], *, can_end: bool) -> list[MessageType]:
        """The moves that are neither barred here nor dead at any of these nodes; all if nothing else could be done."""
        if not self.is_any:
            return list(moves)
        barred = self.barred()
        dead = {move for move in moves if any(self._is_dead_at(node, move) for node in nodes)}
        allowed = [move for move in moves if move not in barred and move not in dead]
        has_other_way = bool(allowed) or (can_end and bool(self.prefix))
        return allowed if has_other_way else list(moves)
