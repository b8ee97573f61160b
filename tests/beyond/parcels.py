"""A protocol of parcels with every sort of constraint on our messages, and servers that do not check one of them."""

from __future__ import annotations

import re

from servers.in_process import StreamSession

SPEC = r"""
<start> ::= <Client:hello> <Server:welcome> <transfer>* <Client:bye> <Server:closed>
<hello> ::= "hello\n"
<transfer> ::= <Client:parcel> <Server:receipt>
<parcel> ::= "put " <number> " " <size> " " <check> " " <text> "\n"
<number> ::= r"[0-9]{1,4}"
<size> ::= r"[0-9]{1,2}"
<check> ::= r"[0-9]{1,3}"
<text> ::= r"[a-z]{1,20}"
<bye> ::= "bye\n"
<welcome> ::= "welcome\n"
<receipt> ::= "received " <receipt_number> "\n"
<receipt_number> ::= r"[0-9]+"
<closed> ::= "closed\n"

where forall <p> in <parcel>: int(<p>.<size>) == len(str(<p>.<text>))
where forall <p> in <parcel>: int(<p>.<check>) == check_of(str(<p>.<text>))
where int(<parcel>.<number>) <= 5000
where forall <t> in <transfer>: int(<t>.<parcel>.<number>) == int(<t>.<receipt>.<receipt_number>)
where len(set(map(str, *<number>))) == len(*<number>)

<beyond> ::= <wrong_values> | <unknown>
<wrong_values> ::= <Client:parcel> <Server:refusal>
<unknown> ::= <Client:any_line> <Server:refusal>
<any_line> ::= r"[^\n]*\n"
<refusal> ::= "error\n"

def check_of(text):
    return sum(text.encode()) % 251
"""


class Parcels(StreamSession):
    """Checks everything."""

    def __init__(self) -> None:
        self.is_over = False
        self.buffer = b""
        self.is_known = False
        self.numbers: list[int] = []

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        return b"".join(self.answer(line) for line in lines)

    def answer(self, line: bytes) -> bytes:
        """The answer to one line."""
        put = re.fullmatch(rb"put ([0-9]{1,4}) ([0-9]{1,2}) ([0-9]{1,3}) ([a-z]{1,20})", line)
        if line == b"hello" and not self.is_known:
            self.is_known = True
            return b"welcome\n"
        if line == b"bye" and self.is_known:
            self.is_over = True
            return b"closed\n"
        if put is None or not self.is_known:
            return b"error\n"
        number, size, check = (int(put[at]) for at in (1, 2, 3))
        if not self.is_right(number, size, check, put[4]):
            return b"error\n"
        self.numbers.append(number)
        return b"received %d\n" % number

    def is_right(self, number: int, size: int, check: int, text: bytes) -> bool:
        """Return True if every value is as it must be."""
        return (
            self.is_fit(size, text) and self.is_unharmed(check, text) and self.is_small(number) and self.is_new(number)
        )

    def is_fit(self, size: int, text: bytes) -> bool:
        """Return True if the size is that of the text."""
        return size == len(text)

    def is_unharmed(self, check: int, text: bytes) -> bool:
        """Return True if the checksum is that of the text."""
        return check == sum(text) % 251

    def is_small(self, number: int) -> bool:
        """Return True if the number is small enough."""
        return number <= 5000

    def is_new(self, number: int) -> bool:
        """Return True if the number was not used before."""
        return number not in self.numbers


class OneMore(Parcels):
    """Takes a size that is one too large."""

    def is_fit(self, size: int, text: bytes) -> bool:
        return size in (len(text), len(text) + 1)


class OneLess(Parcels):
    """Takes a size that is one too small."""

    def is_fit(self, size: int, text: bytes) -> bool:
        return size in (len(text), len(text) - 1)


class AnyCheck(Parcels):
    """Does not look at checksums."""

    def is_unharmed(self, check: int, text: bytes) -> bool:
        return True


class OffByOne(Parcels):
    """Takes a number that is one too large."""

    def is_small(self, number: int) -> bool:
        return number <= 5001


class Forgetful(Parcels):
    """Takes the same number twice."""

    def is_new(self, number: int) -> bool:
        return True


class ShortTexts(Parcels):
    """Refuses the longest text that is allowed."""

    def is_fit(self, size: int, text: bytes) -> bool:
        return size == len(text) < 20


UNCHECKED = (OneMore, OneLess, AnyCheck, OffByOne, Forgetful)
