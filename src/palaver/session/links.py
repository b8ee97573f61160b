"""The links of one session: how each of them is, and what is to be done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from palaver.errors import PalaverError
from palaver.session.events import Action, Address, Close, Closed, Finish, Open, Role, Secure, Send, Tls

# "ended": the peer says no more, and may still listen.
State: TypeAlias = Literal["opening", "open", "ended", "reset", "closed"]

# While a link is in one of these, something may still come by it.
_UP: tuple[State, ...] = ("opening", "open")


class Links:
    """What was asked for, and what became of it. A link that was closed by us is forgotten."""

    def __init__(self) -> None:
        self._states: dict[str, State] = {}
        self._places: dict[str, tuple[Address, Role]] = {}  # what they were opened for
        self._finished: set[str] = set()  # those on which we said that we say no more
        self._actions: list[Action] = []

    def take_actions(self) -> list[Action]:
        """What is to be done, since this was last asked."""
        actions, self._actions = self._actions, []
        return actions

    # --- what we want -------------------------------------------------------------------------------------------------

    def open(self, link: str, place: tuple[Address, Role], tls: Mapping[str, str] | None = None) -> None:
        """Open a link, unless it is up, and leads there."""
        if self.is_up(link) and self._places[link] == place:
            return
        # There is always somewhere to print to.
        self._states[link] = "open" if link == "StdOut" else "opening"
        self._places[link] = place
        self._finished.discard(link)
        self._actions.append(Open(link, *place, tls=None if tls is None else Tls(**tls)))

    def secure(self, link: str, role: Role, tls: Tls) -> None:
        self._actions.append(Secure(link, role, tls))

    def send(self, link: str, data: bytes) -> None:
        """
        :raises PalaverError: there is no such link
        """
        if link not in self._states:
            raise PalaverError(f"{link} has nobody to say it to: start() was not called, or stop() was")
        self._actions.append(Send(link, data))

    def finish(self, link: str) -> None:
        """Say no more on a link, but listen."""
        self._finished.add(link)
        self._actions.append(Finish(link))

    def close(self, link: str) -> None:
        if self._states.pop(link, None) is not None:
            self._actions.append(Close(link))

    def close_all(self) -> None:
        for link in list(self._states):
            self.close(link)

    # --- what has happened --------------------------------------------------------------------------------------------

    def settled(self, link: str, port: int) -> None:
        """A link that was to listen at any port does so at this one."""
        address, role = self._places[link]
        self._places[link] = (replace(address, port=port), role)

    def opened(self, link: str) -> None:
        self._states[link] = "open"

    def failed(self, link: str) -> None:
        self._states[link] = "closed"

    def closed(self, event: Closed) -> None:
        # Who will say no more may still listen, and who does not has broken no rule: we say what is left to be said.
        is_in_order = event.trouble is None and event.exit_code is None
        self._states[event.link] = "ended" if is_in_order else "reset" if event.trouble == "reset" else "closed"

    # --- how they are -------------------------------------------------------------------------------------------------

    def is_open(self, link: str) -> bool:
        return self._states.get(link) == "open"

    def is_known(self, link: str) -> bool:
        return link in self._states

    def is_up(self, link: str) -> bool:
        """Whether something may still come by a link."""
        return self._states.get(link) in _UP

    def can_send(self, link: str) -> bool:
        """Whether we can say something there. Who has no link says it in another way."""
        return self._states.get(link, "open") in ("open", "ended") and link not in self._finished

    def is_lost(self, link: str) -> bool:
        """Whether we can say nothing there any more."""
        return link in self._finished or self._states.get(link) in ("closed", "reset")

    def are_as_opened(self) -> bool:
        """Whether no link was closed, by anybody and in any way."""
        return not self._finished and all(state in _UP for state in self._states.values())

    def is_any_reset(self) -> bool:
        return "reset" in self._states.values()

    def are_only_opening(self) -> bool:
        """Whether nobody can talk to us yet, but somebody may soon."""
        states = self._peer_states()
        return "opening" in states and "open" not in states

    def are_all_down(self) -> bool:
        """Whether there was somebody who might talk to us, and nobody is left."""
        states = self._peer_states()
        return bool(states) and not any(state in _UP for state in states)

    def _peer_states(self) -> list[State]:
        """How the links are that somebody may talk to us on."""
        return [state for link, state in self._states.items() if link != "StdOut"]
