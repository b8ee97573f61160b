"""The strategy of a session: it chooses our next message where the grammar leaves it open."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import accumulate
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from palaver.generation.makers import Steering, ValueSource
from palaver.matching.forecaster import Forecast, MessageType
from palaver.random_source import RandomSource
from palaver.session.findings import SessionMessage
from palaver.trees.node import Node, TreePath


class _Wait(Enum):
    WAIT = "wait"


WAIT: Final = _Wait.WAIT


class ScriptedMessage(NamedTuple):
    """A message of ours that is known already, such as one of an earlier session: as a tree, or as its bytes."""

    move: MessageType
    node: Node | None = None
    data: bytes = b""
    is_exact: bool = True  # False: what no longer fits the answers of the peer is made anew,
    kept: TreePath | None = None  # if possible without changing this part of the tree


# Our next message; None to end the session; WAIT to let the peer send first for a while.
StrategyChoice: TypeAlias = MessageType | ScriptedMessage | Literal[_Wait.WAIT] | None


class Strategy(Protocol):
    """Chooses our next message, and is told of all messages."""

    @property
    def steering(self) -> Steering | None:
        """The steering of our messages' contents; None: they are random."""

    @property
    def values(self) -> ValueSource | None:
        """The known values that our messages may repeat; None: they are always fresh."""

    def begin(self) -> None:
        """A session begins."""

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """One of our possible messages, or the end, if the session can end here, or a pause."""

    def finish_soon(self) -> None:
        """The session has nearly used up its messages: take the shortest way to its end from here on."""

    def waited(self, forecast: Forecast) -> None:
        """Nothing came in a pause. The next choice had better not be another one."""

    def refused(self, move: MessageType) -> None:
        """No such message was found that satisfies the constraints; another choice is asked for."""

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """A message was added to the session."""

    def ended(self, can_end: bool) -> None:
        """The session is over; `can_end` if it could end there."""


class RandomStrategy:
    """Random walk: every possible message, and the end, is equally likely."""

    steering: Steering | None = None
    values: ValueSource | None = None

    def __init__(self, chance: RandomSource) -> None:
        self._chance = chance
        self._ends_soon = False

    def begin(self) -> None:
        """Begin another session."""
        self._ends_soon = False

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """A random one of our messages, or the end."""
        if self._ends_soon:
            return None if can_end else self._towards_the_end(moves, forecast)
        options: list[MessageType | None] = [*moves, *((None,) if can_end else ())]
        return self._chance.pick(options)

    def _towards_the_end(self, moves: Sequence[MessageType], forecast: Forecast) -> MessageType:
        """A random one of the messages after which the fewest others may still come."""
        ahead = [len(forecast.ahead_after(move)) for move in moves]
        return self._chance.pick([move for move, count in zip(moves, ahead, strict=True) if count == min(ahead)])

    def finish_soon(self) -> None:
        """End the session as soon as it can end."""
        self._ends_soon = True

    def waited(self, forecast: Forecast) -> None:
        """It never waits."""

    def refused(self, move: MessageType) -> None:
        """The message is not offered again."""

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """Earlier messages do not matter."""

    def ended(self, can_end: bool) -> None:
        """The way sessions end does not matter."""


class ShortestStrategy(RandomStrategy):
    """Takes the shortest way to the end from the beginning on."""

    def begin(self) -> None:
        """Begin another session, and come to its end."""
        self.finish_soon()


class ScriptLine(NamedTuple):
    """A message of a script. Of one without a tree, only the bytes are known."""

    sender: str
    symbol: str
    data: bytes
    is_ours: bool
    node: Node | None = None
    kept: TreePath | None = None  # the part of the tree that had better not be changed
    aside: str = ""  # if it is no part of the dialogue: what is wrong about it on purpose, or "answer"


def script_of(messages: Iterable[SessionMessage]) -> list[ScriptLine]:
    """The script that says the same as a session."""
    return [
        ScriptLine(said.sender, said.symbol, said.data, said.is_ours, said.node, aside=said.aside) for said in messages
    ]


class ScriptedStrategy:
    """Sends the messages of an earlier session again, and ends after the last of them.

    Where the peer spoke next in that session, it is let speak first. If `is_exact`, messages are sent as they were;
    otherwise, what no longer fits the peer's answers is made anew. If it `listens`, it does not leave at once where the
    dialogue is not complete. If it `goes_on`, it says one message more, whichever can be made: in that session none
    could. `stuck_at` is the step that was not possible.
    """

    steering: Steering | None = None
    values: ValueSource | None = None

    def __init__(
        self, script: Iterable[ScriptLine], *, is_exact: bool = True, listens: bool = False, goes_on: bool = False
    ) -> None:
        steps = list(script)
        self._script = deque(step for step in steps if not step.aside)
        # What is wrong on purpose, each with the number of our other messages before it; a digressing session says it.
        said = list(accumulate((step.is_ours and not step.aside for step in steps), initial=0))
        self.asides = tuple((said[at], step) for at, step in enumerate(steps) if step.aside and step.is_ours)
        self._is_exact = is_exact
        self._listens = listens
        self._goes_on = goes_on
        self.stuck_at: ScriptLine | None = None

    def begin(self) -> None:
        """There is only one session."""

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """The next message of the script, if it is possible."""
        if self._goes_on and not any(step.is_ours for step in self._script):
            return WAIT if self._script else moves[0]
        if self.stuck_at is not None or not any(step.is_ours for step in self._script):
            listens, self._listens = self._listens and not can_end, False
            return WAIT if listens else None
        wanted = self._script[0]
        if not wanted.is_ours:
            return WAIT
        found = [move for move in moves if (move.sender, move.symbol) == (wanted.sender, wanted.symbol)]
        if not found:
            self.stuck_at = wanted
            return None
        return ScriptedMessage(found[0], wanted.node, wanted.data, self._is_exact, wanted.kept)

    def finish_soon(self) -> None:
        """The script has an end of its own."""

    def waited(self, forecast: Forecast) -> None:
        """The peer has not spoken: go on without it."""
        self._drop_answers()

    def refused(self, move: MessageType) -> None:
        """The script cannot go on."""
        if self._script:
            self.stuck_at = self.stuck_at or self._script[0]

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """Note how far the session has come."""
        if is_ours:
            self._drop_answers()
            self._goes_on &= bool(self._script)
        if self._script and self._script[0].is_ours == is_ours:
            self._script.popleft()

    def _drop_answers(self) -> None:
        while self._script and not self._script[0].is_ours:
            self._script.popleft()

    def ended(self, can_end: bool) -> None:
        """The way sessions end does not matter."""
