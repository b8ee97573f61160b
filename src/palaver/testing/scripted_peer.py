"""Peers that follow a script, for tests of sessions and of other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, assert_never

from palaver.addresses import parse_party_address
from palaver.lean_dataclasses import dataclass
from palaver.session.interface import (
    Action,
    Close,
    Closed,
    Connected,
    Failed,
    Finish,
    Input,
    Listening,
    Open,
    Opened,
    Received,
    Role,
    Secure,
    Secured,
    Send,
    TimePassed,
    Tls,
)


@dataclass(frozen=True, slots=True)
class Expect:
    """Wait until this has come; data before it is skipped. Without data: wait until anything has come."""

    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Write:
    """Send this, or the result of a function on the data of the last `Expect`.

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
class StartTls:
    """Encrypt the connection from here on."""

    tls: Tls = Tls()  # it is frozen


@dataclass(frozen=True, slots=True)
class HalfClose:
    """Close our half of the connection, and go on receiving."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection in good order."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the connection, as a program that crashes."""


ScriptStep: TypeAlias = Expect | Write | Pause | StartTls | HalfClose | Disconnect | Reset


class ScriptedPeer:
    """Follows a script, step by step, as soon as it is connected. It is driven like a session.

    The address is that of a party; a `tls:` one is encrypted from the start, as is any with `tls` options. After the
    last step it waits until the peer closes the connection; if that is earlier, the rest of the script is dropped. Then
    it begins anew, `times` in all. The data received is in `heard`, one entry for each connection.
    """

    def __init__(
        self,
        script: Sequence[ScriptStep],
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
        place = parse_party_address(address)
        self._open = Open(link, place.address, role, tls or (Tls() if place.scheme.over else None))
        self._times = times
        self._now = 0.0
        self._unread = b""
        self._latest = b""  # the data of the last `Expect`
        self._running_script: Iterator[Action | None] | None = None
        self._has_begun = False

    # A script does not wait for silence: what it sends comes out of `handle`.
    wants_to_send = False

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
                self._running_script = self._run_script()
            case Received(_, _, data):
                self.heard[-1] += data
                self._unread += data
            case Failed():
                self.failed.append(happened)
                return self._leave()
            case Closed():
                return self._leave()
            case Listening() | Connected() | Secured() | TimePassed():
                pass
            case _:
                assert_never(happened)
        return self._go_on()

    def _go_on(self) -> list[Action]:
        actions: list[Action] = []
        while self._running_script is not None and (action := next(self._running_script, None)) is not None:
            actions.append(action)
            if isinstance(action, Close):
                return [*actions, *self._leave()]
        return actions

    def _leave(self) -> list[Action]:
        self._running_script, self.deadline = None, None
        self._times -= 1
        self.is_over = self._times <= 0
        # Opening a link closes the one before it.
        return [Close(self.link)] if self.is_over else [self._open]

    def _run_script(self) -> Iterator[Action | None]:
        """Yield the actions of the script; None where an input must come first."""
        for step in self._script:
            match step:
                case Expect(data):
                    yield from self._hear(data)
                case Write():
                    yield from self._say(step)
                case Pause(seconds):
                    yield from self._pause(seconds)
                case StartTls(tls):
                    yield Secure(self.link, self._open.role, tls)
                case HalfClose():
                    yield Finish(self.link)
                case Disconnect():
                    yield Close(self.link)
                case Reset():
                    yield Close(self.link, abruptly=True)
                case _:
                    assert_never(step)

    def _hear(self, data: bytes) -> Iterator[None]:
        while not self._unread or data not in self._unread:
            yield None
        length = self._unread.index(data) + len(data) if data else len(self._unread)
        self._latest, self._unread = self._unread[:length], self._unread[length:]

    def _say(self, step: Write) -> Iterator[Action | None]:
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
        # A pause of no time lets the other sessions have their turn.
        self.deadline = self._now + seconds
        yield None
        while self._now < self.deadline:
            yield None
        self.deadline = None
