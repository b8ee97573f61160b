"""The one loop: carries out the actions of a session, and reports what happens in the world.

How it works. Each link says which file descriptors and which deadline it waits for (`link.py`); the loop waits for all
of them together in one selector, and lets the links advance that have something to do. There are no threads and no
sleeps, and nothing is asked again and again. What happens while nobody waits is reported by the next call.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import Self, TypeAlias

from palaver.session.events import Action, Address, Close, Finish, Input, Open, Passed, Role, Secure, Send, Tls
from palaver.transport import program, tcp, udp, unix
from palaver.transport.clock import Clock, SystemClock
from palaver.transport.link import Encrypt, Link
from palaver.transport.pipe import Broken, Failing, Opening, Pipe, Ready
from palaver.transport.stdio import StandardPipe
from palaver.transport.stream import Accepting, Listener
from palaver.transport.tls import Handshake, context_for

# A port that the system picks belongs to one link; any other is the same for all.
_ListenerKey: TypeAlias = tuple[Address, str]

# A session may listen at a new port each time, as FTP does; the old ones are not kept for ever.
MOST_IDLE_LISTENERS = 16

THE_PAST = float("-inf")


class Loop:
    """Carries out actions and reports what happens.

    `connect_timeout` limits connecting and the handshake of TLS. For `connect_patience` a server that refuses is asked
    again, as it may be starting; for `startup_patience` from now on, any is. `close_grace` limits how long what was
    sent before `Close` may take to leave, and how long a program may take to end before it is told to, and then before
    it is made to.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        connect_timeout: float = 10.0,
        connect_patience: float = 0.0,
        startup_patience: float = 0.0,
        close_grace: float = 1.0,
        max_read: int = 65536,
        keep_errors: bool = False,
        standard: tuple[int, int] = (0, 1),
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self._connect_timeout = connect_timeout
        self._connect_patience = connect_patience
        self._starting_until = self.clock.now() + startup_patience
        self._close_grace = close_grace
        self._max_read = max_read
        self._keep_errors = keep_errors
        self._standard = standard
        self._selector = DefaultSelector()
        self._links: dict[str, Link] = {}
        self._addresses: dict[str, Address] = {}
        self._leaving: list[Link] = []
        self._listeners: dict[_ListenerKey, Listener] = {}
        self._contexts: dict[tuple[Role, Tls], ssl.SSLContext] = {}
        self._watched: dict[Link, dict[int, int]] = {}
        # Regular files cannot be watched. They are always ready.
        self._always_ready: dict[int, Link] = {}
        self._pending: list[Input] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- Actions ------------------------------------------------------------------------------------------------------

    def carry_out(self, actions: Iterable[Action]) -> None:
        """Begin to do all this, in this order. Never blocks, except to look up the name of a host.

        What goes wrong is reported as an input. Opening a link closes an older one of that name. Actions on a link that
        is closed do nothing.

        :raises ValueError: there never was such a link
        """
        for action in actions:
            match action:
                case Open():
                    self._open(action)
                case Send():
                    self._link(action.link).send(action.data)
                case Secure():
                    self._secure(self._link(action.link), action)
                case Finish():
                    self._link(action.link).finish()
                case Close(link, abruptly):
                    if abruptly:
                        self._link(link).reset()
                    self._close(self._link(link))
            self._advance(self._links[action.link], self.clock.now())

    def port_of(self, link: str) -> int:
        """The port where a link listens, as soon as it was opened; 0 if it does not."""
        return self._link(link).port

    def errors_of(self, link: str) -> bytes:
        """The end of what a program has written as errors, if they are kept."""
        return self._link(link).errors

    # --- Inputs -------------------------------------------------------------------------------------------------------

    def poll(self) -> list[Input]:
        """What has happened; [] if nothing has. Does not wait."""
        _, heard = self._round(THE_PAST)
        return heard

    def wait(self, until: float | None) -> list[Input]:
        """What has happened, as soon as something has; one `Passed` if nothing has until then. None: no limit.

        :raises RuntimeError: there is no limit, and nothing can happen
        """
        while True:
            if until is None and not self._can_anything_happen():
                raise RuntimeError("nothing can happen, and nobody has said until when to wait")
            now, heard = self._round(until)
            if heard:
                return heard
            if until is not None and now >= until:
                return [Passed(now)]

    def close(self) -> None:
        """Close everything, in good order but soon. May be called again, and after any exception."""
        try:
            for link in list(self._links.values()):
                self._close(link)
            while self._leaving:
                self._round(None)
        finally:
            # Whatever is left after a second Ctrl-C.
            for link in [*self._links.values(), *self._leaving]:
                link.abandon()
            for listener in self._listeners.values():
                listener.close()
            self._leaving.clear()
            self._listeners.clear()
            self._selector.close()

    # --- Opening and closing ------------------------------------------------------------------------------------------

    def _open(self, action: Open) -> None:
        if action.link in self._links:
            self._close(self._links[action.link])
        self._addresses[action.link] = action.address
        encrypt: Encrypt | None = None
        try:
            if action.tls is not None:
                encrypt = self._encryption(action.link, action.role, action.tls)
            opening = self._opening(action)
        except Broken as broken:
            opening = Failing(broken)
        link = Link(action.link, opening, max_read=self._max_read, encrypt=encrypt)
        self._links[action.link] = link

    def _opening(self, action: Open) -> Opening:
        address = action.address
        match address.kind, action.role:
            case "tcp", "connect":
                return tcp.connecting(address, **self._connecting())
            case "unix", "connect":
                return unix.connecting(address, **self._connecting())
            case "udp", "connect":
                return udp.connecting(address)
            case "udp", "listen":
                return udp.Listening(address, self._listener(action))
            case "program", _:
                return program.starting(address, grace=self._close_grace, keep_errors=self._keep_errors)
            case "target", _:
                return program.watching(address, grace=self._close_grace)
            case "stdio", _:
                return Ready(StandardPipe(*self._standard))
            case "stdin", _:
                return Ready(StandardPipe(self._standard[0], None))
            case "stdout", _:
                return Ready(StandardPipe(None, self._standard[1]))
            case _:
                return Accepting(self._listener(action))

    def _connecting(self) -> dict[str, float]:
        now = self.clock.now()
        patience = max(self._connect_patience, self._starting_until - now)
        return {"now": now, "timeout": self._connect_timeout, "patience": patience}

    def _listener(self, action: Open) -> Listener:
        address = action.address
        key = (address, action.link if address.kind != "unix" and not address.port else "")
        listener = self._listeners.pop(key, None)
        if listener is None:
            self._close_idle_listeners()
            listen = {"tcp": tcp.listener, "udp": udp.listener, "unix": unix.listener}[address.kind]
            listener = listen(address)
        # The one that was used last stands last.
        self._listeners[key] = listener
        return listener

    def _close_idle_listeners(self) -> None:
        idle = [key for key, listener in self._listeners.items() if not listener.is_taken]
        for key in idle[: max(0, len(idle) - MOST_IDLE_LISTENERS + 1)]:
            self._listeners.pop(key).close()

    def _secure(self, link: Link, action: Secure) -> None:
        try:
            link.encrypt(self._encryption(action.link, action.role, action.tls))
        except Broken as broken:
            # Told when it is time for it: what was sent before still goes out.
            link.encrypt(_breaking(broken))

    def _encryption(self, link: str, role: Role, tls: Tls) -> Encrypt:
        server_name = tls.server_name or self._addresses[link].host
        context = self._contexts.get((role, tls)) or context_for(role, tls)
        self._contexts[role, tls] = context

        def encrypt(pipe: Pipe, now: float) -> Opening:
            return Handshake(pipe, context, role, server_name, deadline=now + self._connect_timeout)

        return encrypt

    def _close(self, link: Link) -> None:
        if not link.is_gone and not link.is_leaving:
            now = self.clock.now()
            link.close(now + self._close_grace)
            self._leaving.append(link)
            self._advance(link, now)
        self._pending = [happened for happened in self._pending if _link_of(happened) != link.name]

    def _link(self, name: str) -> Link:
        if name not in self._links:
            raise ValueError(f"no link {name!r} was ever opened")
        return self._links[name]

    # --- One round ----------------------------------------------------------------------------------------------------

    def _round(self, until: float | None) -> tuple[float, list[Input]]:
        """What has happened, and the time, after waiting for any link, for any deadline, or until then."""
        deadlines = self._deadlines()
        wake_at = min([at for at, _ in deadlines] + ([] if until is None else [until])) if deadlines else until
        timeout = None if wake_at is None else max(0.0, wake_at - self.clock.now())
        if self._pending or self._always_ready:
            timeout = 0.0
        ready = self._selector.select(timeout)
        now = self.clock.now()
        if not ready and timeout and wake_at is not None:
            # Whoever has waited so long has waited long enough, also if the clock stands still.
            now = max(now, wake_at)
        touched: dict[Link, bool] = {}
        for key, events in ready:
            touched[key.data] = touched.get(key.data, False) or bool(events & EVENT_READ)
        if self._always_ready:
            touched.update(dict.fromkeys(self._always_ready.values(), True))
        for at, link in deadlines:
            if at <= now:
                touched[link] = True
        for link, can_read in touched.items():
            self._advance(link, now, can_read=can_read)
        heard, self._pending = self._pending, []
        return now, heard

    def _advance(self, link: Link, now: float, *, can_read: bool = False) -> None:
        was_being_opened = link.is_being_opened
        self._pending += link.advance(now, can_read=can_read)
        # What is being opened may close a file descriptor and get a new one of the same number.
        self._watch(link, anew=was_being_opened)
        if link.is_gone and link in self._leaving:
            self._leaving.remove(link)

    def _watch(self, link: Link, *, anew: bool) -> None:
        """Watch what the link is interested in now, and nothing else."""
        before = self._watched.pop(link, {})
        interests = link.interests()
        if interests == before and not anew:
            self._watched[link] = before
            return
        for fd, events in before.items():
            if anew or interests.get(fd) != events:
                self._unwatch(fd)
        for fd, events in interests.items():
            if anew or before.get(fd) != events:
                self._watch_one(fd, events, link)
        if interests:
            self._watched[link] = interests

    def _watch_one(self, fd: int, events: int, link: Link) -> None:
        try:
            self._selector.register(fd, events, link)
        except PermissionError:
            self._always_ready[fd] = link

    def _unwatch(self, fd: int) -> None:
        if self._always_ready.pop(fd, None) is None:
            self._selector.unregister(fd)

    def _deadlines(self) -> list[tuple[float, Link]]:
        links = (*self._links.values(), *self._leaving)
        return [(at, link) for link in links if (at := link.deadline) is not None]

    def _can_anything_happen(self) -> bool:
        return bool(self._pending or self._watched or self._deadlines())


def _link_of(happened: Input) -> str | None:
    return None if isinstance(happened, Passed) else happened.link


def _breaking(broken: Broken) -> Encrypt:
    def encrypt(pipe: Pipe, now: float) -> Opening:
        raise broken

    return encrypt
