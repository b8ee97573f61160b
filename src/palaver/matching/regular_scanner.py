"""Regular scanner: a message of unknown end read by a deterministic automaton (Rabin and Scott 1959).

Every length of what comes until the close may be a complete message. So the fast path cannot decide, and the Earley
parser would keep an item for each. An automaton needs one state, however long the message is, and the lengths are kept
as ranges.
Trees are made by a matcher of the whole message, once its length is known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import overload

from palaver.matching.matching_limits import MIN_CHARACTERS_TO_RUN
from palaver.regular.language import AutomatonState


class MessageEnds(Sequence[int]):
    """The lengths at which a message is complete, rising, as ranges of characters; `offset` counts their units."""

    def __init__(self, offset: Callable[[int], int]) -> None:
        self._offset = offset
        self._firsts: list[int] = []  # the first position of each range
        self._before: list[int] = []  # the number of positions before each range
        self._size = 0

    def add(self, first: int, last: int) -> None:
        """Add all positions from `first` to `last`, which are beyond all others."""
        if not self._firsts or self._firsts[-1] + self._size - self._before[-1] != first:
            self._firsts.append(first)
            self._before.append(self._size)
        self._size += last - first + 1

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> list[int]: ...

    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self._size))]
        number = index + self._size if index < 0 else index
        if not 0 <= number < self._size:
            raise IndexError(index)
        place = bisect_right(self._before, number) - 1
        return self._offset(self._firsts[place] + number - self._before[place])


class RegularScanner:
    """Reads one message by the automaton of its language."""

    def __init__(self, start: AutomatonState, offset: Callable[[int], int]) -> None:
        self._state: AutomatonState | None = start
        self._runs: dict[AutomatonState, Callable[[str, int], re.Match[str] | None]] = {}
        self._pieces: list[str] = []
        self.size = 0
        self.failed_at: int | None = None
        self.ends = MessageEnds(offset)
        if start.accepts:
            self.ends.add(0, 0)

    @property
    def buffer(self) -> str:
        """All that has been read."""
        if len(self._pieces) != 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    @property
    def may_go_on(self) -> bool:
        """True if more input could be read."""
        return self._state is not None and self._state.can_go_on

    @property
    def is_complete(self) -> bool:
        """True if all the input so far is a message."""
        return self._state is not None and self._state.accepts

    def read(self, text: str) -> None:
        """Read more of the input."""
        base, at, state = self.size, 0, self._state
        self._pieces.append(text)
        self.size += len(text)
        while at < len(text) and state is not None:
            end = self._run(state, text, at) if len(text) - at >= MIN_CHARACTERS_TO_RUN else at
            if end > at:
                if state.accepts:
                    self.ends.add(base + at + 1, base + end)
                at = end
                continue
            state = state[text[at]]
            if state is None:
                self.failed_at = base + at
                break
            at += 1
            if state.accepts:
                self.ends.add(base + at, base + at)
        self._state = state

    def _run(self, state: AutomatonState, text: str, at: int) -> int:
        """The first place from `at` on where the automaton may leave a state."""
        run = self._runs.get(state)
        if run is None:
            chars = state.loop_chars()
            run = self._runs[state] = re.compile(f"[{chars.as_class()}]*+" if chars else "").match
        match = run(text, at)
        return match.end() if match is not None else at
