"""The role table: what follows from who plays which party, found once and shared by all sessions of a setup."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from palaver.matching.forecaster import MessageType
from palaver.party import Party
from palaver.spec.ast import Ref

# Parties that never send over the connection of another party.
SEPARATE = ("Out", "StdIn", "TimerEvent")


class DataSource(NamedTuple):
    """The sender of data, and the party of ours that it is for, if data comes by several connections."""

    sender: str
    link: str | None = None

    def __str__(self) -> str:
        return self.sender if self.link is None else f"{self.sender} on the connection of {self.link}"


class NextMoves:
    """The messages that may come next at some point of a session, by who sends them."""

    def __init__(self, moves: tuple[MessageType, ...], table: RoleTable) -> None:
        self.moves = moves
        self.ours = tuple(move for move in moves if move.sender in table.ours)
        self.others = tuple(move for move in moves if move.sender not in table.ours)
        self.links = {move.sender: table.links[move.sender] for move in self.ours}  # of those of us that may send
        self.has_closing_of_ours = any(move.symbol in table.closing for move in self.ours)
        self.has_timer = any(move.sender == "TimerEvent" for move in moves)
        self._table = table
        self._from: dict[DataSource, tuple[MessageType, ...]] = {}
        self._alone: dict[tuple[DataSource, bool], bool] = {}

    def from_source(self, source: DataSource) -> tuple[MessageType, ...]:
        """Those that come as data from a source."""
        found = self._from.get(source)
        if found is None:
            links, closing = self._table.links, self._table.closing
            moves = [move for move in self.moves if move.sender == source.sender and move.symbol not in closing]
            if source.link is not None:
                moves = [move for move in moves if move.recipient and links[move.recipient] == source.link]
            found = self._from[source] = tuple(moves)
        return found

    def is_alone(self, source: DataSource, *, and_timers: bool = False) -> bool:
        """Return True if no other peer may send now, nor the same one on another connection; or none but timers.

        If one may, its message may be late, and have to come first: order is known only within a connection.
        """
        found = self._alone.get((source, and_timers))
        if found is None:
            own = self.from_source(source)
            found = self._alone[source, and_timers] = all(
                (and_timers and move.sender == "TimerEvent")
                or (move.symbol in self._table.closing and move.sender == source.sender)
                for move in self.others
                if move not in own
            )
        return found


class RoleTable:
    """Answers about messages for parties of which some are `ours`.

    `links` are the names of their connections, `messages` those of the spec, of which `closing` are the closing ones.
    """

    def __init__(
        self, ours: frozenset[str], links: Mapping[str, str], messages: Sequence[Ref], closing: Collection[str]
    ) -> None:
        self.ours = ours
        self.links = links
        self.closing = closing
        self._messages = messages
        self._next: dict[tuple[MessageType, ...], NextMoves] = {}
        self._senders: dict[str, tuple[str, ...]] = {}
        self._links_from: dict[str, frozenset[str]] = {}
        self._sources: dict[tuple[str, str | None], DataSource] = {}

    def next_moves(self, moves: tuple[MessageType, ...]) -> NextMoves:
        """Messages that may come next, by who sends them."""
        found = self._next.get(moves)
        if found is None:
            found = self._next[moves] = NextMoves(moves, self)
        return found

    def senders_to(self, name: str) -> tuple[str, ...]:
        """The parties, of those we do not play, that send to a party of ours, or to nobody; all, if none does."""
        found = self._senders.get(name)
        if found is None:
            senders = [ref.sender for ref in self._messages if ref.sender is not None and ref.recipient in (name, None)]
            others = [each for each in dict.fromkeys(senders) if each not in self.ours]
            others = others or [each for each in self.links if each not in self.ours]
            found = self._senders[name] = tuple(each for each in others if each not in SEPARATE)
        return found

    def source(self, sender: str, recipient: str | None) -> DataSource:
        """The source of what a party sends to one of ours."""
        found = self._sources.get((sender, recipient))
        if found is None:
            link = recipient if recipient in self.links_from(sender) else None
            found = self._sources[sender, recipient] = DataSource(sender, link)
        return found

    def links_from(self, sender: str) -> frozenset[str]:
        """The connections by which a party's messages come, if there are several, and each message names its recipient.

        The order of messages is known only within a connection.
        """
        links = self._links_from.get(sender)
        if links is None:
            sent = [message for message in self._messages if message.sender == sender and sender not in SEPARATE]
            found = {None if message.recipient is None else self.links[message.recipient] for message in sent}
            is_told = len(found) > 1 and None not in found
            links = self._links_from[sender] = frozenset(link for link in found if link and is_told)
        return links


class RoleTables:
    """The tables of one setup, by the parties that are ours: code of a spec may decide that anew in each session."""

    def __init__(self, messages: Sequence[Ref], closing: Collection[str]) -> None:
        self._messages = messages
        self._closing = closing
        self._tables: dict[tuple[tuple[str, str, bool], ...], RoleTable] = {}

    def table(self, parties: Mapping[str, Party]) -> RoleTable:
        """The table for these parties."""
        key = tuple((name, party.party_name, party.is_fuzzer_controlled()) for name, party in parties.items())
        table = self._tables.get(key)
        if table is None:
            ours = frozenset(name for name, _, is_ours in key if is_ours)
            links = {name: link for name, link, _ in key}
            table = self._tables[key] = RoleTable(ours, links, self._messages, self._closing)
        return table
