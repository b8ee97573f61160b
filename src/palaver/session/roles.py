"""The roles of a session: the objects that play the parties of a spec, and their connections."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, Literal, TypeAlias, cast

from palaver.addresses import Address, AddressScheme, parse_party_address, scheme_named
from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass, replace
from palaver.matching.forecaster import MessageType
from palaver.party import ConnectionMode, NetworkParty, Party, PartyHost, address_of
from palaver.session.closing import FINISHED, RESET
from palaver.session.interface import Action, Close, Closed, Finish, Open, Role, Secure, Send, Tls
from palaver.session.role_table import NextMoves, RoleTable, RoleTables
from palaver.spec.python_code import SPEC_CODE_RAISES, describe_error, raising_line

# Parties that come in pairs: the two ends of a program.
_PAIRS = {"In": "Out", "Out": "In"}

# Parties that are connected without being told to.
SELF_STARTING = ("In", "StdIn", "StdOut")


@dataclass(frozen=True)
class RoleAssignment:
    """The assignment of roles, beyond what the spec's own classes say.

    `networks` are parties that the command line defines, each by an address and a mode.
    `program` is the command behind `In` and `Out`.
    """

    networks: Mapping[str, tuple[str, ConnectionMode]] = field(default_factory=dict)
    program: tuple[str, ...] = ()


def own_scheme(spec: Spec, name: str) -> AddressScheme | None:
    """The scheme of the address that a class of the spec gives to a party; None if there is none."""
    kind = spec.namespace.names.get(name)
    bases = spec.namespace.parties
    if not isinstance(kind, type) or not issubclass(kind, bases["NetworkParty"]) or kind is bases["NetworkParty"]:
        return None
    bases.play({}, None)
    spec.namespace.active_roles = None
    try:
        return scheme_named(address_of(cast(Any, kind)()).scheme)
    except SPEC_CODE_RAISES:
        return None  # it is told of when the party is made


class NoPlayer(PalaverError):
    """No class or option says how a party is played."""


class Roles:
    """The parties of one session.

    `tables` are shared by all sessions of a setup. `faults` tell which parties could not be made, or stopped, and why.

    :raises PalaverError: a party is unknown
    """

    def __init__(
        self,
        spec: Spec,
        assignment: RoleAssignment,
        host: PartyHost | None = None,
        tables: RoleTables | None = None,
    ) -> None:
        self._assignment = assignment
        self._spec = spec
        self._host = host
        self._tables = RoleTables(spec.analysis.messages, frozenset()) if tables is None else tables
        self._table: RoleTable | None = None
        self._instances: dict[str, Party] = {}
        self._played: dict[str, Party] = {}
        self.faults: list[str] = []
        bases = spec.namespace.parties
        # A party that wants to start now is started when the session begins.
        bases.play(self._instances, None)
        spec.namespace.active_roles = None
        parties = spec.analysis.parties
        pairs = [_PAIRS[name] for name in parties if name in _PAIRS]
        for name in dict.fromkeys([*parties, *pairs]):
            try:
                self._played[name] = self._made(name, spec.namespace.names.get(name))
            except SPEC_CODE_RAISES as error:
                if isinstance(error, NoPlayer):
                    raise
                self.faults.append(self.told(f"{name}.__init__", error))
        # True if some class of the spec decides itself who plays its party, and may change its mind.
        self._is_changing = any(
            type(party).is_fuzzer_controlled is not Party.is_fuzzer_controlled for party in self._played.values()
        )
        # The addresses that parties have before anything was said.
        self.first_addresses: dict[str, Address] = {}
        for party in self.players:
            with suppress(PalaverError):
                if isinstance(party, NetworkParty):
                    self.first_addresses[party.party_name] = address_of(party)

    @property
    def parties(self) -> dict[str, Party]:
        """All parties by name: those the spec names, and those that these have made."""
        return self._instances | self._played

    @property
    def players(self) -> list[Party]:
        """All parties, each once."""
        return list({party.party_name: party for party in self.parties.values()}.values())

    def activate_parties(self) -> None:
        """Let `instance()` give these objects from here on, whichever session of the spec went on in between."""
        namespace = self._spec.namespace
        if namespace.active_roles is not self:
            namespace.parties.play(self._instances, self._host)
            namespace.active_roles = self

    def stop(self) -> list[str]:
        """Stop all parties; return the faults of that."""
        told = len(self.faults)
        for party in self.players:
            try:
                party.stop()
            except NotImplementedError:
                pass  # as the reference's own `stop` does
            except SPEC_CODE_RAISES as error:
                self.faults.append(self.told(f"{party.party_name}.stop", error))
        return self.faults[told:]

    def told(self, what: str, error: BaseException) -> str:
        """An error of the spec's code in words, with its place in the spec."""
        text = f"{what}: {error}" if isinstance(error, PalaverError) else f"{what} {describe_error(error)}"
        place = raising_line(self._spec.namespace.names, error)
        return f"{text} ({place})" if place else text

    def _made(self, name: str, kind: object) -> Party:
        bases = self._spec.namespace.parties
        if name in self._assignment.networks:
            return self._placed(name, kind, *self._assignment.networks[name])
        if isinstance(kind, type) and issubclass(kind, bases["FandangoParty"]):
            return self._instance(name, kind)
        if name not in ("Client", "Server") and not self._is_told(name):
            return bases["StdOut"].instance()
        hint = "define a class of that name in the spec, or use --client or --server"
        raise NoPlayer(f"no party plays {name}: {hint}")

    def _is_told(self, name: str) -> bool:
        return any(message.recipient == name for message in self._spec.analysis.messages)

    def _placed(self, name: str, kind: object, uri: str, mode: ConnectionMode) -> Party:
        """A party that the command line has an address for. That wins over what the spec says about it; what a class
        of the spec does with messages stays."""
        network: Any = self._spec.namespace.parties["NetworkParty"]
        if isinstance(kind, type) and issubclass(kind, network) and kind is not network:
            party: Party = self._instance(name, kind)
            cast(NetworkParty, party).move(uri)
            party.connection_mode = mode
        else:
            party = network(f"{name}={_without_name(uri)}", connection_mode=mode)
        if mode is ConnectionMode.EXTERNAL:
            party.stop()
        else:
            party.start()
        return party

    def _instance(self, name: str, kind: type) -> Party:
        existing = self._instances.get(name)
        # A spec's party class takes no arguments; that is how the language makes instances.
        return existing if existing is not None else cast(Any, kind)()

    def is_ours(self, name: str) -> bool:
        """Return True if we play this party."""
        return self.party(name).is_fuzzer_controlled() if self._is_changing else name in self.table.ours

    @property
    def table(self) -> RoleTable:
        """The answers about messages as the parties are played now."""
        if self._table is None or self._is_changing:
            self.activate_parties()  # code of the spec may decide who is ours
            self._table = self._tables.table(self.parties)
        return self._table

    def recast(self) -> None:
        """Note that a party is new, or that another one plays it from here on."""
        self._table = None

    def sendable(self, moves: NextMoves, connections: Connections) -> Sequence[MessageType]:
        """Those of these messages that we can send over a connection that is open."""
        ready = [sender for sender, link in moves.links.items() if connections.can_send(link)]
        if len(ready) == len(moves.links):
            return moves.ours
        return [move for move in moves.ours if move.sender in ready]

    def is_known(self, name: str) -> bool:
        """Return True if there is a party of this name."""
        return name in self._played or name in self._instances

    def party(self, name: str) -> Party:
        """The object that plays a party. :raises KeyError: there is none"""
        return self._played.get(name) or self._instances[name]

    def has_connection(self, party: Party) -> bool:
        """Return True if a party is, or is to be, connected."""
        if party.party_name in SELF_STARTING:
            return party.party_name != "In" or party.is_fuzzer_controlled()
        return isinstance(party, NetworkParty) and party.is_fuzzer_controlled()

    def link(self, party: Party) -> tuple[Address, Role] | None:
        """The address and role of a party's connection; None if it needs none, as most that we do not play."""
        if party.party_name == "StdIn":
            return Address("stdin"), "connect"
        if party.party_name == "StdOut":
            return Address("stdout"), "connect"
        if not party.is_fuzzer_controlled():
            return None
        if isinstance(party, NetworkParty):
            role: Role = "listen" if party.connection_mode is ConnectionMode.OPEN else "connect"
            return address_of(party), role
        if party.party_name == "In":
            return Address("program", command=self.program), "connect"
        return None

    @property
    def program(self) -> tuple[str, ...]:
        """The command behind `In` and `Out`. :raises PalaverError: there is none"""
        chosen = self._assignment.program or self._spec.namespace.program
        if not chosen:
            raise PalaverError("the spec talks to a program through In and Out, but no COMMAND was given")
        return tuple(shlex.split(chosen)) if isinstance(chosen, str) else tuple(chosen)

    def note_port(self, link: str, port: int) -> None:
        """Tell a party that listens at any port which one it is."""
        party = self.party(link)
        if isinstance(party, NetworkParty):
            party.port = port

    def senders_to(self, party: Party) -> Sequence[str]:
        """The parties, of those we do not play, that send to a party."""
        name = "Out" if party.party_name == "In" else party.party_name
        table = self.table
        return table.senders_to(name) if name in table.ours else (name,)

    def connection_from(self, sender: str, recipient: str | None) -> str | None:
        """The connection that a message of a peer comes by; None if that is not known."""
        if sender in ("Out", "StdIn"):
            return "In" if sender == "Out" else sender
        if recipient is not None:
            return self.party(recipient).party_name
        ways = [party.party_name for party in self.players if party.is_fuzzer_controlled()]
        ways = [name for name in ways if name not in ("StdOut", "TimerControl")]
        return ways[0] if len(ways) == 1 else None


