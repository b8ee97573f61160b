"""The evidence behind an accusation: messages that others could have sent instead.

That a clause fails after a message says nothing against its sender if it would have failed after any other, or if it
will hold again. So messages are made that others could have sent, at random and by a search, and it is seen what they
do to the clause.

They are not guided, and each question has chances of its own. So the answer depends only on what was said before. It is
the same when a session is replayed, where no message of ours is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palaver.random_source import RandomSource
from palaver.session.blame import Violation
from palaver.session.extension import Extension
from palaver.session.message_maker import MessageMaker
from palaver.session.session_limits import ANSWER_SEARCH_STEPS, SEARCH_STEPS

if TYPE_CHECKING:
    from palaver.constraints.checks import Failure
    from palaver.matching.forecaster import MessageType
    from palaver.session.history import SessionHistory
    from palaver.session.setup import SessionSetup


class Evidence:
    """Asks what others could say, and remembers what was asked in vain."""

    def __init__(self, setup: SessionSetup, history: SessionHistory, chance: RandomSource) -> None:
        self._setup = setup
        self._history = history
        self._chance = chance

    def nothing_left(self) -> Failure | None:
        """The failure of whatever others could say now; None if something is right, or if it cannot be told.

        That a search finds nothing tells something only if it finds what could have been said before, in place of
        earlier messages of the same names.
        """
        history, found = self._history, None
        if any(move.sender in self._setup.ours or move.symbol not in history.heard for move in history.forecast.moves):
            return None
        for move in history.forecast.moves:
            failure = self._failure_of_all(history, move)
            if failure is None or failure.error is not None:
                return None
            found = found or failure
        for move in history.forecast.moves:
            number, before = history.heard[move.symbol]
            if self._failure_of_all(history.at(number, Extension(*before)), move) is not None:
                return None
        return found

    def _failure_of_all(self, history: SessionHistory, move: MessageType) -> Failure | None:
        """A failure of all messages of a type that are found; None if there is a right one, or none at all."""
        found: Failure | None = None
        maker = MessageMaker(self._setup, history, self._chance / history.number / move.symbol, None, None)
        with history.watches[0].checks.published_states(), self._setup.spec.namespace.parties.rehearsed():
            for node in maker.proposals(move, ANSWER_SEARCH_STEPS):
                checked = history.checked(move, node, is_ours=False)
                failure = checked.failure if isinstance(checked, Violation) else history.failure_by(checked)
                if failure is None:
                    return None
                found = found or failure
        return found

    def witness(self, clause: int) -> MessageMaker:
        """A maker of messages that others could send now, for a question about a clause."""
        chance = self._chance / self._history.number / clause
        return MessageMaker(self._setup, self._history, chance, steering=None, values=None)

    def could_hold(self, clause: int, symbol: str, *, at_random: bool = False) -> bool:
        """Return True if a message of this symbol is found with which a clause holds: random, or searched."""
        recoveries = self._setup.recoveries
        if not recoveries.is_worth_asking(clause, symbol):
            return False
        at_length = SEARCH_STEPS if recoveries.was_asked_in_vain(clause, symbol) else None  # once is enough
        moves = [move for move in self._history.forecast.moves if move.symbol == symbol]
        if self.witness(clause).has_alternative(moves, clause, must_hold=True, steps=0 if at_random else at_length):
            return True
        recoveries.asked_in_vain(clause, symbol)
        return False

    def is_hopeless(self, clause: int) -> bool:
        """Return True if nothing is found that makes a clause hold, or brings it nearer to that."""
        recoveries, history = self._setup.recoveries, self._history
        if recoveries.may_hold_later(clause):
            return False
        witness = self.witness(clause)
        may_hold = witness.continuations.bring_nearer(clause, history.now)
        if not may_hold and not self._setup.monitor.is_folded(clause):
            may_hold = witness.has_alternative(history.forecast.moves, clause, must_hold=True, steps=SEARCH_STEPS)
        if may_hold:
            recoveries.note_open(clause)
        return not may_hold

    def note_what_may_hold(self) -> None:
        """Note which of the clauses that another party has just broken can hold again.

        That is seen best the first times: later several nodes may wait for what makes a clause hold of them.
        """
        history, recoveries, monitor = self._history, self._setup.recoveries, self._setup.monitor
        for clause, breach in enumerate(history.watches[0].breaches):
            is_new = breach is not None and not breach.is_ours and breach.number == history.number - 1
            if is_new and not monitor.is_lasting(clause) and recoveries.is_asked_first(clause):
                self.is_hopeless(clause)

    def given_up(self, made: Extension) -> Failure | None:
        """The failure of a clause that others can still make hold, but not after this last message of ours, if any.

        Whoever leaves before that can accuse nobody of it.
        """
        history, setup = self._history, self._setup
        if history.is_uneventful(made) or not history.could_say_else(made.node.symbol):
            return None
        ahead = made.forecast.hypotheses[0].ahead
        if any(each.sender in setup.ours and each.symbol in ahead for each in setup.forecaster.messages):
            return None
        for clause, breach in enumerate(history.watches[0].breaches):
            failure = made.watches[0].checks.outcomes[clause]
            if breach is None or breach.is_ours or failure is None or not setup.recoveries.may_hold_later(clause):
                continue
            if not history.maker.continuations.repair(clause, made):
                return failure
        return None
