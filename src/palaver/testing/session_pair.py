"""Runs two sessions that talk to each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from palaver.addresses import parse_party_address
from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.party import ConnectionMode
from palaver.random_source import RandomSource
from palaver.session.engine import Session, Timeouts
from palaver.session.interface import Open
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.session.strategy import RandomStrategy
from palaver.testing.socket_network import SocketNetwork
from palaver.transport.memory_network import MemoryNetwork

# Parties that talk to nobody else: each session plays its own.
_LOCAL_PARTIES = ("StdIn", "StdOut", "TimerControl", "TimerEvent")


class SessionPair(NamedTuple):
    """Two sessions that have talked to each other."""

    caller: Session
    listener: Session


def run_pair(
    spec: Spec,
    other: Spec | None = None,
    *,
    pairs: Mapping[str, str] | None = None,
    world: MemoryNetwork | SocketNetwork | None = None,
    address: str = "tcp://127.0.0.1:0",
    seed: int = 0,
    timeouts: Timeouts | None = None,
) -> SessionPair:
    """Let two sessions of a spec talk to each other until both are over.

    One plays the parties that connect, the other those that listen. `pairs` maps each party that connects to the one
    that listens; without it the spec has two parties, and `Client`, or else the first one, connects. An `other` spec,
    if given, is that of the listening side. The default `world` is a `MemoryNetwork`.

    :raises PalaverError: it is not clear who talks to whom
    """
    world = world or MemoryNetwork()
    pairs = pairs or _pair_of(spec)
    chance = RandomSource(seed)
    listener = _session(other or spec, chance / "listener", timeouts, _assignment(pairs, address, calls=False))
    opened: list[Open] = []
    driver = world.add(listener, watch=lambda seen: opened.append(seen) if isinstance(seen, Open) else None)
    if not opened:
        driver.step()
    ports = {open_.link: driver.event_loop.port_of(open_.link) for open_ in opened}
    caller = _session(spec, chance / "caller", timeouts, _assignment(pairs, address, calls=True, ports=ports))
    world.add(caller)
    world.run()
    return SessionPair(caller, listener)


def _pair_of(spec: Spec) -> dict[str, str]:
    sides = [name for name in spec.analysis.parties if name not in _LOCAL_PARTIES]
    if len(sides) != 2:
        raise PalaverError(f"who talks to whom? Name the pairs; the parties are: {', '.join(sides) or 'none'}")
    first, second = sides if sides[1] != "Client" else reversed(sides)
    return {first: second}


def _session(spec: Spec, chance: RandomSource, timeouts: Timeouts | None, assignment: RoleAssignment) -> Session:
    return Session(SessionSetup(spec, assignment), RandomStrategy(chance / "player"), chance, timeouts)


def _assignment(
    pairs: Mapping[str, str], address: str, *, calls: bool, ports: Mapping[str, int] | None = None
) -> RoleAssignment:
    networks: dict[str, tuple[str, ConnectionMode]] = {}
    for caller, listener in pairs.items():
        place = _with_port(address, ports[listener]) if ports and listener in ports else address
        networks[caller] = (place, ConnectionMode.CONNECT if calls else ConnectionMode.EXTERNAL)
        networks[listener] = (place, ConnectionMode.EXTERNAL if calls else ConnectionMode.OPEN)
    return RoleAssignment(networks)


def _with_port(address: str, port: int) -> str:
    _, scheme, place, _ = parse_party_address(address)
    return scheme.write(place, port)
