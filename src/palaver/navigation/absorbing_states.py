"""Exchanges after which a peer has never changed its mind: they may lead to an absorbing state (Kemeny & Snell 1960).

How it works: for each exchange, the answers that came later in the same session are kept by our message. As soon as one
message has two different ones, the exchange is out for the whole run. What is left, and has had enough answers to
messages that are answered in several ways elsewhere, is taken for final: nothing else is likely in this session.
"""

from __future__ import annotations

from copy import copy

from palaver.navigation.learnt_values import Exchange
from palaver.navigation.navigation_limits import ANSWERS_UNTIL_FINAL


class AbsorbingStates:
    """The exchanges after which each message of ours has had one answer only, in all sessions of a run."""

    def __init__(self) -> None:
        self._answers: dict[str, dict[str, None]] = {}  # to each message of ours, anywhere
        self._after: dict[Exchange, dict[str, tuple[str, int]]] = {}  # by our message the answer, and how often it came
        self._out: dict[Exchange, None] = {}  # exchanges after which answers were different
        self._of_session: dict[Exchange, None] = {}  # exchanges of this session that are not out

    def beside(self) -> AbsorbingStates:
        """The same for sessions that go on beside these."""
        other = copy(self)
        other._of_session = {}
        return other

    def begin_session(self) -> None:
        """Begin another session."""
        self._of_session.clear()

    def note(self, exchange: Exchange) -> None:
        """Note a message of ours and an answer to it, where others were possible."""
        message, answer = exchange
        self._answers.setdefault(message, {})[answer] = None
        for earlier in list(self._of_session):
            after = self._after.setdefault(earlier, {})
            known, times = after.get(message, (answer, 0))
            if known != answer:
                self._out[earlier] = None
                self._after.pop(earlier)
            else:
                after[message] = (answer, times + 1)
            if earlier in self._out:
                del self._of_session[earlier]
        if exchange not in self._out:
            self._of_session[exchange] = None

    @property
    def is_final(self) -> bool:
        """True if nothing but the answers that have come is likely to come in this session."""
        return any(self._is_final(exchange) for exchange in self._of_session)

    def _is_final(self, exchange: Exchange) -> bool:
        telling = [
            times for message, (_, times) in self._after.get(exchange, {}).items() if len(self._answers[message]) > 1
        ]
        return len(telling) > 1 and sum(telling) >= ANSWERS_UNTIL_FINAL
