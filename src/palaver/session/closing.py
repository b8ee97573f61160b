"""Closing messages: messages of a spec that stand for the end of a connection, and have no data.

A message with one of these names whose body can be empty is not sent or received as data. From the peer it means that
the connection has ended so; from a party of ours, that we end it. A spec defines them itself, as in
`<connection_closed> ::= ""`, so that other tools read it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from palaver.grammar.analysis import Analysis, nullable_symbols
from palaver.matching.forecaster import MessageType
from palaver.session.extension import Refusal
from palaver.session.finding_drafts import FindingDraft
from palaver.session.findings import FindingKind

if TYPE_CHECKING:
    from palaver.session.history import SessionHistory
    from palaver.session.roles import Connections, Roles
    from palaver.session.setup import SessionSetup

CLOSED = "<connection_closed>"  # in good order
RESET = "<connection_reset>"
ENDED = "<connection_ended>"  # either way
FINISHED = "<connection_finished>"  # one half: the sender sends no more, but may receive

# How a peer can end a connection, and the messages that stand for it. Whether it still receives is not known.
PeerEnding: TypeAlias = Literal["closed", "reset"]
_PEER_ENDINGS: dict[PeerEnding, frozenset[str]] = {
    "closed": frozenset((CLOSED, FINISHED, ENDED)),
    "reset": frozenset((RESET, ENDED)),
}
_NAMES = _PEER_ENDINGS["closed"] | _PEER_ENDINGS["reset"]


def closing_symbols(analysis: Analysis) -> frozenset[str]:
    """The closing messages of a spec."""
    used = _NAMES.intersection(message.symbol for message in analysis.messages)
    return used & nullable_symbols(analysis.grammar.rules) if used else used


class Endings:
    """The ends of connections in one session, as messages: those of the peer that came, and those that we may send."""

    def __init__(self, setup: SessionSetup, roles: Roles, history: SessionHistory, connections: Connections) -> None:
        self.symbols = setup.closing
        self._setup = setup
        self._roles = roles
        self._history = history
        self._connections = connections
        self.came: dict[str, PeerEnding] = {}  # by the link; those that were no message yet
        self._told: dict[str, MessageType] = {}  # by the link; the messages that the others were

    def note(self, link: str, how: PeerEnding) -> None:
        """Note that the peer has ended a connection; that is a message as soon as one is expected."""
        self.came[link] = how

    def is_told(self, link: str) -> bool:
        """Return True if the end of a connection was a message."""
        return link not in self.came

    def take(self) -> MessageType | None:
        """Add the end of a connection to the history, if a closing message is expected that stands for it."""
        if not self.came or not self.symbols:
            return None
        for move in self._history.forecast.moves:
            link = self._link_of(move)
            if link is None or move.symbol not in _PEER_ENDINGS[self.came[link]]:
                continue
            matcher = self._setup.shape(move.symbol).matcher(binary=self._setup.is_binary)
            matcher.finish(b"" if self._setup.is_binary else "")
            extension = self._history.extended_by(move, next(matcher.trees()))
            if not isinstance(extension, Refusal):
                del self.came[link]
                self._told[link] = move
                self._history.add(extension)
                return move
        return None

    def explained(self, draft: FindingDraft) -> FindingDraft:
        """The same, or an error in the spec if something is awaited of a peer that had to end its connection."""
        if not (self._told and draft.is_absence):
            return draft
        awaited = [move for move in self._history.forecast.moves if not self._roles.is_ours(move.sender)]
        links = [self._roles.connection_from(move.sender, move.recipient) for move in awaited]
        ends = [self._told[link] for link in links if link in self._told and not self._connections.is_up(link)]
        if not ends or len(ends) < len(links):
            return draft
        what = f"the spec expects {awaited[0].symbol} from {awaited[0].sender}"
        why = f"on a connection that {ends[0].sender} has ended with {ends[0].symbol}"
        return FindingDraft(FindingKind.SPEC_CRASH, f"{what} {why}")

    def _link_of(self, move: MessageType) -> str | None:
        """The connection whose end is this message of the peer; None if there is none."""
        if move.symbol not in self.symbols or self._roles.is_ours(move.sender):
            return None
        link = self._roles.connection_from(move.sender, move.recipient)
        return link if link in self.came else None

    def and_ours(self, sendable: Sequence[MessageType]) -> list[MessageType]:
        """The messages that we can send now, with the closing messages among those that may come next."""
        return [move for move in self._history.forecast.moves if move in sendable or self._can_close(move)]

    def _can_close(self, move: MessageType) -> bool:
        """Return True if we can end a connection that we cannot send on any more."""
        if move.symbol not in self.symbols or not self._roles.is_ours(move.sender):
            return False
        return self._connections.is_known(self._roles.party(move.sender).party_name)