def _without_name(uri: str) -> str:
    name = parse_party_address(uri).name
    return uri if name is None else uri.partition("=")[2]


# "ended": the peer sends no more, and may still receive.
ConnectionState: TypeAlias = Literal["opening", "open", "ended", "reset", "closed"]

# Data may still come over a connection in these states.
_UP: frozenset[ConnectionState | None] = frozenset(("opening", "open"))


class Connections:
    """Connections by the name of their party. One that we have closed is forgotten."""

    def __init__(self, first: Mapping[str, Address] | None = None) -> None:
        self._first = first or {}  # the addresses before anything was said
        self._named_by: dict[str, int] = {}  # the messages that have named the others, by their numbers
        self._states: dict[str, ConnectionState] = {}
        self._places: dict[str, tuple[Address, Role]] = {}  # their addresses and roles
        self._finished: set[str] = set()  # half-closed by us
        self._actions: list[Action] = []

    @property
    def planned(self) -> int:
        """The number of actions since they were last taken."""
        return len(self._actions)

    def take_actions(self) -> list[Action]:
        """The actions since the last call."""
        actions, self._actions = self._actions, []
        return actions

    def open(
        self,
        link: str,
        place: tuple[Address, Role],
        tls: Mapping[str, str] | None = None,
        begins_session: Callable[[bytes], bool] | None = None,
        latest: int | None = None,
    ) -> None:
        """Open a connection, unless it is up and leads to this place.

        `latest` is the number of the message of a peer that is being taken in, None if there is none.
        """
        if self.is_up(link) and self._places[link] == place:
            return
        self._named_by.pop(link, None)
        if latest is not None and place[1] == "connect" and place[0] != self._first.get(link, place[0]):
            self._named_by[link] = latest
        # Standard output is always open.
        self._states[link] = "open" if link == "StdOut" else "opening"
        self._places[link] = place
        self._finished.discard(link)
        self._actions.append(Open(link, *place, None if tls is None else Tls(**tls), begins_session))

    def secure(self, link: str, role: Role, tls: Mapping[str, str]) -> None:
        self._actions.append(Secure(link, role, Tls(**tls)))

    def send(self, link: str, data: bytes, *, is_last: bool = False) -> None:
        """Send data, and nothing more if it `is_last`. :raises PalaverError: there is no such connection"""
        if link not in self._states:
            raise PalaverError(f"{link} cannot send without a connection: start() was not called, or stop() was")
        self._actions.append(Send(link, data))
        if is_last:
            self.finish(link)

    def finish(self, link: str) -> None:
        """Send no more, but receive."""
        self._finished.add(link)
        self._actions.append(Finish(link))

    def close(self, link: str, *, abruptly: bool = False) -> None:
        if self._states.pop(link, None) is not None:
            self._actions.append(Close(link, abruptly))

    def end(self, link: str, symbol: str) -> None:
        """End a connection in the way that a closing message says."""
        if symbol == FINISHED:
            self.finish(link)
        else:
            self.close(link, abruptly=symbol == RESET)

    def close_all(self) -> None:
        for link in list(self._states):
            self.close(link)

    def beside(self, action: Action) -> None:
        """Do something with a connection that the dialogue knows nothing of."""
        self._actions.append(action)

    def named_by(self, link: str) -> int | None:
        """The message of a peer that has named the address of a connection, by its number; None if it is ours."""
        return self._named_by.get(link)

    def is_awaited(self, link: str) -> bool:
        """Return True if we wait at an address that was not known before the session, and nobody has come yet."""
        address, role = self._places.get(link, (None, None))
        return role == "listen" and self._states.get(link) == "opening" and address != self._first.get(link, address)

    def listening(self, link: str, port: int) -> None:
        """Note the port that was chosen for a connection that was to listen at any port."""
        address, role = self._places[link]
        self._places[link] = (replace(address, port=port), role)

    def opened(self, link: str) -> None:
        self._states[link] = "open"

    def failed(self, link: str) -> None:
        self._states[link] = "closed"

    def closed(self, event: Closed) -> None:
        # A peer that sends no more may still receive, and breaks no rule if it does not: we send what is left to send.
        is_in_order = event.cause is None and event.exit_code is None
        self._states[event.link] = "ended" if is_in_order else "reset" if event.cause == "reset" else "closed"

    def is_open(self, link: str) -> bool:
        """Return True if both sides may send."""
        return self._states.get(link) == "open"

    def is_known(self, link: str) -> bool:
        """Return True if the connection was opened, and not closed by us."""
        return link in self._states

    def is_up(self, link: str) -> bool:
        """Return True if data may still come."""
        return self._states.get(link) in _UP

    def can_send(self, link: str) -> bool:
        """Return True if we can send. A party without a connection sends in its own way."""
        return self._states.get(link, "open") in ("open", "ended") and link not in self._finished

    def is_lost(self, link: str) -> bool:
        """Return True if we cannot send any more."""
        return link in self._finished or self._states.get(link) in ("closed", "reset")

    def are_as_opened(self) -> bool:
        """Return True if no connection was closed or half-closed by anybody."""
        return not self._finished and _UP.issuperset(self._states.values())

    def is_any_reset(self) -> bool:
        return "reset" in self._states.values()

    def are_only_opening(self) -> bool:
        """Return True if no peer can send yet, but one may soon."""
        return "opening" in self._states.values() and "open" not in self._peer_states()

    def can_servers_send(self) -> bool:
        """Return True if a server that we have connected to, or a program, may still send."""
        links = [link for link, state in self._states.items() if state == "open" and link not in ("StdIn", "StdOut")]
        return any(self._places[link][1] == "connect" for link in links)

    def are_all_down(self) -> bool:
        """Return True if there were peers that could send, and none is left."""
        states = self._peer_states()
        return bool(states) and not any(state in _UP for state in states)

    def _peer_states(self) -> list[ConnectionState]:
        """The states of all connections that a peer may send on."""
        return [state for link, state in self._states.items() if link != "StdOut"]
