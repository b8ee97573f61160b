"""Random continuations of a session: the evidence that a clause which fails now can hold again.

A continuation is made of messages of all parties, each of a type that may come next. Answers repeat what was asked, so
in every second continuation fields are equal to the latest ones of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from palaver import interruption
from palaver.generation.makers import Discarded
from palaver.matching.forecaster import Forecast
from palaver.random_source import RandomSource
from palaver.session.blame import Violation
from palaver.session.extension import Extension
from palaver.session.session_limits import (
    ACCUSING_CONTINUATIONS,
    CONTINUATIONS,
    LAST_WORD_SECONDS,
    MESSAGES_OF_CONTINUATION,
)
from palaver.trees.node import Node, Part, TreePath, parts_below, replace_at
from palaver.trees.tree import Tree

if TYPE_CHECKING:
    from palaver.session.history import SessionHistory
    from palaver.session.setup import SessionSetup

# The probability that a field is made equal to an earlier one, where fields are copied.
_COPY_FIELD = 0.7


class Continuations:
    """Continues a session at random."""

    def __init__(
        self,
        setup: SessionSetup,
        history: SessionHistory,
        chance: RandomSource,
        make: Callable[[str, tuple[Node, ...]], Node],
    ) -> None:
        self._setup = setup
        self._history = history
        self._chance = chance
        self._make = make

    def repair(self, clause: int, after: Extension, messages: int = MESSAGES_OF_CONTINUATION) -> bool:
        """Return True if a clause holds again in one of some continuations, each of so many messages."""
        return any(isinstance(now, Extension) and _holds(clause, now) for now in self._steps(after, messages))

    def bring_nearer(self, clause: int, after: Extension) -> bool:
        """Return True if a clause that compares numbers is nearer to holding in a continuation, or holds there.

        A sum that must be zero at the end fails nearly always, and yet nobody has done anything wrong.
        """
        constraint = self._setup.monitor.constraint(clause)
        distance = self._setup.spec.solver_factory.distance(constraint)
        is_measured = self._setup.monitor.compares_numbers(clause)
        before = distance(_tree_of(after.forecast)).distance if is_measured else 0.0
        for now in self._steps(after, MESSAGES_OF_CONTINUATION, ACCUSING_CONTINUATIONS):
            if isinstance(now, Extension) and _holds(clause, now):
                return True
            forecast = now.forecast if isinstance(now, Extension) else now
            if is_measured and distance(_tree_of(forecast)).distance < before:
                return True
        return False

    def _steps(self, after: Extension, messages: int, times: int = CONTINUATIONS) -> Iterator[Extension | Forecast]:
        """What is known after each message of each continuation; only a forecast after one that may not come."""
        for number in range(times):
            now = after
            for _ in range(messages):
                interruption.check(LAST_WORD_SECONDS)
                following = self._continued(now, copies=number % 2 == 1)
                if following is None:
                    break
                yield following
                if not isinstance(following, Extension):
                    break
                now = following

    def _continued(self, now: Extension, *, copies: bool) -> Extension | Forecast | None:
        """The session with one more message; only a forecast if that may not come, None if none can be made."""
        if not now.forecast.moves:
            return None
        move = self._chance.pick(now.forecast.moves)
        history = self._setup.references.seen_by(move.symbol, now.referenced)
        try:
            with now.watches[0].checks.published_states():
                node = self._make(move.symbol, history)
        except Discarded:
            return None
        if copies:
            node = self._with_copies(node, now)
        following = self._history.checked(move, node, is_ours=True, after=now)
        return now.forecast.after(move, node) if isinstance(following, Violation) else following

    def _with_copies(self, node: Node, now: Extension) -> Node:
        """A message in which some fields are the latest ones of their names."""
        latest, _ = now.forecast.hypotheses[0].recent_tree()
        fields = {part.symbol: part for part in parts_below(latest) if isinstance(part, Node)}
        todo: list[tuple[TreePath, Part]] = [((at,), part) for at, part in enumerate(node.children)]
        while todo:
            path, part = todo.pop()
            if not isinstance(part, Node):
                continue
            field = fields.get(part.symbol)
            if field is not None and self._chance.random() < _COPY_FIELD:
                changed = replace_at(node, path, field)
                assert isinstance(changed, Node), "a part of a node was exchanged"
                node = changed
            else:
                todo.extend(((*path, at), child) for at, child in enumerate(part.children))
        return node


def _holds(clause: int, now: Extension) -> bool:
    return any(not watch.fails(clause) for watch in now.watches)


def _tree_of(forecast: Forecast) -> Tree:
    return Tree(forecast.hypotheses[0].tree())
