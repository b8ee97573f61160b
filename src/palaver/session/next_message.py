"""The place of our next message in a session: the incomplete tree that the solver completes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from palaver.matching.forecaster import Hypothesis, MessageType
from palaver.trees.node import Node, NonTerminal, TreePath
from palaver.trees.tree import Tree

if TYPE_CHECKING:
    from palaver.session.history import SessionHistory


class NextMessage:
    """The session, or the latest part of it, with our next message missing: the context that the solver completes."""

    def __init__(self, history: SessionHistory) -> None:
        self._history = history
        self.move: MessageType
        self.first: Node | None = None  # a message that was made already, to begin with
        self.kept: TreePath | None = None  # the part of the message that stays as it is
        self.hook: TreePath = ()
        self.history: tuple[Node, ...] = ()
        self.place = 0  # of the hypotheses about where the message stands, the one that is completed, counted round
        self.places = 1  # how many there are
        self.sees_all = False  # otherwise only the latest part of the session is there
        self.needs_all = False  # True if that is known to be too little
        self.make: Callable[[str, tuple[Node, ...]], Node]
        self.counted: Callable[[Node, str, int], Node | None]

    def completed(self) -> Tree:
        """The tree with a fresh message."""
        node, self.first = self.first or self.make(self.move.symbol, self.history), None
        hypothesis = self._hypothesis(node)
        if self.sees_all:
            tree, self.hook = hypothesis.tree(), hypothesis.latest
        else:
            tree, self.hook = hypothesis.recent_tree()
        return Tree(tree)

    def _hypothesis(self, node: Node) -> Hypothesis:
        hypotheses = self._history.forecast.after(self.move, node).hypotheses
        self.places = len(hypotheses)
        return hypotheses[self.place % self.places]

    def before_message(self) -> tuple[int, Tree]:
        """The latest part of the session as `completed` shows it, without the message, and the hypothesis it follows.

        It begins later than the part around the message before: that may have what this one has not.
        """
        node = Node(NonTerminal(self.move.symbol), ())
        hypothesis = self._hypothesis(node)
        return hypothesis.origin, Tree(hypothesis.recent_tree_without_latest())

    def is_frozen(self, path: TreePath) -> bool:
        """Return True for everything outside of the message, and for what is to stay in it and around that."""
        if path[: len(self.hook)] != self.hook:
            return True
        inside = path[len(self.hook) :]
        return self.kept is not None and all(one == two for one, two in zip(inside, self.kept, strict=False))
