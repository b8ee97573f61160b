"""A network of real sockets, used like the one in memory: several sessions take turns, without threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from palaver.lean_dataclasses import replace
from palaver.session.interface import Action, Close, Input, Open, TimePassed
from palaver.transport.driver import Driver, EventObserver, Scheduler, SessionLike
from palaver.transport.event_loop import SelectorEventLoop


class SocketNetwork(Scheduler):
    """Sessions on one event loop, in turns. Who connects waits `connect_patience` seconds for somebody to listen."""

    def __init__(self, *, connect_patience: float = 10.0) -> None:
        super().__init__()
        self._loop = SelectorEventLoop(connect_patience=connect_patience)
        self.clock = self._loop.clock
        self._loops: list[SocketEventLoop] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection, in good order but soon."""
        self._loop.close()

    def loop(self) -> SocketEventLoop:
        """Make an event loop that somebody else drives."""
        self._loops.append(SocketEventLoop(self, f"{len(self._loops)}/"))
        return self._loops[-1]

    def add(self, session: SessionLike, watch: EventObserver | None = None) -> Driver:
        """Add a session. It begins at once, so that its ports are known; see `port_of`."""
        self._drivers.append(Driver(session, self.loop(), watch))
        self._drivers[-1].step()
        return self._drivers[-1]

    def port_of(self, link: str) -> int:
        """Return the port where a link of any session listens. :raises ValueError: there is no such link"""
        for loop in self._loops:
            if link in loop.links:
                return loop.port_of(link)
        raise ValueError(f"nobody has opened a link {link!r}")

    def _pass_time(self, until: float | None) -> None:
        self._share(self._loop.wait(min(self._deadlines(until), default=None)))

    def _share(self, inputs: Iterable[Input]) -> None:
        """Give every event loop the inputs of its links."""
        for event in inputs:
            if isinstance(event, TimePassed):
                continue  # whoever has waited knows until when
            for loop in self._loops:
                if event.link.startswith(loop.prefix):
                    loop.unseen.append(replace(event, link=event.link.removeprefix(loop.prefix)))


class SocketEventLoop:
    """One event loop of the network. The names of its links are its own."""

    def __init__(self, world: SocketNetwork, prefix: str) -> None:
        self.clock = world.clock
        self.prefix = prefix
        self.unseen: list[Input] = []
        self.links: dict[str, None] = {}
        self._world = world

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Open | Close):
                # What was reported about the link before is about another connection.
                self.unseen = [each for each in self.unseen if isinstance(each, TimePassed) or each.link != action.link]
                self.links[action.link] = None
            self._world._loop.carry_out([replace(action, link=self.prefix + action.link)])

    def poll(self) -> list[Input]:
        self._world._share(self._world._loop.poll())
        taken, self.unseen = self.unseen, []
        return taken

    def wait(self, until: float | None) -> list[Input]:
        return self._world._wait(self.poll, until)

    def port_of(self, link: str) -> int:
        return self._world._loop.port_of(self.prefix + link)

    def close(self) -> None:
        self.carry_out([Close(link) for link in self.links])
