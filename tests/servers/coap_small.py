"""A server of CoAP in a few lines, to be made wrong: `coap_small.py` prints its port, and serves it."""

from __future__ import annotations

import struct
import zlib

from servers.in_process import serve_datagrams

CON, NON, ACK, RST = range(4)
GET, POST, PUT, DELETE = 1, 2, 3, 4
CREATED, DELETED, VALID, CHANGED, CONTENT = 0x41, 0x42, 0x43, 0x44, 0x45
BAD_OPTION, NOT_FOUND, NO_METHOD, PRECONDITION = 0x82, 0x84, 0x85, 0x8C
ETAG, NONE_MATCH, PATH, QUERY, ACCEPT = 4, 5, 11, 15, 17
KNOWN = (3, ETAG, NONE_MATCH, 7, PATH, QUERY, ACCEPT)

Options = list[tuple[int, bytes]]


class Malformed(Exception):
    """The message cannot be understood."""


class Device:
    """What one client is told; all share the resources. A method does one thing that can be done wrong."""

    def __init__(self, resources: dict[bytes, bytes]) -> None:
        self.resources = resources
        self.is_over = False
        self.own_id = 1000

    def hear(self, data: bytes) -> list[bytes]:
        if self.is_other(data[0] >> 6):
            return []
        kind, message_id = data[0] >> 4 & 3, data[2:4]
        if kind in (ACK, RST):
            return []
        try:
            token, options, payload = self.parts(data)
            code, told, content = self.handle(data[1], options, payload)
        except Malformed:
            return [self.reset(message_id)] if kind == CON else []
        return self.answers(kind, message_id, self.token(token), bytes([code]), told, content)

    def is_other(self, version: int) -> bool:
        return version != 1

    def reset(self, message_id: bytes) -> bytes:
        return b"\x70\x00" + message_id

    def parts(self, data: bytes) -> tuple[bytes, Options, bytes]:
        length = data[0] & 15
        if self.is_reserved(data[1] >> 5) or data[1] == 0 or length > self.longest():
            raise Malformed
        options, number, rest = [], 0, data[4 + length :]
        while rest and rest[0] != 0xFF:
            delta, size, rest = self.head(rest)
            if size > len(rest):
                raise Malformed
            number += delta
            options.append((number, rest[:size]))
            rest = rest[size:]
        if rest == b"\xff":
            self.no_payload()
        return data[4 : 4 + length], options, rest[1:]

    def is_reserved(self, code_class: int) -> bool:
        return code_class != 0

    def longest(self) -> int:
        return 8

    def no_payload(self) -> None:
        raise Malformed

    def head(self, data: bytes) -> tuple[int, int, bytes]:
        numbers, rest = [], data[1:]
        for four in (data[0] >> 4, data[0] & 15):
            if four == 15:
                raise Malformed
            size = max(0, four - 12)
            numbers.append(four if size == 0 else int.from_bytes(rest[:size], "big") + (13 if size == 1 else 269))
            rest = rest[size:]
        return numbers[0], numbers[1], rest

    def token(self, token: bytes) -> bytes:
        return token

    # What is asked for.

    def handle(self, method: int, options: Options, payload: bytes) -> tuple[int, Options, bytes]:
        if any(number % 2 and number not in KNOWN for number, _ in options) and self.is_strict():
            return BAD_OPTION, [], b"what is that?"
        path = b"/".join(value for number, value in options if number == PATH)
        if method == GET:
            return self.get(path, [value for number, value in options if number == ETAG])
        if method == PUT:
            return self.put(path, payload, is_new=(NONE_MATCH, b"") in options)
        if method == DELETE:
            return self.delete(path)
        return self.other_method(path)

    def is_strict(self) -> bool:
        return True

    def get(self, path: bytes, tags: list[bytes]) -> tuple[int, Options, bytes]:
        if path not in self.resources:
            return NOT_FOUND, [], b""
        content = self.resources[path]
        if self.tag(content) in tags:
            return self.valid(content)
        return CONTENT, [(ETAG, self.tag(content)), (14, b"\x3c"), (2000, b"more")], content

    def valid(self, content: bytes) -> tuple[int, Options, bytes]:
        return VALID, [(ETAG, self.tag(content))], b""

    def tag(self, content: bytes) -> bytes:
        return struct.pack(">I", zlib.crc32(content))

    def put(self, path: bytes, content: bytes, *, is_new: bool) -> tuple[int, Options, bytes]:
        is_there = path in self.resources
        if is_new and is_there:
            return PRECONDITION, [], b""
        self.store(path, content)
        return CHANGED if is_there else CREATED, [], b""

    def store(self, path: bytes, content: bytes) -> None:
        self.resources[path] = content

    def delete(self, path: bytes) -> tuple[int, Options, bytes]:
        self.resources.pop(path, None)
        return DELETED, [], b""

    def other_method(self, path: bytes) -> tuple[int, Options, bytes]:
        return NO_METHOD, [], b""

    # What is said.

    def answers(
        self, kind: int, message_id: bytes, token: bytes, code: bytes, told: Options, content: bytes
    ) -> list[bytes]:
        """Responses to some requests come later, and for themselves."""
        rest = token + self.options(told) + self.payload(content)
        self.own_id = (self.own_id + 1) % 65536
        own_id = struct.pack(">H", self.own_id)
        if kind == NON:
            return [bytes([0x50 | len(token)]) + code + own_id + rest]
        if self.own_id % 4 == 0:
            return [self.acknowledged(message_id), bytes([0x40 | len(token)]) + code + own_id + self.later(rest)]
        return [bytes([0x60 | len(token)]) + code + self.answered(message_id) + rest]

    def acknowledged(self, message_id: bytes) -> bytes:
        return b"\x60\x00" + message_id

    def answered(self, message_id: bytes) -> bytes:
        return message_id

    def later(self, rest: bytes) -> bytes:
        return rest

    def options(self, options: Options) -> bytes:
        data, last = b"", 0
        for number, value in options:
            (delta, more), last = self.nibble(number - last), number
            data += bytes([delta << 4 | len(value)]) + more + value
        return data

    def nibble(self, number: int) -> tuple[int, bytes]:
        if number < 13:
            return number, b""
        return (13, bytes([number - 13])) if number < 269 else (14, struct.pack(">H", number - 269))

    def payload(self, content: bytes) -> bytes:
        return b"\xff" + content if content else b""


if __name__ == "__main__":
    serve_datagrams([Device])
