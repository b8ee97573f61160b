"""A server of HTTP/1.1 in a few lines, to be made wrong: `http_small.py` prints its port, and serves it.

It has one page, tells its tag, and gives parts of it. What it does not have it tells in chunks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from servers.in_process import serve_streams

PAGE = b"<!DOCTYPE html><title>palaver</title>\n" + bytes(range(256))
TAG = b'"29-palaver"'
CHANGED = b"Sun, 06 Nov 1994 08:49:37 GMT"
NOW = b"Tue, 08 Nov 1994 10:00:00 GMT"
REASONS = {200: b"OK", 204: b"No Content", 206: b"Partial Content", 304: b"Not Modified", 404: b"Not Found"}

Fields = dict[bytes, bytes]


@dataclass
class Request:
    """What was asked for; the body is not kept."""

    method: bytes
    path: bytes
    version: bytes
    fields: Fields = field(default_factory=dict)

    def value(self, name: bytes) -> bytes:
        return self.fields.get(name, b"")

    @property
    def is_old(self) -> bool:
        return self.version == b"HTTP/1.0"

    @property
    def keeps(self) -> bool:
        options = self.value(b"connection").lower()
        return b"keep-alive" in options if self.is_old else b"close" not in options


class Site:
    """One connection. A method does one thing that can be done wrong."""

    def __init__(self) -> None:
        self.is_over = False
        self.begun = b""
        self.expecting: Request | None = None  # was told to go on

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        self.begun += data
        answers = b""
        while not self.is_over and (request := self.next_request()):
            answers += self.answer(request)
            if not request.keeps:
                self.close()
        return answers + self.encouragement()

    def next_request(self) -> Request | None:
        """The next request that has come as a whole, taken away from what was heard."""
        head, blank, rest = self.begun.partition(b"\r\n\r\n")
        if not blank:
            return None
        first, *lines = head.split(b"\r\n")
        method, target, version = first.split(b" ")
        pairs = (line.partition(b":") for line in lines)
        fields = {name.lower(): value.strip() for name, _, value in pairs}
        request = Request(method, target.removeprefix(b"http://localhost").partition(b"?")[0], version, fields)
        size = self.size_of_body(request, rest)
        if size is None:
            self.expecting = request if b"expect" in fields else None
            return None
        self.begun = rest[size:]
        return request

    def size_of_body(self, request: Request, rest: bytes) -> int | None:
        """How long the body is, once all of it is there."""
        if request.value(b"transfer-encoding").lower() == b"chunked":
            return self.size_of_chunks(rest)
        size = int(request.value(b"content-length") or 0)
        return size if len(rest) >= size else None

    def size_of_chunks(self, rest: bytes) -> int | None:
        at = 0
        while found := re.compile(rb"([0-9A-Fa-f]+)[^\r\n]*\r\n").match(rest, at):
            size = int(found[1], 16)
            if not size:
                trailer = re.compile(rb"([^\r\n]+\r\n)*\r\n").match(rest, found.end())
                return trailer and trailer.end()
            at = found.end() + size + 2
        return None

    def encouragement(self) -> bytes:
        if self.expecting is None:
            return b""
        self.expecting = None
        return b"HTTP/1.1 100 Continue\r\n\r\n"

    def close(self) -> None:
        self.is_over = True

    def answer(self, request: Request) -> bytes:
        if request.method not in (b"GET", b"HEAD"):
            return self.respond(request, 204)
        if request.path not in (b"/", b"/index.html"):
            return self.missing(request)
        page = {b"ETag": TAG, b"Last-Modified": CHANGED}
        if self.is_fresh(request):
            return self.unchanged(request)
        wish = re.fullmatch(rb"(?i:bytes)=([0-9]*)-([0-9]*)", request.value(b"range"))
        if wish and request.method == b"GET" and self.may_be_partial(request):
            begin, end = self.part(wish[1], wish[2])
            if begin < end:
                told = b"bytes %d-%d/%d" % (begin, end - 1, len(PAGE))
                return self.respond(request, 206, self.slice(begin, end), page | {b"Content-Range": told})
        return self.respond(request, 200, PAGE, page)

    def is_fresh(self, request: Request) -> bool:
        """Whether the client has the page already. Dates count only if there are no tags."""
        if b"if-none-match" in request.fields:
            return self.names_tag(request.value(b"if-none-match"))
        return request.value(b"if-modified-since") == CHANGED

    def names_tag(self, tags: bytes) -> bool:
        return tags == b"*" or TAG in re.findall(rb'"[^"]*"', tags)

    def unchanged(self, request: Request) -> bytes:
        return self.respond(request, 304, fields={b"ETag": TAG})

    def may_be_partial(self, request: Request) -> bool:
        return request.value(b"if-range") in (b"", TAG, CHANGED)

    def part(self, first: bytes, last: bytes) -> tuple[int, int]:
        if not first:
            return max(0, len(PAGE) - int(last)), len(PAGE)
        return int(first), min(int(last) + 1, len(PAGE)) if last else len(PAGE)

    def slice(self, begin: int, end: int) -> bytes:
        return PAGE[begin:end]

    def missing(self, request: Request) -> bytes:
        """It is told in two chunks, or if the client cannot read these, in one piece."""
        if request.is_old:
            return self.respond(request, 404, b"There is nothing of that name.")
        chunks = self.chunks([b"There is nothing ", b"of that name."])
        head = self.head(request, 404, self.coding())
        return head + (chunks if request.method != b"HEAD" else b"")

    def coding(self) -> Fields:
        return {b"Transfer-Encoding": b"chunked"}

    def chunks(self, texts: list[bytes]) -> bytes:
        return b"".join(b"%X\r\n%b\r\n" % (len(text), text) for text in texts) + self.last_chunk()

    def last_chunk(self) -> bytes:
        return b"0\r\n\r\n"

    def respond(self, request: Request, code: int, body: bytes = b"", fields: Fields | None = None) -> bytes:
        has_length = code not in (204, 304)
        length = {b"Content-Length": b"%d" % self.length(request, body)} if has_length else {}
        return self.head(request, code, (fields or {}) | length) + self.body(request, body)

    def length(self, request: Request, body: bytes) -> int:
        return len(body)

    def body(self, request: Request, body: bytes) -> bytes:
        return b"" if request.method == b"HEAD" else body

    def head(self, request: Request, code: int, fields: Fields) -> bytes:
        option = b"keep-alive" if request.keeps else b"close"
        lines = {b"Date": self.date(), **fields, b"Connection": option}
        first = b"HTTP/1.1 %d %b\r\n" % (code, REASONS[code])
        return first + b"".join(b"%b: %b\r\n" % line for line in lines.items()) + b"\r\n"

    def date(self) -> bytes:
        return NOW


if __name__ == "__main__":
    serve_streams([Site])
