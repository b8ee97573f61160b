"""The end of a session: how long a peer is watched when the dialogue is complete, and when all is over.

A server that we have connected to is watched for a short time, because it must send nothing more; whoever connects to
us may begin its next session. Then the input of a program is closed, and its exit is waited for, as it may crash there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palaver.lean_dataclasses import replace
from palaver.session.finding_drafts import FindingDraft
from palaver.session.findings import FindingKind, Severity
from palaver.session.quiescence import SessionClock
from palaver.session.roles import Connections
from palaver.session.session_limits import FIRST_END_SECONDS, MAX_EXIT_SECONDS

if TYPE_CHECKING:
    from palaver.session.setup import SessionSetup


class EndWatch:
    """The time for which sessions are watched after they are complete, for messages that must not come and for crashes.

    `seconds` is the time after every session. None: a short time after the first session that ends with a message, for
    each name of messages, so that long runs do not wait.
    """

    def __init__(self, seconds: float | None = 0.0) -> None:
        self._seconds = seconds
        self._ends: set[str] = set()

    def seconds_after(self, symbol: str) -> float:
        """The seconds after a session that has ended with such a message."""
        if self._seconds is not None:
            return self._seconds
        if symbol in self._ends:
            return 0.0
        self._ends.add(symbol)
        return FIRST_END_SECONDS


class Leaving:
    """The last things that a complete session waits for."""

    def __init__(self, setup: SessionSetup, connections: Connections, clock: SessionClock, end_watch: EndWatch) -> None:
        self._setup = setup
        self._connections = connections
        self._clock = clock
        self._end_watch = end_watch
        self.seconds = 0.0  # for which the end is watched
        self.watch_until = 0.0  # the time until which the end is watched; a program behind the peer, too

    @property
    def is_input_closed(self) -> bool:
        """True if the program under test was told that nothing more comes, to which it may react."""
        return self._connections.is_lost("In")

    def begin(self, last: str) -> bool:
        """Begin to wait after a last message of this name; False if there is nothing to wait for."""
        seconds = self.seconds = self._end_watch.seconds_after(last)
        self.watch_until = self._clock.now + seconds
        if seconds and self._connections.can_servers_send():
            self._clock.set_alarm(seconds)
            return True
        return self._close_input()

    def is_over(self) -> bool:
        """Return True if nothing more is waited for. The input of a program is closed when it was watched."""
        is_watching = not self.is_input_closed and self._connections.can_servers_send()
        if self._connections.is_open("In") or is_watching:
            if self._clock.now < self._clock.alarm:
                return False
            return self.is_input_closed or not self._close_input()
        return True

    def judged(self, draft: FindingDraft) -> FindingDraft:
        """The finding about something that came after the end.

        Some programs write a prompt, or a line end, when their input is closed: a note, unless it is a message, or the
        beginning of one, whose rest may come a moment later.
        """
        setup = self._setup
        if draft.kind is not FindingKind.UNEXPECTED or not self.is_input_closed:
            return draft
        messages = [message for message in setup.spec.analysis.messages if message.sender == draft.party]
        symbols = [message.symbol for message in messages if message.symbol not in setup.closing]
        matchers = [setup.shape(symbol).matcher(binary=setup.is_binary) for symbol in dict.fromkeys(symbols)]
        progress = [matcher.feed(draft.got) for matcher in matchers]
        is_message = any(each.may_go_on or each.longest is not None for each in progress)
        return draft if is_message else replace(draft, severity=Severity.NOTE)

    def _close_input(self) -> bool:
        """Close the input of a program, and give it time to exit; False if there is none."""
        if not self._connections.is_open("In"):
            return False
        self._clock.set_alarm(MAX_EXIT_SECONDS)
        self._connections.finish("In")
        return True
