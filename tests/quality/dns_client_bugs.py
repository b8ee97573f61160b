"""Wrong clients of DNS: what they ask, and what that is found to be."""

from __future__ import annotations

import struct

from catalogue import WrongMessage

RECURSION_DESIRED = 0x0100

NAME = b"\x03www\x07example\x04test\x00"
TYPE_A, TYPE_OPT, INTERNET = 1, 41, 1
OPT = b"\0" + struct.pack(">HHIH", TYPE_OPT, 1232, 0, 0)


def question(
    name: bytes = NAME, *, flags: int = RECURSION_DESIRED, questions: int = 1, extras: int = 0, rest: bytes = b""
) -> bytes:
    header = struct.pack(">6H", 0x1234, flags, questions, 0, 0, extras)
    return header + name + struct.pack(">2H", TYPE_A, INTERNET) + rest


def framed(message: bytes, size: int) -> bytes:
    return struct.pack(">H", size) + message


RIGHT = {
    "udp": question(extras=1, rest=OPT),
    "tcp": framed(question(), len(question())),
}

BUGS = {
    "udp": (
        WrongMessage("two questions announced, one asked", question(questions=2), "unexpected response"),
        WrongMessage("no question announced, one asked", question(questions=0), "unexpected response"),
        WrongMessage("an answer", question(flags=0x8000), "unexpected response"),
        WrongMessage("a flag that must not be set", question(flags=RECURSION_DESIRED | 0x0040), "unexpected response"),
        WrongMessage("extensions that are not announced", question(rest=OPT), "unexpected response"),
        WrongMessage("extensions that are announced only", question(extras=1), "unexpected response"),
        WrongMessage("cut short", question()[:-1], "unexpected response"),
        WrongMessage("a name without an end", question(NAME[:-1]), "unexpected response"),
        WrongMessage("a name that points to itself", question(b"\xc0\x0c"), "unexpected response"),
    ),
    "tcp": (
        WrongMessage("a size that counts itself", framed(question(), len(question()) + 2), "constraint violated"),
        WrongMessage("a size that is too small", framed(question(), len(question()) - 1), "unexpected response"),
    ),
}
