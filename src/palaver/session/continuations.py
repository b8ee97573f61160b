"""Random continuations of a session: the evidence that a clause which fails now can hold again.

A continuation is made of messages of all parties, each of a type that may come next. Answers repeat what was asked, so
in every second continuation fields are equal to the latest ones of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from palaver import interruption
from palaver.generation.makers import Discarded
from palaver.matching.forecaster import Forecast, MessageType
from palaver.random_source import RandomSource
from palaver.session.blame import Violation
from palaver.session.extension import Extension
from palaver.session.session_limits import (
    ACCUSING_CONTINUATIONS,
    ANSWER_SEARCH_STEPS,
    CONTINUATIONS,
    LAST_WORD_SECONDS,
    MAX_REFUSALS,
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
        return any(isinstance(now, Extension) and _holds(clause, now) for now, _ in self._steps(after, messages))

    def repair_without_luck(self, clause: int, after: Extension) -> bool:
        """Return True if a clause holds again by a message of ours, or by one of a peer before our next one.

        That a peer says something else later that happens to fit can be hoped for, and may never happen.
        """
        for continuation in self._continuations(after, MESSAGES_OF_CONTINUATION):
            for now, is_late_answer in continuation:
                if isinstance(now, Extension) and _holds(clause, now):
                    if not is_late_answer:
                        return True
                    break
        return False

    def answers_repair(self, clause: int, after: Extension) -> bool:
        """Return True if the next message may be one with which a clause holds, found by a search.

        An answer that has to be one of very many, like what is left of a sum, is seldom made up at random.
        """
        supposed = self._history.supposing(after)
        with after.watches[0].checks.published_states():
            return supposed.maker.has_alternative(
                supposed.forecast.moves, clause, must_hold=True, steps=ANSWER_SEARCH_STEPS
            )

    def bring_nearer(self, clause: int, after: Extension) -> bool:
        """Return True if a clause that compares numbers is nearer to holding in a continuation, or holds there.

        A sum that must be zero at the end fails nearly always, and yet nobody has done anything wrong.
        """
        constraint = self._setup.monitor.constraint(clause)
        distance = self._setup.spec.solver_factory.distance(constraint)
        is_measured = self._setup.monitor.compares_numbers(clause)
        before = distance(_tree_of(after.forecast)).distance if is_measured else 0.0
        for now, _ in self._steps(after, MESSAGES_OF_CONTINUATION, ACCUSING_CONTINUATIONS):
            if isinstance(now, Extension) and _holds(clause, now):
                return True
            forecast = now.forecast if isinstance(now, Extension) else now
            if is_measured and distance(_tree_of(forecast)).distance < before:
                return True
        return False

    def _steps(
        self, after: Extension, messages: int, times: int = CONTINUATIONS
    ) -> Iterator[tuple[Extension | Forecast, bool]]:
        return chain.from_iterable(self._continuations(after, messages, times))

    def _continuations(
        self, after: Extension, messages: int, times: int = CONTINUATIONS
    ) -> Iterator[Iterator[tuple[Extension | Forecast, bool]]]:
        for number in range(times):
            yield self._continuation(after, messages, copies=number % 2 == 1)

    def _continuation(
        self, after: Extension, messages: int, *, copies: bool
    ) -> Iterator[tuple[Extension | Forecast, bool]]:
        """The knowledge after each message of a continuation; only a forecast after one that may not come.

        Each with True if the message is one of a peer, and one of ours has come before it. In the place of a message
        that may not come, others are tried.
        """
        now, have_we_spoken, refused = after, False, 0
        while messages and refused <= MAX_REFUSALS:
            interruption.check(LAST_WORD_SECONDS)
            if not now.forecast.moves:
                return
            move = self._chance.pick(now.forecast.moves)
            following = self._continued(now, move, copies=copies)
            if following is None:
                return
            is_ours = move.sender in self._setup.ours
            yield following, have_we_spoken and not is_ours
            if isinstance(following, Extension):
                now, messages = following, messages - 1
                have_we_spoken |= is_ours
            else:
                refused += 1

    def _continued(self, now: Extension, move: MessageType, *, copies: bool) -> Extension | Forecast | None:
        """The session with one more message; only a forecast if that may not come, None if none can be made."""
        history = self._setup.references.seen_by(move.symbol, now.referenced)
        try:
            with now.watches[0].checks.published_states(), self._setup.spec.namespace.parties.rehearsed():
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
