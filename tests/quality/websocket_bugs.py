"""Wrong servers of WebSocket: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Echo`, the right one, in one
thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

import base64
import hashlib

from catalogue import Bug

from servers.in_process import serve_streams
from servers.websocket_small import CONTINUATION, MAGIC, PONG, TEXT, Echo


class OtherProof(Echo):
    """Decodes the key before it is hashed."""

    def accept(self, key: bytes) -> bytes:
        return base64.b64encode(hashlib.sha1(base64.b64decode(key) + MAGIC).digest())


class WelcomesAll(Echo):
    """Does not look at the version, nor at the protocol that is asked for."""

    def is_welcome(self, fields: dict[bytes, bytes]) -> bool:
        return b"sec-websocket-key" in fields


class EmptyPongs(Echo):
    """Does not send the data of a ping back."""

    def pong(self, data: bytes) -> bytes:
        return self.frame(PONG, b"")


class ForgetsParts(Echo):
    """Takes the last part for the whole message, if a ping came in between."""

    def pong(self, data: bytes) -> bytes:
        self.message = b""
        return super().pong(data)


class TakesUnmasked(Echo):
    """Takes frames without a mask."""

    def check_mask(self, is_masked: bool) -> None:
        pass


class TakesBits(Echo):
    """Does not look at bits that are reserved."""

    def check_bits(self, first: int) -> None:
        pass


class TakesLongPings(Echo):
    """Takes control frames of any length, and in parts."""

    def check_control(self, is_final: bool, data: bytes) -> None:
        pass


class TakesAnyOrder(Echo):
    """Takes parts without a beginning, and a message in the middle of another one."""

    def check_order(self, kind: int) -> None:
        pass


class TakesAnyText(Echo):
    """Does not look at text."""

    def check_text(self, message: bytes) -> None:
        pass


class DecodesParts(Echo):
    """Takes each frame of a text for a text of its own, and so loses characters that are divided."""

    def answer(self, first: int, is_masked: bool, data: bytes) -> bytes:
        if first == TEXT or (first & 0x0F == CONTINUATION and self.kind == TEXT):
            data = data.decode(errors="replace").encode()
        return super().answer(first, is_masked, data)


class MasksEchoes(Echo):
    """Masks what it sends."""

    def size(self, length: int) -> bytes:
        size = super().size(length)
        return bytes([size[0] | 0x80]) + size[1:] + bytes(4)


class LongSizes(Echo):
    """Writes all lengths in two bytes."""

    def size(self, length: int) -> bytes:
        return b"\x7e" + length.to_bytes(2, "big")


class OneTooShort(Echo):
    """Writes a length of 126 bytes as if it were one of one byte more, which is none."""

    def size(self, length: int) -> bytes:
        return bytes([length]) if length < 127 else b"\x7e" + length.to_bytes(2, "big")


class AllIsText(Echo):
    """Sends bytes back as text."""

    def echo(self, kind: int, message: bytes) -> bytes:
        return self.frame(TEXT, message)


class StaysOpen(Echo):
    """Does not close the connection when both have said that it is over."""

    def end(self) -> None:
        pass


class GoesOn(Echo):
    """Tells a mistake, and goes on."""

    def ends_after_mistakes(self) -> bool:
        return False


class WrongNumber(Echo):
    """Says goodbye with a number that may not be sent."""

    def farewell(self, data: bytes) -> bytes:
        return (1005).to_bytes(2, "big")


BUGS = (
    Bug("OtherProof", 2, "constraint violated"),
    Bug("WelcomesAll", 20, "unexpected response"),
    Bug("EmptyPongs", 5, "constraint violated"),
    Bug("ForgetsParts", 10, "constraint violated"),
    Bug("TakesUnmasked", 40, "unexpected response"),
    Bug("TakesBits", 40, "unexpected response"),
    Bug("TakesLongPings", 40, "unexpected response"),
    Bug("TakesAnyOrder", 40, "unexpected response"),
    Bug("TakesAnyText", 40, "unexpected response"),
    Bug("DecodesParts", 10, "constraint violated"),
    Bug("MasksEchoes", 2, "unexpected response"),
    Bug("LongSizes", 2, "unexpected response"),
    Bug("OneTooShort", 40, "no response"),
    Bug("AllIsText", 5, "unexpected response"),
    Bug("StaysOpen", 40, "no response"),
    Bug("GoesOn", 10, "no response"),
    Bug("WrongNumber", 40, "constraint violated"),
)


if __name__ == "__main__":
    serve_streams([Echo, *Echo.__subclasses__()])
