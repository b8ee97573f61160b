"""Wrong servers of HTTP: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Site`, the right one, in one
thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

from catalogue import Bug

from servers.http_small import CHANGED, PAGE, Request, Site
from servers.in_process import serve_streams


class HeadHasBody(Site):
    """Sends the body of the page if only its fields are asked for."""

    def body(self, request: Request, body: bytes) -> bytes:
        return body


class HeadLies(Site):
    """Tells that the page is empty if only its fields are asked for."""

    def length(self, request: Request, body: bytes) -> int:
        return 0 if request.method == b"HEAD" else len(body)


class AlwaysFresh(Site):
    """Takes any tag for its own."""

    def names_tag(self, tags: bytes) -> bool:
        return True


class NeverFresh(Site):
    """Does not read the tags that it is sent."""

    def names_tag(self, tags: bytes) -> bool:
        return False


class StrongOnly(Site):
    """Does not know its own tag if that is called weak."""

    def names_tag(self, tags: bytes) -> bool:
        return super().names_tag(tags) and b"W/" not in tags


class DateWins(Site):
    """Reads the date, although there is a tag."""

    def is_fresh(self, request: Request) -> bool:
        return super().is_fresh(request) or request.value(b"if-modified-since") == CHANGED


class NoTag(Site):
    """Does not repeat the tag of what has not changed."""

    def unchanged(self, request: Request) -> bytes:
        return self.respond(request, 304)


class BodyUnchanged(Site):
    """Sends what has not changed."""

    def unchanged(self, request: Request) -> bytes:
        return super().unchanged(request) + b"unchanged"


class OneTooFar(Site):
    """Reads a range as if its end were not in it."""

    def part(self, first: bytes, last: bytes) -> tuple[int, int]:
        begin, end = super().part(first, last)
        return begin, min(end + 1, len(PAGE))


class LastIsFirst(Site):
    """Sends the first bytes where the last ones were asked for."""

    def part(self, first: bytes, last: bytes) -> tuple[int, int]:
        return super().part(first or b"0", last)


class OtherPart(Site):
    """Sends other bytes than it says."""

    def slice(self, begin: int, end: int) -> bytes:
        return PAGE[begin + 1 : end] + b"\n"


class AnyRange(Site):
    """Sends a part of what is not the same any more."""

    def may_be_partial(self, request: Request) -> bool:
        return True


class DecimalSizes(Site):
    """Tells the sizes of chunks in decimal digits."""

    def chunks(self, texts: list[bytes]) -> bytes:
        return b"".join(b"%d\r\n%b\r\n" % (len(text), text) for text in texts) + self.last_chunk()


class NoLastChunk(Site):
    """Does not end what it sends in chunks."""

    def last_chunk(self) -> bytes:
        return b""


class TwoLengths(Site):
    """Tells a length beside the chunks."""

    def coding(self) -> dict[bytes, bytes]:
        return {b"Content-Length": b"30", **super().coding()}


class ChunksForAll(Site):
    """Sends chunks to clients that cannot read them."""

    def missing(self, request: Request) -> bytes:
        return super().missing(Request(request.method, request.path, b"HTTP/1.1", request.fields))


class SkipsNoChunks(Site):
    """Takes a body in chunks for the next request."""

    def size_of_chunks(self, rest: bytes) -> int | None:
        return 0


class NoEncouragement(Site):
    """Waits for a body, and does not say so."""

    def encouragement(self) -> bytes:
        return b""


class StaysOpen(Site):
    """Says that it closes, and does not."""

    def close(self) -> None:
        pass


class OneAtATime(Site):
    """Forgets a request that comes together with another one."""

    def hear(self, data: bytes) -> bytes:
        answers = super().hear(data)
        second = answers.find(b"HTTP/1.1 ", 1)
        return answers if second < 0 or answers.startswith(b"HTTP/1.1 1") else answers[:second]


class OldDates(Site):
    """Tells the time as C does."""

    def date(self) -> bytes:
        return b"Tue Nov  8 10:00:00 1994"


BUGS = (
    Bug("HeadHasBody", 10, "out of turn"),
    Bug("HeadLies", 40, "constraint violated"),
    Bug("AlwaysFresh", 10, "constraint violated"),
    Bug("NeverFresh", 40, "constraint violated"),
    Bug("StrongOnly", 40, "constraint violated"),
    Bug("DateWins", 10, "constraint violated"),
    Bug("NoTag", 40, "constraint violated"),
    Bug("BodyUnchanged", 20, "out of turn"),
    Bug("OneTooFar", 40, "constraint violated"),
    Bug("LastIsFirst", 40, "constraint violated"),
    Bug("OtherPart", 40, "constraint violated"),
    Bug("AnyRange", 20, "constraint violated"),
    Bug("DecimalSizes", 5, "unexpected response"),
    Bug("NoLastChunk", 5, "no response"),
    Bug("TwoLengths", 5, "unexpected response"),
    Bug("ChunksForAll", 20, "constraint violated"),
    Bug("SkipsNoChunks", 20, "connection closed"),
    Bug("NoEncouragement", 5, "no response"),
    Bug("StaysOpen", 5, "no response"),
    Bug("OneAtATime", 5, "no response"),
    Bug("OldDates", 1, "constraint violated"),
)


if __name__ == "__main__":
    serve_streams([Site, *Site.__subclasses__()])
