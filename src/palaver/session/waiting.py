"""Waiting for the others: for whom, until when, and what it means if nothing comes."""

from __future__ import annotations

from palaver.matching.forecaster import MessageType
from palaver.session.cast import Cast
from palaver.session.complaints import Complaint, cut_off, silent
from palaver.session.hearing import Hearing
from palaver.session.links import Links
from palaver.session.memory import Memory
from palaver.session.pace import Pace
from palaver.session.timers import Timers


class Waiting:
    """What the parts of a session say together about those who are to speak next."""

    def __init__(self, cast: Cast, memory: Memory, hearing: Hearing, links: Links, pace: Pace, timers: Timers) -> None:
        self._cast = cast
        self._memory = memory
        self._hearing = hearing
        self._links = links
        self._pace = pace
        self._timers = timers

    def until(self) -> float | None:
        """When waiting ends; None: never, because only a timer or an opening link is waited for."""
        if self._links.are_only_opening():
            return None  # whoever opens links knows how long that may take; a client may come at any time
        inbox = self._hearing.first_expected()
        if inbox is not None:
            return self._pace.broken_off_at() if inbox.standing().longest is None else self._pace.quiet_at()
        if self.is_for_a_timer() and self._timers.next_at is not None:
            return None
        if self._pace.is_withholding():
            return self._pace.broken_off_at()
        return self._pace.quiet_at() if self._memory.can_end else self._pace.silent_at()

    def is_for_a_timer(self) -> bool:
        """Whether a timer may be what comes next."""
        return self._timers.are_heard and any(move.sender == "TimerEvent" for move in self._memory.forecast.moves)

    def is_in_vain(self) -> bool:
        """Whether the others will not speak any more, or have had their time."""
        if not self._hearing.is_anybody_waiting() and self._is_cut_off():
            return True
        until = self.until()
        return until is not None and self._pace.now >= until

    def complaint(self) -> Complaint | None:
        """What is wrong if waiting was in vain; None: nothing, the conversation may end here."""
        if self._hearing.is_anybody_waiting():
            return self._hearing.interrupted(self._pace.waited())
        if self._memory.can_end:
            return None
        moves = self._memory.forecast.moves
        others = [move for move in moves if not self._cast.is_ours(move.sender)]
        return cut_off(moves, others) if self._is_cut_off() else silent(moves, others, self._pace.waited())

    def _is_cut_off(self) -> bool:
        """Whether nobody can say any more what may come next."""
        if self._links.are_as_opened() and not self._timers.are_heard:
            return False
        return all(self._is_out_of_reach(move) for move in self._memory.forecast.moves)

    def _is_out_of_reach(self, move: MessageType) -> bool:
        if move.sender == "TimerEvent":
            return self._timers.next_at is None
        if self._cast.is_ours(move.sender):
            return self._links.is_lost(self._cast.party(move.sender).party_name)
        way = self._cast.link_from(move.sender, move.recipient)
        if way is not None and self._links.is_known(way):
            return not self._links.is_up(way)
        # It is said by code of the spec, when something happens elsewhere.
        return self._links.are_all_down()
