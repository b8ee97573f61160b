"""The scanner of the Earley parser (Earley 1970): matches terminals against a buffer that grows piece by piece.

A terminal that reaches the end of the buffer is kept with its state, and goes on with the next piece. A pattern does
not end where the next character cannot follow it, and one that loops in one state runs ahead in compiled code. Neither
changes an answer; `_pruned` keeps what was left out at the last position, for messages about a bad input.
"""

from __future__ import annotations

from typing import NoReturn

from palaver.errors import Undecided
from palaver.matching.earley_items import EarleyItem, GoalLimits
from palaver.matching.grammar_slots import BIT, LITERAL, GrammarSlot, NextInput
from palaver.matching.matching_limits import CHARACTERS_PER_WORK, MAX_EARLEY_WORK, MAX_EARLEY_WORK_PER_CHARACTER
from palaver.matching.reading_budget import ReadingBudget
from palaver.regular.language import AutomatonState


class EarleyScanner:
    """The buffer, and the terminals that are being matched against it."""

    # An object with more attributes than 30, those of the parser included, would be slower without these.
    __slots__ = (
        "_budget", "_failed", "_failed_at", "_has_given_up", "_partly_matched", "_prune", "_pruned",
        "_pruned_at", "_uncounted", "_unit", "_unmatched", "buffer", "limit", "work",
    )  # fmt: skip

    def __init__(self, unit: int, *, prune: bool, budget: ReadingBudget | None = None) -> None:
        self.buffer = ""
        self.limit = 0  # the position at the end of the buffer
        self._unit = unit
        self._prune = prune
        self._unmatched: list[EarleyItem] = []  # terminals that begin at the end of the buffer
        self._partly_matched: list[tuple[EarleyItem, AutomatonState | int]] = []  # terminals that began before it
        # The terminals in progress at the furthest position, for messages.
        self._failed_at = -1
        self._failed: list[GrammarSlot] = []
        self._pruned_at = -1
        self.work = 0  # see MAX_EARLEY_WORK
        self._uncounted = 0  # the part of it that is not counted yet
        self._budget = budget
        self._has_given_up = False  # True once there was too much of it
        self._pruned: list[EarleyItem] = []

    @property
    def is_alive(self) -> bool:
        """True if more input could be read."""
        return bool(self._unmatched or self._partly_matched)

    @property
    def frontier(self) -> list[EarleyItem]:
        """The items whose terminal has not been seen to its end."""
        return self._unmatched + [item for item, _ in self._partly_matched]

    @property
    def unfinished(self) -> list[EarleyItem]:
        """The items of the frontier whose terminal cannot end where the input does."""
        partly_matched = (item for item, state in self._partly_matched if isinstance(state, int) or not state.accepts)
        return [*self._unmatched, *partly_matched]

    def spend(self, work: int) -> None:
        """Count work, and what was not counted yet. :raises Undecided: it is more than the input may take"""
        self.work += work + self._uncounted
        self._uncounted = 0
        if self._has_given_up or self.work > MAX_EARLEY_WORK + MAX_EARLEY_WORK_PER_CHARACTER * self.limit:
            self._give_up()

    def _spend_budget(self, work: int) -> None:
        """Take work from the budget, if there is one. :raises Undecided: there is not enough left"""
        if self._budget is not None and not self._budget.spend(work):
            self._give_up()

    def _give_up(self) -> NoReturn:
        if not self._has_given_up:
            MAX_EARLEY_WORK.reached()
        self._has_given_up = True
        raise Undecided(f"the first {self.limit // self._unit} characters can be read in too many ways")

    def _end_terminal(self, item: EarleyItem, pos: int) -> None:
        """Move `item` on over its terminal, which ends at `pos`."""
        raise NotImplementedError

    def _key(self, pos: int) -> NextInput:
        """The next input at `pos`: a character, a bit if `pos` is inside a byte, None at the end of the buffer."""
        if pos == self.limit or not self._prune:
            return None
        if self._unit == 1:
            return self.buffer[pos]
        index, bits = divmod(pos, self._unit)
        return ord(self.buffer[index]) >> (7 - bits) & 1 if bits else self.buffer[index]

    def _can_stand(self, slot: GrammarSlot, pos: int) -> bool:
        if slot.kind == BIT:
            return True
        if slot.kind == LITERAL:
            return slot.text != "" and pos % self._unit == 0
        return slot.start is not None and slot.start.can_go_on and pos % self._unit == 0

    def _rescan(self, added: int) -> None:
        """Go on with all terminals that met the end of the buffer, which now has `added` more characters."""
        unmatched, self._unmatched = self._unmatched, []
        partly_matched, self._partly_matched = self._partly_matched, []
        for item, state in partly_matched:
            if isinstance(state, int):
                self._resume_literal(item, state)
            else:
                self._run_pattern(item, state, (self.limit // self._unit) - added)
        for item in unmatched:
            self._scan(item, is_new=False)

    def _scan(self, item: EarleyItem, *, is_new: bool) -> None:
        """Match the terminal at the dot of `item`. `is_new` is False on the second attempt, with a longer buffer."""
        slot = item.slot
        index, bits = item.pos, 0
        if self._unit > 1:
            index, bits = divmod(index, self._unit)
        if item.goal.limits is not None and not self._has_room(item, item.goal.limits):
            if slot.start is not None and is_new and not bits and slot.start.accepts:
                self._end_pattern(item, index)
        elif slot.kind == BIT:
            if item.pos == self.limit:
                self._unmatched.append(item)
                return
            code = ord(self.buffer[index])
            if code < 0x100 and code >> (7 - bits) & 1 == slot.bit:
                self._end_terminal(item, item.pos + 1)
        elif bits:
            return  # whole characters stand at byte borders only
        elif slot.kind == LITERAL:
            self._scan_literal(item, index)
        else:
            state = slot.start
            assert state is not None  # every pattern has its automaton
            if is_new and state.accepts:
                self._end_pattern(item, index)
            if item.pos < self.limit:
                self._run_pattern(item, state, index)
            elif state.can_go_on:
                self._unmatched.append(item)

    def _has_room(self, item: EarleyItem, limits: GoalLimits) -> bool:
        """Return True if a terminal can read anything before the limit of its goal."""
        slot = item.slot
        needed = 1 if slot.kind == BIT else self._unit * (len(slot.text) if slot.kind == LITERAL else 1)
        return limits.last is None or item.pos + needed <= limits.last

    def _scan_literal(self, item: EarleyItem, index: int) -> None:
        text = item.slot.text
        if self.buffer.startswith(text, index):
            pos = item.pos + len(text) * self._unit
            self._end_terminal(item, pos)
        elif item.pos == self.limit:
            self._unmatched.append(item)
        elif self.buffer[index] == text[0]:
            self._resume_literal(item, 1)

    def _resume_literal(self, item: EarleyItem, matched: int) -> None:
        """Go on with a literal of which `matched` characters have been seen."""
        text = item.slot.text
        index = item.pos // self._unit
        seen = self.buffer[index + matched : index + len(text)]
        if text.startswith(seen, matched):
            matched += len(seen)
            if matched == len(text):
                self._end_terminal(item, item.pos + matched * self._unit)
            else:
                self._partly_matched.append((item, matched))
            return
        while text[matched] == self.buffer[index + matched]:
            matched += 1
        self._fail(item.slot, item.pos + matched * self._unit)

    def _run_pattern(self, item: EarleyItem, state: AutomatonState, at: int) -> None:
        """Go on with a pattern that is in `state` before the character number `at`."""
        slot = item.slot
        buffer = self.buffer
        size = len(buffer)
        began = at
        limit = None if item.goal.limits is None else item.goal.limits.last
        is_limited = limit is not None and limit <= self.limit
        if limit is not None and is_limited:
            size = limit // self._unit
        while at < size:
            following = state[buffer[at]]
            if following is None:
                if state.can_go_on and at * self._unit > item.pos:
                    self._fail(slot, at * self._unit)
                self.work += (at - began) // CHARACTERS_PER_WORK
                return
            if following is not state:
                state = following
                at += 1
            elif self._prune and (ahead := slot.run_ahead(state, buffer, at)) > at:
                at = min(ahead, size)
            else:
                at += 1
            if state.accepts:
                self._end_pattern(item, at)
        self.work += (at - began) // CHARACTERS_PER_WORK
        if state.can_go_on and not is_limited:
            self._partly_matched.append((item, state))

    def _end_pattern(self, item: EarleyItem, at: int) -> None:
        """A match of a pattern may end before the character number `at`."""
        slot = item.slot
        pos = at * self._unit
        if slot.verify is not None:
            text = self.buffer[item.pos // self._unit : at]
            self.spend(len(text) // CHARACTERS_PER_WORK)
            self._spend_budget(len(text) // CHARACTERS_PER_WORK)
            if not slot.verify(text):
                return
        if pos == self.limit or not self._prune or slot.follow[self.buffer[at]]:
            self._end_terminal(item, pos)
        elif pos >= self._pruned_at:
            if pos > self._pruned_at:
                self._pruned_at = pos
                self._pruned = []
            self._pruned.append(item)

    def _fail(self, slot: GrammarSlot, pos: int) -> None:
        if pos > self._failed_at:
            self._failed_at = pos
            self._failed = []
        if pos == self._failed_at:
            self._failed.append(slot)
