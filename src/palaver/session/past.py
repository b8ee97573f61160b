"""What was said and is counted by: earlier messages, for computed repetitions in later ones to look back at.

A bound such as `{int(<hello>.<count>)}` means the last such field before the repetition, and that may be in another
message. Of each path the latest message is kept in which it finds something, with the names of the states around it.
Which states these are is told by the preferred hypothesis.

A bound whose field can be part of its own message is left to that message: there the field comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from palaver.grammar.analyse import Analysis
from palaver.grammar.bounds import last_symbol
from palaver.grammar.ir import computed_bounds
from palaver.matching.trails import Trails
from palaver.spec.ast import Expression
from palaver.trees.node import Node, NonTerminal


@dataclass(frozen=True, slots=True)
class Past:
    """The messages that are looked back at, in the order in which they were said."""

    messages: tuple[Node, ...] = ()
    paths: tuple[frozenset[int], ...] = ()  # for each of them, those that it is kept for

    def plus(self, message: Node, paths: frozenset[int]) -> Past:
        """The past with one more message, without those that nobody looks back at any more."""
        if not paths:
            return self
        kept = [(each, left) for each, old in zip(self.messages, self.paths, strict=True) if (left := old - paths)]
        return Past((*(each for each, _ in kept), message), (*(left for _, left in kept), paths))


NO_PAST = Past()


class Lookback:
    """Which messages of a spec look back at which; made once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._said = tuple(dict.fromkeys(message.symbol for message in analysis.messages))
        self._states = analysis.above(self._said)
        self._trails = Trails()
        self._readers = frozenset(symbol for symbol in self._said if self._follow_bounds_of(symbol))
        counted = {path.names[-1] for path in self._trails.paths}
        self._holders = frozenset(symbol for symbol in self._said if not counted.isdisjoint(self._inside(symbol)))
        self._names_states = any(not self._states.isdisjoint(path.names) for path in self._trails.paths)

    def _inside(self, symbol: str) -> frozenset[str]:
        return self._analysis.below(symbol) | {symbol}

    def _follow_bounds_of(self, message: str) -> bool:
        """Follow the paths of all bounds by which a message looks back; whether there are any."""
        inside = self._inside(message)
        found = [bound for bound in self._bounds_in(inside) if self._looks_back(bound, inside)]
        for bound in found:
            self._trails.track(bound)
        return bool(found)

    def _bounds_in(self, symbols: frozenset[str]) -> Iterator[Expression]:
        for name, rule in self._analysis.grammar.rules.items():
            if name in symbols:
                yield from computed_bounds(rule.body)

    def _looks_back(self, bound: Expression, inside: frozenset[str]) -> bool:
        if not bound.mentions:
            return False
        path = bound.mentions[0].path
        field = last_symbol(path)
        return field not in self._states and (field not in inside or path.base not in inside | self._states)

    def after(self, past: Past, message: Node, around: Iterable[NonTerminal]) -> Past:
        """The past after a message that stands in nodes of these names, the innermost first."""
        if message.symbol not in self._holders:
            return past
        if self._names_states:
            for symbol in around:
                message = Node(symbol, (message,))
        return past.plus(message, frozenset(path for path, _ in self._trails.selected_in(message)))

    def history(self, symbol: str, past: Past) -> tuple[Node, ...]:
        """What a message of this symbol looks back at."""
        return past.messages if symbol in self._readers else ()
