"""Time in a session: how late it is, how long is waited for what, and when a peer counts as quiet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a session waits, in seconds, and how much it listens to, in bytes."""

    timeout: float = 5.0  # for a message to begin
    patience: float = 5.0  # for the next byte of a message that has begun
    quiet: float | None = None  # until a message that could go on counts as complete; None: by the peer's rhythm
    largest_message: int = 1 << 20
    most_messages: int = 1_000


# What the quiet interval starts from, and what it follows between: four times the longest pause seen inside a message.
_FIRST_QUIET = 0.15
_LEAST_QUIET = 0.05
_MOST_QUIET = 2.0
_PAUSES = 4


class Pace:
    """The clock of one session, which goes on only when it is told the time."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._longest_pause = 0.0  # inside a message
        self._withheld = 0  # how much has come, in bytes, of which parties have passed nothing on yet
        self.now = 0.0
        self.since = 0.0  # the last time that something was said or heard
        self.holds_until: float | None = None  # when a pause is over in which we let the others speak

    # --- what happens -------------------------------------------------------------------------------------------------

    def reach(self, at: float) -> None:
        """It is that late now."""
        self.now = max(self.now, at)

    def stir(self) -> None:
        """Something was said or heard: waiting begins anew."""
        self.since = self.now

    def withhold(self, data: bytes) -> None:
        """Something came, and was given to a party, which may pass it on. An empty datagram is something."""
        self._withheld += len(data) + 1

    def stir_if_withheld(self) -> None:
        """A party may gather a message, which so has begun. Who drops what comes without end would wait for ever."""
        if 0 < self._withheld <= self._patience.largest_message:
            self.since = self.now

    def pass_on(self, *, is_more: bool) -> None:
        """A party has passed on what came; `is_more` of what has come before."""
        if is_more:
            self._longest_pause = max(self._longest_pause, self.now - self.since)
        self.since = self.now
        self._withheld = 0

    def hold(self) -> None:
        """Let the others speak for a while."""
        self.holds_until = self.now + self._quiet_interval()

    def end_turn(self) -> None:
        """A message has become part of the conversation."""
        self.since = self.now
        self.holds_until = None

    # --- how late it is -----------------------------------------------------------------------------------------------

    def is_holding(self) -> bool:
        """Whether it would be our turn, but we let the others speak for a while."""
        return self.holds_until is not None and self.now < self.holds_until

    def is_withholding(self) -> bool:
        """Whether a party has something that it has not passed on."""
        return self._withheld > 0

    def is_quiet(self) -> bool:
        return self.now >= self.quiet_at()

    def quiet_at(self) -> float:
        """When a message that could go on counts as complete."""
        return self.since + self._quiet_interval()

    def broken_off_at(self) -> float:
        """When a message that cannot end yet counts as broken off."""
        return self.since + self._patience.patience

    def silent_at(self) -> float:
        """When nobody is waited for any more who has not begun to speak."""
        return self.since + self._patience.timeout

    def waited(self) -> float:
        """How long nothing was said or heard."""
        return self.now - self.since

    def _quiet_interval(self) -> float:
        if self._patience.quiet is not None:
            return self._patience.quiet
        rhythm = _PAUSES * self._longest_pause
        return min(max(rhythm, _LEAST_QUIET if rhythm else _FIRST_QUIET), _MOST_QUIET)
