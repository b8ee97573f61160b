"""The order of messages in a dialogue: which may come after which, by the grammar alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import assert_never

from palaver.grammar.analysis import Analysis
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.spec.traversal import refs, walk


class MessageOrder:
    """Knows which messages of a grammar may come after which others, at any distance."""

    def __init__(self, bodies: Mapping[str, Expr], analysis: Analysis) -> None:
        self._bodies = bodies
        self._analysis = analysis
        self._messages = frozenset(message.symbol for message in analysis.messages)

    @cached_property
    def _following(self) -> dict[str, set[str]]:
        """The messages that may come after each; only constraints on several messages ask for them."""
        following: dict[str, set[str]] = {name: set() for name in self._messages}
        for body in self._bodies.values():
            for expression in walk(body):
                for before, after in self._neighbours(expression):
                    for name in before:
                        following[name] |= after
        return following

    def may_follow(self, symbol: str, other: str) -> bool:
        """Return True if a message of one symbol may come after a message of another one."""
        return symbol in self._following.get(other, ())

    def _neighbours(self, expression: Expr) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        """The messages of parts of an expression, and those that may come after them in another part of it."""
        match expression:
            case Repeat(_, _, most):
                inside = self._messages_in(expression)
                yield (inside, inside) if most not in (0, 1) else (inside, frozenset())
            case Sequence(parts):
                inside_each = [self._messages_in(part) for part in parts]
                for at, inside in enumerate(inside_each):
                    yield inside, frozenset().union(*inside_each[at + 1 :])
            case Permutation(parts):
                inside_each = [self._messages_in(part) for part in parts]
                for at, inside in enumerate(inside_each):
                    yield inside, frozenset().union(*inside_each[:at], *inside_each[at + 1 :])
            case Choice() | Ref() | Literal() | Bit() | Pattern():
                pass
            case _:
                assert_never(expression)

    def _messages_in(self, expression: Expr) -> frozenset[str]:
        found: set[str] = set()
        for ref in refs(expression):
            found |= {ref.symbol} if ref.sender is not None else self._analysis.below(ref.symbol)
        return self._messages & found
