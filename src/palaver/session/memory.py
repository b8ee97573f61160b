"""What has been said, as the grammar sees it: hypotheses with their trees, and what constraints make of them.

A message is accepted if at least one hypothesis about the conversation survives it: its tree, with the message in its
place, satisfies every constraint. Hypotheses that do not are dropped. Our own messages are made to satisfy the
constraints, with everything said before as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from palaver.chance import Chance
from palaver.compiled import Spec
from palaver.constraints.check import Failure
from palaver.matching.forecaster import Forecast, Hypothesis, MessageType
from palaver.solving.sources import NoSource
from palaver.solving.workshop import Limits
from palaver.trees.node import Node
from palaver.trees.paths import Path
from palaver.trees.tree import Tree

# Steps of search that a message is worth. A conversation cannot wait as long as a user who asked for one input.
_BUDGET = 1_000


class Memory:
    """The conversation so far."""

    def __init__(self, spec: Spec, chance: Chance) -> None:
        self._spec = spec
        self.forecast: Forecast = spec.forecaster.begin()
        self.newest: Node
        self.reason = ""  # why the last message could not be made
        self.crash = False  # whether spec code raised when the last message was judged
        self._scene = _Scene(self)
        constraints = spec.grammar.constraints
        limits = Limits(budget=_BUDGET)
        self._solver = spec.workshop.solver(constraints, chance, chance / "fuzz", limits, self._scene)

    # --- hearing ------------------------------------------------------------------------------------------------------

    def heard(self, move: MessageType, node: Node) -> Forecast | str:
        """The forecast after a message of another party, which is remembered; or why it cannot be accepted."""
        try:
            node = self._spec.sources.recover(node)
        except NoSource as error:
            return str(error)
        after, failure = self._judged(self.forecast.after(move, node))
        if after is None:
            assert failure is not None, "something speaks against every hypothesis"
            self.crash = failure.error is not None
            return failure.tell()
        self.forecast = after
        self.newest = node
        return after

    def _judged(self, forecast: Forecast) -> tuple[Forecast | None, Failure | None]:
        """The forecast with those hypotheses only that satisfy all constraints; None if there is none."""
        first: Failure | None = None
        refuted: list[Hypothesis] = []
        for hypothesis in forecast.hypotheses:
            failure = self._failure(hypothesis)
            if failure is not None:
                refuted.append(hypothesis)
                first = first or failure
        if len(refuted) == len(forecast.hypotheses):
            return None, first
        return (forecast.without(refuted) if refuted else forecast), first

    def _failure(self, hypothesis: Hypothesis) -> Failure | None:
        if not self._spec.checks:
            return None
        tree = Tree(hypothesis.tree())
        for check in self._spec.checks:
            if (failure := check.failure(tree)) is not None:
                return failure
        return None

    # --- speaking -----------------------------------------------------------------------------------------------------

    def made(self, move: MessageType) -> Node | None:
        """A message of ours that can be said now; None if none was found, and then `reason` says why."""
        solver = self._solver
        self._scene.move = move
        solver.begin()
        while not solver.is_exhausted:
            tree = solver.solve()
            if tree is None:
                continue
            node = tree.at(self._scene.hook).node
            assert isinstance(node, Node), "a message is a node"
            after, _ = self._judged(self.forecast.after(move, node))
            if after is not None:
                return node
        failure = solver.failure
        self.reason = f"no {move.symbol} was found that satisfies the constraints"
        if failure is not None:
            self.reason += f": {failure.describe()}"
        elif solver.discarded:
            self.reason += f": {solver.discarded}"
        return None

    def say(self, move: MessageType, node: Node) -> None:
        """Remember what we say."""
        after, _ = self._judged(self.forecast.after(move, node))
        assert after is not None, "what was made was judged before"
        self.forecast = after
        self.newest = node


class _Scene:
    """The conversation with our next message missing."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.move: MessageType
        self.hook: Path = ()

    def completed(self, make: Callable[[str], Node]) -> Tree:
        after = self._memory.forecast.after(self.move, make(self.move.symbol))
        hypothesis = after.hypotheses[0]
        self.hook = hypothesis.latest
        return Tree(hypothesis.tree())

    def is_frozen(self, path: Path) -> bool:
        return path[: len(self.hook)] != self.hook
