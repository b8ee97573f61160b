"""Wrong servers of NTP: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `TimeServer`, the right one,
in one thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

from catalogue import Bug

from servers.in_process import serve_datagrams
from servers.ntp_small import TimeServer


class WrongOrigin(TimeServer):
    """Tells when it has received the request in place of when that was sent."""

    def origin(self, data: bytes) -> int:
        return self.now()


class OriginInSeconds(TimeServer):
    """Cuts the last bits off the time of the request."""

    def origin(self, data: bytes) -> int:
        return super().origin(data) >> 8 << 8


class LatestVersion(TimeServer):
    """Answers every version with its own."""

    def flags(self, version: int) -> int:
        return super().flags(4)


class SameMode(TimeServer):
    """Answers as a client."""

    def flags(self, version: int) -> int:
        return super().flags(version) - 1


class OwnPoll(TimeServer):
    """Has a poll interval of its own."""

    def poll(self, asked: int) -> int:
        return 6


class SentBeforeReceived(TimeServer):
    """Mixes up the last two times."""

    def received(self, received: int) -> int:
        return super().sent(received)

    def sent(self, received: int) -> int:
        return received


class SetInTheFuture(TimeServer):
    """Tells when it is going to set its clock."""

    def reference(self, received: int) -> int:
        return received + (60 << 32)


class SureOfNothing(TimeServer):
    """Says that its clock was never set, and tells the stratum of one that was."""

    def leap(self) -> int:
        return 3


class NoStratum(TimeServer):
    """Has the stratum 0 without saying that something is wrong."""

    def stratum(self) -> int:
        return 0


class GoesBack(TimeServer):
    """Its clock is put back now and then, by a minute."""

    def now(self) -> int:
        return super().now() - ((60 << 32) if self.count % 4 == 0 else 0)


class Short(TimeServer):
    """Leaves out what it has no time for."""

    def written(self, response: bytes) -> bytes:
        return response[:40]


BUGS = (
    Bug("WrongOrigin", 2, "constraint violated"),
    Bug("OriginInSeconds", 2, "constraint violated"),
    Bug("LatestVersion", 2, "constraint violated"),
    Bug("SameMode", 2, "unexpected response"),
    Bug("OwnPoll", 2, "constraint violated"),
    Bug("SentBeforeReceived", 2, "constraint violated"),
    Bug("SetInTheFuture", 2, "constraint violated"),
    Bug("SureOfNothing", 2, "constraint violated"),
    Bug("NoStratum", 2, "constraint violated"),
    Bug("GoesBack", 2, "constraint violated"),
    Bug("Short", 2, "unexpected response"),
)


if __name__ == "__main__":
    serve_datagrams([TimeServer, *TimeServer.__subclasses__()])
