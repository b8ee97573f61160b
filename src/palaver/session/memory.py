"""What has been said, as the grammar sees it: hypotheses with their trees, and what constraints make of them.

A message is accepted if at least one hypothesis about the conversation survives it: its tree, with the message in its
place, satisfies every constraint. Hypotheses that do not are dropped. Our own messages are made to satisfy the
constraints, with everything said before as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from palaver.chance import Chance
from palaver.constraints.check import Failure
from palaver.constraints.incremental import Watch
from palaver.generation.makers import Discarded, Steering
from palaver.matching.forecaster import Forecast, Hypothesis, MessageType
from palaver.session.past import NO_PAST, Past
from palaver.session.play import Play
from palaver.solving.sources import NoSource
from palaver.spec.ast import Expression
from palaver.trees.node import Node
from palaver.trees.paths import Path
from palaver.trees.tree import Tree

_NOT_ASKED = "nobody has asked yet"


class Refusal(NamedTuple):
    """Why a message cannot be accepted."""

    reason: str
    leaf: Expression | None = None  # of the constraint that it breaks
    is_crash: bool = False  # whether spec code raised


class Memory:
    """The conversation so far."""

    def __init__(self, play: Play, chance: Chance, steering: Steering | None = None) -> None:
        self._spec = spec = play.spec
        self._law = law = play.law
        self._parties = play.parties
        self._lookback = play.lookback
        self.past = NO_PAST
        self.forecast: Forecast = play.forecaster.begin()
        self.newest: Node
        self.reason = ""  # why the last message could not be made
        self._watches = [law.beginning]  # one for each hypothesis
        self._made: Judged | None = None  # the last message that was made
        self._unfinished: str | None = _NOT_ASKED
        self._scene = _Scene(self)
        constraints = spec.grammar.constraints
        self._solver = spec.workshop.solver(constraints, chance, chance / "fuzz", play.limits, self._scene, steering)

    @property
    def can_end(self) -> bool:
        """Whether the conversation may end here, by the grammar and by the constraints."""
        return self.unfinished is None

    @property
    def unfinished(self) -> str | None:
        """Why the conversation may not end here; None if it may. By the grammar alone there is no more to say."""
        if self._unfinished is _NOT_ASKED:
            self._unfinished = self._what_is_missing()
        return self._unfinished

    def _what_is_missing(self) -> str | None:
        ends = [hypothesis for hypothesis in self.forecast.hypotheses if hypothesis.can_end]
        if not ends:
            return ""
        if not self._law.needs_an_end:
            return None
        reasons = []
        for hypothesis in ends:
            failure = self._law.unfinished(Tree(hypothesis.complete_tree()))
            if failure is None:
                return None
            reasons.append(failure.tell())
        return reasons[0]

    # --- hearing ------------------------------------------------------------------------------------------------------

    def weigh(self, move: MessageType, node: Node) -> Judged | Refusal:
        """What would be known after a message of another party. If it cannot be accepted: why."""
        try:
            node = self._spec.sources.recover(node)
        except NoSource as error:
            return Refusal(str(error))
        judged = self._judged(move, node)
        if isinstance(judged, Failure):
            return Refusal(judged.tell(), judged.leaf, is_crash=judged.error is not None)
        return judged

    def accept(self, judged: Judged) -> None:
        """Remember a message."""
        self.newest, self.forecast, self._watches = judged.node, judged.forecast, judged.watches
        self.past = judged.past
        self._unfinished = _NOT_ASKED
        self._made = None

    def _judged(self, move: MessageType, node: Node) -> Judged | Failure:
        """What is known after a message, with those hypotheses only that break no constraint; or why there is none."""
        node = node._replace(parties=self._parties[move])
        forecast = self.forecast.after(move, node)
        first: Failure | None = None
        refuted: list[Hypothesis] = []
        watches: list[Watch] = []
        for hypothesis in forecast.hypotheses:
            watch, failure = self._law.judge(self._watches[hypothesis.origin], hypothesis, move.symbol)
            if failure is None:
                watches.append(watch)
            else:
                refuted.append(hypothesis)
                first = first or failure
        if not watches:
            assert first is not None, "who is refuted has failed"
            return first
        forecast = forecast.without(refuted) if refuted else forecast
        past = self._lookback.after(self.past, node, forecast.hypotheses[0].around)
        return Judged(node, forecast, watches, past)

    # --- speaking -----------------------------------------------------------------------------------------------------

    def made(self, move: MessageType) -> Node | None:
        """A message of ours that can be said now; None if none was found, and then `reason` says why."""
        solver, scene = self._solver, self._scene
        scene.move, scene.first, scene.sees_all = move, None, False
        scene.history = self._lookback.history(move.symbol, self.past)
        solver.begin()
        solver.forget()
        made = self._made_at_once(move)
        if isinstance(made, Node):
            return made
        if made is not None and self._law.breaks_always(made, move.symbol):
            self._note_reason(move, made)
            return None
        solver.left_out = self._law.left_to_others(move, self.forecast)
        while not solver.is_exhausted:
            tree = solver.solve()
            if tree is None:
                if self._law.is_one_thing(move.symbol):
                    break  # and there is no other to be found
                continue
            node = tree.at(scene.hook).node
            assert isinstance(node, Node), "a message is a node"
            judged = self._judged(move, node)
            if isinstance(judged, Judged) and not self._is_once_too_often(judged):
                self._made = judged
                return judged.node
            # What was said long ago forbids it, and has to be looked at, too.
            scene.sees_all = True
        self._note_reason(move, solver.failure)
        return None

    def _note_reason(self, move: MessageType, failure: Failure | None) -> None:
        """Remember why there is no message."""
        self.reason = f"no {move.symbol} was found that satisfies the constraints"
        if failure is not None:
            self.reason += f": {failure.describe()}"
        elif self._solver.discarded:
            self.reason += f": {self._solver.discarded}"

    def _made_at_once(self, move: MessageType) -> Node | Failure | None:
        """A message as it comes, if everything holds with it, or as before: then there is nothing to solve.

        Otherwise what it breaks for good; None if it is not that bad.
        """
        try:
            node = self._scene.first = self._scene.make(move.symbol)
        except Discarded:
            return None
        judged = self._judged(move, node)
        if isinstance(judged, Failure):
            return judged
        if not self._is_unchanged(judged) and not self._is_fine(judged, move.symbol):
            return None
        self._made = judged
        return judged.node

    def _is_unchanged(self, judged: Judged) -> bool:
        """Whether no constraint saw the message, and those that do not hold yet may do so later."""
        return bool(judged.forecast.moves) and all(watch in self._watches for watch in judged.watches)

    def _is_fine(self, judged: Judged, symbol: str) -> bool:
        """Whether every constraint holds now, as far as a solver would see; or it takes more messages for that."""
        if not self._law.is_thorough:
            return False
        return not any(watch.failures for watch in judged.watches) or self._is_on_its_way(judged, symbol)

    def _is_on_its_way(self, judged: Judged, symbol: str) -> bool:
        """Whether more can be said, and that may make right whatever does not hold."""
        changes = zip(judged.forecast.hypotheses, self._changes(judged), strict=True)
        return bool(judged.forecast.moves) and all(
            self._law.is_on_its_way(before, after, hypothesis, symbol) for hypothesis, (before, after) in changes
        )

    def _is_once_too_often(self, judged: Judged) -> bool:
        """Whether there were as many of something as there must be, and now are not, wherever they were said."""
        return any(self._law.miscounts(before, after) for before, after in self._changes(judged))

    def _changes(self, judged: Judged) -> Iterator[tuple[Watch, Watch]]:
        """For each hypothesis, what was known before and what is known now."""
        for hypothesis, watch in zip(judged.forecast.hypotheses, judged.watches, strict=True):
            yield self._watches[hypothesis.origin], watch

    def say(self, node: Node) -> None:
        """Remember what we say: the message that was made last."""
        assert self._made is not None, "only what was made, and judged, is said"
        assert self._made.node is node, "of what was made, only the last is said"
        self.accept(self._made)


class Judged(NamedTuple):
    """A message that breaks no constraint, and what is known after it."""

    node: Node
    forecast: Forecast
    watches: list[Watch]  # one for each hypothesis
    past: Past


class _Scene:
    """The conversation, or the latest part of it, with our next message missing."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.move: MessageType
        self.first: Node | None = None  # a message that was made already, to begin with
        self.hook: Path = ()
        self.history: tuple[Node, ...] = ()
        self.sees_all = False
        self.make: Callable[[str], Node]

    def completed(self) -> Tree:
        node, self.first = self.first or self.make(self.move.symbol), None
        after = self._memory.forecast.after(self.move, node)
        hypothesis = after.hypotheses[0]
        if self.sees_all:
            tree, self.hook = hypothesis.tree(), hypothesis.latest
        else:
            tree, self.hook = hypothesis.nearby()
        return Tree(tree)

    def is_frozen(self, path: Path) -> bool:
        return path[: len(self.hook)] != self.hook
