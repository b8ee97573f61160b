"""Quiescence by timeout, as in ioco testing (Tretmans 1996): a session's clock, its timers, and waiting for the peer.

A message that is complete but could go on is accepted once the peer is quiet. The quiet interval follows the peer: four
times the longest pause seen inside a message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from palaver.lean_dataclasses import dataclass
from palaver.matching.forecaster import MessageType
from palaver.session.deadlines import Deadlines
from palaver.session.finding_drafts import FindingDraft, broken_off, cut_off, failed, late, silent
from palaver.session.findings import NOT_CONNECTED, FindingKind
from palaver.session.history import SessionHistory
from palaver.session.interface import Closed, Failed
from palaver.session.receiver import Receiver
from palaver.session.role_table import DataSource
from palaver.session.roles import Connections, Roles
from palaver.session.session_limits import (
    FIRST_QUIET_SECONDS,
    MAX_QUIET_SECONDS,
    MAX_TIMER_SECONDS,
    MIN_QUIET_SECONDS,
    QUIET_PAUSES,
)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The timeouts of a session, in seconds, and limits of what it reads."""

    timeout: float = 5.0  # for a message to begin
    patience: float = 5.0  # for the next byte of a message that has begun
    quiet: float | None = None  # until a message that could go on counts as complete; None: it follows the peer
    max_message_bytes: int = 1 << 20  # in bytes
    max_messages: int = 1_000
    session: float | None = None  # for all of a session, from its first connection on; None: no limit
    grace: float | None = 0.0  # after the last message; None: only after ends that are new


class SessionClock:
    """The clock of one session. It advances only when it is told the time."""

    def __init__(self, timeouts: Timeouts) -> None:
        self.timeouts = timeouts
        self._longest_pause = 0.0  # inside a message
        self._buffered = 0  # bytes received since a party has last forwarded anything
        self.now = 0.0
        self.active_at = 0.0  # when something was last sent or received
        self.message_at = 0.0  # when a message was last complete
        self.alarm = 0.0  # when the session stops yielding, or stops waiting for a program to exit
        self.quiet_seconds = FIRST_QUIET_SECONDS if timeouts.quiet is None else timeouts.quiet  # the quiet interval

    def advance(self, at: float) -> None:
        """Set the time; it never goes back."""
        if at > self.now:
            self.now = at

    def mark_activity(self) -> None:
        """Restart all waiting, because something was sent or received."""
        self.active_at = self.now

    def mark_message(self) -> None:
        """Mark that a message was sent or received, or that a connection was opened."""
        self.active_at = self.message_at = self.now

    def note_buffered(self, data: bytes) -> None:
        """Count data that a party was given and may forward. An empty datagram counts, too."""
        self._buffered += len(data) + 1

    def mark_buffering(self) -> None:
        """Mark activity if a party collects a message, unless it drops data without end."""
        if 0 < self._buffered <= self.timeouts.max_message_bytes:
            self.active_at = self.now

    def note_forwarded(self, *, is_more: bool) -> None:
        """Mark that a party has forwarded what it was given; `is_more` of a message that has begun."""
        if is_more and self.now - self.active_at > self._longest_pause:
            self._longest_pause = self.now - self.active_at
            if self.timeouts.quiet is None:
                seconds = QUIET_PAUSES * self._longest_pause
                self.quiet_seconds = min(max(seconds, MIN_QUIET_SECONDS), MAX_QUIET_SECONDS)
        self.active_at = self.now
        self._buffered = 0

    def set_alarm(self, seconds: float | None = None) -> None:
        """Set the alarm to so many seconds from now; None: to the quiet interval."""
        self.alarm = self.now + (self.quiet_seconds if seconds is None else seconds)

    def has_reached(self, at: float | None) -> bool:
        """Return True if a time has come; None: it never does."""
        return at is not None and self.now >= at

    @property
    def is_buffering(self) -> bool:
        """True if a party has data that it has not forwarded."""
        return self._buffered > 0

    @property
    def is_quiet(self) -> bool:
        """True if nothing has happened for the quiet interval."""
        return self.now >= self.active_at + self.quiet_seconds

    @property
    def quiet_at(self) -> float:
        """The time when a message that could go on counts as complete."""
        return self.active_at + self.quiet_seconds

    @property
    def broken_off_at(self) -> float:
        """The time when an incomplete message counts as broken off."""
        return self.active_at + self.timeouts.patience

    @property
    def idle_seconds(self) -> float:
        """The time since something was last sent or received."""
        return self.now - self.active_at


_START = re.compile(r"start: (?P<number>[0-9]+) \((?P<seconds>[0-9]+(?:\.[0-9]+)?)\)\n?")
_CANCEL = re.compile(r"cancel: (?P<number>[0-9]+)\n?")


class Timers:
    """The timers that a spec starts and cancels by messages to `TimerControl`, and hears of from `TimerEvent`.

    `are_observed` if the spec has messages of `TimerEvent`.
    """

    def __init__(self, *, are_observed: bool) -> None:
        self.are_observed = are_observed
        self._due: dict[str, float] = {}

    @property
    def next_at(self) -> float | None:
        """The time when the next timer expires."""
        return min(self._due.values(), default=None)

    def control(self, text: str, now: float) -> None:
        """Carry out a message to `TimerControl`."""
        if started := _START.fullmatch(text):
            self._due[started["number"]] = now + min(float(started["seconds"]), MAX_TIMER_SECONDS)
        elif cancelled := _CANCEL.fullmatch(text):
            self._due.pop(cancelled["number"], None)

    def expired(self, now: float) -> str | None:
        """The message of `TimerEvent` for the timer that expired first; each is told once. None if there is none."""
        over = [(at, int(number), number) for number, at in self._due.items() if at <= now]
        if not over:
            return None
        _, _, number = min(over)
        del self._due[number]
        return f"expired: {number}\n"


