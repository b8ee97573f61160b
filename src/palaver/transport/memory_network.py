"""A network in memory, with virtual time: a discrete-event simulation in which sessions talk to each other.

How it works. The network has one clock, which stands still while any session has something to do, and one agenda of
what arrives where and when. When an event loop waits, the other sessions go on; when none can, time jumps to the next
entry of the agenda. So nothing ever really waits, and the same test always sees the same order of things.

Whoever connects to an `Address` meets whoever listens at the same; its scheme matters only for datagrams, which are
lost while nobody listens. TLS is only agreed on: a link is secured when both ends have asked for it.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from palaver.addresses import Address, picks_port, scheme_named
from palaver.lean_dataclasses import replace
from palaver.session.interface import (
    Action,
    Close,
    Closed,
    Failed,
    Finish,
    Input,
    Open,
    Opened,
    Received,
    Secure,
    Secured,
    Send,
)
from palaver.transport.clock import ManualClock
from palaver.transport.driver import Driver, EventLoop, EventObserver, Scheduler, SessionLike

# Turns data sent on a link into pieces, each with its delay in seconds. Streams stay in order anyway; datagrams
# overtake, and are lost or doubled if the wire says so.
Wire: TypeAlias = Callable[[str, bytes], Iterable[tuple[float, bytes]]]

# True if data that has arrived on a link is not yet shown to `poll`. `wait` shows it in any case.
Hold: TypeAlias = Callable[[str], bool]

_FIRST_FREE_PORT = 49152


def in_one_piece(link: str, data: bytes) -> Iterable[tuple[float, bytes]]:
    """Deliver everything at once and as it is."""
    return [(0.0, data)]


def in_pieces(size: int, every: float = 0.0) -> Wire:
    """Deliver pieces of so many bytes, one every so many seconds."""

    def wire(link: str, data: bytes) -> Iterable[tuple[float, bytes]]:
        starts = range(0, len(data), size)
        return [(number * every, data[start : start + size]) for number, start in enumerate(starts)]

    return wire


@dataclass(eq=False, slots=True)
class _Endpoint:
    """One end of a link."""

    loop: MemoryEventLoop
    link: str
    address: Address
    is_listening: bool
    wants_tls: bool
    port: int = 0
    peer: _Endpoint | None = None
    is_open: bool = False
    is_gone: bool = False
    has_finished: bool = False
    # Data that waits for a peer, or for the handshake.
    unsent: deque[bytes] = field(default_factory=deque)
    # The time at which all data on its way has arrived: streams do not overtake.
    arrives_until: float = 0.0

    @property
    def is_datagram(self) -> bool:
        return scheme_named(self.address.scheme).is_datagram

    @property
    def can_send(self) -> bool:
        # With TLS there must be a peer that has asked for it, too.
        return self.peer is not None and (self.peer.wants_tls or not self.wants_tls)


@dataclass(frozen=True, order=True, slots=True)
class _Arrival:
    at: float
    number: int
    end: _Endpoint = field(compare=False)
    event: Opened | Received | Closed | Failed | Secured = field(compare=False)
    sender: _Endpoint | None = field(compare=False)
    is_encrypted: bool = field(compare=False)


class MemoryNetwork(Scheduler):
    """A network in memory. Data goes through `wire`; `hold` delays that it is seen, to try every order of things.

    Who connects waits `connect_patience` seconds for somebody to listen, so it does not matter who starts first.
    """

    def __init__(
        self,
        clock: ManualClock | None = None,
        *,
        wire: Wire = in_one_piece,
        hold: Hold = lambda link: False,
        connect_patience: float = 10.0,
    ) -> None:
        super().__init__()
        self.clock: ManualClock = clock or ManualClock()
        self.wire = wire
        self.hold = hold
        self._connect_patience = connect_patience
        self._agenda: list[_Arrival] = []
        self._number = 0
        self._ports: dict[tuple[MemoryEventLoop, str, Address], int] = {}
        # The listener of each address; None where there was one, and clients wait for it to come back.
        self._listening: dict[Address, _Endpoint | None] = {}
        self._calling: dict[Address, deque[_Endpoint]] = {}

    def loop(self) -> MemoryEventLoop:
        """Make an event loop that somebody else drives."""
        return MemoryEventLoop(self)

    def add(self, session: SessionLike, watch: EventObserver | None = None) -> Driver:
        """Add a session. It goes on whenever another one waits."""
        self._drivers.append(Driver(session, self.loop(), watch))
        return self._drivers[-1]

    def _arrived(self, loop: EventLoop) -> list[Input]:
        return self._take(loop)

    def _pass_time(self, until: float | None) -> None:
        times = [*self._deadlines(until), *(arrival.at for arrival in self._agenda)]
        later = [at for at in times if at > self.clock.now()]
        if not later:
            raise RuntimeError("nothing can happen, and somebody waits")
        self.clock.advance_to(min(later))

    def _poll(self, loop: EventLoop) -> list[Input]:
        """Return what has arrived, for somebody who does not wait."""
        links = dict.fromkeys(arrival.end.link for arrival in self._agenda if self._is_due(arrival, loop))
        return self._take(loop, held=[link for link in links if self.hold(link)])

    def _take(self, loop: EventLoop, held: Collection[str] = ()) -> list[Input]:
        """Return what has arrived, except on some links."""
        due = [arrival for arrival in self._agenda if self._is_due(arrival, loop) and arrival.end.link not in held]
        if not due:
            return []
        self._agenda = [arrival for arrival in self._agenda if arrival not in due]
        return [event for arrival in due for event in self._arrive(arrival)]

    def _is_due(self, arrival: _Arrival, loop: EventLoop) -> bool:
        return arrival.at <= self.clock.now() and arrival.end.loop is loop

    def _put(
        self,
        end: _Endpoint,
        event: Opened | Received | Closed | Failed | Secured,
        *,
        delay: float = 0.0,
        sender: _Endpoint | None = None,
    ) -> None:
        at = self.clock.now() + delay
        if not end.is_datagram:
            at = end.arrives_until = max(at, end.arrives_until)
        self._number += 1
        is_encrypted = sender is not None and sender.wants_tls
        insort(self._agenda, _Arrival(at, self._number, end, event, sender, is_encrypted))

    def _arrive(self, arrival: _Arrival) -> list[Input]:
        """Return what the receiver sees of an arrival."""
        end, now = arrival.end, self.clock.now()
        if end.is_gone:
            return []
        event = replace(arrival.event, at=now)
        match event:
            case Received() if end.is_datagram and end.is_listening:
                return [*self._called_by(end, arrival.sender), event]
            case Received() if not end.is_datagram and arrival.is_encrypted != end.wants_tls:
                self._close(end)
                return [Failed(now, end.link, "tls", "one end speaks in clear and the other does not")]
            case Failed() | Closed(cause=str()):
                self._close(end)
            case Opened() | Received() | Closed() | Secured():
                pass
            case _:
                assert_never(event)
        return [event]

    def _called_by(self, end: _Endpoint, sender: _Endpoint | None) -> list[Input]:
        end.peer = sender
        is_first, end.is_open = not end.is_open, True
        self._flush(end)
        return [Opened(self.clock.now(), end.link, end.port)] if is_first else []

    def _open(self, end: _Endpoint) -> None:
        if end.is_listening:
            self._listen(end)
        elif end.is_datagram:
            self._report_open(end)
        else:
            self._call(end)

    def _listen(self, end: _Endpoint) -> None:
        if picks_port(end.address):
            # A link that listens again finds its old port.
            port = self._ports.setdefault((end.loop, end.link, end.address), _FIRST_FREE_PORT + len(self._ports))
            end.address = replace(end.address, port=port)
        end.port = end.address.port
        if self._listening.get(end.address) is not None:
            self._put(end, Failed(0.0, end.link, "in use", f"{end.address}: another link waits there already"))
            return
        self._listening[end.address] = end
        callers = self._calling.get(end.address)
        while callers and not end.is_open:
            caller = callers.popleft()
            if not caller.is_gone:
                self._connect(caller, end)

    def _call(self, end: _Endpoint) -> None:
        listening = self._listening.get(end.address)
        if listening is not None:
            self._connect(end, listening)
            return
        self._calling.setdefault(end.address, deque()).append(end)
        if end.address in self._listening:
            self._report_open(end)
        else:
            refused = Failed(0.0, end.link, "refused", f"{end.address}: nobody listens")
            self._put(end, refused, delay=self._connect_patience)

    def _connect(self, caller: _Endpoint, listener: _Endpoint) -> None:
        self._listening[listener.address] = None
        caller.peer, listener.peer = listener, caller
        if not caller.is_open:  # its refusal is on the agenda
            self._agenda = [arrival for arrival in self._agenda if arrival.end is not caller]
            caller.arrives_until = 0.0
            self._report_open(caller)
        self._report_open(listener)
        if caller.wants_tls != listener.wants_tls:
            secret = caller if caller.wants_tls else listener
            self._put(secret, Failed(0.0, secret.link, "tls", "the peer does not encrypt"))
        for end in (caller, listener):
            self._flush(end)
            if end.has_finished and end.peer is not None:
                self._put(end.peer, Closed(0.0, end.peer.link))

    def _report_open(self, end: _Endpoint) -> None:
        end.is_open = True
        self._put(end, Opened(0.0, end.link, end.port))

    def _send(self, end: _Endpoint, data: bytes) -> None:
        if end.is_gone or end.has_finished:
            return
        if end.is_datagram and not end.is_listening:
            end.peer = self._listening.get(end.address)
            if end.peer is None:
                self._put(end, Failed(0.0, end.link, "refused", f"{end.address}: nobody listens"))
                return
        end.unsent.append(data)
        self._flush(end)

    def _flush(self, end: _Endpoint) -> None:
        while end.unsent and end.can_send and end.peer is not None:
            for delay, piece in self.wire(end.link, end.unsent.popleft()):
                received = Received(0.0, end.peer.link, piece, is_whole=end.is_datagram)
                self._put(end.peer, received, delay=delay, sender=end)

    def _secure(self, end: _Endpoint) -> None:
        end.wants_tls = True
        if end.peer is not None and end.peer.wants_tls:
            for one in (end, end.peer):
                self._put(one, Secured(0.0, one.link))
                self._flush(one)

    def _finish(self, end: _Endpoint) -> None:
        if end.has_finished:
            return
        end.has_finished = True
        if end.peer is not None and not end.is_datagram:
            self._put(end.peer, Closed(0.0, end.peer.link))

    def _reset(self, end: _Endpoint) -> None:
        if end.peer is not None:
            self._put(end.peer, Closed(0.0, end.peer.link, "reset"))
        end.has_finished = True
        self._close(end)

    def _close(self, end: _Endpoint) -> None:
        self._finish(end)
        end.is_gone = True
        self._agenda = [arrival for arrival in self._agenda if arrival.end is not end]
        if self._listening.get(end.address) is end:
            self._listening[end.address] = None


class MemoryEventLoop:
    """One event loop of the network."""

    def __init__(self, world: MemoryNetwork) -> None:
        self.clock = world.clock
        self._world = world
        self._ends: dict[str, _Endpoint] = {}

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Open(link, address, role, tls):
                    if link in self._ends:
                        self._world._close(self._ends[link])
                    self._ends[link] = _Endpoint(self, link, address, role == "listen", tls is not None)
                    self._world._open(self._ends[link])
                case Send(link, data):
                    self._world._send(self._end(link), data)
                case Secure(link):
                    self._world._secure(self._end(link))
                case Finish(link):
                    self._world._finish(self._end(link))
                case Close(link, abruptly):
                    if abruptly:
                        self._world._reset(self._end(link))
                    else:
                        self._world._close(self._end(link))
                case _:
                    assert_never(action)

    def poll(self) -> list[Input]:
        return self._world._poll(self)

    def wait(self, until: float | None) -> list[Input]:
        return self._world._wait(lambda: self._world._take(self), until)

    def port_of(self, link: str) -> int:
        return self._end(link).port

    def close(self) -> None:
        for end in self._ends.values():
            self._world._close(end)

    def _end(self, link: str) -> _Endpoint:
        if link not in self._ends:
            raise ValueError(f"no link {link!r} was ever opened")
        return self._ends[link]
