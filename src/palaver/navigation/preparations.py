"""Preparations, as in swarm testing (Groce et al. 2012): what is said before a request, so that its answer differs.

An answer that was waited for in vain may come after another history. So before it is asked for again, some other
messages of ours are said in the same session; then the plan is made anew from where they led. The sequence of messages
is drawn by one of four walks, because each of them is bad for some peers, and the mixture for none. Half of the time
they come in turn, else by their yield so far (Thompson sampling, 1933):

- *uniform*: any messages;
- *repeated*: one message, again and again, which fills queues and reaches thresholds;
- *swarm*: a random half of the messages, so that what undoes the others may be absent;
- *rarest*: after each exchange the message that was said least often after it.

Sequences get longer with the number of preparations for the same answer, and stay shorter until one has paid: until
some answer has come that did not come at first. Once the answer has come, every second
preparation repeats the last messages before it. If it is long in coming, every second preparation is what led to
another answer that did not come at first, twice, the second time with some other values: so two users enter one room.
Only messages are said after which the answer is still possible in this
session. Now and then the session ends instead, because some answers need a peer that has heard nothing yet; most of the
time if the peer seems to be in a state that nothing leaves.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from copy import copy
from enum import Enum
from typing import Any, NamedTuple

from palaver.navigation.absorbing_states import AbsorbingStates
from palaver.navigation.dialogue_map import DialogueMap, MapNode
from palaver.navigation.learnt_values import Exchange
from palaver.navigation.navigation_limits import (
    FINAL_RESTART_SHARE,
    MAX_NODES_KEPT_IN_REACH,
    MAX_PREPARATION,
    MAX_PREPARATIONS_IN_A_ROW,
    MAX_RESTART_SHARE,
    MAX_UNPAID_PREPARATIONS,
    MESSAGES_BEFORE_RESTART,
    PREPARATIONS_BEFORE_ROUNDS,
    REPEATED_MESSAGES,
    RESTART_SHARE,
    SHARE_BY_YIELD,
    SHARE_OF_ROUNDS,
    UNPAID_SHARE_OF_LENGTH,
)
from palaver.random_source import RandomSource


class PreparationKind(Enum):
    """The ways to draw a preparation."""

    UNIFORM = "any messages"
    REPEATED = "one message, repeated"
    SWARM = "some of the messages"
    RAREST = "what was seldom said here"
    AS_BEFORE = "what came before it the last time"
    ROUNDS = "twice what led to another answer, with some other values"


class Preparation(NamedTuple):
    """A way to prepare; `is_focused` if all its messages have the same values."""

    kind: PreparationKind
    is_focused: bool


_ALL_PREPARATIONS = tuple(
    Preparation(kind, is_focused)
    for kind in (
        PreparationKind.UNIFORM,
        PreparationKind.REPEATED,
        PreparationKind.SWARM,
        PreparationKind.RAREST,
    )
    for is_focused in (False, True)
)


class AwaitedAnswer(NamedTuple):
    """An answer that did not come, or had nothing new in it: our message, the answer, and its coverage state."""

    message: str
    answer: str
    state: int
    has_come: bool

    def __str__(self) -> str:
        if self.has_come:
            return f"{self.answer} had nothing new in it after {self.message}"
        return f"{self.answer} did not come after {self.message}"


class Preparations:
    """Prepares the answers of all sessions of a run."""

    def __init__(self, dialogue_map: DialogueMap, chance: RandomSource) -> None:
        self._map = dialogue_map
        self._chance = chance
        self._failures: Counter[Exchange] = Counter()
        self._prepared: Counter[Exchange] = Counter()  # the number of preparations for each answer
        self._in_a_row: Counter[Exchange] = Counter()  # of these, those since it was last asked for
        self._decks: dict[Exchange, list[Preparation]] = {}  # the preparations that come next
        self._repeated: dict[Exchange, Counter[str]] = {}  # how often each message was repeated for an answer
        self._before: dict[Exchange, tuple[str, ...]] = {}  # our last messages before an answer that was awaited
        self._follow_ups: Counter[tuple[Exchange, str]] = Counter()  # our messages after each exchange
        self._kind: Preparation | None = None  # of the present attempt
        self._used: Counter[Preparation] = Counter()  # by kind, the attempts after such a preparation
        self._paid: Counter[Preparation] = Counter()  # of these, those that brought the answer
        self._promised: set[Exchange] = set()  # answers that came in another run, and were not prepared as there
        self._in_reach: dict[tuple[MapNode, int], bool] = {}
        self._absorbing = AbsorbingStates()
        # Of this session:
        self._said: deque[str] = deque(maxlen=REPEATED_MESSAGES + 1)  # our last messages
        self._number = 0  # of our messages
        self._in_session: Counter[Exchange] = Counter()  # the number of preparations for each answer
        self._exchange: Exchange = ("", "")
        self._pending: deque[str | None] = deque()  # None: what was said least often
        self._second = 0  # the number of messages that are left when a second round begins
        self.awaited: AwaitedAnswer | None = None  # the answer that is prepared
        self.is_ready = False  # something was said for the present attempt
        self.begins_round = False  # with the next message a second round begins

    def beside(self, chance: RandomSource) -> Preparations:
        """The same for sessions that go on beside these: what they learn is known to both."""
        other = copy(self)
        other._chance = chance
        other._said = deque(maxlen=REPEATED_MESSAGES + 1)
        other._in_session, other._pending = Counter(), deque()
        other._absorbing = self._absorbing.beside()
        other._kind = other.awaited = None
        other.begin_session()
        return other

    @property
    def _has_paid(self) -> bool:
        """True if an answer that did not come at first has come later."""
        return bool(self._before)

    def begin_session(self) -> None:
        """Begin another session."""
        self._said.clear()
        self._absorbing.begin_session()
        self._in_session.clear()
        self._number = 0
        self._exchange = ("", "")
        self.drop()
        self.is_ready = False

    def drop(self) -> None:
        """Say no more for the present attempt."""
        self._pending.clear()
        self._second = 0

    def has_failed(self, message: str, answer: str) -> bool:
        """Return True if an answer to a message of ours was planned for in vain."""
        return self._failures[message, answer] > 0

    def is_due(self, awaited: AwaitedAnswer) -> bool:
        """Return True if something is to be said before an answer is asked for, and was not too often in vain.

        While nothing shows that the peer remembers, the contents of answers are prepared only a few times.
        """
        goal = (awaited.message, awaited.answer)
        if self.is_ready or self._in_a_row[goal] >= MAX_PREPARATIONS_IN_A_ROW:
            return False
        return self._has_paid or not awaited.has_come or self._prepared[goal] < MAX_UNPAID_PREPARATIONS

    def note_said(self, symbol: str) -> None:
        """Note a message of ours."""
        self._follow_ups[self._exchange, symbol] += 1
        self._said.append(symbol)
        self._number += 1

    def note_answer(self, message: str, answer: str, planned: str | None, is_open: bool) -> None:
        """Note an answer, and the one that was planned for; `is_open` if others were possible."""
        came = (message, answer)
        if is_open:
            self._absorbing.note(came)
            if self._failures[came] and came not in self._before:
                self._before[came] = tuple(self._said)[:-1]
            if planned is not None and self._kind is not None:
                self._used[self._kind] += 1
                self._paid[self._kind] += planned == answer
                self._kind = None
            if planned is not None:
                self._in_a_row[message, planned] = 0
                self.is_ready = False
                if planned != answer:
                    self._failures[message, planned] += 1
        self._exchange = came

    def note_content(self, awaited: AwaitedAnswer) -> None:
        """Note that an answer has come for the sake of what might be in it."""
        self._in_a_row[awaited.message, awaited.answer] = 0
        self.is_ready = False

    def wants_restart(self, awaited: AwaitedAnswer) -> bool:
        """Return True if the session is to end instead of another preparation, the likelier the more it has had."""
        if self._number <= MESSAGES_BEFORE_RESTART:
            return False
        share = min(RESTART_SHARE * self._in_session[awaited.message, awaited.answer], MAX_RESTART_SHARE)
        return self._chance.random() < (FINAL_RESTART_SHARE if self._absorbing.is_final else share)

    def keeps(self, node: MapNode, state: int) -> bool:
        """Return True if a coverage state can still be reached from a node in this session."""
        key = (node, state)
        if key not in self._in_reach:
            self._in_reach[key] = self._reaches(node, state)
        return self._in_reach[key]

    def _reaches(self, start: MapNode, state: int) -> bool:
        # An answer that may come at once would be one to the preparation itself.
        seen = {edge.to for edge in self._map.edges(start)}
        todo = sorted(seen, key=lambda node: node.number)
        for node in todo:
            for edge in self._map.edges(node):
                if edge.state == state:
                    return True
                if edge.to not in seen and len(seen) < MAX_NODES_KEPT_IN_REACH:
                    seen.add(edge.to)
                    todo.append(edge.to)
        return False

    def start(self, awaited: AwaitedAnswer, symbols: Sequence[str], *, has_values: bool) -> Preparation:
        """Draw a sequence of these messages of ours, which are said next; `has_values` if our request has some."""
        goal = (awaited.message, awaited.answer)
        self._prepared[goal] += 1
        self._in_a_row[goal] += 1
        self._in_session[goal] += 1
        self.awaited = awaited
        self.is_ready = True
        self._second = 0
        self._kind = None
        chance = self._chance / awaited.message / awaited.answer / self._prepared[goal]
        if goal in self._before and (goal in self._promised or chance.random() < 0.5):
            self._promised.discard(goal)
            self._pending.extend(self._before[goal])
            return Preparation(PreparationKind.AS_BEFORE, chance.random() < 0.5)
        is_hard = self._prepared[goal] > PREPARATIONS_BEFORE_ROUNDS
        if is_hard and goal not in self._before and self._before and chance.random() < SHARE_OF_ROUNDS:
            came = chance.pick(list(self._before))
            one = [*self._before[came], came[0]]
            self._pending.extend(one * 2)
            self._second = len(one)
            return Preparation(PreparationKind.ROUNDS, is_focused=True)
        deck = self._decks.setdefault(goal, [])
        if not deck:
            deck.extend(sorted(_ALL_PREPARATIONS, key=lambda _: chance.random()))
        preparation = deck.pop()
        if chance.random() < SHARE_BY_YIELD:
            preparation = max(_ALL_PREPARATIONS, key=lambda each: self._promise(each, chance))
        self._kind = preparation
        drawn = self._drawn(preparation.kind, awaited, list(symbols), chance)
        if not has_values and preparation.kind is not PreparationKind.REPEATED:
            # Without values the request would be the same once more, so at the end it is no preparation for itself.
            others = [symbol for symbol in symbols if symbol != awaited.message]
            if others and drawn[-1] == awaited.message:
                drawn[-1] = chance.pick(others)
        self._pending.extend(drawn)
        return preparation

    def _promise(self, preparation: Preparation, chance: RandomSource) -> float:
        """A draw from what is believed of the yield of a kind of preparation (Thompson sampling)."""
        paid, used = self._paid[preparation], self._used[preparation]
        return chance.stream.betavariate(1 + paid, 1 + used - paid)

    def _drawn(
        self, kind: PreparationKind, awaited: AwaitedAnswer, symbols: list[str], chance: RandomSource
    ) -> list[str | None]:
        goal = (awaited.message, awaited.answer)
        if kind is PreparationKind.REPEATED:
            times = self._repeated.setdefault(goal, Counter())
            # The request itself comes last: it was said already, and has brought another answer.
            symbol = min(symbols, key=lambda each: times[each] + 0.5 * (each == awaited.message) + chance.random())
            times[symbol] += 1
            return [symbol] * min(MAX_PREPARATION, (3 if self._has_paid else 2) * times[symbol])
        growth = 1.0 if self._has_paid else UNPAID_SHARE_OF_LENGTH
        length = self._length(chance, 1 + growth * self._prepared[goal] ** 0.5)
        if kind is PreparationKind.RAREST:
            return [None] * length
        some = symbols
        if kind is PreparationKind.SWARM:
            some = [symbol for symbol in symbols if chance.random() < 0.5] or symbols
        return [chance.pick(some) for _ in range(length)]

    def _length(self, chance: RandomSource, mean: float) -> int:
        """A random length, geometrically distributed."""
        length = 1
        while length < MAX_PREPARATION and chance.random() > 1 / mean:
            length += 1
        return length

    def next(self, symbols: Sequence[str]) -> str | None:
        """The next message of the preparation, one of these; None if it is over, or seems to be of no use."""
        if self._pending and self._absorbing.is_final and self._chance.random() < FINAL_RESTART_SHARE:
            self.drop()
        while self._pending:
            self.begins_round = self._second == len(self._pending)
            symbol = self._pending.popleft()
            if symbol is None and symbols:
                return min(symbols, key=lambda each: self._follow_ups[self._exchange, each] + self._chance.random())
            if symbol in symbols:
                return symbol
        return None

    @property
    def is_pending(self) -> bool:
        """True if something is still to be said."""
        return bool(self._pending)

    def as_data(self) -> dict[str, Any]:
        """The answers that did not come at first and came later, with what preceded them, as JSON can hold them."""
        return {"before": [[*goal, list(symbols)] for goal, symbols in self._before.items()], "paid": self._has_paid}

    def add_data(self, data: Mapping[str, Any]) -> None:
        """Add those of another run: they are prepared as there, before they are asked for the first time.

        What never came in that run is asked for without a preparation at first, as everything is.
        """
        for message, answer, symbols in data["before"]:
            goal = (message, answer)
            self._failures[goal] += 1
            self._before.setdefault(goal, tuple(symbols))
            self._promised.add(goal)
