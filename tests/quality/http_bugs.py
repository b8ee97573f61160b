"""Wrong clients of HTTP: what they send on one connection, within one session, and what that is found to be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """A wrong request. The client sends it, reads what comes, and closes the connection."""

    name: str
    sent: bytes
    finding: str


RIGHT = b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"

BUGS = (
    Bug("no host", b"GET /a HTTP/1.1\r\nAccept: */*\r\n\r\n", "constraint broken"),
    Bug("two hosts", b"GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "constraint broken"),
    Bug("a length that is too small", RIGHT.replace(b"5", b"4"), "unexpected message"),
    Bug("a length that is too large", RIGHT.replace(b"5", b"6"), "closed early"),
    Bug("no length", RIGHT.replace(b"Content-Length: 5\r\n", b""), "unparseable"),
    Bug("lines that end too soon", RIGHT.replace(b"\r\n", b"\n"), "unparseable"),
    Bug("a blank before the colon", RIGHT.replace(b"Host:", b"Host :"), "unparseable"),
)
