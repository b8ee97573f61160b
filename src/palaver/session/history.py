"""The history of a session: hypotheses with their trees, and what the constraint monitor knows of each.

A message is accepted if at least one hypothesis survives it: its tree, with the message in its place, violates no
constraint. The other hypotheses are dropped. Our own messages are made to satisfy the constraints, with all earlier
messages as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from palaver.constraints.checks import Failure
from palaver.generation.makers import Steering, ValueSource
from palaver.interruption import Interrupted
from palaver.matching.forecaster import Forecast, Hypothesis, MessageType
from palaver.random_source import RandomSource
from palaver.session.blame import Breach, LatestMessage, MonitorState, Violation
from palaver.session.broken_constraints import ConstraintBreaker
from palaver.session.evidence import Evidence
from palaver.session.extension import Extension, Refusal
from palaver.session.finding_drafts import FindingDraft, accused, left_nothing, remarked
from palaver.session.message_maker import MessageMaker
from palaver.session.references import NO_MESSAGES, Referenced
from palaver.session.scripted_messages import ScriptedMessageMaker
from palaver.session.session_limits import MESSAGES_BEFORE_ACCUSING
from palaver.solving.generator_sources import MissingInverse, NoSource
from palaver.trees.node import Node
from palaver.trees.tree import Tree

if TYPE_CHECKING:
    from palaver.session.setup import SessionSetup
    from palaver.session.strategy import ScriptedMessage

_UNKNOWN = "not computed yet"


def _innocent_first(extension: Extension) -> Extension:
    """The same, with those hypotheses first that accuse the other parties least: the first one is preferred."""
    watches = extension.watches
    if len(watches) == 1 or watches[0].is_clean:
        return extension
    order = sorted(range(len(watches)), key=lambda at: watches[at].accusations)
    if order == list(range(len(watches))):
        return extension
    forecast = extension.forecast.in_order(order)
    return extension._replace(forecast=forecast, watches=[watches[at] for at in order])


class SessionHistory:
    """The messages of a session so far."""

    def __init__(
        self,
        setup: SessionSetup,
        chance: RandomSource,
        steering: Steering | None = None,
        values: ValueSource | None = None,
    ) -> None:
        self._setup = setup
        self._chance = chance
        self._monitor = monitor = setup.monitor
        self.referenced = NO_MESSAGES
        self.forecast: Forecast = setup.forecaster.begin()
        self.newest: Node
        self.watches = [monitor.initial]  # one for each hypothesis
        self._made: Extension | None = None  # the last message that was made
        self.accusation: Refusal | None = None  # if another party is why no message of ours was made since the latest
        self._missing: str | None = _UNKNOWN
        self._suspected: list[int] = []  # the clauses that the latest message has broken, and need not have
        self.number = 0  # of messages
        # Before the latest message of each symbol of others: the number of messages, and the fields of an extension.
        self.heard: dict[str, tuple[int, tuple[Node, Forecast, list[MonitorState], Referenced]]] = {}
        self.maker = MessageMaker(setup, self, chance, steering, values)
        self._scripts = ScriptedMessageMaker(setup, self, chance)
        self._evidence = Evidence(setup, self, chance / "evidence")

    def supposing(self, extension: Extension) -> SessionHistory:
        """The history as it would be after a message that has not been sent."""
        return self.at(self.number + 1, extension)

    def at(self, number: int, extension: Extension) -> SessionHistory:
        """The history with so many messages, after that extension."""
        supposed = SessionHistory(self._setup, self._chance / "supposed")
        supposed.newest, supposed.forecast, supposed.watches, supposed.referenced = extension
        supposed.number = number
        return supposed

    @property
    def now(self) -> Extension:
        """The history as it is, for questions about what may follow."""
        return Extension(self.newest, self.forecast, self.watches, self.referenced)

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

    def remarks(self) -> Iterator[FindingDraft]:
        """A note for each constraint with a note that does not hold at the end, whichever hypothesis is right."""
        checks = self._setup.spec.remarks
        ends = [hypothesis for hypothesis in self.forecast.hypotheses if hypothesis.can_end] if checks else []
        trees = [Tree(hypothesis.complete_tree()) for hypothesis in ends]
        for check in checks:
            failures = [failure for tree in trees if (failure := check.failure(tree)) is not None]
            if trees and len(failures) == len(trees):
                yield remarked(check.constraint.note, failures[0])

    @property
    def may_stop(self) -> bool:
        """True if we may end the session here: also if it is not complete because of what another party has broken."""
        return self.can_end or (self._is_patience_over() and self.accusation_at_end is not None)

    def _is_patience_over(self) -> bool:
        """Return True if we have sent several messages since the first breach, and none repaired it."""
        if len(self.watches) == 1 and self.watches[0].is_clean:
            return False
        numbers = [breach.number for watch in self.watches for breach in watch.breaches if breach is not None]
        return bool(numbers) and self.number - min(numbers) > MESSAGES_BEFORE_ACCUSING

    @property
    def accusation_at_end(self) -> Refusal | None:
        """The reason why the session would fail if it ended here, if that is a message of another party.

        It is none as long as some hypothesis has nothing to say against another party.
        """
        ends = [each for each in zip(self.forecast.hypotheses, self.watches, strict=True) if each[0].can_end]
        found = [self._monitor.accusation(watch, hypothesis) for hypothesis, watch in ends]
        return Refusal.by(found[0]) if found and None not in found and found[0] is not None else None

    def unrepaired_breach(self) -> Refusal | None:
        """The first message of another party that broke a clause which fails still, and is not seen to recover."""
        watch, recoveries = self.watches[0], self._setup.recoveries
        breaches = sorted(
            (breach.number, clause, breach)
            for clause, breach in enumerate(watch.breaches)
            if breach is not None and not breach.is_ours and not recoveries.can_recover(clause)
        )
        for _, clause, breach in breaches:
            failure = watch.checks.outcomes[clause]
            # An early value is evidence only if it has been true after such a message.
            is_presumed = failure is None and recoveries.has_held(clause, breach.symbol)
            if failure is None and not is_presumed:
                continue
            witness = self._evidence.witness(clause)
            if witness.continuations.repair(clause, self.now):
                continue
            # If the next message could have repaired it, it says less than what is certain.
            if not witness.has_alternative(self.forecast.moves, clause, must_hold=True):
                return Refusal.by(Violation(clause, failure or breach.failure, breach))
        return None

    def broken_now(self) -> Refusal | None:
        """The clause that the latest message has broken, if it was another party's, and if nothing seems to repair it.

        It held before, it fails after it, it has held or would hold after another such message, and no short
        continuation makes it hold, nor brings it nearer to that.
        """
        watch = self.watches[0]
        if not watch.is_clean:
            self._evidence.note_what_may_hold()
        for clause in self._suspected:
            failure, breach = watch.checks.outcomes[clause], watch.breaches[clause]
            if failure is not None and breach is not None and self._evidence.is_hopeless(clause):
                return Refusal.by(Violation(clause, failure, breach))
        return None

    def explained(self, draft: FindingDraft) -> FindingDraft:
        """The same finding, or what it came of: a message of the peer before, or that none was left to it."""
        if draft.may_follow_breach and (breach := self.unrepaired_breach()) is not None:
            return accused(breach)
        if draft.is_absence:
            failure = self._lost() or (None if draft.got else self._evidence.nothing_left())
            return draft if failure is None else left_nothing(draft, failure)
        return draft

    def _lost(self) -> Failure | None:
        """The failure of two lists that cannot become equal any more, whatever is said next."""
        found: Failure | None = None
        for move in self.forecast.moves if self._monitor.lists.all else ():
            ahead = self.forecast.ahead_after(move)
            for watch in self.watches:
                violation = self._monitor.lists.diverged(watch, watch, move.symbol, ahead, None)
                if violation is None:
                    return None
                found = found or violation.failure
        return found

    def breach_when_cut(self, number: int) -> Refusal | None:
        """The first of so many messages that broke a clause for good, as far as can be seen in the middle.

        None also if there is no time left to look.
        """
        if number != self.number:
            return None  # the session was cut while a message was taken in
        with suppress(Interrupted):
            return self._lasting_breach()
        return None

    def is_hopeless(self, clause: int) -> bool:
        """Return True if nothing is found that makes a clause hold, or brings it nearer to that."""
        return self._evidence.is_hopeless(clause)

    def _lasting_breach(self) -> Refusal | None:
        watch, recoveries = self.watches[0], self._setup.recoveries
        is_patient = not self._is_patience_over()
        breaches = [(breach.number, at, breach) for at, breach in enumerate(watch.breaches) if breach is not None]
        for _, clause, breach in sorted(breaches, key=lambda each: each[:2]):
            failure = watch.checks.outcomes[clause]
            if failure is None or failure.error is not None or breach.is_ours or self._monitor.only_counts(clause):
                continue
            if (recoveries.has_held(clause, breach.symbol) or not is_patient) and self._evidence.is_hopeless(clause):
                return Refusal.by(Violation(clause, failure, breach))
        return None

    def _suspects(self, extension: Extension) -> list[int]:
        """The clauses that a message of another party breaks at once, although they hold after other such messages."""
        symbol, recoveries = extension.node.symbol, self._setup.recoveries
        first = extension.watches[0]
        found: list[int] = []
        for clause, breach in enumerate(first.breaches):
            if breach is None or breach.is_ours or breach.number != self.number:
                continue
            failure = first.checks.outcomes[clause]
            # Counts have limits of their own, and one that code of the spec may raise is asked for at the end.
            if failure is None or self._monitor.only_counts(clause):
                continue
            if failure.error is not None or recoveries.may_hold_later(clause):
                continue
            if not all(watch.fails(clause) for watch in extension.watches):
                continue
            if recoveries.has_held(clause, symbol) or self._evidence.could_hold(clause, symbol, at_random=True):
                found.append(clause)
        return found

    def extended_by(self, move: MessageType, node: Node) -> Extension | Refusal:
        """The extension by a message of another party, or why it cannot be accepted."""
        if move.symbol in self._setup.generated:
            try:
                history = self._setup.references.seen_by(move.symbol, self.referenced)
                node = self._setup.spec.sources.recover(node, history=history)
            except MissingInverse as error:
                return Refusal(f"{error}: this is an error in the spec", is_crash=True, cause=str(error))
            except NoSource as error:
                return Refusal(str(error))
        extension = self.checked(move, node, is_ours=False)
        return Refusal.by(extension) if isinstance(extension, Violation) else extension

    def failure_by(self, extension: Extension) -> Failure | None:
        """The failure of a clause that a message turns from holding to failing, whichever hypothesis is right."""
        if not self.is_broken_by(extension):
            return None
        breaches = (breach for breach in extension.watches[0].breaches if breach is not None)
        return next(breach.failure for breach in breaches if breach.number == self.number)

    def is_broken_by(self, extension: Extension) -> bool:
        """Return True if a message turns a clause from holding to failing, whichever hypothesis is right."""
        return not any(watch.is_clean for watch in extension.watches) and all(
            any(breach is not None and breach.number == self.number for breach in watch.breaches)
            for watch in extension.watches
        )

    def could_say_else(self, symbol: str) -> bool:
        """Return True if messages of ours that are not of this symbol may come next as well."""
        return any(move.symbol != symbol and move.sender in self._setup.ours for move in self.forecast.moves)

    def allows(self, move: MessageType, node: Node) -> bool:
        """Return True if a message with this tree could be said now, whoever says it."""
        if isinstance(self.checked(move, node, is_ours=True), Extension):
            return True
        return isinstance(self.extended_by(move, node), Extension)

    def add(self, extension: Extension) -> None:
        """Add a message to the history."""
        self._suspected = []
        if self.number and extension is not self._made:
            before = self.newest, self.forecast, self.watches, self.referenced
            self.heard[extension.node.symbol] = self.number, before
        if self.is_uneventful(extension):
            symbol, recoveries = extension.node.symbol, self._setup.recoveries
            if extension.watches[0] is not self.watches[0] and symbol not in recoveries.all_held_after:
                recoveries.all_held(len(extension.watches[0].breaches), symbol)
        else:
            self._learn(extension)
            if extension is not self._made:
                self._suspected = self._suspects(extension)
                extension = self._without_doubt(extension)
        self.newest, self.forecast, self.watches, self.referenced = extension
        self._missing = _UNKNOWN
        self._made = self.accusation = None
        self.number += 1

    def is_uneventful(self, extension: Extension) -> bool:
        """Return True if nothing fails before and after a message, and there is nobody to blame."""
        before, after = self.watches, extension.watches
        if len(before) == len(after) == 1:
            return before[0].is_clean and after[0].is_clean
        return all(watch.is_clean for watch in (*before, *after))

    def _learn(self, extension: Extension) -> None:
        """Note which clauses have recovered, and which hold after a message of ours."""
        for before, after in self.changes(extension):
            if after is before:
                continue
            for clause, breach in enumerate(before.breaches):
                if breach is not None and after.breaches[clause] is None:
                    self._setup.recoveries.recovered(clause, extension.node.symbol)
        after = extension.watches[0]
        if after is not self.watches[0]:
            for clause in range(len(after.breaches)):
                if not after.fails(clause):
                    self._setup.recoveries.held(clause, extension.node.symbol)

    def _without_doubt(self, extension: Extension) -> Extension:
        """The same, in which a message of another party is to blame for what it could have made hold, and only that."""
        watches = list(extension.watches)
        symbol = extension.node.symbol
        for at, (before, after) in enumerate(self.changes(extension)):
            if after is before:
                continue
            for clause, failure in self._doubted(before, after, symbol):
                is_early = after.checks.outcomes[clause] is None
                if self._evidence.could_hold(clause, symbol):
                    watches[at] = watches[at].blaming(clause, Breach(self.number, False, symbol, failure, is_early))
                elif (breach := after.breaches[clause]) is not None and breach.number == self.number:
                    watches[at] = watches[at].blaming(clause, None)
        return extension._replace(watches=watches)

    def _doubted(self, before: MonitorState, after: MonitorState, symbol: str) -> Iterator[tuple[int, Failure]]:
        """The clauses that fail after a message of another party, and of which it may be to blame for that or not.

        They failed before with a message of ours, as far as could be seen; or they are about nodes that are not
        complete, and never held after such a message; or other messages may still make them hold.
        """
        for clause, breach in enumerate(after.breaches):
            if breach is None:
                continue
            failure = after.checks.outcomes[clause]
            is_new_and_early = breach.number == self.number and breach.is_early
            is_completed = failure is not None and before.checks.outcomes[clause] is None
            if before.early[clause] is False and (breach.is_ours or is_completed):
                yield clause, failure or breach.failure
            elif is_new_and_early and not self._setup.recoveries.has_held(clause, symbol):
                yield clause, breach.failure
        for clause in self._monitor.newly_failing(before, after):
            failure = after.checks.outcomes[clause]
            if failure is not None:
                yield clause, failure

    def missing_message(self) -> tuple[str, Failure] | None:
        """The party whose message is missing, if no message of ours can be sent because a clause fails without it."""
        violation = self.maker.violation
        failure = None if violation is None else self.watches[0].checks.outcomes[violation.clause]
        if violation is None or failure is None or self.watches[0].breaches[violation.clause] is not None:
            return None
        for move in self.forecast.moves:
            is_ours = move.sender in self._setup.ours
            if not is_ours and self._evidence.witness(violation.clause).has_alternative(
                [move], violation.clause, must_hold=False
            ):
                return move.sender, failure
        return None

    def settled(self, refusal: Refusal, sender: str) -> Refusal:
        """The same, without an earlier message that is only presumed to be to blame, if this one could be right.

        What an early value says of a message is no more than that: the message that completes a node may still make the
        clause hold.
        """
        violation = refusal.violation
        if violation is None or refusal.is_crash or violation.breach is None or not violation.breach.is_early:
            return refusal
        moves = [move for move in self.forecast.moves if move.sender == sender]
        if self._evidence.witness(violation.clause).has_alternative(moves, violation.clause, must_hold=False):
            return Refusal.by(violation._replace(breach=None))
        return refusal

    def is_guilty(self, refusal: Refusal, sender: str) -> bool:
        """Return True if it is sure that a message of this party broke a constraint: it could have sent another."""
        violation = refusal.violation
        if violation is None or refusal.is_crash:
            return True
        if not violation.is_doubtful:
            return violation.breach is not None or not self._is_forced(violation, sender)
        breach = self.watches[0].breaches[violation.clause]
        if breach is not None and self._setup.recoveries.waits_for_others(violation.clause, breach.symbol):
            return True  # it always failed after such a message of ours, and the peer made it hold
        moves = [move for move in self.forecast.moves if move.sender == sender]
        return self._evidence.witness(violation.clause).could_satisfy(moves, violation.clause)

    def _is_forced(self, violation: Violation, sender: str) -> bool:
        """Return True if only this party can send now, and whatever it sends violates the clause, whatever is in it."""
        clause, moves = violation.clause, self.forecast.moves
        if any(move.sender != sender or not self._monitor.fails_always(violation, move.symbol) for move in moves):
            return False
        return not self._evidence.witness(clause).has_alternative(moves, clause, must_hold=False, steps=0)

    def checked(
        self, move: MessageType, node: Node, *, is_ours: bool, after: Extension | None = None
    ) -> Extension | Violation:
        """The extension by a message, with only those hypotheses that violate nothing; a violation if none is left.

        The message comes now, or `after` another one that is not part of the history.
        """
        forecast, watched, referenced = self.forecast, self.watches, self.referenced
        if after is not None:
            forecast, watched, referenced = after.forecast, after.watches, after.referenced
        parties = self._setup.parties[move]
        if node.parties is not parties:
            node = node._replace(parties=parties)
        forecast = forecast.after(move, node)
        latest = LatestMessage(move.symbol, is_ours, self.number)
        first: Violation | None = None
        refuted: list[Hypothesis] = []
        watches: list[MonitorState] = []
        survives = False
        for hypothesis in forecast.hypotheses:
            watch, violation = self._monitor.check(watched[hypothesis.origin], hypothesis, latest)
            if violation is None:
                survives = True
            elif first is None or (first.breach is None and violation.breach is not None):
                first = violation
            # What an earlier message broke says nothing against a hypothesis.
            if violation is None or violation.breach is not None:
                watches.append(watch)
            else:
                refuted.append(hypothesis)
        if not survives:
            assert first is not None, "a refuted hypothesis violates a constraint"
            return first
        forecast = forecast.without(refuted) if refuted else forecast
        if move.symbol in self._setup.references.holders:
            referenced = self._setup.references.after(referenced, node, forecast.hypotheses[0])
        return _innocent_first(Extension(node, forecast, watches, referenced))

    def changes(self, extension: Extension) -> Iterator[tuple[MonitorState, MonitorState]]:
        """For each hypothesis, the state before and the state after."""
        for hypothesis, watch in zip(extension.forecast.hypotheses, extension.watches, strict=True):
            yield self.watches[hypothesis.origin], watch

    def make(self, move: MessageType, script: ScriptedMessage | None = None) -> Node | None:
        """A message of ours that can be sent now; None if none was found, and then the maker says why.

        If a script says which, it is that one, or as much of it as fits, if the script allows that; or none.
        """
        self._made = self.maker.make(move) if script is None else self._scripts.make(move, script)
        self.accusation = self.accusation or self.maker.accusation
        if self._made is not None and script is None and (failure := self._evidence.given_up(self._made)) is not None:
            self.maker.reason = f"no valid message could be generated: no {move.symbol} as long as {failure.describe()}"
            self._made = None
        return None if self._made is None else self._made.node

    @property
    def is_settled(self) -> bool:
        """True if another party is why no message of ours was made, and no other message seems to help."""
        violation = None if self.accusation is None else self.accusation.violation
        return violation is not None and self.is_hopeless(violation.clause)

    def breaker(self, chance: RandomSource) -> ConstraintBreaker:
        """Makes messages that break one constraint, wherever the session is then."""
        return ConstraintBreaker(self._setup, self, chance)

    def add_made(self, node: Node) -> None:
        """Add the message that was made last."""
        assert self._made is not None, "only a message that was made, and checked, is sent"
        assert self._made.node is node, "only the last message that was made is sent"
        self.add(self._made)
