"""An echo server of WebSocket in a few lines, to be made wrong: `websocket_small.py` prints its port, and serves it."""

from __future__ import annotations

import base64
import hashlib

from servers.in_process import serve_streams

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
LENGTHS = {126: 2, 127: 8}


class Failed(Exception):
    """The client has made a mistake; with the number that it is told."""

    def __init__(self, number: int) -> None:
        self.number = number


class Echo:
    """One connection. A method does one thing that can be done wrong."""

    def __init__(self) -> None:
        self.is_over = False
        self.is_open = False
        self.begun = b""
        self.kind = CONTINUATION  # of the message that has begun
        self.message = b""

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        self.begun += data
        answers = b""
        if not self.is_open and b"\r\n\r\n" in self.begun:
            answers = self.shake_hands()
        while self.is_open and not self.is_over and (frame := self.next_frame()):
            try:
                answers += self.answer(*frame)
            except Failed as failed:
                answers += self.frame(CLOSE, failed.number.to_bytes(2, "big"))
                self.is_over = self.ends_after_mistakes()
        return answers

    def shake_hands(self) -> bytes:
        head, _, self.begun = self.begun.partition(b"\r\n\r\n")
        pairs = (line.partition(b":") for line in head.split(b"\r\n")[1:])
        fields = {name.lower(): value.strip() for name, _, value in pairs}
        if not self.is_welcome(fields):
            self.is_over = True
            return b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        self.is_open = True
        return b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n%b\r\n" % (
            b"Sec-WebSocket-Accept: %b\r\n" % self.accept(fields[b"sec-websocket-key"])
        )

    def is_welcome(self, fields: dict[bytes, bytes]) -> bool:
        key = fields.get(b"sec-websocket-key", b"")
        return (
            len(key) == 24
            and fields.get(b"sec-websocket-version") == b"13"
            and fields.get(b"upgrade", b"").lower() == b"websocket"
        )

    def accept(self, key: bytes) -> bytes:
        return base64.b64encode(hashlib.sha1(key + MAGIC).digest())

    def next_frame(self) -> tuple[int, bool, bytes] | None:
        """The first byte, whether there is a mask, and the data of a frame that has come, without the mask."""
        if len(self.begun) < 2:
            return None
        first, second = self.begun[0], self.begun[1]
        more = LENGTHS.get(second & 0x7F, 0)
        start = 2 + more + (4 if second & 0x80 else 0)
        size = int.from_bytes(self.begun[2 : 2 + more], "big") if more else second & 0x7F
        if len(self.begun) < start + size:
            return None
        key, data = self.begun[2 + more : start], self.begun[start : start + size]
        self.begun = self.begun[start + size :]
        return first, bool(key), bytes(byte ^ key[i % 4] for i, byte in enumerate(data)) if key else data

    def answer(self, first: int, is_masked: bool, data: bytes) -> bytes:
        kind, is_final = first & 0x0F, bool(first & 0x80)
        self.check_bits(first)
        self.check_mask(is_masked)
        if kind not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG):
            raise Failed(1002)
        if kind >= CLOSE:
            self.check_control(is_final, data)
            return self.control(kind, data)
        self.check_order(kind)
        self.kind, self.message = kind or self.kind, self.message + data
        return self.whole() if is_final else b""

    def check_bits(self, first: int) -> None:
        if first & 0x70:
            raise Failed(1002)

    def check_mask(self, is_masked: bool) -> None:
        if not is_masked:
            raise Failed(1002)

    def check_control(self, is_final: bool, data: bytes) -> None:
        if not is_final or len(data) > 125:
            raise Failed(1002)

    def check_order(self, kind: int) -> None:
        if (kind == CONTINUATION) != (self.kind != CONTINUATION):
            raise Failed(1002)

    def control(self, kind: int, data: bytes) -> bytes:
        if kind == PING:
            return self.pong(data)
        if kind == PONG:
            return b""
        self.check_close(data)
        self.end()
        return self.frame(CLOSE, self.farewell(data))

    def check_close(self, data: bytes) -> None:
        if len(data) == 1:
            raise Failed(1002)

    def farewell(self, data: bytes) -> bytes:
        return data[:2]

    def end(self) -> None:
        self.is_over = True

    def ends_after_mistakes(self) -> bool:
        return True

    def pong(self, data: bytes) -> bytes:
        return self.frame(PONG, data)

    def whole(self) -> bytes:
        """The answer to a message that has come as a whole."""
        kind, message = self.kind, self.message
        self.kind, self.message = CONTINUATION, b""
        if kind == TEXT:
            self.check_text(message)
        return self.echo(kind, message)

    def check_text(self, message: bytes) -> None:
        try:
            message.decode()
        except UnicodeDecodeError:
            raise Failed(1007) from None

    def echo(self, kind: int, message: bytes) -> bytes:
        return self.frame(kind, message)

    def frame(self, kind: int, data: bytes) -> bytes:
        return bytes([0x80 | kind]) + self.size(len(data)) + data

    def size(self, length: int) -> bytes:
        return bytes([length]) if length < 126 else b"\x7e" + length.to_bytes(2, "big")


if __name__ == "__main__":
    serve_streams([Echo])
