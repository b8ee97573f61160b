"""Makes our messages, so that every constraint holds with them.

How it works
============

A random message is taken if nothing that held fails with it. Otherwise the solver searches: first among messages with
which everything holds, then among those that leave failing what failed before. A message of ours breaks a constraint
only if none was found that does not, and if the constraint is seen to recover: in a session, or in a continuation. If
something else can be said, it must recover by us or the answer. What cannot be met is never the fault of a peer.

The same search answers whether a peer could have sent another message, before it is accused in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING

from palaver.constraints.checks import Failure
from palaver.generation.makers import Discarded, Steering, ValueSource
from palaver.matching.forecaster import MessageType
from palaver.random_source import RandomSource
from palaver.session.blame import Violation
from palaver.session.continuations import Continuations
from palaver.session.extension import Extension, MakingAttempt, Refusal
from palaver.session.list_proposals import ListProposals
from palaver.session.next_message import NextMessage
from palaver.session.session_limits import (
    ATTEMPTS_IN_A_PLACE,
    MAX_ALTERNATIVES,
    MAX_PLACES,
    MAX_REPAIRS,
    MESSAGES_OF_REPAIR,
    SEARCH_STEPS,
)
from palaver.trees.node import Node, TreePath

if TYPE_CHECKING:
    from palaver.session.history import SessionHistory
    from palaver.session.setup import SessionSetup
    from palaver.solving.solver_factory import Solver


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
        self.cause = ""  # then the exception, and where
        self._failure: Failure | None = None  # in the latest tree that was given up, of those that show the most
        self._context = NextMessage(history)
        spec = setup.spec
        self._solver = spec.solver_factory.solver(
            spec.grammar.constraints, chance, chance / "fuzz", setup.limits, self._context, steering, values
        )
        self.continuations = Continuations(setup, history, chance / "continuations", self._context.make)
        self._lists = ListProposals(setup, history, self._context)
        self._presuming: Solver | None = None  # the same, for messages that early values are to hold with
        self._solver_chance = chance / "presumed"
        # Where a message may stand in several places, each has its share, unless a plan wants it in the first.
        self._place_chance = chance / "place" if steering is None else None
        # The clauses of which only an early value speaks against a message that was tried.
        self._presumed_broken: frozenset[int] = frozenset()

    def _aim_at(self, move: MessageType) -> None:
        """Let the solver complete a message of this type."""
        context = self._context
        context.move, context.first, context.kept = move, None, None
        context.sees_all = context.needs_all = False
        context.place = 0 if self._place_chance is None else self._place_chance.below(MAX_PLACES)
        context.history = self._setup.references.seen_by(move.symbol, self._history.referenced)
        self._failure, self._presumed_broken = None, frozenset()
        self._solver.forget()

    def _random_nodes(self, move: MessageType, number: int) -> Iterator[Node]:
        for _ in range(number):
            with suppress(Discarded):
                yield self._context.make(move.symbol, self._context.history)

    def _solutions(self, left_out: frozenset[int], steps: int) -> Iterator[Node]:
        """Messages that satisfy the constraints, but for those that are left out, as far as the solver sees them."""
        solver, context = self._solver, self._context
        held = self._held_by_the_past() | self._monitor.folded
        has_seen_all, attempts = False, 0
        for sees_all, limit in self._phases(steps):
            solver.begin()
            solver.budget.limit = limit
            while not solver.is_exhausted:
                self._see_all(sees_all or context.needs_all)
                # What earlier messages satisfy seems to fail as long as the solver does not see them.
                solver.left_out = left_out if context.sees_all else left_out | held
                tree = solver.solve()
                attempts += 1
                if tree is not None:
                    node = tree.at(context.hook).node
                    assert isinstance(node, Node), "a message is a node"
                    yield node
                # What is not possible in one place may be so in another.
                if context.places > 1 and (tree is not None or attempts % ATTEMPTS_IN_A_PLACE == 0):
                    context.place += 1
                    solver.forget()
                if tree is not None:
                    continue
                if context.sees_all or not has_seen_all:
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
        if self._history.could_say_else(move.symbol) and self._lists.runs_ahead(move.symbol):
            self._note_reason(move, None, None)
            return None
        made = self._made_as_listed(move) or self._made_unsolved(move)
        if isinstance(made, Extension):
            return made
        if isinstance(made, Violation) and self._monitor.fails_always(made, move.symbol):
            self._note_reason(move, made.failure, made)
            return None
        if isinstance(made, MakingAttempt):
            return self._said_nevertheless(made, self._monitor.left_to_others(move, self._history.forecast))
        return self._made_solved(move, made, self._setup.limits.budget)

    def _made_as_listed(self, move: MessageType) -> Extension | None:
        """A message that goes on with a list as another one does, if that is demanded and everything holds with it."""
        for node in self._lists.messages(move.symbol):
            extension = self._history.checked(move, node, is_ours=True)
            if isinstance(extension, Extension) and not self._broken_by(extension, move.symbol):
                return extension
        return None

    def _made_solved(self, move: MessageType, refused: Violation | None, steps: int) -> Extension | None:
        left_out = self._monitor.left_to_others(move, self._history.forecast)
        shared = self._monitor.shared_with_others(move, self._history.forecast)
        failing = self._failing_clauses()
        failing_now = self._monitor.constraints_of(failing)
        left_out |= self._monitor.only_counted_in(move.symbol) & (failing_now | shared)
        left_out |= self._monitor.cannot_see(move.symbol) & failing_now
        if self._presumed_broken:
            if (made := self._presumed(MakingAttempt(move), left_out, steps)) is not None:
                return made
            self._setup.recoveries.note_futile(move.symbol, self._monitor.constraints_of(self._presumed_broken))
        owed = (failing_now | shared) - left_out
        attempt = MakingAttempt(move, violation=refused)
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

    def _presumed(self, attempt: MakingAttempt, left_out: frozenset[int], steps: int) -> Extension | None:
        """A message with which the constraints would hold if the open nodes were complete; None if none was found."""
        has_held = self._setup.recoveries.has_held
        is_hopeful = any(has_held(clause, attempt.move.symbol) for clause in self._presumed_broken)
        with self._presuming_solver():
            return self._searched(attempt, left_out, steps if is_hopeful else max(SEARCH_STEPS, steps // 3))

    @contextmanager
    def _presuming_solver(self) -> Iterator[None]:
        """Let open nodes count as complete where messages are searched for."""
        usual = self._solver
        if self._presuming is None:
            spec, make = self._setup.spec, self._context.make
            self._presuming = spec.solver_factory.solver(
                spec.grammar.constraints,
                self._solver_chance,
                self._solver_chance / "fuzz",
                self._setup.limits,
                self._context,
                presumed=self._monitor.presumed,
            )
            self._context.make = make
        self._presuming.forget()
        self._solver = self._presuming
        try:
            yield
        finally:
            self._solver = usual
            self._context.needs_all = self._context.sees_all = False
            usual.forget()

    def _failing_clauses(self) -> list[int]:
        """The clauses that fail now, under the preferred hypothesis, and also if the open nodes were complete."""
        watch = self._history.watches[0]
        return [at for at, failure in enumerate(watch.checks.outcomes) if failure is not None and not watch.early[at]]

    def _peer_broke(self, clauses: Sequence[int]) -> bool:
        breaches = self._history.watches[0].breaches
        return any((breach := breaches[at]) is not None and not breach.is_ours for at in clauses)

    def _accused_now(self, failing: Sequence[int]) -> Refusal | None:
        """The message of another party that broke what it said of one node, and that nothing seems to repair."""
        watch = self._history.watches[0]
        for clause in failing:
            breach, failure = watch.breaches[clause], watch.checks.outcomes[clause]
            if breach is None or failure is None or breach.is_ours or self._setup.recoveries.can_recover(clause):
                continue
            # Code that looks around a node may say something else of it later.
            if self._monitor.is_about_each(clause) and self._history.is_hopeless(clause):
                return Refusal.by(Violation(clause, failure, breach))
        return None

    def _searched(self, attempt: MakingAttempt, left_out: frozenset[int], steps: int) -> Extension | None:
        """A message that the solver has found, and that breaks nothing; None if there is none."""
        for node in self._solutions(left_out, steps):
            extension = self._history.checked(attempt.move, node, is_ours=True)
            if isinstance(extension, Extension):
                broken = self._broken_by(extension, attempt.move.symbol)
                if not broken:
                    return extension
                attempt.broken |= broken
                attempt.refused += 1
                attempt.latest = extension.watches[0].checks.outcomes[min(broken)]
                if attempt.refused == MAX_ALTERNATIVES and self._may_break_all(broken, attempt.move.symbol, extension):
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

    def _said_nevertheless(self, attempt: MakingAttempt, left_out: frozenset[int]) -> Extension | None:
        """A message that breaks a clause which can hold again later; None if there is none.

        That is so if the clause is seen to recover, like one that waits for the answer: in a session, or in a
        continuation of this one.
        """
        broken = set(attempt.broken)
        is_worth_trying = bool(broken) or self._adds_failing(broken, attempt.failure)
        while is_worth_trying:
            extension = self._breaking(attempt, left_out | self._monitor.constraints_of(broken))
            if extension is not None:
                return extension
            # Another such clause may have stood in the way as well.
            is_worth_trying = self._adds_failing(broken, self._failure) | self._adds_failing(broken, attempt.failure)
        violation = attempt.violation
        failure = attempt.failure or (violation.failure if violation is not None else attempt.latest)
        if attempt.latest is not None and attempt.latest.states:
            failure = attempt.latest  # the state of a model tells more
        self._note_reason(attempt.move, failure, violation)
        return None

    def _adds_failing(self, clauses: set[int], failure: Failure | None) -> bool:
        """Add the clause that a failure is from, if it is another one and may hold again; True if that was done."""
        clause = None if failure is None else self._monitor.clause_of(failure)
        if clause is None or clause in clauses or self._monitor.is_lasting(clause):
            return False
        clauses.add(clause)
        return True

    def _breaking(self, attempt: MakingAttempt, left_out: frozenset[int]) -> Extension | None:
        """A message with which only clauses fail that can hold again later; None if there is none."""
        move, symbol = attempt.move, attempt.move.symbol
        self._failure = None
        for node in self._solutions(left_out, SEARCH_STEPS):
            extension = self._history.checked(move, node, is_ours=True)
            if isinstance(extension, Violation):
                attempt.violation = extension
                continue
            self._failure = None  # what failed before it was found did not stand in its way
            breaks = self._broken_by(extension, symbol)
            if self._may_break_all(breaks, symbol, extension):
                return extension
            break
        return None

    def _may_break_all(self, clauses: frozenset[int], symbol: str, extension: Extension) -> bool:
        return all(self._may_break(clause, symbol, extension) for clause in sorted(clauses))

    def _may_break(self, clause: int, symbol: str, extension: Extension) -> bool:
        """Return True if a clause that fails after a message of this symbol is seen to hold again."""
        recoveries = self._setup.recoveries
        is_presumed = extension.watches[0].checks.outcomes[clause] is None
        if is_presumed and not extension.forecast.hypotheses[0].closed and not recoveries.has_held(clause, symbol):
            return True  # the exchange that the message is part of goes on
        is_left = self._monitor.is_left_to_later(clause, symbol, extension.forecast.hypotheses[0])
        if is_left or recoveries.is_passing(clause, symbol):
            return True
        if self._history.could_say_else(symbol):
            # Nothing is said in the hope that a peer happens to make it right, as long as something else can be said.
            if recoveries.waits_for_others(clause, symbol):
                return True
            may_recover = self.continuations.repair_without_luck(clause, extension)
        else:
            may_recover = recoveries.can_recover(clause) or self.continuations.repair(clause, extension)
        if not (may_recover or self.continuations.answers_repair(clause, extension)):
            return False
        recoveries.note_passing(clause, symbol)
        return True

    def _note_reason(self, move: MessageType, failure: Failure | None, violation: Violation | None) -> None:
        """Note why there is no message."""
        self.reason = f"no valid message could be generated: no {move.symbol} was found that satisfies the constraints"
        if failure is not None:
            self.reason += f": {failure.describe()}"
        elif self._solver.discarded:
            self.reason += f": {self._solver.discarded}"
        if failure is not None and failure.error is not None:
            self.reason, self.has_crashed, self.cause = failure.tell(), True, failure.cause
        self.violation = violation
        if violation is not None and violation.breach is not None:
            self.accusation = Refusal.by(violation)

    def _made_unsolved(self, move: MessageType) -> Extension | Violation | MakingAttempt | None:
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
        if not self._history.is_uneventful(extension):
            broken = self._broken_by(extension, move.symbol)
            early = extension.watches[0].early
            self._presumed_broken = frozenset(clause for clause in broken if early[clause] is False)
            if any(self._monitor.is_only_counted(clause, move.symbol) for clause in broken):
                return MakingAttempt(move, broken=broken)
            self._presumed_broken |= self._owed_early(extension)
            if broken or self._presumed_broken:
                return None
        if not (self._changes_nothing(extension) or self._is_satisfied(extension, move.symbol)):
            return None
        return extension

    def _owed_early(self, extension: Extension) -> frozenset[int]:
        """The clauses whose early value failed before a message of ours and after it, if another may make them hold.

        What an exchange says may fail with its first message, and hold only with ours. What a peer has broken, and need
        not have, is not for us to repair.
        """
        before, after = next(self._history.changes(extension))
        symbol, recoveries = extension.node.symbol, self._setup.recoveries
        owed = frozenset(
            at
            for at, (then, now, breach) in enumerate(zip(before.early, after.early, before.breaches, strict=True))
            if then is False and now is False and (breach is None or breach.is_ours)
            if at not in self._monitor.lists.of_states
        )
        if any(recoveries.has_held(clause, symbol) for clause in owed):
            return owed
        return frozenset() if recoveries.is_futile(symbol, self._monitor.constraints_of(owed)) else owed

    def _changes_nothing(self, extension: Extension) -> bool:
        """Return True if no constraint saw the message, and those that do not hold yet may do so later."""
        return bool(extension.forecast.moves) and all(watch in self._history.watches for watch in extension.watches)

    def _is_satisfied(self, extension: Extension, symbol: str) -> bool:
        """Return True if every constraint holds, as far as a solver would see, or only needs more messages."""
        if not self._monitor.checks_all_early:
            return False
        holds = any(not watch.checks.failures and False not in watch.early for watch in extension.watches)
        return holds or self._is_pending(extension, symbol)

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

    def has_alternative(
        self, moves: Sequence[MessageType], clause: int, *, must_hold: bool, steps: int | None = None
    ) -> bool:
        """Return True if one of these messages is found that does not violate a clause; or with which it holds.

        Beside random ones, those are tried that a search of so many `steps` finds.
        """
        most = self._setup.limits.budget if steps is None else steps
        with self._setup.spec.namespace.parties.rehearsed():
            return any(self._complies(move, clause, must_hold, most) for move in moves)

    def could_satisfy(self, moves: Sequence[MessageType], clause: int) -> bool:
        """Return True if a clause holds with one of these messages, or if one is found after which it can hold.

        That it only fails later is not enough: it may be that nothing which others say can make it hold.
        """
        if self._monitor.only_counts(clause):
            return self.has_alternative(moves, clause, must_hold=False)
        for move in moves:
            self._aim_at(move)
            with self._setup.spec.namespace.parties.rehearsed():
                nodes = self._random_nodes(move, MAX_ALTERNATIVES)
                checked = [self._history.checked(move, node, is_ours=False) for node in nodes]
            extensions = [each for each in checked if isinstance(each, Extension)]
            if any(not watch.fails(clause) for extension in extensions for watch in extension.watches):
                return True
            if any(self.continuations.repair(clause, each, MESSAGES_OF_REPAIR) for each in extensions[:MAX_REPAIRS]):
                return True
        return self.has_alternative(moves, clause, must_hold=True)

    def proposals(self, move: MessageType, steps: int) -> Iterator[Node]:
        """Messages that may be right: as lists go on, random ones, and what a search of so many steps finds."""
        self._aim_at(move)
        solutions = self._solutions(frozenset(), steps) if steps else ()
        return chain(self._lists.messages(move.symbol), self._random_nodes(move, MAX_ALTERNATIVES), solutions)

    def _complies(self, move: MessageType, clause: int, must_hold: bool, steps: int) -> bool:
        is_among = self._is_among(self.proposals(move, steps), move, clause, must_hold)
        is_presumed = not self._monitor.presumed.isdisjoint(self._monitor.constraints_of([clause]))
        if is_among or not (must_hold and steps and is_presumed):
            return is_among
        with self._presuming_solver():
            return self._is_among(self._solutions(frozenset(), SEARCH_STEPS), move, clause, must_hold)

    def _is_among(self, nodes: Iterable[Node], move: MessageType, clause: int, must_hold: bool) -> bool:
        """Return True if one of these messages does not violate a clause; or if it holds with one of them."""
        for node in nodes:
            extension = self._history.checked(move, node, is_ours=False)
            if isinstance(extension, Violation):
                if extension.clause != clause and not must_hold:
                    return True
            elif not must_hold or any(not watch.fails(clause) for watch in extension.watches):
                return True
        return False
