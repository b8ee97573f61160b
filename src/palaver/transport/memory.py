"""A world in memory: as many loops as a test needs, and wires between them that cut and delay as it likes.

How it works. The world has one clock, which stands still while anybody has something to do, and one agenda of what will
arrive where and when. A loop here is used like the real one. When it waits, the other sessions of the world go on;
when nobody can, time jumps to the next thing on the agenda. So nothing ever really waits, and the same test always sees
the same order of things.

Whoever connects to an `Address` meets whoever listens at the same; its kind matters only for datagrams, which are lost
while nobody listens. TLS is not played, only agreed on: a link is secured when both ends have asked for it.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from palaver.session.events import (
    Action,
    Address,
    Close,
    Closed,
    Failed,
    Finish,
    Input,
    Open,
    Opened,
    Passed,
    Received,
    Secure,
    Secured,
    Send,
)
from palaver.transport.clock import ManualClock
from palaver.transport.drive import Driver, Talker, Watch

# What becomes of data sent on a link: pieces, and how many seconds each is on its way. Streams stay in order anyway;
# datagrams overtake, and are lost or doubled if the wire says so.
Wire: TypeAlias = Callable[[str, bytes], Iterable[tuple[float, bytes]]]

# Whether what has arrived on a link shall not be seen yet by somebody who only looks. Who waits gets it in any case.
Hold: TypeAlias = Callable[[str], bool]

FIRST_FREE_PORT = 49152


def straight(link: str, data: bytes) -> Iterable[tuple[float, bytes]]:
    """Everything at once and as it is."""
    return [(0.0, data)]


def in_pieces(size: int, every: float = 0.0) -> Wire:
    """Pieces of so many bytes, one every so many seconds."""

    def wire(link: str, data: bytes) -> Iterable[tuple[float, bytes]]:
        starts = range(0, len(data), size)
        return [(number * every, data[start : start + size]) for number, start in enumerate(starts)]

    return wire


def _hold_nothing(link: str) -> bool:
    return False


@dataclass(eq=False, slots=True)
class _End:
    """One end of a link."""

    loop: MemoryLoop
    link: str
    address: Address
    is_listening: bool
    wants_tls: bool
    port: int = 0
    peer: _End | None = None
    is_open: bool = False
    is_gone: bool = False
    has_finished: bool = False
    # Waits for a peer, or for the handshake.
    unsent: deque[bytes] = field(default_factory=deque)
    # When the last of what is on its way will be there: streams do not overtake.
    arrives_until: float = 0.0

    @property
    def is_datagram(self) -> bool:
        return self.address.kind == "udp"

    @property
    def can_send(self) -> bool:
        # Who speaks in clear does not know better; who encrypts needs somebody to shake hands with.
        return self.peer is not None and (self.peer.wants_tls or not self.wants_tls)


@dataclass(frozen=True, order=True, slots=True)
class _Arrival:
    at: float
    number: int
    end: _End = field(compare=False)
    happened: Opened | Received | Closed | Failed | Secured = field(compare=False)
    sender: _End | None = field(compare=False)
    is_encrypted: bool = field(compare=False)


class MemoryWorld:
    """`wire` is what data goes through; `hold` keeps it out of sight for a moment, to try every order of things.

    For `connect_patience` who connects waits for somebody to listen, so that it does not matter who starts first.
    """

    def __init__(
        self,
        clock: ManualClock | None = None,
        *,
        wire: Wire = straight,
        hold: Hold = _hold_nothing,
        connect_patience: float = 10.0,
    ) -> None:
        self.clock = clock or ManualClock()
        self.wire = wire
        self.hold = hold
        self._connect_patience = connect_patience
        self._drivers: list[Driver] = []
        self._loops: list[MemoryLoop] = []
        self._agenda: list[_Arrival] = []
        self._number = 0
        self._ports: dict[tuple[MemoryLoop, str, Address], int] = {}
        # Who listens where; None where somebody did, and clients wait for him to come back.
        self._listening: dict[Address, _End | None] = {}
        self._calling: dict[Address, deque[_End]] = {}

    def loop(self) -> MemoryLoop:
        """A loop like the real one, for whoever is driven from outside."""
        return MemoryLoop(self)

    def add(self, session: Talker, watch: Watch | None = None) -> Driver:
        """Let a session live in this world: it goes on whenever another one waits."""
        self._loops.append(self.loop())
        self._drivers.append(Driver(session, self._loops[-1], watch))
        return self._drivers[-1]

    def run(self) -> None:
        """Let all sessions go on until all are over.

        :raises RuntimeError: they wait for each other, for ever
        """
        while not all(driver.session.is_over for driver in self._drivers):
            if not self._go_on():
                self._pass_time()

    # --- What loops ask for -------------------------------------------------------------------------------------------

    def _go_on(self) -> bool:
        """Let every session do what can be done now. Whether that was anything."""
        every = zip(self._drivers, self._loops, strict=True)
        pairs = [pair for pair in every if not pair[0].session.is_over and not pair[0].is_busy]
        # Everybody gets a turn before anybody gets another.
        moved = [driver.step() for driver, _ in pairs]
        if not any(moved):
            moved = [driver.hand_over(self._take(loop)) for driver, loop in pairs]
        if not any(moved):
            moved = [driver.hand_over(self._alarm(driver.session)) for driver, _ in pairs]
        return any(moved)

    def _alarm(self, session: Talker) -> list[Input]:
        now, deadline = self.clock.now(), session.deadline
        return [Passed(now)] if not session.is_over and deadline is not None and deadline <= now else []

    def _pass_time(self, until: float | None = None) -> None:
        """Make it the next moment at which something happens, or `until` if that is before.

        :raises RuntimeError: there is no such moment
        """
        sessions = [driver.session for driver in self._drivers if not driver.is_busy]
        times = [until, *(session.deadline for session in sessions if not session.is_over)]
        times += [arrival.at for arrival in self._agenda]
        later = [at for at in times if at is not None and at > self.clock.now()]
        if not later:
            raise RuntimeError("nothing can happen, and somebody waits")
        self.clock.advance_to(min(later))

    def _look(self, loop: MemoryLoop) -> list[Input]:
        """What has arrived for somebody who does not wait."""
        links = dict.fromkeys(arrival.end.link for arrival in self._agenda if self._is_due(arrival, loop))
        return self._take(loop, held=[link for link in links if self.hold(link)])

    def _take(self, loop: MemoryLoop, held: Collection[str] = ()) -> list[Input]:
        """What has arrived, except on some links."""
        due = [arrival for arrival in self._agenda if self._is_due(arrival, loop) and arrival.end.link not in held]
        if not due:
            return []
        self._agenda = [arrival for arrival in self._agenda if arrival not in due]
        return [happened for arrival in due for happened in self._arrive(arrival)]

    def _is_due(self, arrival: _Arrival, loop: MemoryLoop) -> bool:
        return arrival.at <= self.clock.now() and arrival.end.loop is loop

    # --- Things on their way ------------------------------------------------------------------------------------------

    def _put(
        self,
        end: _End,
        happened: Opened | Received | Closed | Failed | Secured,
        *,
        delay: float = 0.0,
        sender: _End | None = None,
    ) -> None:
        at = self.clock.now() + delay
        if not end.is_datagram:
            at = end.arrives_until = max(at, end.arrives_until)
        self._number += 1
        is_encrypted = sender is not None and sender.wants_tls
        insort(self._agenda, _Arrival(at, self._number, end, happened, sender, is_encrypted))

    def _arrive(self, arrival: _Arrival) -> list[Input]:
        """What somebody sees who is there when it arrives."""
        end, now = arrival.end, self.clock.now()
        if end.is_gone:
            return []
        happened = replace(arrival.happened, at=now)
        match happened:
            case Received() if end.is_datagram and end.is_listening:
                return [*self._called_by(end, arrival.sender), happened]
            case Received() if not end.is_datagram and arrival.is_encrypted != end.wants_tls:
                self._close(end)
                return [Failed(now, end.link, "tls", "one end speaks in clear and the other does not")]
            case Failed() | Closed(trouble=str()):
                self._close(end)
            case _:
                pass
        return [happened]

    def _called_by(self, end: _End, sender: _End | None) -> list[Input]:
        end.peer = sender
        is_first, end.is_open = not end.is_open, True
        self._send_the_unsent(end)
        return [Opened(self.clock.now(), end.link, end.port)] if is_first else []

    # --- What ends do -------------------------------------------------------------------------------------------------

    def _open(self, end: _End) -> None:
        if end.is_listening:
            self._listen(end)
        elif end.is_datagram:
            self._say_open(end)
        else:
            self._call(end)

    def _listen(self, end: _End) -> None:
        if not end.address.port and end.address.kind in ("tcp", "udp"):
            # A link that listens again finds its old port.
            port = self._ports.setdefault((end.loop, end.link, end.address), FIRST_FREE_PORT + len(self._ports))
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

    def _call(self, end: _End) -> None:
        listening = self._listening.get(end.address)
        if listening is not None:
            self._connect(end, listening)
            return
        self._calling.setdefault(end.address, deque()).append(end)
        if end.address in self._listening:
            self._say_open(end)
        else:
            refused = Failed(0.0, end.link, "refused", f"{end.address}: nobody listens")
            self._put(end, refused, delay=self._connect_patience)

    def _connect(self, caller: _End, listener: _End) -> None:
        self._listening[listener.address] = None
        caller.peer, listener.peer = listener, caller
        if not caller.is_open:  # it would have been refused
            self._agenda = [arrival for arrival in self._agenda if arrival.end is not caller]
            caller.arrives_until = 0.0
            self._say_open(caller)
        self._say_open(listener)
        if caller.wants_tls != listener.wants_tls:
            secret = caller if caller.wants_tls else listener
            self._put(secret, Failed(0.0, secret.link, "tls", "the peer does not encrypt"))
        for end in (caller, listener):
            self._send_the_unsent(end)
            if end.has_finished and end.peer is not None:
                self._put(end.peer, Closed(0.0, end.peer.link))

    def _say_open(self, end: _End) -> None:
        end.is_open = True
        self._put(end, Opened(0.0, end.link, end.port))

    def _send(self, end: _End, data: bytes) -> None:
        if end.is_gone or end.has_finished:
            return
        if end.is_datagram and not end.is_listening:
            end.peer = self._listening.get(end.address)
            if end.peer is None:
                self._put(end, Failed(0.0, end.link, "refused", f"{end.address}: nobody listens"))
                return
        end.unsent.append(data)
        self._send_the_unsent(end)

    def _send_the_unsent(self, end: _End) -> None:
        while end.unsent and end.can_send and end.peer is not None:
            for delay, piece in self.wire(end.link, end.unsent.popleft()):
                received = Received(0.0, end.peer.link, piece, is_whole=end.is_datagram)
                self._put(end.peer, received, delay=delay, sender=end)

    def _secure(self, end: _End) -> None:
        end.wants_tls = True
        if end.peer is not None and end.peer.wants_tls:
            for one in (end, end.peer):
                self._put(one, Secured(0.0, one.link))
                self._send_the_unsent(one)

    def _finish(self, end: _End) -> None:
        if end.has_finished:
            return
        end.has_finished = True
        if end.peer is not None and not end.is_datagram:
            self._put(end.peer, Closed(0.0, end.peer.link))

    def _reset(self, end: _End) -> None:
        if end.peer is not None:
            self._put(end.peer, Closed(0.0, end.peer.link, "reset"))
        end.has_finished = True
        self._close(end)

    def _close(self, end: _End) -> None:
        self._finish(end)
        end.is_gone = True
        self._agenda = [arrival for arrival in self._agenda if arrival.end is not end]
        if self._listening.get(end.address) is end:
            self._listening[end.address] = None


class MemoryLoop:
    """One loop of the world, used like `palaver.transport.Loop`."""

    def __init__(self, world: MemoryWorld) -> None:
        self.clock = world.clock
        self._world = world
        self._ends: dict[str, _End] = {}

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Open(link, address, role, tls):
                    if link in self._ends:
                        self._world._close(self._ends[link])
                    self._ends[link] = _End(self, link, address, role == "listen", tls is not None)
                    self._world._open(self._ends[link])
                case Send(link, data):
                    self._world._send(self._end(link), data)
                case Secure(link):
                    self._world._secure(self._end(link))
                case Finish(link):
                    self._world._finish(self._end(link))
                case Close(link, abruptly):
                    if abruptly:
                        self.reset(link)
                    else:
                        self._world._close(self._end(link))

    def poll(self) -> list[Input]:
        return self._world._look(self)

    def wait(self, until: float | None) -> list[Input]:
        while True:
            heard = self._world._take(self)
            if heard:
                return heard
            if self._world._go_on():
                continue
            if until is not None and self.clock.now() >= until:
                return [Passed(self.clock.now())]
            self._world._pass_time(until)

    def port_of(self, link: str) -> int:
        return self._end(link).port

    def reset(self, link: str) -> None:
        """Break a link, as a peer does that crashes."""
        self._world._reset(self._end(link))

    def close(self) -> None:
        for end in self._ends.values():
            self._world._close(end)

    def _end(self, link: str) -> _End:
        if link not in self._ends:
            raise ValueError(f"no link {link!r} was ever opened")
        return self._ends[link]
