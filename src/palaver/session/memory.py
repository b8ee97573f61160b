"""What has been said, as the grammar sees it: hypotheses with their trees, and what constraints make of them.

A message is accepted if at least one hypothesis about the conversation survives it: its tree, with the message in its
place, satisfies every constraint. Hypotheses that do not are dropped. Our own messages are made to satisfy the
constraints, with everything said before as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from palaver.chance import Chance
from palaver.constraints.check import Failure
from palaver.constraints.incremental import Watch
from palaver.matching.forecaster import Forecast, Hypothesis, MessageType
from palaver.session.play import Play
from palaver.solving.sources import NoSource
from palaver.solving.workshop import Limits
from palaver.trees.node import Node, Parties
from palaver.trees.paths import Path
from palaver.trees.tree import Tree

# Steps of search that a message is worth. A conversation cannot wait as long as a user who asked for one input.
_BUDGET = 1_000


class Memory:
    """The conversation so far."""

    def __init__(self, play: Play, chance: Chance) -> None:
        self._spec = spec = play.spec
        self._law = law = play.law
        self.forecast: Forecast = play.forecaster.begin()
        self.newest: Node
        self.reason = ""  # why the last message could not be made
        self.crash = False  # whether spec code raised when the last message was judged
        self._watches = [law.beginning]  # one for each hypothesis
        self._may_end: bool | None = None  # None: not asked yet
        self._scene = _Scene(self)
        limits = Limits(budget=_BUDGET)
        constraints = spec.grammar.constraints
        self._solver = spec.workshop.solver(constraints, chance, chance / "fuzz", limits, self._scene)

    @property
    def can_end(self) -> bool:
        """Whether the conversation may end here, by the grammar and by the constraints."""
        if self._may_end is None:
            ends = [hypothesis for hypothesis in self.forecast.hypotheses if hypothesis.can_end]
            self._may_end = bool(ends) and (
                not self._law.needs_an_end
                or any(self._law.unfinished(Tree(hypothesis.complete_tree())) is None for hypothesis in ends)
            )
        return self._may_end

    # --- hearing ------------------------------------------------------------------------------------------------------

    def heard(self, move: MessageType, node: Node) -> str | None:
        """Remember a message of another party. If it cannot be accepted: why."""
        try:
            node = self._spec.sources.recover(node)
        except NoSource as error:
            return str(error)
        failure = self._remember(move, node)
        if failure is None:
            return None
        self.crash = failure.error is not None
        return failure.tell()

    def _remember(self, move: MessageType, node: Node) -> Failure | None:
        node = node._replace(parties=Parties(move.sender, move.recipient))
        forecast, watches, failure = self._judged(self.forecast.after(move, node))
        if forecast is None:
            return failure
        self.forecast, self._watches, self.newest = forecast, watches, node
        self._may_end = None
        return None

    def _judged(self, forecast: Forecast) -> tuple[Forecast | None, list[Watch], Failure | None]:
        """The forecast with those hypotheses only that break no constraint; None if there is none."""
        first: Failure | None = None
        refuted: list[Hypothesis] = []
        watches: list[Watch] = []
        for hypothesis in forecast.hypotheses:
            watch, failure = self._law.judge(self._watches[hypothesis.origin], hypothesis)
            if failure is None:
                watches.append(watch)
            else:
                refuted.append(hypothesis)
                first = first or failure
        if not watches:
            return None, [], first
        return (forecast.without(refuted) if refuted else forecast), watches, first

    # --- speaking -----------------------------------------------------------------------------------------------------

    def made(self, move: MessageType) -> Node | None:
        """A message of ours that can be said now; None if none was found, and then `reason` says why."""
        solver, scene = self._solver, self._scene
        scene.move = move
        solver.begin()
        while not solver.is_exhausted:
            tree = solver.solve()
            if tree is None:
                continue
            node = tree.at(scene.hook).node
            assert isinstance(node, Node), "a message is a node"
            if self._judged(self.forecast.after(move, node))[0] is not None:
                return node
            # What was said long ago forbids it, and has to be looked at, too.
            scene.sees_all = True
        scene.sees_all = False
        failure = solver.failure
        self.reason = f"no {move.symbol} was found that satisfies the constraints"
        if failure is not None:
            self.reason += f": {failure.describe()}"
        elif solver.discarded:
            self.reason += f": {solver.discarded}"
        return None

    def say(self, move: MessageType, node: Node) -> None:
        """Remember what we say."""
        failure = self._remember(move, node)
        assert failure is None, "what was made was judged before"


class _Scene:
    """The conversation, or the latest part of it, with our next message missing."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.move: MessageType
        self.hook: Path = ()
        self.sees_all = False

    def completed(self, make: Callable[[str], Node]) -> Tree:
        after = self._memory.forecast.after(self.move, make(self.move.symbol))
        hypothesis = after.hypotheses[0]
        if self.sees_all:
            tree, self.hook = hypothesis.tree(), hypothesis.latest
        else:
            tree, self.hook = hypothesis.nearby()
        return Tree(tree)

    def is_frozen(self, path: Path) -> bool:
        return path[: len(self.hook)] != self.hook
