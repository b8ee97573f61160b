"""Our messages that a script says: those of an earlier session, or parts of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from palaver.compiled.data import message_bytes
from palaver.errors import ConversionError
from palaver.matching.forecaster import MessageType
from palaver.random_source import RandomSource
from palaver.session.extension import Extension
from palaver.session.session_limits import MAX_READINGS
from palaver.trees.node import Node, NonTerminal, Part, part_at, same_structure
from palaver.trees.tree import Tree

if TYPE_CHECKING:
    from palaver.session.history import SessionHistory
    from palaver.session.setup import SessionSetup
    from palaver.session.strategy import ScriptedMessage


class ScriptedMessageMaker:
    """Makes messages of a script that obey the constraints of the session as it is then."""

    def __init__(self, setup: SessionSetup, history: SessionHistory, chance: RandomSource) -> None:
        self._setup = setup
        self._history = history
        self._chance = chance

    def make(self, move: MessageType, script: ScriptedMessage) -> Extension | None:
        """The message that a script says, or as much of it as fits, if the script allows that; None if nothing does."""
        readings = [script.node] if script.node is not None else list(self._readings(move.symbol, script.data))
        if not script.is_exact and move.symbol in self._setup.generated:
            readings = [self._setup.spec.sources.made_again(node) for node in readings[:1]]
        if script.kept is not None and not all(self._is_word(move.symbol, node) for node in readings[:1]):
            return self._with_part(move, part_at(readings[0], script.kept)) or self._history.maker.make(move)
        # A message that was put together must obey as a fresh one does, also where a constraint may recover later.
        for node in readings if script.kept is None else ():
            extension = self._history.checked(move, node, is_ours=True)
            if isinstance(extension, Extension):
                return extension
        if script.is_exact or not readings:
            return None
        made = None if script.kept is None else self._history.maker.remake(move, readings[0], script.kept)
        return made or self._history.maker.remake(move, readings[0])

    def _with_part(self, move: MessageType, part: Part) -> Extension | None:
        """A message with such a part, and as much of others as that says; None if none was found."""
        assert isinstance(part, Node), "a part of a message that is kept is a node"
        history = self._setup.references.seen_by(move.symbol, self._history.referenced)
        made = self._setup.spec.tree_with(part, move.symbol, self._chance / "with part" / self._history.number, history)
        found = () if made is None else Tree(made).find_subtrees(part.symbol)
        place = next((tree.path for tree in found if same_structure(tree.node, part)), None)
        return None if made is None or place is None else self._history.maker.remake(move, made, place)

    def _is_word(self, symbol: str, node: Node) -> bool:
        """Return False if no such message is put together so: a part in it may say how often another is repeated."""
        if symbol not in self._setup.references.counting or self._setup.spec.grammar.settings:
            return True
        try:
            data = message_bytes(Tree(node))
        except ConversionError:
            return False
        return any(True for _ in self._readings(symbol, data))

    def _readings(self, symbol: str, data: bytes) -> Iterator[Node]:
        """The trees of a message of which the bytes are known; one without parts if a setting broke its grammar."""
        history = self._setup.references.seen_by(symbol, self._history.referenced)
        nodes = islice(self._setup.spec.readings(symbol, data, history), MAX_READINGS)
        first = next(nodes, None)
        if first is not None:
            yield first
            yield from nodes
        elif self._setup.spec.grammar.settings:
            text = data if self._setup.is_binary else data.decode("utf-8", "surrogateescape")
            yield Node(NonTerminal(symbol), (text,))
