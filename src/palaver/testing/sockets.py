"""A world on real sockets, used like the one in memory: several talkers take turns on one loop, without threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Self

from palaver.session.events import Action, Close, Input, Open, Passed
from palaver.transport.drive import Driver, Talker, Watch
from palaver.transport.loop import Loop


class SocketWorld:
    """Talkers that live here go on whenever another one waits.

    For `connect_patience` who connects waits for somebody to listen, so that it does not matter who starts first.
    """

    def __init__(self, *, connect_patience: float = 10.0) -> None:
        self._loop = Loop(connect_patience=connect_patience)
        self.clock = self._loop.clock
        self._loops: list[SocketLoop] = []
        self._drivers: list[Driver] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection, in good order but soon."""
        self._loop.close()

    def loop(self) -> SocketLoop:
        """A loop for whoever is driven from outside."""
        self._loops.append(SocketLoop(self, f"{len(self._loops)}/"))
        return self._loops[-1]

    def add(self, talker: Talker, watch: Watch | None = None) -> Driver:
        """Let a talker live here. It begins at once, so that its ports are known; see `port_of`."""
        self._drivers.append(Driver(talker, self.loop(), watch))
        self._drivers[-1].step()
        return self._drivers[-1]

    def run(self) -> None:
        """Let all talkers go on until all are over.

        :raises RuntimeError: they wait for each other, for ever
        """
        while not all(driver.session.is_over for driver in self._drivers):
            if not self._go_on():
                self._wait(None)

    def port_of(self, link: str) -> int:
        """The port where a link of anybody listens.

        :raises ValueError: there is no such link
        """
        for loop in self._loops:
            if link in loop.links:
                return loop.port_of(link)
        raise ValueError(f"nobody has opened a link {link!r}")

    # --- What loops ask for -------------------------------------------------------------------------------------------

    def _go_on(self) -> bool:
        """Let every talker do what can be done now. Whether that was anything."""
        idle = [driver for driver in self._drivers if not driver.is_busy]
        moved = [driver.step() for driver in idle]
        if not any(moved):
            moved = [driver.hand_over(self._alarm(driver.session)) for driver in idle]
        return any(moved)

    def _alarm(self, talker: Talker) -> list[Input]:
        now, deadline = self.clock.now(), talker.deadline
        return [Passed(now)] if not talker.is_over and deadline is not None and deadline <= now else []

    def _wait(self, until: float | None) -> None:
        talkers = [driver.session for driver in self._drivers if not driver.is_busy]
        times = [until, *(talker.deadline for talker in talkers if not talker.is_over)]
        self._share(self._loop.wait(min((at for at in times if at is not None), default=None)))

    def _look(self) -> None:
        self._share(self._loop.poll())

    def _share(self, inputs: Iterable[Input]) -> None:
        """Give everybody what happened on their links."""
        for happened in inputs:
            if isinstance(happened, Passed):
                continue  # whoever has waited knows until when
            for loop in self._loops:
                if happened.link.startswith(loop.prefix):
                    loop.unseen.append(replace(happened, link=happened.link.removeprefix(loop.prefix)))


class SocketLoop:
    """One loop of the world, used like `palaver.transport.Loop`. The names of its links are its own."""

    def __init__(self, world: SocketWorld, prefix: str) -> None:
        self.clock = world.clock
        self.prefix = prefix
        self.unseen: list[Input] = []
        self.links: dict[str, None] = {}
        self._world = world

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Open | Close):
                # What was told about the link before has nothing to do with it any more.
                self.unseen = [each for each in self.unseen if isinstance(each, Passed) or each.link != action.link]
                self.links[action.link] = None
            self._world._loop.carry_out([replace(action, link=self.prefix + action.link)])

    def poll(self) -> list[Input]:
        self._world._look()
        return self._taken()

    def wait(self, until: float | None) -> list[Input]:
        while True:
            if heard := self.poll():
                return heard
            if self._world._go_on():
                continue
            if until is not None and self.clock.now() >= until:
                return [Passed(self.clock.now())]
            self._world._wait(until)

    def port_of(self, link: str) -> int:
        return self._world._loop.port_of(self.prefix + link)

    def close(self) -> None:
        self.carry_out([Close(link) for link in self.links])

    def _taken(self) -> list[Input]:
        taken, self.unseen = self.unseen, []
        return taken
