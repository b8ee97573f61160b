"""The allowance of a session: how many messages it may have, and how long it may take.

Both are hard limits. Shortly before the last message the strategy is asked to come to an end; a session that has not
ended by then is cut, and says nothing about the peer. The time of a session begins with its first connection or
message: a server may wait for its client for as long as the run lasts; if nobody has said how long that is, for some
minutes, and then the run is over.
"""

from __future__ import annotations

from typing import NamedTuple

from palaver.session.quiescence import Timeouts
from palaver.session.session_limits import MAX_CLIENT_SECONDS, MAX_LAST_MESSAGES, NEARLY_ALL_MESSAGES


class CutOff(NamedTuple):
    """The reason for which a session was cut."""

    option: str  # of the command line, whose limit was reached; or what else it was
    place: str = ""  # the line of the spec's Python that took too long, if it was that
    ends_run: bool = False  # True if it is the run whose time is over

    def __str__(self) -> str:
        return f"{self.option} in the Python of the spec ({self.place})" if self.place else self.option


class SessionAllowance:
    """The limits of one session. `run_ends_at` is the time when the whole run is over."""

    def __init__(self, timeouts: Timeouts, run_ends_at: float | None = None) -> None:
        self.most = timeouts.max_messages
        self.nearly_all = self.most - min(MAX_LAST_MESSAGES, self.most // 2)  # then it is time to come to an end
        self._seconds = timeouts.session
        self.has_started = self._seconds is None  # or has no time of its own
        self.ends_at = run_ends_at  # when the session is cut; None: never
        self._time_option = "--time"
        self._awaits_client = run_ends_at is None and not self.has_started

    def begin(self, now: float) -> None:
        """Note that the session has begun, and waits for its first connection."""
        if self._awaits_client:
            self.ends_at = now + MAX_CLIENT_SECONDS
            self._time_option = f"no client came in {MAX_CLIENT_SECONDS:g} s (--time says how long to wait)"

    def start(self, now: float) -> None:
        """Note the first connection or message."""
        if self._seconds is not None and not self.has_started:
            self.has_started = True
            at = now + self._seconds
            if self._awaits_client or self.ends_at is None or at < self.ends_at:
                self._awaits_client = False
                self.ends_at, self._time_option = at, f"--session-time {self._seconds:g}"

    def out_of_time(self, place: str = "") -> CutOff:
        """The reason if the session has no time left; in such a line of the spec's Python."""
        return CutOff(self._time_option, place, ends_run=self._awaits_client or self._time_option == "--time")

    def is_used_up(self, messages: int, received_in_a_row: int) -> bool:
        """Return True if the session may have no more messages.

        A peer that has sent nearly all of them in a row is read a little further, until it is sure that it floods us.
        """
        if messages < self.most:
            return False
        return received_in_a_row < self.most * NEARLY_ALL_MESSAGES or received_in_a_row > self.most
