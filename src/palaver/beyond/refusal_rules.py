"""The rules below `<beyond>`: which messages the protocol allows though the spec never says them, and which are wrong.

How it works
============

Alternatives are tried in order, and the first whose message fits decides (an ordered choice, as in parsing expression
grammars). A message without an answer behind it is allowed. One with an answer is wrong, and may be answered so; after
that the dialogue goes on as if it had not been said.

A wrong message is judged only where no message that may be said fits the same alternative: then it is not of a kind
that is allowed here. Where something may be said that fits only the last alternative, or none, anything may be said,
and nothing is judged. So rules that say too little accuse nobody. An alternative whose message is one of the session is
also about that message where it may be said, but breaks a constraint.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from palaver.beyond.beyond_limits import SAMPLES
from palaver.compiled import Spec
from palaver.compiled.data import message_bytes
from palaver.errors import ConversionError, Undecided
from palaver.grammar.lowering import beyond_alternatives, closing_answers, silent_answers
from palaver.grammar.printing import show_expr
from palaver.matching.forecaster import Forecast, MessageType
from palaver.random_source import RandomSource
from palaver.trees.node import Node, NonTerminal
from palaver.trees.tree import Tree


class JudgedMessage(NamedTuple):
    """A message that an alternative of `<beyond>` is about."""

    alternative: str  # its name, or its text
    position: int  # among the alternatives
    move: MessageType  # the message as the alternative has it
    answers: Forecast  # what may come behind it

    @property
    def is_legal(self) -> bool:
        """True if the protocol allows it: no answer has to come, or may be left out."""
        return self.answers.can_end


class RefusalRules:
    """The rules of `<beyond>` for the parties that we play."""

    def __init__(self, spec: Spec, ours: Collection[str], chance: RandomSource) -> None:
        self.spec = spec
        self._ours = ours
        self._chance = chance
        self._alternatives: list[tuple[str, Forecast]] = []
        for option in beyond_alternatives(spec.grammar):
            self._alternatives.append((show_expr(option), spec.forecaster(alternative=option).begin()))
        self.closing = closing_answers(spec.grammar)
        self.silent = silent_answers(spec.grammar)
        self._samples: dict[str, tuple[bytes, ...]] = {}
        self._classes: dict[MessageType, frozenset[int | None]] = {}

    @property
    def is_empty(self) -> bool:
        """True if the spec says nothing about messages of ours."""
        return not any(move.sender in self._ours for _, first in self._alternatives for move in first.moves)

    @property
    def last(self) -> int:
        """The position of the last alternative, for which everything is left."""
        return len(self._alternatives) - 1

    def samples(self, symbol: str) -> tuple[bytes, ...]:
        """Some messages of a symbol, constraints aside; always the same."""
        if symbol not in self._samples:
            chance = self._chance / "samples" / symbol
            found = (self.spec.random_tree(symbol, chance / number) for number in range(SAMPLES))
            self._samples[symbol] = tuple(dict.fromkeys(data for node in found if (data := data_of(node))))
        return self._samples[symbol]

    def find(self, sender: str, data: bytes) -> JudgedMessage | None:
        """The first alternative that a message fits. :raises Undecided: it takes too much work"""
        for position, (name, first) in enumerate(self._alternatives):
            for move in first.moves:
                if move.sender == sender and self._fits(move.symbol, data):
                    answers = first.after(move, Node(NonTerminal(move.symbol), ()))
                    return JudgedMessage(name, position, move, answers)
        return None

    def _about(self, sender: str, symbol: str) -> JudgedMessage | None:
        """The first alternative about a message of the session."""
        for position, (name, first) in enumerate(self._alternatives):
            for move in first.moves:
                if move.sender == sender and move.symbol == symbol:
                    answers = first.after(move, Node(NonTerminal(symbol), ()))
                    return JudgedMessage(name, position, move, answers)
        return None

    def _fits(self, symbol: str, data: bytes) -> bool:
        matcher = self.spec.matcher(symbol, binary=self.spec.is_binary)
        return matcher.finish(data).complete_here

    def classes_of(self, move: MessageType) -> frozenset[int | None]:
        """The alternatives that messages of this type fit, by their positions; None: some fit none."""
        if move not in self._classes:
            found: set[int | None] = set()
            for data in self.samples(move.symbol):
                try:
                    judged = self.find(move.sender, data)
                except Undecided:
                    judged = None
                found.add(None if judged is None else judged.position)
            self._classes[move] = frozenset(found or {None})
        return self._classes[move]

    def anything_goes(self, moves: Sequence[MessageType]) -> list[MessageType]:
        """Those of these messages that fit the last alternative, or none: where they may be said, anything may be."""
        return [move for move in moves if not self.classes_of(move).isdisjoint((None, self.last))]

    def is_about(self, sender: str, symbol: str) -> bool:
        """Return True if an alternative is about a message of the session that breaks a constraint."""
        judged = self._about(sender, symbol)
        return judged is not None and not judged.is_legal

    def is_judged(self, sender: str, data: bytes, moves: Sequence[MessageType]) -> bool:
        """Return True if a message is known to be wrong where these may be said."""
        try:
            return self.judge(sender, data, moves) is not None
        except Undecided:
            return False

    def judge(
        self, sender: str, data: bytes, moves: Sequence[MessageType], broken: str | None = None
    ) -> JudgedMessage | None:
        """The fault of a message, where these messages may be said; None if none is known.

        If it would be a message of the session, `broken`, but for a constraint, an alternative about that very message
        decides first: whoever says what may answer it when it is wrong means the constraints on it.

        :raises Undecided: it takes too much work
        """
        if broken is not None and (judged := self._about(sender, broken)) is not None:
            return None if judged.is_legal else judged
        if self.anything_goes(moves):
            return None
        judged = self.find(sender, data)
        if judged is None or judged.is_legal:
            return None
        return None if any(judged.position in self.classes_of(move) for move in moves) else judged


def data_of(node: Node | None) -> bytes:
    """The bytes of a message; none if it has no bytes."""
    try:
        return b"" if node is None else message_bytes(Tree(node))
    except ConversionError:
        return b""


def common_end(samples: Sequence[bytes]) -> bytes:
    """The longest end that all of these have in common."""
    if not samples:
        return b""
    end = samples[0]
    for data in samples[1:]:
        size = 0
        while size < min(len(end), len(data)) and end[-1 - size] == data[-1 - size]:
            size += 1
        end = end[len(end) - size :]
    return end
