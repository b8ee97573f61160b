"""A server of TFTP in a few lines, to be made wrong: `tftp_small.py` prints its port, and serves it."""

from __future__ import annotations

import struct

from servers.in_process import serve_datagrams

DATA, ACK, ERROR, OFFER = 3, 4, 5, 6
NOT_FOUND, ILLEGAL = 1, 4
BLOCK_SIZE = 512


class Transfer:
    """One transfer; all share the files of the server. A method does one thing that can be done wrong."""

    def __init__(self, files: dict[bytes, bytes]) -> None:
        self.files = files
        self.is_over = False
        self.name = self.content = b""
        self.size = BLOCK_SIZE
        self.block = 0  # the last that was sent or taken

    def hear(self, data: bytes) -> list[bytes]:
        opcode = data[1]
        if opcode in (1, 2):
            return self.begin(data[2:].split(b"\0"), is_reading=opcode == 1)
        number = struct.unpack(">H", data[2:4])[0]
        if opcode == DATA:
            return self.take(number, data[4:])
        if opcode == ACK:
            return self.acknowledged(number)
        self.is_over = True
        return []

    def begin(self, texts: list[bytes], *, is_reading: bool) -> list[bytes]:
        self.name, mode = texts[0], texts[1].lower()
        options = {name.lower(): value for name, value in zip(texts[2::2], texts[3::2], strict=False)}
        if mode not in (b"octet", b"netascii"):
            return self.refuse(ILLEGAL, b"Unknown mode")
        if is_reading and not self.exists():
            return self.refuse(NOT_FOUND, b"File not found")
        if is_reading:
            self.content = self.files.get(self.name, b"")
        granted = self.granted(options, is_reading=is_reading)
        self.size = int(granted.get(b"blksize", BLOCK_SIZE))
        if granted:
            return [struct.pack(">H", OFFER) + b"".join(b"%s\0%s\0" % pair for pair in granted.items())]
        return [self.first()] if is_reading else [self.ack(0)]

    def exists(self) -> bool:
        return self.name in self.files

    def granted(self, options: dict[bytes, bytes], *, is_reading: bool) -> dict[bytes, bytes]:
        granted = {name: value for name, value in options.items() if name in (b"blksize", b"timeout", b"tsize")}
        if is_reading and b"tsize" in granted:
            granted[b"tsize"] = b"%d" % self.total()
        return granted

    def total(self) -> int:
        return len(self.content)

    def refuse(self, code: int, text: bytes) -> list[bytes]:
        self.is_over = True
        return [struct.pack(">2H", ERROR, code) + self.reason(text)]

    def reason(self, text: bytes) -> bytes:
        return text + b"\0"

    # Reading.

    def first(self) -> bytes:
        self.block = 1
        return self.data()

    def data(self) -> bytes:
        start = (self.block - 1) * self.size
        return struct.pack(">2H", DATA, self.block) + self.content[start : start + self.size]

    def acknowledged(self, number: int) -> list[bytes]:
        if number < self.block:
            return self.told_again()
        if self.block > 0 and self.is_last():
            self.is_over = True
            return []
        self.block += 1
        return [self.data()]

    def is_last(self) -> bool:
        return len(self.data()) < self.size + 4

    def told_again(self) -> list[bytes]:
        """Nothing is sent twice because of an old acknowledgment."""
        return []

    # Writing.

    def take(self, number: int, data: bytes) -> list[bytes]:
        if number == self.block:
            return self.taken_again(data)
        self.block = number
        self.content += data
        if len(data) < self.size:
            self.store()
        return [self.ack(number)]

    def store(self) -> None:
        self.files[self.name] = self.content

    def taken_again(self, data: bytes) -> list[bytes]:
        return [self.ack(self.block)]

    def ack(self, number: int) -> bytes:
        return struct.pack(">2H", ACK, number)


if __name__ == "__main__":
    serve_datagrams([Transfer], fresh_ports=True)
