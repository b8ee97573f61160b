"""The event loop over selectors: carries out the actions of a session, and reports what happens in the world.

How it works. Each connection says which file descriptors and which deadline it waits for; the loop waits for all of
them in one selector, and lets the connections advance that have something to do. There are no threads and no sleeps,
and nothing is polled. What happens while nobody waits is reported by the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING, Self, TypeAlias, assert_never

from palaver.addresses import Address, picks_port
from palaver.session.interface import Action, Close, Finish, Input, Open, Role, Secure, Send, TimePassed, Tls
from palaver.transport.channel import Channel, ChannelError, Listener, OpenOptions, PendingChannel, ReadyChannel
from palaver.transport.clock import Clock, SystemClock
from palaver.transport.connection import Connection, StartHandshake
from palaver.transport.registry import transport_for
from palaver.transport.transport_limits import CLOSE_GRACE_SECONDS, MAX_IDLE_LISTENERS

if TYPE_CHECKING:
    import ssl

# The address, and the link if the system picks the port: then no other link uses the same listener.
_ListenerKey: TypeAlias = tuple[Address, str]

_THE_PAST = float("-inf")


class SelectorEventLoop:
    """Carries out actions and reports what happens.

    `connect_timeout` limits connecting and the handshake of TLS. For `connect_patience` a server that refuses is asked
    again, as it may be starting; for `startup_patience` from now on, any is. `close_grace` limits how long data sent
    before `Close` may take to leave, and how long a program may take to end before it is told to, and then before it is
    killed. `error_listener` is given the errors of programs that we talk to.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        connect_timeout: float = 10.0,
        connect_patience: float = 0.0,
        startup_patience: float = 0.0,
        close_grace: float = CLOSE_GRACE_SECONDS,
        standard: tuple[int, int] = (0, 1),
        error_listener: Callable[[bytes], None] | None = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self._connect_timeout = connect_timeout
        self._connect_patience = connect_patience
        self._starting_until = self.clock.now() + startup_patience
        self._close_grace = close_grace
        self._standard = standard
        self._error_listener = error_listener
        self._selector = DefaultSelector()
        self._connections: dict[str, Connection] = {}
        self._addresses: dict[str, Address] = {}
        self._closing: list[Connection] = []
        self._listeners: dict[_ListenerKey, Listener] = {}
        self._contexts: dict[tuple[Role, Tls], ssl.SSLContext] = {}
        self._watched: dict[Connection, dict[int, int]] = {}
        # Regular files cannot be watched. They are always ready.
        self._always_ready: dict[int, Connection] = {}
        self._pending: list[Input] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def carry_out(self, actions: Iterable[Action]) -> None:
        """Begin to do all this, in this order. Never blocks, except to look up the name of a host.

        Failures are reported as inputs. Opening a link closes an older one of that name. Actions on a link that is
        closed do nothing.

        :raises ValueError: there never was such a link
        """
        for action in actions:
            match action:
                case Open():
                    self._open(action)
                case Send():
                    self._connection(action.link).send(action.data)
                case Secure():
                    self._secure(self._connection(action.link), action)
                case Finish():
                    self._connection(action.link).finish()
                case Close(link, abruptly):
                    if abruptly:
                        self._connection(link).reset()
                    self._close(self._connection(link))
                case _:
                    assert_never(action)
            self._advance(self._connections[action.link], self.clock.now())

    def port_of(self, link: str) -> int:
        """Return the port where a link listens, as soon as it was opened; 0 if it does not."""
        return self._connection(link).port

    def pid_of(self, link: str) -> int:
        """Return the process at the other end of a link, if we have started it; else 0."""
        return self._connection(link).pid

    def poll(self) -> list[Input]:
        """Return what has happened, without waiting."""
        _, inputs = self._round(_THE_PAST)
        return inputs

    def wait(self, until: float | None) -> list[Input]:
        """Wait until something has happened; one `TimePassed` if nothing has until then. None: no limit.

        :raises RuntimeError: there is no limit, and nothing can happen
        """
        while True:
            if until is None and not self._can_anything_happen():
                raise RuntimeError("nothing can happen, and nobody has said until when to wait")
            now, inputs = self._round(until)
            if inputs:
                return inputs
            if until is not None and now >= until:
                return [TimePassed(now)]

    def close(self) -> None:
        """Close everything, in good order but soon. May be called again, and after any exception."""
        try:
            for connection in list(self._connections.values()):
                self._close(connection)
            while self._closing:
                self._round(None)
        finally:
            # The rest, after a second Ctrl-C.
            for connection in [*self._connections.values(), *self._closing]:
                connection.abandon()
            for listener in self._listeners.values():
                listener.close()
            self._closing.clear()
            self._listeners.clear()
            self._selector.close()

    def _open(self, action: Open) -> None:
        if action.link in self._connections:
            self._close(self._connections[action.link])
        self._addresses[action.link] = action.address
        encrypt: StartHandshake | None = None
        try:
            if action.tls is not None:
                encrypt = self._encryption(action.link, action.role, action.tls)
            pending = self._pending_channel(action)
        except ChannelError as error:
            pending = ReadyChannel(error)
        self._connections[action.link] = Connection(action.link, pending, encrypt)

    def _pending_channel(self, action: Open) -> PendingChannel:
        transport = transport_for(action.address)
        if action.role == "listen":
            listener = self._listener(action)
            listener.begins_session = action.begins_session
            return transport.accept(action.address, listener)
        now = self.clock.now()
        options = OpenOptions(
            now,
            timeout=self._connect_timeout,
            patience=max(self._connect_patience, self._starting_until - now),
            grace=self._close_grace,
            standard=self._standard,
            error_listener=self._error_listener,
        )
        return transport.connect(action.address, options)

    def _listener(self, action: Open) -> Listener:
        key = (action.address, action.link if picks_port(action.address) else "")
        listener = self._listeners.pop(key, None)
        if listener is None:
            self._close_idle_listeners()
            listener = transport_for(action.address).listen(action.address)
        # The one that was used last stands last.
        self._listeners[key] = listener
        return listener

    def forget_queued(self) -> None:
        """Close the connections that nobody has accepted: they are of a client that has ended."""
        for listener in self._listeners.values():
            listener.forget_queued()

    def _close_idle_listeners(self) -> None:
        idle = [key for key, listener in self._listeners.items() if not listener.is_taken]
        for key in idle[: max(0, len(idle) - MAX_IDLE_LISTENERS + 1)]:
            self._listeners.pop(key).close()

    def _secure(self, connection: Connection, action: Secure) -> None:
        try:
            connection.encrypt(self._encryption(action.link, action.role, action.tls))
        except ChannelError as error:
            # Told when it is time for it: what was sent before still goes out.
            connection.encrypt(_failing(error))

    def _encryption(self, link: str, role: Role, tls: Tls) -> StartHandshake:
        from palaver.transport.tls import Handshake, context_for, side_of_handshake  # loads OpenSSL

        server_name = tls.server_name or self._addresses[link].host
        side = side_of_handshake(role, tls)
        context = self._contexts.get((side, tls)) or context_for(side, tls)
        self._contexts[side, tls] = context

        def encrypt(channel: Channel, now: float) -> PendingChannel:
            return Handshake(channel, context, side, server_name, deadline=now + self._connect_timeout)

        return encrypt

    def _close(self, connection: Connection) -> None:
        if not connection.is_closed and not connection.is_closing:
            now = self.clock.now()
            connection.close(now + self._close_grace)
            self._closing.append(connection)
            self._advance(connection, now)
        self._pending = [each for each in self._pending if isinstance(each, TimePassed) or each.link != connection.name]

    def _connection(self, link: str) -> Connection:
        if link not in self._connections:
            raise ValueError(f"no link {link!r} was ever opened")
        return self._connections[link]

    def _round(self, until: float | None) -> tuple[float, list[Input]]:
        """Wait for any connection, for any deadline, or until then. Return the time, and what has happened."""
        deadlines = self._deadlines()
        wake_at = min([at for at, _ in deadlines] + ([] if until is None else [until])) if deadlines else until
        timeout = None if wake_at is None else max(0.0, wake_at - self.clock.now())
        if self._pending or self._always_ready:
            timeout = 0.0
        ready = self._selector.select(timeout)
        now = self.clock.now()
        if not ready and timeout and wake_at is not None:
            # We have waited long enough, also if the clock stands still.
            now = max(now, wake_at)
        touched: dict[Connection, bool] = {}
        for key, events in ready:
            touched[key.data] = bool(touched.get(key.data) or events & EVENT_READ)
        if self._always_ready:
            touched.update(dict.fromkeys(self._always_ready.values(), True))
        for at, connection in deadlines:
            if at <= now:
                touched[connection] = True
        for connection, can_read in touched.items():
            self._advance(connection, now, can_read=can_read)
        inputs, self._pending = self._pending, []
        return now, inputs

    def _advance(self, connection: Connection, now: float, *, can_read: bool = False) -> None:
        was_being_opened = connection.is_being_opened
        self._pending += connection.advance(now, can_read=can_read)
        # A pending channel may close a file descriptor and get a new one of the same number.
        self._watch(connection, anew=was_being_opened)
        if connection.is_closed and connection in self._closing:
            self._closing.remove(connection)

    def _watch(self, connection: Connection, *, anew: bool) -> None:
        """Watch the file descriptors that a connection waits for now, and no others of it."""
        before = self._watched.pop(connection, {})
        interests = connection.interests()
        if interests == before and not anew:
            if before:  # a connection that is closed would stay for ever
                self._watched[connection] = before
            return
        for fd, events in before.items():
            if anew or interests.get(fd) != events:
                self._unwatch(fd)
        for fd, events in interests.items():
            if anew or before.get(fd) != events:
                self._watch_one(fd, events, connection)
        if interests:
            self._watched[connection] = interests

    def _watch_one(self, fd: int, events: int, connection: Connection) -> None:
        try:
            self._selector.register(fd, events, connection)
        except PermissionError:
            self._always_ready[fd] = connection

    def _unwatch(self, fd: int) -> None:
        if self._always_ready.pop(fd, None) is None:
            self._selector.unregister(fd)

    def _deadlines(self) -> list[tuple[float, Connection]]:
        connections = (*self._connections.values(), *self._closing)
        return [(at, connection) for connection in connections if (at := connection.deadline) is not None]

    def _can_anything_happen(self) -> bool:
        return bool(self._pending or self._watched or self._deadlines())


def _failing(error: ChannelError) -> StartHandshake:
    def encrypt(channel: Channel, now: float) -> PendingChannel:
        raise error

    return encrypt
