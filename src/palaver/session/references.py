"""The fields of earlier messages that computed repetitions in later ones refer to."""

from __future__ import annotations

from collections.abc import Iterator

from palaver.grammar.analysis import Analysis
from palaver.lean_dataclasses import dataclass
from palaver.matching.forecaster import Hypothesis
from palaver.matching.matcher import BoundPaths
from palaver.spec.ast import Expression
from palaver.spec.traversal import computed_bounds, last_symbol
from palaver.trees.node import Node


@dataclass(frozen=True, slots=True)
class Referenced:
    """The earlier messages that later ones may refer to, in the order of the session."""

    messages: tuple[Node, ...] = ()
    paths: tuple[frozenset[int], ...] = ()  # for each of them, the paths that it is kept for

    def plus(self, message: Node, paths: frozenset[int]) -> Referenced:
        """The messages with one more, without those that it replaces."""
        if not paths:
            return self
        kept = [(each, left) for each, old in zip(self.messages, self.paths, strict=True) if (left := old - paths)]
        return Referenced((*(each for each, _ in kept), message), (*(left for _, left in kept), paths))


NO_MESSAGES = Referenced()


class References:
    """The messages of a spec with computed repetitions that refer to fields of earlier messages; made once.

    A bound such as `{int(<hello>.<count>)}` means the last such field before the repetition, which may be in another
    message. Of each path the latest message is kept in which it finds something, with the names of the states around
    it, as the preferred hypothesis has them. A bound whose field can be in its own message is left to that message.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._messages = tuple(dict.fromkeys(message.symbol for message in analysis.messages))
        self._states = analysis.above(self._messages)
        self._trails = BoundPaths()
        # The messages in which something is counted by a field, those that refer to others, and those referred to.
        self.counting = frozenset(each for each in self._messages if any(self._bounds_in(self._inside(each))))
        self.readers = frozenset(symbol for symbol in self._messages if self._track_bounds_of(symbol))
        counted = {path.names[-1] for path in self._trails.paths}
        below = self._analysis.below
        self.holders = frozenset(name for name in self._messages if not counted.isdisjoint({name} | below(name)))
        self._names_states = any(not self._states.isdisjoint(path.names) for path in self._trails.paths)

    def _inside(self, symbol: str) -> frozenset[str]:
        """The symbols of a message, and of what its generators make it from."""
        return self._analysis.below_including_sources(symbol) | {symbol}

    def _track_bounds_of(self, message: str) -> bool:
        """Track the paths of all bounds by which a message refers to others; return True if there are any."""
        inside = self._inside(message)
        found = [bound for bound in self._bounds_in(inside) if self._refers_back(bound, inside)]
        for bound in found:
            self._trails.track(bound)
        return bool(found)

    def _bounds_in(self, symbols: frozenset[str]) -> Iterator[Expression]:
        for name, rule in self._analysis.grammar.rules.items():
            if name in symbols:
                yield from computed_bounds(rule.body)

    def _refers_back(self, bound: Expression, inside: frozenset[str]) -> bool:
        if not bound.mentions:
            return False
        path = bound.mentions[0].path
        field = last_symbol(path)
        return field not in self._states and (field not in inside or path.base not in inside | self._states)

    def after(self, earlier: Referenced, message: Node, hypothesis: Hypothesis) -> Referenced:
        """The referenced messages after another message, which stands as this hypothesis says."""
        if message.symbol not in self.holders:
            return earlier
        if self._names_states:
            for symbol in hypothesis.around:
                message = Node(symbol, (message,))
        return earlier.plus(message, frozenset(path for path, _ in self._trails.selected_in(message)))

    def seen_by(self, symbol: str, earlier: Referenced) -> tuple[Node, ...]:
        """The earlier messages that a message of this symbol refers to."""
        return earlier.messages if symbol in self.readers else ()
