"""Other readings of what was said: the same bytes, taken for other messages of the spec, or in another order.

Where a message fits several messages that may come, only one of them is followed; of a message of ours, the one that it
was made as, which nobody else knows. And where the peer may send as well as we, its message may be on its way when ours
is sent: they cross. Before another party is accused, the session is read again with all that may have been so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from palaver.errors import Undecided
from palaver.interruption import Interrupted
from palaver.matching.forecaster import Forecast, MessageType
from palaver.session.extension import Extension
from palaver.session.finding_drafts import FindingDraft
from palaver.session.findings import FindingKind, SessionMessage
from palaver.session.history import SessionHistory
from palaver.session.inbox import Inbox
from palaver.session.references import NO_MESSAGES, Referenced
from palaver.session.session_limits import MAX_MESSAGES_READ_AGAIN, MAX_OTHER_READINGS, MAX_READINGS_OF_ONE
from palaver.trees.node import Node, same_structure

if TYPE_CHECKING:
    from palaver.session.setup import SessionSetup


class OtherReadings:
    """Reads a session again. `begin` is the history before it, `unread` gives what a finding is about."""

    def __init__(self, setup: SessionSetup, begin: SessionHistory, unread: Callable[[FindingDraft], Inbox]) -> None:
        self._setup = setup
        self._begin = begin
        self._unread = unread
        # The readings that were made, with the earlier messages, which so keep their identity.
        self._read: dict[tuple[str, bytes, tuple[int, ...]], tuple[list[Node], tuple[Node, ...]]] = {}

    def excuse(self, said: Sequence[SessionMessage], draft: FindingDraft) -> bool:
        """Return True if what a finding is about is right after another reading of the messages before."""
        said = [message for message in said if not message.is_aside]
        if len(said) > MAX_MESSAGES_READ_AGAIN:
            MAX_MESSAGES_READ_AGAIN.reached()
            return False
        with suppress(Undecided, Interrupted):
            return self._is_ambiguous(said) and any(
                self._is_right(self._begin.at(len(said), extension), draft) for extension in self._read_again(said)
            )
        return False

    def has_crossed(self, said: Sequence[SessionMessage], draft: FindingDraft) -> bool:
        """Return True if what a finding is about is right before a message of ours, which it may have crossed.

        Messages that came before it may have crossed ours, too.
        """
        said = [message for message in said if not message.is_aside]
        if not draft.got or draft.blamed is not None or len(said) > MAX_MESSAGES_READ_AGAIN:
            return False
        with suppress(Undecided, Interrupted):
            return self._are_both_free(said) and self._is_right_in_another_order(said, draft)
        return False

    def _forecasts(self, said: Sequence[SessionMessage]) -> Iterator[tuple[SessionMessage, Forecast]]:
        """Each message, with what might have come in its place, constraints aside."""
        forecast = self._begin.forecast
        for message in said:
            yield message, forecast
            own = next((move for move in _moves_like(message, forecast) if move.symbol == message.symbol), None)
            if own is None:
                return
            forecast = forecast.after(own, message.node)

    def _are_both_free(self, said: Sequence[SessionMessage]) -> bool:
        """Return True if another party could have sent something when we did."""
        return any(
            message.is_ours and any(move.sender not in self._setup.ours for move in forecast.moves)
            for message, forecast in self._forecasts(said)
        )

    def _is_right_in_another_order(self, said: Sequence[SessionMessage], draft: FindingDraft) -> bool:
        """Return True if messages of others may have come earlier, in their order, so that it is right before ours."""
        own = [message for message in said if message.is_ours]
        others = [message for message in said if not message.is_ours]
        came = [sum(message.is_ours for message in said[:at]) for at, each in enumerate(said) if not each.is_ours]
        ways = {0: self._begin}  # by how many messages of others came before so many of ours
        for number, message in enumerate(own):
            due = sum(at <= number for at in came)
            following: dict[int, SessionHistory] = {}
            for count, begin in ways.items():
                history: SessionHistory | None = begin
                for early in range(count, len(others) + 1):
                    if history is None or len(following) == MAX_OTHER_READINGS:
                        break
                    if early >= due and early not in following and (after := self._after(history, message)):
                        following[early] = after
                    if early == len(others):
                        if self._may_come(history, draft, then=own[number:]):
                            return True
                        break
                    history = self._after(history, others[early])
            ways = following
        return False

    def _is_ambiguous(self, said: Sequence[SessionMessage]) -> bool:
        """Return True if a message may be read in another way, constraints aside."""
        return any(
            True
            for message, forecast in self._forecasts(said)
            for move in _moves_like(message, forecast)
            for _ in self._others(move, message, NO_MESSAGES)
        )

    def _others(self, move: MessageType, message: SessionMessage, earlier: Referenced) -> Iterator[Node]:
        """The readings of a message as one of this type, but for the one that was followed."""
        if move.symbol in self._setup.generated:
            return
        for node in self._readings(move.symbol, message.data, self._setup.references.seen_by(move.symbol, earlier)):
            node = node._replace(parties=message.node.parties)
            if not same_structure(node, message.node):
                yield node

    def _readings(self, symbol: str, data: bytes, earlier: tuple[Node, ...]) -> list[Node]:
        """The readings of some bytes, which are the same each way that leads to the same earlier messages."""
        key = symbol, data, tuple(map(id, earlier))
        if key not in self._read:
            found = islice(self._setup.spec.readings(symbol, data, earlier), MAX_READINGS_OF_ONE)
            self._read[key] = list(found), earlier
        return self._read[key][0]

    def _read_again(self, said: Sequence[SessionMessage]) -> list[Extension]:
        """The session after each way to read its messages, but for the one that was followed."""
        ways: list[tuple[Extension | None, bool]] = [(None, False)]
        for number, message in enumerate(said):
            following: list[tuple[Extension | None, bool]] = []
            for extension, is_other in ways:
                history = self._begin if extension is None else self._begin.at(number, extension)
                for move in _moves_like(message, history.forecast):
                    nodes = [(node, True) for node in self._others(move, message, history.referenced)]
                    if move.symbol == message.symbol:
                        nodes.insert(0, (message.node, is_other))
                    for node, differs in nodes:
                        now = history.checked(move, node, is_ours=message.is_ours)
                        if isinstance(now, Extension):
                            following.append((now, differs))
            ways = following[:MAX_OTHER_READINGS]
        return [extension for extension, is_other in ways if is_other and extension is not None]

    def _is_right(self, history: SessionHistory, draft: FindingDraft) -> bool:
        """Return True if after this reading nobody has done what a finding is about."""
        if draft.kind is FindingKind.CONSTRAINT and all(watch.accusations[0] for watch in history.watches):
            return False
        if draft.got and draft.blamed is None:
            return self._may_come(history, draft)
        if draft.is_absence:
            return history.can_end or any(move.sender in self._setup.ours for move in history.forecast.moves)
        return True

    def _may_come(self, history: SessionHistory, draft: FindingDraft, then: Sequence[SessionMessage] = ()) -> bool:
        """Return True if what a finding is about may be the party's next message, or the beginning of one to come.

        `then` are messages that must be possible after it.
        """
        # The end of a connection is no message with data in it.
        expected = (move for move in history.forecast.moves if move.symbol not in self._setup.closing)
        moves = tuple(move for move in expected if move.sender == draft.party)
        if not moves:
            return False
        inbox = self._unread(draft)
        inbox.expect(moves, history.referenced)
        status = inbox.status()
        if status.longest is None:
            return status.may_go_on and not draft.is_absence
        readings = (reading for length in inbox.ends() if length for reading in inbox.readings(length))
        for move, node in islice(readings, MAX_OTHER_READINGS):
            extension = history.extended_by(move, node)
            if isinstance(extension, Extension) and not history.is_broken_by(extension):
                following: SessionHistory | None = history.supposing(extension)
                for message in then:
                    following = following and self._after(following, message)
                if following is not None:
                    return True
        return False

    def _after(self, history: SessionHistory, message: SessionMessage) -> SessionHistory | None:
        """The history with one more message, read as it was; None if it is not possible."""
        for move in _moves_like(message, history.forecast):
            if move.symbol == message.symbol:
                extension = history.checked(move, message.node, is_ours=message.is_ours)
                if isinstance(extension, Extension):
                    return history.supposing(extension)
        return None


def _moves_like(message: SessionMessage, forecast: Forecast) -> list[MessageType]:
    """The messages that may come from the same party to the same one."""
    parties = message.sender, message.recipient
    return [move for move in forecast.moves if (move.sender, move.recipient) == parties]
