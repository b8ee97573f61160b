"""Wrong clients of HTTP: what they send on one connection, within one session, and what that is found to be."""

from __future__ import annotations

from catalogue import WrongMessage

RIGHT = b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
LENGTH = b"\r\nContent-Length: 15\r\n\r\n"

BUGS = (
    WrongMessage("no host", b"GET /a HTTP/1.1\r\nAccept: */*\r\n\r\n", "constraint violated"),
    WrongMessage("two hosts", b"GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "constraint violated"),
    WrongMessage("a length that is too small", RIGHT.replace(b"5", b"4"), "out of turn"),
    WrongMessage("a length that is too large", RIGHT.replace(b"5", b"6"), "connection closed"),
    WrongMessage("no length", RIGHT.replace(b"Content-Length: 5\r\n", b""), "out of turn"),
    WrongMessage("lines that end too soon", RIGHT.replace(b"\r\n", b"\n"), "unexpected response"),
    WrongMessage("a blank before the colon", RIGHT.replace(b"Host:", b"Host :"), "unexpected response"),
    WrongMessage("a chunk that is too long", CHUNKED.replace(b"5", b"3"), "unexpected response"),
    WrongMessage("no last chunk", CHUNKED.replace(b"0\r\n\r\n", b""), "connection closed"),
    WrongMessage("a length beside chunks", CHUNKED.replace(b"\r\n\r\n", LENGTH, 1), "unexpected response"),
)
