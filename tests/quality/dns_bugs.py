"""Wrong name servers, as programs: `dns_bugs.py NAME` serves the one of that name.

Each differs from the right one, `servers/dns_small.py`, in one thing. A bug more is a class, and a row in the table at
the end.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from catalogue import Bug

from servers.dns_small import (
    AAAA,
    CNAME,
    MX,
    NO_ERROR,
    RECURSION_DESIRED,
    STAR,
    TRUNCATED,
    ZONE,
    A,
    NameServer,
    Query,
    Record,
    Reply,
    serve,
    under,
)


class WrongId(NameServer):
    """Keeps only half of the number of a question."""

    def write(self, query: Query, reply: Reply) -> bytes:
        return super().write(replace(query, id=query.id & 0x7FFF), reply)


class OneTooMany(NameServer):
    """Counts an answer that is not there, behind aliases."""

    def counts(self, counts: list[int]) -> list[int]:
        return [counts[0] + 1, *counts[1:]] if counts[0] > 1 else counts


class OneTooFew(NameServer):
    """Does not count the last record of a referral."""

    def counts(self, counts: list[int]) -> list[int]:
        return [*counts[:2], counts[2] - 1] if counts[2] > 1 else counts


class BrokenChain(NameServer):
    """Leaves out an alias in the middle of a chain."""

    def finished(self, query: Query, reply: Reply) -> Reply:
        return replace(reply, answers=[each for each in reply.answers if each.name != under("chain2")])


class AliasTwice(NameServer):
    """Tells of an alias once more when it has been followed."""

    def finished(self, query: Query, reply: Reply) -> Reply:
        twice = [each for each in reply.answers[:1] if each.name == under("www") and query.kind != CNAME]
        return replace(reply, answers=[*twice, *reply.answers])


class LoopingPointer(NameServer):
    """The name of an alias is a pointer to itself."""

    def pointer(self, message: bytearray, record: Record) -> bytes:
        at = len(message) if record.kind == CNAME else 12
        return (0xC000 + at).to_bytes(2, "big")


class PointerOutOfRange(NameServer):
    """The name of a mail server's record is said to be where there is nothing."""

    def pointer(self, message: bytearray, record: Record) -> bytes:
        return b"\xff\xff" if record.kind == MX else super().pointer(message, record)


class AnotherName(NameServer):
    """Answers questions about a wildcard with the name of the zone."""

    def at(self, name: str) -> list[Record]:
        return [replace(each, name=ZONE) if name.endswith(STAR[1:]) else each for each in super().at(name)]


class AnotherType(NameServer):
    """Who asks for the new addresses gets the old ones, too."""

    def finished(self, query: Query, reply: Reply) -> Reply:
        if query.kind == AAAA and query.name == ZONE:
            return replace(reply, answers=[*reply.answers, *(each for each in self.at(ZONE) if each.kind == A)])
        return reply


class MissingIsFine(NameServer):
    """Says of a name that does not exist that all is well."""

    def deny(self, reply: Reply, *, exists: bool) -> None:
        super().deny(reply, exists=exists)
        reply.rcode = NO_ERROR


class NoDenial(NameServer):
    """Does not say which zone denies a name."""

    def deny(self, reply: Reply, *, exists: bool) -> None:
        super().deny(reply, exists=exists)
        reply.authority.clear()


class RecursionForgotten(NameServer):
    """Forgets whether recursion was wanted, if it fails."""

    def write(self, query: Query, reply: Reply) -> bytes:
        wanted = query.flags if reply.rcode == NO_ERROR else query.flags & ~RECURSION_DESIRED
        return super().write(replace(query, flags=wanted), reply)


class NoExtensions(NameServer):
    """Knows nothing of extensions."""

    def write(self, query: Query, reply: Reply) -> bytes:
        return super().write(replace(query, size=None), reply)


class WrongSize(NameServer):
    """Does not count the preference of a mail server."""

    def size(self, record: Record, data: bytes) -> int:
        return len(data) - 2 if record.kind == MX else len(data)


class AlwaysTruncated(NameServer):
    """Says of a chain of aliases that it does not fit, and it does."""

    def finished(self, query: Query, reply: Reply) -> Reply:
        return replace(reply, flags=reply.flags | TRUNCATED) if len(reply.answers) > 2 else reply


class SizeCountsItself(NameServer):
    """Over TCP, the size of a message includes that of the size."""

    def framed(self, answer: bytes) -> bytes:
        return (len(answer) + 2).to_bytes(2, "big") + answer


# By the protocol that it is found over. In each session many questions are asked.
BUGS = {
    "udp": (
        Bug("WrongId", 2, "constraint violated"),
        Bug("OneTooMany", 2, "unexpected response"),
        Bug("OneTooFew", 2, "unexpected response"),
        Bug("BrokenChain", 2, "constraint violated"),
        Bug("AliasTwice", 2, "constraint violated"),
        Bug("LoopingPointer", 2, "unexpected response"),
        Bug("PointerOutOfRange", 2, "unexpected response"),
        Bug("AnotherName", 8, "constraint violated"),
        Bug("AnotherType", 8, "constraint violated"),
        Bug("MissingIsFine", 2, "constraint violated"),
        Bug("NoDenial", 2, "constraint violated"),
        Bug("RecursionForgotten", 2, "constraint violated"),
        Bug("NoExtensions", 2, "unexpected response"),
        Bug("WrongSize", 2, "unexpected response"),
        Bug("AlwaysTruncated", 2, "constraint violated"),
    ),
    "tcp": (Bug("SizeCountsItself", 2, "no response"),),
}

if __name__ == "__main__":
    kinds = {kind.__name__: kind for kind in NameServer.__subclasses__()}
    serve(kinds[sys.argv[1]]())
