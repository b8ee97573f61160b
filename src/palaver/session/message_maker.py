"""Makes our messages, so that every constraint holds with them.

How it works
============

A random message is taken if nothing that held fails with it. Otherwise the solver searches: first among messages with
which everything holds, then among those that leave failing what failed before. A message of ours breaks a constraint
only if none was found that does not, and if the constraint is one that recovers: it never held after such a message, or
holds again in a continuation. What cannot be met is never the fault of a peer.

The same search answers whether a peer could have sent another message, before it is accused in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from palaver.constraints.checks import Failure
from palaver.generation.makers import Discarded, Steering, ValueSource
from palaver.matching.forecaster import MessageType
from palaver.random_source import RandomSource
from palaver.session.blame import Violation
from palaver.session.extension import Extension, Refusal
from palaver.session.session_limits import (
    CONTINUATIONS,
    MAX_ALTERNATIVES,
    MESSAGES_OF_CONTINUATION,
    SEARCH_STEPS,
)
from palaver.trees.node import Node, NonTerminal, TreePath
from palaver.trees.tree import Tree

if TYPE_CHECKING:
    from palaver.session.history import SessionHistory
    from palaver.session.setup import SessionSetup


class MessageMaker:
    """Makes messages that continue a history."""

    def __init__(
        self,
        setup: SessionSetup,
        history: SessionHistory,
        chance: RandomSource,
        steering: Steering | None,
        values: ValueSource | None,
    ) -> None:
        self._setup = setup
        self._monitor = setup.monitor
        self._history = history
        self.reason = ""  # why the last message could not be made
        self.accusation: Refusal | None = None  # if that is because of a message of another party
        self.violation: Violation | None = None  # of the last message that could not be made
        self.has_crashed = False  # True if code of the spec raised for every message that was tried
        self._failure: Failure | None = None  # in the latest tree that was given up, of those that show the most
        self._chance = chance / "continuations"
        self._context = _NextMessage(history)
        spec = setup.spec
        self._solver = spec.solver_factory.solver(
            spec.grammar.constraints, chance, chance / "fuzz", setup.limits, self._context, steering, values
        )

    def _aim_at(self, move: MessageType) -> None:
        """Let the solver complete a message of this type."""
        context = self._context
        context.move, context.first, context.kept = move, None, None
        context.sees_all = context.needs_all = False
        context.history = self._setup.references.seen_by(move.symbol, self._history.referenced)
        self._solver.forget()

    def _random_nodes(self, move: MessageType, number: int) -> Iterator[Node]:
        for _ in range(number):
            with suppress(Discarded):
                yield self._context.make(move.symbol, self._context.history)

    def _solutions(self, left_out: frozenset[int], steps: int) -> Iterator[Node]:
        """Messages that satisfy the constraints, but for those that are left out, as far as the solver sees them."""
        solver, context = self._solver, self._context
        left_out |= self._monitor.folded
        held = self._held_by_the_past()
        has_seen_all = False
        for sees_all, limit in self._phases(steps):
            solver.begin()
            solver.budget.limit = limit
            while not solver.is_exhausted:
                self._see_all(sees_all or context.needs_all)
                # What earlier messages satisfy seems to fail as long as the solver does not see them.
                solver.left_out = left_out if context.sees_all else left_out | held
                tree = solver.solve()
                if tree is not None:
                    node = tree.at(context.hook).node
                    assert isinstance(node, Node), "a message is a node"
                    yield node
                elif context.sees_all or not has_seen_all:
                    self._failure = solver.failure
                    has_seen_all = context.sees_all

    def _phases(self, steps: int) -> Sequence[tuple[bool, int]]:
        """The steps of a search, and whether they see all of the session: that takes longer, so only some do.

        A message may be possible only because of what was said long ago.
        """
        if self._monitor.is_constant(self._context.move.symbol):
            return ((False, 1), (True, 1))  # there is no other message to be found
        if self._context.needs_all or steps <= SEARCH_STEPS:
            return ((False, steps),)
        return ((False, SEARCH_STEPS), (True, SEARCH_STEPS), (False, steps - SEARCH_STEPS))

    def _see_all(self, sees_all: bool) -> None:
        """Let the solver see all of the session, or its latest part."""
        if self._context.sees_all is not sees_all:
            self._context.sees_all = sees_all
            self._solver.forget()

    def _held_by_the_past(self) -> frozenset[int]:
        if not self._history.number:
            return frozenset()
        origin, tree = self._context.before_message()
        return self._monitor.held_by_the_past(self._history.watches[origin], tree)

    def make(self, move: MessageType) -> Extension | None:
        """A message of ours that can be sent now; None if none was found, and then `reason` says why."""
        with self._history.watches[0].checks.published_states():
            return self._made(move)

    def remake(self, move: MessageType, node: Node, kept: TreePath | None = None) -> Extension | None:
        """A message like a given one, changed where the constraints no longer allow it; None if none was found.

        The part at `kept` stays as it is.
        """
        with self._history.watches[0].checks.published_states():
            self.accusation, self.has_crashed = None, False
            self._aim_at(move)
            self._context.first, self._context.kept = node, kept
            # A part that cannot stay as it is must not cost a long search.
            return self._made_solved(move, None, self._setup.limits.budget if kept is None else SEARCH_STEPS)

    def _made(self, move: MessageType) -> Extension | None:
        self.accusation, self.has_crashed = None, False
        self._aim_at(move)
        made = self._made_unsolved(move)
        if isinstance(made, Extension):
            return made
        if isinstance(made, Violation) and self._monitor.fails_always(made, move.symbol):
            self._note_reason(move, made.failure, made)
            return None
        if isinstance(made, _MakingAttempt):
            return self._said_nevertheless(made, self._monitor.left_to_others(move, self._history.forecast))
        return self._made_solved(move, made, self._setup.limits.budget)

    def _made_solved(self, move: MessageType, refused: Violation | None, steps: int) -> Extension | None:
        left_out = self._monitor.left_to_others(move, self._history.forecast)
        shared = self._monitor.shared_with_others(move, self._history.forecast)
        failing = self._failing_clauses()
        failing_now = self._monitor.constraints_of(failing)
        left_out |= self._monitor.only_counted_in(move.symbol) & (failing_now | shared)
        left_out |= self._monitor.cannot_see(move.symbol) & failing_now
        owed = (failing_now | shared) - left_out
        attempt = _MakingAttempt(move, violation=refused)
        if not owed:
            return self._searched(attempt, left_out, steps) or self._said_nevertheless(attempt, left_out)
        # What fails already is made right, if that is possible; but not by a long search each time.
        is_known = self._setup.recoveries.is_futile(move.symbol, owed) or self._peer_broke(failing)
        made = self._searched(attempt, left_out, SEARCH_STEPS if is_known else steps)
        if made is not None:
            return made
        self._setup.recoveries.note_futile(move.symbol, owed)
        self.accusation = self._accused_now(failing)
        if self.accusation is not None:
            return None
        left_out |= owed
        return self._searched(attempt, left_out, steps) or self._said_nevertheless(attempt, left_out)

    def _failing_clauses(self) -> list[int]:
        """The clauses that fail now, under the preferred hypothesis."""
        return [at for at, failure in enumerate(self._history.watches[0].checks.outcomes) if failure is not None]

    def _peer_broke(self, clauses: Sequence[int]) -> bool:
        breaches = self._history.watches[0].breaches
        return any((breach := breaches[at]) is not None and not breach.is_ours for at in clauses)

    def _accused_now(self, failing: Sequence[int]) -> Refusal | None:
        """The message of another party that broke what it said of one node, and that no message of ours repairs."""
        for clause in failing:
            breach, failure = (
                self._history.watches[0].breaches[clause],
                self._history.watches[0].checks.outcomes[clause],
            )
            if breach is None or failure is None or breach.is_ours or self._setup.recoveries.can_recover(clause):
                continue
            if self._monitor.is_about_each(clause):
                return Refusal.by(Violation(clause, failure, breach))
        return None

    def _searched(self, attempt: _MakingAttempt, left_out: frozenset[int], steps: int) -> Extension | None:
        """A message that the solver has found, and that breaks nothing; None if there is none."""
        for node in self._solutions(left_out, steps):
            extension = self._history.checked(attempt.move, node, is_ours=True)
            if isinstance(extension, Extension):
                broken = self._broken_by(extension, attempt.move.symbol)
                if not broken:
                    return extension
                attempt.broken |= broken
                attempt.refused += 1
                if attempt.refused == MAX_ALTERNATIVES and self._never_held(attempt.broken, attempt.move.symbol):
                    break
            else:
                attempt.violation = extension
            if self._monitor.is_constant(attempt.move.symbol):
                break
            # A message from long ago forbids it, so the solver has to see all of them.
            self._context.needs_all = True
        if self._failure is not None:
            attempt.failure = self._failure
        return None

    def _never_held(self, clauses: frozenset[int], symbol: str) -> bool:
        return not any(self._setup.recoveries.has_held(clause, symbol) for clause in clauses)

    def _said_nevertheless(self, attempt: _MakingAttempt, left_out: frozenset[int]) -> Extension | None:
        """A message that breaks a clause which can hold again later; None if there is none.

        That is so if the clause never held after such a message, like one that waits for the answer; or if it is seen
        to recover in a continuation of the session.
        """
        move, symbol = attempt.move, attempt.move.symbol
        broken = set(attempt.broken)
        if attempt.failure is not None:
            clause = self._monitor.clause_of(attempt.failure)
            if clause is not None and not self._monitor.is_lasting(clause):
                broken.add(clause)
        if broken:
            left_out |= self._monitor.constraints_of(broken)
            for node in self._solutions(left_out, SEARCH_STEPS):
                extension = self._history.checked(move, node, is_ours=True)
                if isinstance(extension, Violation):
                    attempt.violation = extension
                    continue
                breaks = self._broken_by(extension, symbol)
                if all(self._may_break(clause, symbol, extension) for clause in sorted(breaks)):
                    return extension
                break
        violation = attempt.violation
        self._note_reason(move, attempt.failure or (violation.failure if violation is not None else None), violation)
        return None

    def _may_break(self, clause: int, symbol: str, extension: Extension) -> bool:
        if not self._setup.recoveries.has_held(clause, symbol) or self._setup.recoveries.can_recover(clause):
            return True
        return self.recovers_after(clause, extension)

    def recovers_after(self, clause: int, extension: Extension) -> bool:
        """Return True if a clause holds again in one of some random continuations."""
        for _ in range(CONTINUATIONS):
            now = extension
            for _ in range(MESSAGES_OF_CONTINUATION):
                if not now.forecast.moves:
                    break
                move = self._chance.pick(now.forecast.moves)
                history = self._setup.references.seen_by(move.symbol, now.referenced)
                try:
                    node = self._context.make(move.symbol, history)
                except Discarded:
                    break
                following = self._history.checked(move, node, is_ours=True, after=now)
                if isinstance(following, Violation):
                    break
                now = following
                if any(not watch.fails(clause) for watch in now.watches):
                    return True
        return False

    def _note_reason(self, move: MessageType, failure: Failure | None, violation: Violation | None) -> None:
        """Note why there is no message."""
        self.reason = f"no valid message could be generated: no {move.symbol} was found that satisfies the constraints"
        if failure is not None:
            self.reason += f": {failure.describe()}"
        elif self._solver.discarded:
            self.reason += f": {self._solver.discarded}"
        if failure is not None and failure.error is not None:
            self.reason, self.has_crashed = failure.tell(), True
        self.violation = violation
        if violation is not None and violation.breach is not None:
            self.accusation = Refusal.by(violation)

    def _made_unsolved(self, move: MessageType) -> Extension | Violation | _MakingAttempt | None:
        """A random message, if everything holds with it, or as before: then there is nothing to solve.

        Otherwise the constraint that it violates for good, or an attempt if every message would break the same; None if
        there is no such constraint.
        """
        try:
            node = self._context.first = self._context.make(move.symbol, self._context.history)
        except Discarded:
            return None
        extension = self._history.checked(move, node, is_ours=True)
        if isinstance(extension, Violation):
            return extension
        broken = self._broken_by(extension, move.symbol)
        if any(self._monitor.is_only_counted(clause, move.symbol) for clause in broken):
            return _MakingAttempt(move, broken=broken)
        if broken or not (self._changes_nothing(extension) or self._is_satisfied(extension, move.symbol)):
            return None
        return extension

    def _changes_nothing(self, extension: Extension) -> bool:
        """Return True if no constraint saw the message, and those that do not hold yet may do so later."""
        return bool(extension.forecast.moves) and all(watch in self._history.watches for watch in extension.watches)

    def _is_satisfied(self, extension: Extension, symbol: str) -> bool:
        """Return True if every constraint holds, as far as a solver would see, or only needs more messages."""
        if not self._monitor.checks_all_early:
            return False
        return not any(watch.checks.failures for watch in extension.watches) or self._is_pending(extension, symbol)

    def _is_pending(self, extension: Extension, symbol: str) -> bool:
        """Return True if later messages may satisfy whatever does not hold."""
        changes = zip(extension.forecast.hypotheses, self._history.changes(extension), strict=True)
        return bool(extension.forecast.moves) and all(
            self._monitor.is_pending(before, after, hypothesis, symbol) for hypothesis, (before, after) in changes
        )

    def _broken_by(self, extension: Extension, symbol: str) -> frozenset[int]:
        """The clauses that a message of ours breaks under every hypothesis, but for those known to wait for others."""
        found: frozenset[int] | None = None
        for hypothesis, (before, after) in zip(
            extension.forecast.hypotheses, self._history.changes(extension), strict=True
        ):
            broken = self._monitor.broken_by(before, after, hypothesis, symbol)
            if not broken:
                return broken
            found = broken if found is None else found & broken or broken
        waits = self._setup.recoveries.waits_for_others
        return frozenset(clause for clause in found or () if not waits(clause, symbol))

    def has_alternative(self, moves: Sequence[MessageType], clause: int, *, must_hold: bool) -> bool:
        """Return True if one of these messages is found that does not violate a clause; or with which it holds."""
        return any(self._complies(move, clause, must_hold) for move in moves)

    def _complies(self, move: MessageType, clause: int, must_hold: bool) -> bool:
        self._aim_at(move)
        steps = self._setup.limits.budget
        for node in chain(self._random_nodes(move, MAX_ALTERNATIVES), self._solutions(frozenset(), steps)):
            extension = self._history.checked(move, node, is_ours=False)
            if isinstance(extension, Violation):
                if extension.clause != clause and not must_hold:
                    return True
            elif not must_hold or any(not watch.fails(clause) for watch in extension.watches):
                return True
        return False


@dataclass(slots=True)
class _MakingAttempt:
    """An attempt to make a message, and what stood in its way."""

    move: MessageType
    violation: Violation | None = None
    failure: Failure | None = None
    broken: frozenset[int] = frozenset()  # clauses that may recover
    refused: int = 0  # messages that were refused because they break such clauses


class _NextMessage:
    """The session, or the latest part of it, with our next message missing: the context that the solver completes."""

    def __init__(self, history: SessionHistory) -> None:
        self._history = history
        self.move: MessageType
        self.first: Node | None = None  # a message that was made already, to begin with
        self.kept: TreePath | None = None  # the part of the message that stays as it is
        self.hook: TreePath = ()
        self.history: tuple[Node, ...] = ()
        self.sees_all = False  # otherwise only the latest part of the session is there
        self.needs_all = False  # True if that is known to be too little
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

    def before_message(self) -> tuple[int, Tree]:
        """The latest part of the session as `completed` shows it, without the message, and the hypothesis it follows.

        It begins later than the part around the message before: that may have what this one has not.
        """
        node = Node(NonTerminal(self.move.symbol), ())
        hypothesis = self._history.forecast.after(self.move, node).hypotheses[0]
        return hypothesis.origin, Tree(hypothesis.recent_tree_without_latest())

    def is_frozen(self, path: TreePath) -> bool:
        """Return True for everything outside of the message, and for what is to stay in it and around that."""
        if path[: len(self.hook)] != self.hook:
            return True
        inside = path[len(self.hook) :]
        return self.kept is not None and all(one == two for one, two in zip(inside, self.kept, strict=False))