@dataclass(frozen=True, slots=True)
class PeerWait:
    """Decides how long the peer is waited for, and what it means if nothing comes."""

    roles: Roles
    history: SessionHistory
    receiver: Receiver
    connections: Connections
    clock: SessionClock
    timers: Timers
    deadlines: Deadlines | None

    @property
    def deadline(self) -> float | None:
        """The time when waiting ends; None: never, because only a timer or a new connection is waited for."""
        self.roles.activate_parties()  # code of the spec may decide who is ours
        if self.connections.are_only_opening():
            return None  # the transport knows how long that may take; a client may come at any time
        if self.receiver.postponed is not None:
            return self._silent_at
        inbox = self.receiver.first_expected()
        if inbox is not None:
            return self.clock.broken_off_at if inbox.status().longest is None else self.clock.quiet_at
        if self.is_for_timer() and self.timers.next_at is not None:
            return None
        if self.clock.is_buffering:
            return self.clock.broken_off_at
        return self.clock.quiet_at if self.history.can_end else self._silent_at

    @property
    def _silent_at(self) -> float:
        """The time when a peer that has sent nothing counts as silent."""
        timeout = self.clock.timeouts.timeout
        if self.deadlines is not None:
            timeout = self.deadlines.seconds_to_wait((move.symbol for move in self._expected()), timeout)
        return self.clock.active_at + timeout

    @property
    def seconds_left(self) -> float:
        """The time that a peer has which may send instead of us; 0 if there is none."""
        return max(0.0, self._silent_at - self.clock.now) if self._expected() else 0.0

    def _expected(self) -> tuple[MessageType, ...]:
        """The messages that are not ours and may come next."""
        return self.roles.table.next_moves(self.history.forecast.moves).others

    def lateness(self, move: MessageType) -> FindingDraft | None:
        """The finding about a message that is complete, if it has come after its deadline."""
        deadline = None if self.deadlines is None else self.deadlines.of(move.symbol)
        seconds = self.clock.active_at - self.clock.message_at
        return None if deadline is None or seconds <= deadline else late(move, seconds, deadline)

    def is_for_timer(self) -> bool:
        """Return True if the next message may come from a timer."""
        return self.timers.are_observed and self.roles.table.next_moves(self.history.forecast.moves).has_timer

    def timed_out(self) -> bool:
        """Return True if the peer cannot send any more, or has not sent in time."""
        if not self.receiver.has_unread() and self._is_cut_off():
            return True
        deadline = self.deadline
        return deadline is not None and self.clock.now >= deadline

    def finding(self) -> FindingDraft | None:
        """The finding after a timeout; None if the session may end here."""
        if self.receiver.has_unread():
            return self.receiver.interruption(self.clock.idle_seconds)
        if self.history.can_end:
            return None
        moves = self.history.forecast.moves
        others = self._expected()
        if self._is_cut_off():
            return cut_off(self._ended_source(others or moves), moves, others)
        option = "--patience" if self.clock.is_buffering else "--timeout"
        timeout = self.clock.timeouts.timeout
        if self.deadlines and any((self.deadlines.of(move.symbol) or 0.0) > timeout for move in others):
            option = "--deadline"
        return silent(moves, others, self.clock.idle_seconds, option, self._awaited(moves))

    def _awaited(self, moves: Sequence[MessageType]) -> str:
        """The party that was told in this session where to connect to, and has not, so that these cannot be sent."""
        for move in moves:
            link = self.roles.party(move.sender).party_name
            if self.connections.is_awaited(link):
                return move.recipient or self.receiver.source_on(link).sender
        return ""

    def failed(self, event: Failed) -> FindingDraft:
        """The finding if a connection could not be opened or used."""
        draft = failed(event, self.receiver.source_on(event.link), self.history.forecast.moves, self._expected())
        named_by = self.connections.named_by(event.link)
        if draft.kind not in NOT_CONNECTED or named_by is None or named_by >= self.history.number:
            return draft
        what = f"{event.link} was to connect there, and nobody was: {event.reason}"
        return FindingDraft(FindingKind.MISDIRECTED, what, blamed=named_by)

    def broken_off(self, event: Closed) -> FindingDraft:
        """The finding if a connection was reset, or a program has failed."""
        return broken_off(event, self.receiver.source_on(event.link), self.history.forecast.moves, self._expected())

    def _ended_source(self, moves: Sequence[MessageType]) -> DataSource | None:
        """The other end of the first connection of these messages that was closed there; None if none was."""
        for move in moves:
            is_ours = self.roles.is_ours(move.sender)
            link = self.roles.party(move.sender).party_name if is_ours else None
            link = link or self.roles.connection_from(move.sender, move.recipient)
            if link is not None and self.connections.is_known(link) and not self.connections.is_up(link):
                return self.receiver.source_on(link, None if is_ours else move.sender)
        return None

    def _is_cut_off(self) -> bool:
        """Return True if no party can send a message that may come next."""
        if self.connections.are_as_opened() and not self.timers.are_observed:
            return False
        return all(self._is_out_of_reach(move) for move in self.history.forecast.moves)

    def _is_out_of_reach(self, move: MessageType) -> bool:
        if move.sender == "TimerEvent":
            return self.timers.next_at is None
        if self.roles.is_ours(move.sender):
            return self.connections.is_lost(self.roles.party(move.sender).party_name)
        link = self.roles.connection_from(move.sender, move.recipient)
        if link is not None and self.connections.is_known(link):
            return not self.connections.is_up(link)
        # It is sent by code of the spec, when something happens elsewhere.
        return self.connections.are_all_down()
