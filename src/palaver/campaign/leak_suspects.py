"""The message and the session to blame for memory that grows.

How it works. After each session the growth of memory is counted for every kind of message that we had sent. A message
is suspected if sessions with it grow most, compared with those without it. A program that has just started grows in any
case: only the last half or more of the sessions count.
"""

from __future__ import annotations

from dataclasses import field

from palaver.campaign.target_findings import HeldSession, LeakSuspect
from palaver.lean_dataclasses import dataclass


@dataclass(slots=True)
class _Growth:
    """The growth in some sessions, and the one that grew most."""

    sessions: int = 0
    total: int = 0
    most: int = 0
    worst: HeldSession | None = None

    def add(self, growth: int, session: HeldSession) -> None:
        self.sessions += 1
        self.total += growth
        is_as_bad = growth == self.most and self.worst is not None
        if growth > self.most or (is_as_bad and self.worst and len(session.messages) < len(self.worst.messages)):
            self.most, self.worst = growth, session


@dataclass(slots=True)
class _Generation:
    """The sessions between two powers of two."""

    all: _Growth = field(default_factory=_Growth)
    by_symbol: dict[str, _Growth] = field(default_factory=dict)


class LeakSuspects:
    """Counts the growth of a program after each session."""

    def __init__(self) -> None:
        self._generations = (_Generation(), _Generation())  # the one before, and that of now
        self._sessions = 0
        self._last: int | None = None

    def restarted(self) -> None:
        """Note that another process has been started."""
        self._last = None

    def note(self, used: int | None, session: HeldSession) -> None:
        """Note the memory after a session, in bytes; None if it is not known."""
        before, self._last = self._last, used
        if used is None or before is None:
            return
        self._sessions += 1
        if self._sessions & (self._sessions - 1) == 0:
            self._generations = (self._generations[1], _Generation())
        now = self._generations[1]
        now.all.add(max(0, used - before), session)
        for symbol in dict.fromkeys(said.symbol for said in session.messages if said.is_ours):
            now.by_symbol.setdefault(symbol, _Growth()).add(max(0, used - before), session)

    @property
    def sessions(self) -> list[int]:
        """The numbers of the sessions that may still be blamed."""
        grown = [each for now in self._generations for each in (now.all, *now.by_symbol.values())]
        return sorted({each.worst.number for each in grown if each.worst is not None})

    def worst(self) -> LeakSuspect | None:
        """The message after which memory grows, with a session that has it; None if nothing has grown."""
        symbols = dict.fromkeys(symbol for each in self._generations for symbol in each.by_symbol)
        scores = {symbol: self._score(symbol) for symbol in symbols}
        best = max(scores, key=lambda symbol: scores[symbol], default="")
        if best and scores[best] > 0:
            found = [each.by_symbol[best] for each in self._generations if best in each.by_symbol]
        else:
            best, found = "", [each.all for each in self._generations]
        grown = max(found, key=lambda growth: growth.most)
        return None if grown.worst is None else LeakSuspect(best, grown.worst)

    def _score(self, symbol: str) -> float:
        """The average growth of sessions with a message, beyond that of sessions without it; 0 if all have it."""
        sessions = sum(each.all.sessions for each in self._generations)
        total = sum(each.all.total for each in self._generations)
        having = [each.by_symbol[symbol] for each in self._generations if symbol in each.by_symbol]
        count, growth = sum(each.sessions for each in having), sum(each.total for each in having)
        return 0.0 if count == sessions else growth / count - (total - growth) / (sessions - count)
