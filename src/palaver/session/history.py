"""The history of a session: hypotheses with their trees, and what the constraint monitor knows of each.

A message is accepted if at least one hypothesis survives it: its tree, with the message in its place, violates no
constraint. The other hypotheses are dropped. Our own messages are made to satisfy the constraints, with all earlier
messages as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from palaver.constraints.checks import Failure
from palaver.constraints.incremental import IncrementalChecks
from palaver.generation.makers import Discarded, Steering
from palaver.grammar.analysis import Analysis
from palaver.matching.forecaster import Forecast, Hypothesis, MessageType
from palaver.matching.matcher import BoundPaths
from palaver.random_source import RandomSource
from palaver.solving.generator_sources import NoSource
from palaver.spec.ast import Expression
from palaver.spec.traversal import computed_bounds, last_symbol
from palaver.trees.node import Node, TreePath
from palaver.trees.tree import Tree

if TYPE_CHECKING:
    from palaver.session.setup import SessionSetup

_UNKNOWN = "not computed yet"


class Refusal(NamedTuple):
    """The reason why a message cannot be accepted."""

    reason: str
    leaf: Expression | None = None  # of the constraint that it violates
    is_crash: bool = False  # True if code of the spec raised


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
        self._readers = frozenset(symbol for symbol in self._messages if self._track_bounds_of(symbol))
        counted = {path.names[-1] for path in self._trails.paths}
        self._holders = frozenset(symbol for symbol in self._messages if not counted.isdisjoint(self._inside(symbol)))
        self._names_states = any(not self._states.isdisjoint(path.names) for path in self._trails.paths)

    def _inside(self, symbol: str) -> frozenset[str]:
        return self._analysis.below(symbol) | {symbol}

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
        if message.symbol not in self._holders:
            return earlier
        if self._names_states:
            for symbol in hypothesis.around:
                message = Node(symbol, (message,))
        return earlier.plus(message, frozenset(path for path, _ in self._trails.selected_in(message)))

    def seen_by(self, symbol: str, earlier: Referenced) -> tuple[Node, ...]:
        """The earlier messages that a message of this symbol refers to."""
        return earlier.messages if symbol in self._readers else ()


class Extension(NamedTuple):
    """A message that violates no constraint, and what is known after it."""

    node: Node
    forecast: Forecast
    watches: list[IncrementalChecks]  # one for each hypothesis
    referenced: Referenced


class SessionHistory:
    """The messages of a session so far."""

    def __init__(self, setup: SessionSetup, chance: RandomSource, steering: Steering | None = None) -> None:
        self._setup = setup
        self._monitor = monitor = setup.monitor
        self.referenced = NO_MESSAGES
        self.forecast: Forecast = setup.forecaster.begin()
        self.newest: Node
        self.reason = ""  # why the last message could not be made
        self._watches = [monitor.initial]  # one for each hypothesis
        self._made: Extension | None = None  # the last message that was made
        self._missing: str | None = _UNKNOWN
        self._context = _NextMessage(self)
        spec = setup.spec
        self._solver = spec.solver_factory.solver(
            spec.grammar.constraints, chance, chance / "fuzz", setup.limits, self._context, steering
        )

    @property
    def can_end(self) -> bool:
        """True if the session may end here, by the grammar and by the constraints."""
        return self.missing is None

    @property
    def missing(self) -> str | None:
        """The reason why the session may not end here: empty if it is the grammar; None if it may end."""
        if self._missing is _UNKNOWN:
            self._missing = self._find_missing()
        return self._missing

    def _find_missing(self) -> str | None:
        ends = [hypothesis for hypothesis in self.forecast.hypotheses if hypothesis.can_end]
        if not ends:
            return ""
        if not self._monitor.constrains_the_end:
            return None
        reasons = []
        for hypothesis in ends:
            failure = self._monitor.failure_at_end(Tree(hypothesis.complete_tree()))
            if failure is None:
                return None
            reasons.append(failure.tell())
        return reasons[0]

    def extended_by(self, move: MessageType, node: Node) -> Extension | Refusal:
        """The extension by a message of another party, or why it cannot be accepted."""
        if move.symbol in self._setup.generated:
            try:
                node = self._setup.spec.sources.recover(node)
            except NoSource as error:
                return Refusal(str(error))
        extension = self._checked(move, node)
        if isinstance(extension, Failure):
            return Refusal(extension.tell(), extension.leaf, is_crash=extension.error is not None)
        return extension

    def add(self, extension: Extension) -> None:
        """Add a message to the history."""
        self.newest, self.forecast, self._watches, self.referenced = extension
        self._missing = _UNKNOWN
        self._made = None

    def _checked(self, move: MessageType, node: Node) -> Extension | Failure:
        """The extension by a message, with only those hypotheses that violate nothing; a failure if none is left."""
        node = node._replace(parties=self._setup.parties[move])
        forecast = self.forecast.after(move, node)
        first: Failure | None = None
        refuted: list[Hypothesis] = []
        watches: list[IncrementalChecks] = []
        for hypothesis in forecast.hypotheses:
            watch, failure = self._monitor.check(self._watches[hypothesis.origin], hypothesis, move.symbol)
            if failure is None:
                watches.append(watch)
            else:
                refuted.append(hypothesis)
                first = first or failure
        if not watches:
            assert first is not None, "a refuted hypothesis has a failure"
            return first
        forecast = forecast.without(refuted) if refuted else forecast
        referenced = self._setup.references.after(self.referenced, node, forecast.hypotheses[0])
        return Extension(node, forecast, watches, referenced)

    def make(self, move: MessageType) -> Node | None:
        """A message of ours that can be sent now; None if none was found, and then `reason` says why."""
        solver, context, monitor = self._solver, self._context, self._monitor
        context.move, context.first, context.sees_all = move, None, False
        context.history = self._setup.references.seen_by(move.symbol, self.referenced)
        solver.begin()
        solver.forget()
        made = self._made_unsolved(move)
        if isinstance(made, Node):
            return made
        if made is not None and monitor.fails_always(made, move.symbol):
            self._note_reason(move, made)
            return None
        solver.left_out = monitor.left_to_others(move, self.forecast)
        while not solver.is_exhausted:
            tree = solver.solve()
            if tree is None:
                if monitor.is_constant(move.symbol):
                    break  # there is no other message to be found
                continue
            node = tree.at(context.hook).node
            assert isinstance(node, Node), "a message is a node"
            extension = self._checked(move, node)
            if isinstance(extension, Extension) and not self._breaks_a_count(extension):
                self._made = extension
                return extension.node
            # A message from long ago forbids it, so the solver has to see all of them.
            context.sees_all = True
        self._note_reason(move, solver.failure)
        return None

    def _note_reason(self, move: MessageType, failure: Failure | None) -> None:
        """Note why there is no message."""
        self.reason = f"no valid message could be generated: no {move.symbol} was found that satisfies the constraints"
        if failure is not None:
            self.reason += f": {failure.describe()}"
        elif self._solver.discarded:
            self.reason += f": {self._solver.discarded}"

    def _made_unsolved(self, move: MessageType) -> Node | Failure | None:
        """A random message, if everything holds with it, or as before: then there is nothing to solve.

        Otherwise the constraint that it violates for good; None if there is none.
        """
        try:
            node = self._context.first = self._context.make(move.symbol, self._context.history)
        except Discarded:
            return None
        extension = self._checked(move, node)
        if isinstance(extension, Failure):
            return extension
        if not self._changes_nothing(extension) and not self._is_satisfied(extension, move.symbol):
            return None
        self._made = extension
        return extension.node

    def _changes_nothing(self, extension: Extension) -> bool:
        """Return True if no constraint saw the message, and those that do not hold yet may do so later."""
        return bool(extension.forecast.moves) and all(watch in self._watches for watch in extension.watches)

    def _is_satisfied(self, extension: Extension, symbol: str) -> bool:
        """Return True if every constraint holds, as far as a solver would see, or only needs more messages."""
        if not self._monitor.checks_all_early:
            return False
        return not any(watch.failures for watch in extension.watches) or self._is_pending(extension, symbol)

    def _is_pending(self, extension: Extension, symbol: str) -> bool:
        """Return True if later messages may satisfy whatever does not hold."""
        changes = zip(extension.forecast.hypotheses, self._changes(extension), strict=True)
        return bool(extension.forecast.moves) and all(
            self._monitor.is_pending(before, after, hypothesis, symbol) for hypothesis, (before, after) in changes
        )

    def _breaks_a_count(self, extension: Extension) -> bool:
        """Return True if a number of nodes was right before, and is wrong now."""
        return any(self._monitor.breaks_a_count(before, after) for before, after in self._changes(extension))

    def _changes(self, extension: Extension) -> Iterator[tuple[IncrementalChecks, IncrementalChecks]]:
        """For each hypothesis, the watch before and the watch after."""
        for hypothesis, watch in zip(extension.forecast.hypotheses, extension.watches, strict=True):
            yield self._watches[hypothesis.origin], watch

    def add_made(self, node: Node) -> None:
        """Add the message that was made last."""
        assert self._made is not None, "only a message that was made, and checked, is sent"
        assert self._made.node is node, "only the last message that was made is sent"
        self.add(self._made)


class _NextMessage:
    """The session, or the latest part of it, with our next message missing: the context that the solver completes."""

    def __init__(self, history: SessionHistory) -> None:
        self._history = history
        self.move: MessageType
        self.first: Node | None = None  # a message that was made already, to begin with
        self.hook: TreePath = ()
        self.history: tuple[Node, ...] = ()
        self.sees_all = False
        self.make: Callable[[str, tuple[Node, ...]], Node]

    def completed(self) -> Tree:
        """The tree with a fresh message."""
        node, self.first = self.first or self.make(self.move.symbol, self.history), None
        hypothesis = self._history.forecast.after(self.move, node).hypotheses[0]
        if self.sees_all:
            tree, self.hook = hypothesis.tree(), hypothesis.latest
        else:
            tree, self.hook = hypothesis.recent_tree()
        return Tree(tree)

    def is_frozen(self, path: TreePath) -> bool:
        """Return True for everything outside of the message."""
        return path[: len(self.hook)] != self.hook
