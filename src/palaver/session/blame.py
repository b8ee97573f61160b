"""Blame for a broken constraint, on a party and a message: the state of the constraint monitor under one hypothesis.

A clause that turns from holding to failing was broken by the message that came then: a *breach*. A clause that holds
again has none. So when it turns out that a clause cannot hold any more, the message to blame is known, however long ago
it came.

Clauses about nodes that hold messages (`distinct(*<exchange>)`) speak of nodes that are complete, and what completes a
node need not be what is wrong in it. They have an *early value*, too: that of the tree with the open nodes selected as
if they were complete. It is a presumption, and decides nothing alone; but nobody is blamed for a clause that will hold
once the open nodes are complete.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from palaver.constraints.checks import Failure
from palaver.constraints.incremental import IncrementalChecks
from palaver.session.session_limits import MAX_QUESTIONS


class LatestMessage(NamedTuple):
    """The latest message of a session, as the monitor needs to know it."""

    symbol: str
    is_ours: bool
    number: int  # of the message in its session, from 0


class Breach(NamedTuple):
    """The message with which a clause turned from holding to failing."""

    number: int  # of the message in its session, from 0
    is_ours: bool
    symbol: str
    failure: Failure
    is_early: bool = False  # True if only the early value failed


class Violation(NamedTuple):
    """A clause that can hold no more."""

    clause: int
    failure: Failure
    breach: Breach | None = None  # the earlier message that broke it; None: it was the latest one
    is_doubtful: bool = False  # True if it is not sure that the latest message broke it


class MonitorState:
    """The value of every clause after some messages, and the breaches of those that fail; a value itself.

    `early` are the early values of the clauses; None: it has none, or its code raised.
    """

    __slots__ = ("breaches", "checks", "early", "is_clean")

    def __init__(
        self, checks: IncrementalChecks, early: tuple[bool | None, ...], breaches: tuple[Breach | None, ...]
    ) -> None:
        self.checks = checks
        self.early = early
        self.breaches = breaches
        # Nothing fails, as far as can be seen, and nobody is to blame for anything.
        self.is_clean = not checks.failures and False not in early and not any(breaches)

    @property
    def accusations(self) -> tuple[int, int]:
        """The numbers of clauses that other parties have broken, and that anybody has."""
        known = [breach.is_ours for breach in self.breaches if breach is not None]
        return known.count(False), len(known)

    def fails(self, clause: int) -> bool:
        """True if a clause fails as far as can be seen: by its early value, or by its value if it has no early one."""
        early = self.early[clause]
        return self.checks.outcomes[clause] is not None if early is None else not early

    def after(
        self,
        checks: IncrementalChecks,
        early: tuple[bool | None, ...],
        latest: LatestMessage,
        early_failures: dict[int, Failure],
        undecided: Collection[int],
    ) -> MonitorState:
        """The state after a message; it does not break clauses that are `undecided`."""
        unblamed = MonitorState(checks, early, self.breaches)
        if unblamed.is_clean:
            return unblamed
        outcomes, earlier = checks.outcomes, self.checks.outcomes
        breaches = list(self.breaches)
        for clause, failure in enumerate(outcomes):
            # What holds once the open nodes are complete is not broken.
            if early[clause] or (failure is None and early[clause] is None):
                breaches[clause] = None
                continue
            is_new = not self.fails(clause)
            # What a message of ours completes is ours, whoever has begun it.
            is_ours = latest.is_ours and earlier[clause] is None and failure is not None
            if (is_new or is_ours) and clause not in undecided:
                shown = failure or early_failures[clause]
                breaches[clause] = Breach(latest.number, latest.is_ours, latest.symbol, shown, failure is None)
        return MonitorState(checks, early, tuple(breaches))

    def blaming(self, clause: int, breach: Breach | None) -> MonitorState:
        """The same, with another message to blame for a clause, or none."""
        return MonitorState(self.checks, self.early, (*self.breaches[:clause], breach, *self.breaches[clause + 1 :]))


class Recoveries:
    """Experience from the sessions of a setup: which clauses hold again after they failed, and who is waited for."""

    def __init__(self) -> None:
        self._recovered: set[int] = set()
        self._held: set[tuple[int, str]] = set()
        self.all_held_after: set[str] = set()  # the messages for which that holds of all clauses
        self._passing: set[tuple[int, str]] = set()
        self._open: set[int] = set()
        self._futile: set[tuple[str, frozenset[int]]] = set()
        self._in_vain: dict[tuple[int, str], int] = {}  # questions about a clause after messages of a symbol
        self._asked: dict[int, int] = {}  # questions about a clause that a message of a peer has just broken

    @property
    def count(self) -> tuple[int, ...]:
        """The numbers of observations; they are equal only if nothing was added."""
        seen = len(self._recovered), len(self._held), len(self._passing), len(self._open), len(self._futile)
        return *seen, len(self._in_vain), sum(self._in_vain.values())

    def as_data(self) -> dict[str, list[Any]]:
        """All of it, as JSON can hold it; equal for equal observations."""
        return {
            "recovered": sorted(self._recovered),
            "held": sorted(self._held),
            "passing": sorted(self._passing),
            "open": sorted(self._open),
            "futile": sorted((symbol, sorted(clauses)) for symbol, clauses in self._futile),
            "asked": sorted((clause, symbol, count) for (clause, symbol), count in self._in_vain.items()),
        }

    def add_data(self, data: Mapping[str, list[Any]]) -> None:
        """Add the observations of other sessions of the same spec."""
        self._recovered.update(data["recovered"])
        self._held.update((clause, symbol) for clause, symbol in data["held"])
        self._passing.update((clause, symbol) for clause, symbol in data.get("passing", ()))
        self._open.update(data.get("open", ()))
        self._futile.update((symbol, frozenset(clauses)) for symbol, clauses in data["futile"])
        self._in_vain.update(((clause, symbol), count) for clause, symbol, count in data.get("asked", ()))

    def recovered(self, clause: int, symbol: str) -> None:
        """Note that a clause holds again after a message of a symbol."""
        self._recovered.add(clause)
        self._in_vain.pop((clause, symbol), None)

    def can_recover(self, clause: int) -> bool:
        """True if a clause has been seen to hold again."""
        return clause in self._recovered

    def held(self, clause: int, symbol: str) -> None:
        """Note that a clause holds after a message of ours."""
        self._held.add((clause, symbol))

    def all_held(self, clauses: int, symbol: str) -> None:
        """Note that all of so many clauses hold after a message of ours."""
        self.all_held_after.add(symbol)
        self._held.update((clause, symbol) for clause in range(clauses))

    def has_held(self, clause: int, symbol: str) -> bool:
        """True if a clause has been seen to hold after a message of ours with this symbol."""
        return (clause, symbol) in self._held

    def waits_for_others(self, clause: int, symbol: str) -> bool:
        """True if a clause always fails after such a message of ours, and holds again later."""
        return clause in self._recovered and (clause, symbol) not in self._held

    def note_passing(self, clause: int, symbol: str) -> None:
        """Note that a clause that fails after a message of this symbol holds again in a continuation."""
        self._passing.add((clause, symbol))

    def is_passing(self, clause: int, symbol: str) -> bool:
        """True if that was noted before."""
        return (clause, symbol) in self._passing

    def note_open(self, clause: int) -> None:
        """Note that a clause that fails after a message of a peer holds in a continuation, or is nearer to it."""
        self._open.add(clause)

    def may_hold_later(self, clause: int) -> bool:
        """True if a clause that fails has been seen to hold again, or to be nearer to it, if only in continuations."""
        return clause in self._recovered or clause in self._open or any(clause == each for each, _ in self._passing)

    def is_asked_first(self, clause: int) -> bool:
        """True the first times that it is asked, in all sessions, if a clause may hold later."""
        self._asked[clause] = self._asked.get(clause, 0) + 1
        return self._asked[clause] <= MAX_QUESTIONS

    def note_futile(self, symbol: str, constraints: frozenset[int]) -> None:
        """Note that no message of this symbol was found that makes failing constraints hold."""
        self._futile.add((symbol, constraints))

    def is_futile(self, symbol: str, constraints: frozenset[int]) -> bool:
        """True if that was noted before."""
        return (symbol, constraints) in self._futile

    def is_worth_asking(self, clause: int, symbol: str) -> bool:
        """True if a peer's messages of a symbol may make a clause hold: seldom enough was that asked in vain."""
        return self._in_vain.get((clause, symbol), 0) < MAX_QUESTIONS

    def was_asked_in_vain(self, clause: int, symbol: str) -> bool:
        """True if no message of a symbol was found before with which a clause holds."""
        return (clause, symbol) in self._in_vain

    def asked_in_vain(self, clause: int, symbol: str) -> None:
        """Note that no other message of a symbol was found with which a clause holds."""
        self._in_vain[clause, symbol] = self._in_vain.get((clause, symbol), 0) + 1
