"""Ways of their own: a party's code may send a message by a library, with connections that no session knows of.

What comes back in such a way, and what is raised, is noted for whoever records the session. When a session is repeated
from its record, the code is not run: what it had heard is heard again, and nobody is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from palaver.party import Party
from palaver.session import finding_drafts
from palaver.session.finding_drafts import RecalledFault
from palaver.session.findings import FindingKind
from palaver.session.interface import Heard, Turn
from palaver.session.roles import Connections, Roles
from palaver.spec.python_code import SPEC_CODE_RAISES

# Sends a message to a party; takes in what a party has heard from another one.
Sending: TypeAlias = Callable[[Any, str | None], None]
Hearing: TypeAlias = Callable[[Party, bytes | None, str | None], None]


class OwnWay:
    """Whatever the code of a party does while it sends a message of ours."""

    def __init__(self) -> None:
        self.recalled: tuple[Heard, ...] | None = None  # what the next message is answered with; None: run the code
        self.heard: list[Heard] | None = None  # while code of a party sends
        self._taken: tuple[Heard, ...] | None = None

    def take(self, at: float) -> list[Turn]:
        """The answers to our last message, if it was sent in such a way, since this was last asked."""
        taken, self._taken = self._taken, None
        return [] if taken is None else [Turn(at, at, "answered", taken)]

    def sending(self, party: Party, roles: Roles, connections: Connections, hear: Hearing) -> Sending:
        """The function that sends a message of a party."""
        if type(party).send is Party.send:
            return party.send

        def send(message: Any, recipient: str | None) -> None:
            if self.recalled is not None:
                self._recall(roles, hear)
            else:
                self._run(party, message, recipient, roles, connections)

        return send

    def _recall(self, roles: Roles, hear: Hearing) -> None:
        heard, self.recalled = self.recalled or (), None
        for each in heard:
            if each.fault:
                raise RecalledFault(FindingKind[each.fault], each.told)
            hear(roles.party(each.party), each.data, each.sender)

    def _run(self, party: Party, message: Any, recipient: str | None, roles: Roles, connections: Connections) -> None:
        self.heard, before = [], connections.planned
        try:
            party.send(message, recipient)
        except SPEC_CODE_RAISES as error:
            told = roles.told(f"{party.party_name}.send", error)
            self.heard.append(Heard("", None, None, finding_drafts.raised(error, told).kind.name, told))
            raise
        finally:
            # Who has used connections of the session goes the usual way, and does the same again.
            is_usual = connections.planned != before and not any(each.fault for each in self.heard)
            self._taken, self.heard = None if is_usual else tuple(self.heard) or None, None

    def note(self, party: Party, data: bytes | None, sender: str) -> None:
        """Note what a party has heard while its code sends."""
        if self.heard is not None:
            self.heard.append(Heard(party.party_name, data, sender))
