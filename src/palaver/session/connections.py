"""The connections of one session: the state of each, and the actions to be carried out on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from palaver.errors import PalaverError
from palaver.session.events import Action, Address, Close, Closed, Finish, Open, Role, Secure, Send, Tls

# "ended": the peer sends no more, and may still receive.
ConnectionState: TypeAlias = Literal["opening", "open", "ended", "reset", "closed"]

# Data may still come over a connection in these states.
_UP: tuple[ConnectionState, ...] = ("opening", "open")


class Connections:
    """Connections by the name of their party. One that we have closed is forgotten."""

    def __init__(self) -> None:
        self._states: dict[str, ConnectionState] = {}
        self._places: dict[str, tuple[Address, Role]] = {}  # their addresses and roles
        self._finished: set[str] = set()  # half-closed by us
        self._actions: list[Action] = []

    def take_actions(self) -> list[Action]:
        """The actions since the last call."""
        actions, self._actions = self._actions, []
        return actions

    # --- Requests -----------------------------------------------------------------------------------------------------

    def open(self, link: str, place: tuple[Address, Role], tls: Mapping[str, str] | None = None) -> None:
        """Open a connection, unless it is up and leads to this place."""
        if self.is_up(link) and self._places[link] == place:
            return
        # Standard output is always open.
        self._states[link] = "open" if link == "StdOut" else "opening"
        self._places[link] = place
        self._finished.discard(link)
        self._actions.append(Open(link, *place, tls=None if tls is None else Tls(**tls)))

    def secure(self, link: str, role: Role, tls: Tls) -> None:
        self._actions.append(Secure(link, role, tls))

    def send(self, link: str, data: bytes) -> None:
        """Send data.

        :raises PalaverError: there is no such connection
        """
        if link not in self._states:
            raise PalaverError(f"{link} cannot send without a connection: start() was not called, or stop() was")
        self._actions.append(Send(link, data))

    def finish(self, link: str) -> None:
        """Send no more, but receive."""
        self._finished.add(link)
        self._actions.append(Finish(link))

    def close(self, link: str) -> None:
        if self._states.pop(link, None) is not None:
            self._actions.append(Close(link))

    def close_all(self) -> None:
        for link in list(self._states):
            self.close(link)

    # --- Events -------------------------------------------------------------------------------------------------------

    def listening(self, link: str, port: int) -> None:
        """Note the port that was chosen for a connection that was to listen at any port."""
        address, role = self._places[link]
        self._places[link] = (replace(address, port=port), role)

    def opened(self, link: str) -> None:
        self._states[link] = "open"

    def failed(self, link: str) -> None:
        self._states[link] = "closed"

    def closed(self, event: Closed) -> None:
        # A peer that sends no more may still receive, and breaks no rule if it does not: we send what is left to send.
        is_in_order = event.cause is None and event.exit_code is None
        self._states[event.link] = "ended" if is_in_order else "reset" if event.cause == "reset" else "closed"

    # --- States -------------------------------------------------------------------------------------------------------

    def is_open(self, link: str) -> bool:
        """Return True if both sides may send."""
        return self._states.get(link) == "open"

    def is_known(self, link: str) -> bool:
        """Return True if the connection was opened, and not closed by us."""
        return link in self._states

    def is_up(self, link: str) -> bool:
        """Return True if data may still come."""
        return self._states.get(link) in _UP

    def can_send(self, link: str) -> bool:
        """Return True if we can send. A party without a connection sends in its own way."""
        return self._states.get(link, "open") in ("open", "ended") and link not in self._finished

    def is_lost(self, link: str) -> bool:
        """Return True if we cannot send any more."""
        return link in self._finished or self._states.get(link) in ("closed", "reset")

    def are_as_opened(self) -> bool:
        """Return True if no connection was closed or half-closed by anybody."""
        return not self._finished and all(state in _UP for state in self._states.values())

    def is_any_reset(self) -> bool:
        return "reset" in self._states.values()

    def are_only_opening(self) -> bool:
        """Return True if no peer can send yet, but one may soon."""
        states = self._peer_states()
        return "opening" in states and "open" not in states

    def are_all_down(self) -> bool:
        """Return True if there were peers that could send, and none is left."""
        states = self._peer_states()
        return bool(states) and not any(state in _UP for state in states)

    def _peer_states(self) -> list[ConnectionState]:
        """The states of all connections that a peer may send on."""
        return [state for link, state in self._states.items() if link != "StdOut"]
