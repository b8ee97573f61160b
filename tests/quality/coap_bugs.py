"""Wrong servers of CoAP: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Device`, the right one, in
one thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

from catalogue import Bug

from servers.coap_small import CONTENT, CREATED, GET, Device, Malformed, Options
from servers.in_process import serve_datagrams


class ShortTokens(Device):
    """Has room for four bytes of a token."""

    def token(self, token: bytes) -> bytes:
        return token[:4]


class NoTokenLater(Device):
    """Has forgotten the token when it answers later."""

    def later(self, rest: bytes) -> bytes:
        return rest[::-1]


class OwnNumbers(Device):
    """Acknowledges with a number of its own."""

    def answered(self, message_id: bytes) -> bytes:
        return bytes([message_id[0] ^ 1, message_id[1]])


class ResetsNothing(Device):
    """A reset has the number 0."""

    def reset(self, message_id: bytes) -> bytes:
        return super().reset(b"\0\0")


class AcknowledgesPings(Device):
    """Confirms what is empty."""

    def reset(self, message_id: bytes) -> bytes:
        return self.acknowledged(message_id)


class AnyVersion(Device):
    """Takes messages of other versions for those of its own."""

    def is_other(self, version: int) -> bool:
        return False


class LongTokens(Device):
    """Has room for tokens of fifteen bytes."""

    def longest(self) -> int:
        return 15


class NoPayload(Device):
    """Takes a marker without a payload for an empty one."""

    def no_payload(self) -> None:
        pass


class EmptyPayload(Device):
    """Sends a marker before an empty payload."""

    def payload(self, content: bytes) -> bytes:
        return b"\xff" + content


class AnyClass(Device):
    """Takes codes of reserved classes for methods."""

    def is_reserved(self, code_class: int) -> bool:
        return False


class AnyOption(Device):
    """Does what it is told with options that it does not understand."""

    def is_strict(self) -> bool:
        return False


class AnyMethod(Device):
    """Takes a method that it does not know for GET."""

    def other_method(self, path: bytes) -> tuple[int, Options, bytes]:
        return self.get(path, [])


class SmallDeltas(Device):
    """Adds 13 to differences that have two bytes, too."""

    def head(self, data: bytes) -> tuple[int, int, bytes]:
        delta, size, rest = super().head(data)
        if delta >= 269:
            raise Malformed
        return delta, size, rest


class LongHeads(Device):
    """Writes differences of 13 without the byte that they need."""

    def nibble(self, number: int) -> tuple[int, bytes]:
        return super().nibble(number) if number < 269 else (14, number.to_bytes(3, "big"))


class AppendsContent(Device):
    """Adds what is put to the end of what is there."""

    def store(self, path: bytes, content: bytes) -> None:
        self.resources[path] = self.resources.get(path, b"")[-20:] + content


class CreatesByReading(Device):
    """Answers GET as if it were PUT."""

    def handle(self, method: int, options: Options, payload: bytes) -> tuple[int, Options, bytes]:
        code, told, content = super().handle(method, options, payload)
        return (CREATED if (method, code) == (GET, CONTENT) else code), told, content


class AlwaysWrites(Device):
    """Does not mind whether a resource is there already."""

    def put(self, path: bytes, content: bytes, *, is_new: bool) -> tuple[int, Options, bytes]:
        return super().put(path, content, is_new=False)


BUGS = (
    Bug("ShortTokens", 5, "constraint violated"),
    Bug("NoTokenLater", 5, "constraint violated"),
    Bug("OwnNumbers", 2, "constraint violated"),
    Bug("ResetsNothing", 5, "constraint violated"),
    Bug("AcknowledgesPings", 5, "unexpected response"),
    Bug("AnyVersion", 5, "out of turn"),
    Bug("LongTokens", 20, "unexpected response"),
    Bug("NoPayload", 10, "unexpected response"),
    Bug("EmptyPayload", 2, "unexpected response"),
    Bug("AnyClass", 5, "unexpected response"),
    Bug("AnyOption", 10, "constraint violated"),
    Bug("AnyMethod", 10, "constraint violated"),
    Bug("SmallDeltas", 10, "unexpected response"),
    Bug("LongHeads", 10, "unexpected response"),
    Bug("AppendsContent", 20, "constraint violated"),
    Bug("CreatesByReading", 10, "constraint violated"),
    Bug("AlwaysWrites", 20, "constraint violated"),
)


if __name__ == "__main__":
    serve_datagrams([Device, *Device.__subclasses__()])
