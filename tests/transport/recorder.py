"""Waiting for inputs of an event loop, for tests of transports."""

from typing import TypeVar

from palaver.session.interface import Closed, Failed, Input, Opened, Received, Secured
from palaver.transport.driver import EventLoop

Kind = TypeVar("Kind", Opened, Received, Closed, Failed, Secured)

# Long enough never to be reached unless something is wrong.
LIMIT_S = 10.0


class Recorder:
    """Waits for the inputs that a test asks for, and keeps the others."""

    def __init__(self, carrier: EventLoop) -> None:
        self.event_loop = carrier
        self.unread: list[Input] = []

    def wait_for(self, kind: type[Kind], link: str) -> Kind:
        """The next input of that kind on that link; others are kept for later."""
        give_up_at = self.event_loop.clock.now() + LIMIT_S
        while True:
            for number, happened in enumerate(self.unread):
                if isinstance(happened, kind) and happened.link == link:
                    del self.unread[number]
                    return happened
            assert self.event_loop.clock.now() < give_up_at, f"no {kind.__name__} on {link}, but {self.unread}"
            self.unread += self.event_loop.wait(give_up_at)

    def bytes_on(self, link: str, count: int) -> bytes:
        """So many bytes, however they were cut."""
        data = b""
        while len(data) < count:
            data += self.wait_for(Received, link).data
        return data

    def rest_of(self, link: str) -> bytes:
        """Everything until the peer has closed in good order."""
        closed = self.wait_for(Closed, link)
        assert closed.cause is None
        received = [each for each in self.unread if isinstance(each, Received) and each.link == link]
        self.unread = [each for each in self.unread if each not in received]
        return b"".join(each.data for each in received)
