"""Peers that follow a script, for tests of sessions and of whatever else talks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from palaver.party import Protocol, split_party_spec
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
    Received,
    Role,
    Secure,
    Send,
    Tls,
)


@dataclass(frozen=True, slots=True)
class Hear:
    """Wait until this has come; what came before it is skipped. Nothing in particular: wait until anything has."""

    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Say:
    """Send this, or what a function makes of what was heard by the last `Hear`.

    In pieces of `size` bytes, if that is given, and one `every` so many seconds; `endlessly`: again and again.
    """

    data: bytes | Callable[[bytes], bytes]
    size: int = 0
    every: float = 0.0
    endlessly: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Encrypt:
    """Encrypt the connection from here on."""

    tls: Tls = Tls()  # noqa: RUF009  # it is frozen


@dataclass(frozen=True, slots=True)
class StopTalking:
    """Close our half of the connection, and go on listening."""


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the connection in good order."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the connection, as a program does that crashes."""


Step: TypeAlias = Hear | Say | Pause | Encrypt | StopTalking | HangUp | Reset


class ScriptedPeer:
    """Does what its script says, step by step, as soon as it is connected. It can be put where a session can be.

    The address is one that a party can have; a `tls:` one is encrypted from the start, as is any with `tls` options.
    After the last step it waits until the other hangs up, and if that is earlier, the rest of the script is dropped.
    Then it begins anew, `times` in all. What it has heard is in `heard`, one piece for each connection.
    """

    def __init__(
        self,
        script: Sequence[Step],
        *,
        role: Role = "listen",
        address: str = "tcp://127.0.0.1:0",
        tls: Tls | None = None,
        times: int = 1,
        link: str = "peer",
    ) -> None:
        self.link = link
        self.heard: list[bytes] = []
        self.failed: list[Failed] = []
        self.is_over = False
        self.deadline: float | None = None
        self._script = script
        self._open = _opening(link, address, role, tls)
        self._times = times
        self._now = 0.0
        self._unread = b""
        self._latest = b""  # what the last `Hear` took
        self._performance: Iterator[Action | None] | None = None
        self._has_begun = False

    # A script does not wait until the other is silent: what it says comes out of `handle`.
    wants_to_speak = False

    def speak(self, at: float) -> bool:
        return False

    def commit(self, at: float) -> Sequence[Action]:
        return []

    def discard(self) -> None:
        pass

    def handle(self, happened: Input) -> Sequence[Action]:
        self._now = happened.at
        if not self._has_begun:
            self._has_begun = True
            return [self._open]
        match happened:
            case Opened():
                self.heard.append(b"")
                self._unread = b""
                self._performance = self._perform()
            case Received(_, _, data):
                self.heard[-1] += data
                self._unread += data
            case Failed():
                self.failed.append(happened)
                return self._leave()
            case Closed():
                return self._leave()
            case _:
                pass
        return self._go_on()

    def _go_on(self) -> list[Action]:
        actions: list[Action] = []
        while self._performance is not None and (action := next(self._performance, None)) is not None:
            actions.append(action)
            if isinstance(action, Close):
                return [*actions, *self._leave()]
        return actions

    def _leave(self) -> list[Action]:
        self._performance, self.deadline = None, None
        self._times -= 1
        self.is_over = self._times <= 0
        # To open a link closes the one before it.
        return [Close(self.link)] if self.is_over else [self._open]

    def _perform(self) -> Iterator[Action | None]:
        """The actions of the script; None where something has to happen first."""
        for step in self._script:
            match step:
                case Hear(data):
                    yield from self._hear(data)
                case Say():
                    yield from self._say(step)
                case Pause(seconds):
                    yield from self._pause(seconds)
                case Encrypt(tls):
                    yield Secure(self.link, self._open.role, tls)
                case StopTalking():
                    yield Finish(self.link)
                case HangUp():
                    yield Close(self.link)
                case Reset():
                    yield Close(self.link, abruptly=True)

    def _hear(self, data: bytes) -> Iterator[None]:
        while not self._unread or data not in self._unread:
            yield None
        length = self._unread.index(data) + len(data) if data else len(self._unread)
        self._latest, self._unread = self._unread[:length], self._unread[length:]

    def _say(self, step: Say) -> Iterator[Action | None]:
        data = step.data if isinstance(step.data, bytes) else step.data(self._latest)
        size = step.size or len(data)
        while True:
            for start in range(0, len(data), size):
                if start:
                    yield from self._pause(step.every)
                yield Send(self.link, data[start : start + size])
            if not step.endlessly:
                return
            yield from self._pause(step.every)

    def _pause(self, seconds: float) -> Iterator[None]:
        # Also no time at all lets the others have their turn.
        self.deadline = self._now + seconds
        yield None
        while self._now < self.deadline:
            yield None
        self.deadline = None


def _opening(link: str, uri: str, role: Role, tls: Tls | None) -> Open:
    _, protocol, host, port = split_party_spec(uri)
    if protocol is Protocol.UNIX:
        return Open(link, Address("unix", path=host), role, tls)
    if protocol is Protocol.TLS:
        tls = tls or Tls()
    return Open(link, Address("udp" if protocol is Protocol.UDP else "tcp", host=host, port=port), role, tls)
