"""The scanner of the fast path: tokens, patterns and runs that the end of the buffer may cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palaver.matching.grammar_slots import GrammarSlot
from palaver.matching.instructions import FieldValue, ParseInstruction
from palaver.matching.matching_limits import MAX_TOKEN_READ_AGAIN, MAX_VERIFIED_ENDS
from palaver.regular.language import AutomatonState

if TYPE_CHECKING:
    from palaver.matching.fast_path import FastPath

# The status of a machine: it waits for more input, has read a message to its end, cannot go on, or cannot decide.
WAITING, DONE, FAILED, FALL_BACK = range(4)


class FastPathScanner:
    """Finds the ends of terminals. A negative end is the complement of a status."""

    _scan: tuple[Any, int] | None = None  # where a terminal, a decision or a run was interrupted, and its state

    fast_path: FastPath
    _env: list[FieldValue | None]  # for each path of computed bounds, the node selected last, and its text if short

    def _is_worth_waiting_for(self, op: ParseInstruction, buffer: str, at: int) -> bool:
        """Return True to wait for the rest of a token. A long one, or one that bounds look at, is read rule by rule."""
        is_near = op.call is None or (len(buffer) - at < MAX_TOKEN_READ_AGAIN and not op.is_tracked)
        return is_near and self._is_standing(op, buffer, at)

    def _is_standing(self, op: ParseInstruction, buffer: str, at: int) -> bool:
        """Return True if a token cut by the end of the buffer may go on; its state is kept."""
        state: AutomatonState | None
        state, reached = self._scan if self._scan is not None else (op.rule_pattern.start, at)
        self._scan = None
        while state is not None and reached < len(buffer):
            state = state[buffer[reached]]
            reached += 1
        if state is None or not state.can_go_on:
            return False
        self._scan = state, reached
        return True

    def _pattern_end(self, slot: GrammarSlot, buffer: str, at: int, *, ended: bool) -> int:
        """The end of a pattern: the only place where it can end and the next character can follow."""
        here, place = self._scan if self._scan is not None else (slot.start, at)
        assert isinstance(here, AutomatonState)  # every pattern has its automaton
        self._scan = None
        found = -1
        verified = 0
        size = len(buffer)
        while True:
            if here.accepts:
                may_end = slot.follow[buffer[place]] if place < size else ended or not here.can_go_on
                if may_end and slot.verify is not None:
                    verified += 1
                    if verified > MAX_VERIFIED_ENDS:
                        return ~FALL_BACK  # the Earley parser counts its work
                if may_end and (slot.verify is None or slot.verify(buffer[at:place])):
                    if found >= 0:
                        return ~FALL_BACK
                    found = place
            if place == size:
                if ended or not here.can_go_on:
                    break
                if found >= 0:
                    return ~FALL_BACK
                self._scan = here, place
                return ~WAITING
            following = here[buffer[place]]
            if following is None:
                break
            if following is here:
                place = max(place + 1, slot.run_ahead(here, buffer, place))
            else:
                place, here = place + 1, following
        return found if found >= 0 else ~FAILED

    def _run_end(self, op: ParseInstruction, buffer: str, at: int, *, ended: bool) -> int:
        """The end of a repetition of single characters."""
        limits, checked = self._scan if self._scan is not None else (self.fast_path.limits(op, self._env), at)
        self._scan = None
        if isinstance(limits, int):
            return ~limits
        least, most = limits
        last = len(buffer) if most is None else min(len(buffer), at + most)
        match = None if op.takes_all else op.match(buffer, checked, last)
        end = last if match is None else match.end()
        if end == last and (most is None or end - at < most) and not ended:
            self._scan = limits, end
            return ~WAITING
        return end if end - at >= least else ~FAILED
