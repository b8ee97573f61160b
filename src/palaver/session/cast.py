"""Who plays whom in a session: the objects behind the parties of a spec, and the links they use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.party import ConnectionMode, NetworkParty, Party, Protocol, Stage, split_party_spec
from palaver.session.events import Address, Role

# Parties that palaver plays without a link.
_LINKLESS = ("TimerControl",)


@dataclass(frozen=True)
class Casting:
    """How parties are played, beyond what the spec's own classes say.

    `networks` are parties that the command line defines: an address, and whether we connect, listen, or are told.
    `program` is the command behind `In` and `Out`.
    """

    networks: Mapping[str, tuple[str, ConnectionMode]] = field(default_factory=dict)
    program: tuple[str, ...] = ()


class Cast:
    """The parties of one session.

    :raises PalaverError: a party is nobody we know
    """

    def __init__(self, spec: Spec, casting: Casting) -> None:
        self._casting = casting
        self._spec = spec
        names = spec.namespace.names
        self._instances: dict[str, Party] = {}
        self.take_the_stage()
        self.parties: dict[str, Party] = {}
        for name in spec.analysis.parties:
            self.parties[name] = self._made(name, names.get(name))
        # A spec's party may have made others when it was made.
        for name, party in self._instances.items():
            self.parties.setdefault(name, party)

    def take_the_stage(self) -> None:
        """From here on `instance()` means these objects, whichever session of the spec went on in between."""
        self._spec.namespace.parties.play(self._instances)

    def join(self, stage: Stage) -> None:
        """Let everybody take part in a session."""
        for party in self.parties.values():
            party.join(stage)

    def _made(self, name: str, kind: object) -> Party:
        bases = self._spec.namespace.parties
        if name in self._casting.networks:
            uri, mode = self._casting.networks[name]
            # What the command line defines comes after the spec, and wins.
            network = bases["NetworkParty"]
            party: Party = cast(Any, network)(f"{name}={_without_name(uri)}", connection_mode=mode)
            if mode is not ConnectionMode.EXTERNAL:
                party.start()
            return party
        if isinstance(kind, type) and issubclass(kind, bases["FandangoParty"]):
            existing = self._instances.get(name)
            # A spec's party class takes no arguments; that is how the language makes instances.
            return existing if existing is not None else cast(Any, kind)()
        hint = "define a class of that name in the spec, or use --client or --server"
        raise PalaverError(f"nobody plays {name}: {hint}")

    def is_ours(self, name: str) -> bool:
        """Whether we play this party."""
        return self.parties[name].is_fuzzer_controlled()

    def link(self, party: Party) -> tuple[Address, Role] | None:
        """Where a party that we play is to be linked to; None if it needs no link."""
        if party.party_name in _LINKLESS or not party.is_fuzzer_controlled():
            return None
        if isinstance(party, NetworkParty):
            role: Role = "listen" if party.connection_mode is ConnectionMode.OPEN else "connect"
            if party.protocol_type is Protocol.UNIX:
                return Address("unix", path=party.ip), role
            kind: Literal["udp", "tcp"] = "udp" if party.protocol_type is Protocol.UDP else "tcp"
            return Address(kind, host=party.ip, port=int(party.port)), role
        if party.party_name == "In":
            return Address("program", command=self.program), "connect"
        return None

    @property
    def program(self) -> tuple[str, ...]:
        """The command behind `In` and `Out`.

        :raises PalaverError: there is none
        """
        chosen = self._casting.program or self._spec.namespace.program
        if not chosen:
            raise PalaverError("the spec talks to a program through In and Out, but no COMMAND was given")
        return tuple(chosen.split()) if isinstance(chosen, str) else tuple(chosen)

    def speakers_to(self, party: Party) -> Sequence[str]:
        """Who, of those we do not play, says something to a party."""
        names = [
            ref.sender
            for ref in self._spec.analysis.messages
            if ref.sender is not None and ref.recipient in (party.party_name, None) and not self.is_ours(ref.sender)
        ]
        found = list(dict.fromkeys(names))
        return found or [name for name in self.parties if not self.is_ours(name)]


def _without_name(uri: str) -> str:
    name = split_party_spec(uri)[0]
    return uri if name is None else uri.partition("=")[2]
