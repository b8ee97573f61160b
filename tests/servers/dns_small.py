"""A name server in a few lines, to be made wrong: `dns_small.py` prints its port, UDP and TCP, and serves the zone."""

from __future__ import annotations

import selectors
import socket
import struct
from dataclasses import dataclass, field

A, NS, CNAME, SOA, MX, TXT, AAAA, OPT = 1, 2, 5, 6, 15, 16, 28, 41
NO_ERROR, SERVER_FAILURE, NO_SUCH_NAME, REFUSED = 0, 2, 3, 5
AUTHORITATIVE, TRUNCATED, RECURSION_DESIRED = 0x0400, 0x0200, 0x0100

ZONE = "example.test"
STAR = "*.wild.example.test"


@dataclass(frozen=True)
class Record:
    """Its data is bytes and, behind them, names; what comes behind these is `rest`."""

    name: str
    kind: int
    data: bytes = b""
    names: tuple[str, ...] = ()
    rest: bytes = b""
    ttl: int = 3600


def under(name: str) -> str:
    return f"{name}.{ZONE}" if name else ZONE


def _address(name: str, last: int) -> list[Record]:
    return [Record(under(name), A, bytes((127, 0, 0, last))), Record(under(name), AAAA, bytes(15) + bytes((last,)))]


SOA_RECORD = Record(ZONE, SOA, names=(under("ns1"), under("admin")), rest=struct.pack(">5I", 1, 7200, 3600, 86400, 300))
RECORDS = [
    SOA_RECORD,
    Record(ZONE, NS, names=(under("ns1"),)),
    Record(ZONE, MX, b"\0\x0a", (under("mail"),)),
    Record(ZONE, TXT, b"\x05hello\x05world"),
    *_address("", 1),
    *_address("ns1", 1),
    *_address("mail", 3),
    Record(under("www"), CNAME, names=(ZONE,)),
    Record(under("chain"), CNAME, names=(under("chain2"),)),
    Record(under("chain2"), CNAME, names=(under("chain3"),)),
    Record(under("chain3"), CNAME, names=(under("mail"),)),
    Record(under("dangling"), CNAME, names=(under("nowhere"),)),
    Record(under("endless"), CNAME, names=(under("endless2"),)),
    Record(under("endless2"), CNAME, names=(under("endless"),)),
    *(Record(under("large"), TXT, bytes((80,)) + digit * 80) for digit in (b"1", b"2", b"3", b"4", b"5", b"6", b"7")),
    Record(STAR, A, bytes((127, 0, 2, 1))),
]
REFERRAL = [Record(under("sub"), NS, names=(under("ns.sub"),))]
GLUE = _address("ns.sub", 4)


@dataclass(frozen=True)
class Query:
    """What was asked. `size` is that of the largest answer, and None if the question has no extensions."""

    id: int
    flags: int
    name: str
    kind: int
    question: bytes
    size: int | None

    @staticmethod
    def read(data: bytes) -> Query:
        number, flags, _, _, _, extras = struct.unpack(">6H", data[:12])
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode("latin-1"))
            at += 1 + data[at]
        question = data[12 : at + 5]
        kind = struct.unpack(">H", question[-4:-2])[0]
        size = struct.unpack(">H", data[at + 8 : at + 10])[0] if extras else None
        return Query(number, flags, ".".join(labels), kind, question, size)


@dataclass
class Reply:
    """What is answered, before it is written."""

    rcode: int = NO_ERROR
    flags: int = AUTHORITATIVE
    answers: list[Record] = field(default_factory=list)
    authority: list[Record] = field(default_factory=list)
    additional: list[Record] = field(default_factory=list)


class NameServer:
    """A right one. Each method does one thing that can be done wrong."""

    def answer(self, data: bytes, *, is_stream: bool = False) -> bytes:
        query = Query.read(data)
        reply = self.resolve(query)
        written = self.write(query, reply)
        if not is_stream and len(written) > (query.size or 512):
            written = self.write(query, Reply(reply.rcode, reply.flags | TRUNCATED))
        return written

    def resolve(self, query: Query) -> Reply:
        if not query.name.endswith(ZONE):
            return Reply(REFUSED, 0)
        if query.name.endswith(under("sub")):
            return Reply(NO_ERROR, 0, authority=REFERRAL, additional=GLUE)
        reply, name = Reply(), query.name
        while name not in [record.name for record in reply.answers]:
            found = self.at(name)
            alias = next((record for record in found if record.kind == CNAME), None)
            if alias is None or query.kind == CNAME:
                reply.answers += [record for record in found if record.kind == query.kind]
                if not any(record.kind == query.kind for record in found):
                    self.deny(reply, exists=bool(found))
                return self.finished(query, reply)
            reply.answers.append(alias)
            name = alias.names[0]
        reply.rcode = SERVER_FAILURE
        return self.finished(query, reply)

    def at(self, name: str) -> list[Record]:
        """All records of a name, that of a wildcard under the name that was asked for."""
        is_wild = name.endswith(STAR[1:])
        return [
            Record(name, record.kind, record.data, record.names, record.rest)
            for record in RECORDS
            if record.name == (STAR if is_wild else name)
        ]

    def deny(self, reply: Reply, *, exists: bool) -> None:
        """There is no such record, and perhaps not even such a name."""
        if not exists:
            reply.rcode = NO_SUCH_NAME
        reply.authority.append(SOA_RECORD)

    def finished(self, query: Query, reply: Reply) -> Reply:
        return reply

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, query: Query, reply: Reply) -> bytes:
        sections = [reply.answers, reply.authority, reply.additional]
        counts = [len(section) for section in sections]
        counts[2] += query.size is not None
        flags = 0x8000 | reply.flags | query.flags & RECURSION_DESIRED | reply.rcode
        header = struct.pack(">6H", query.id, flags, 1, *self.counts(counts))
        message = bytearray(header + query.question)
        for record in (record for section in sections for record in section):
            self.write_record(message, record, query)
        if query.size is not None:
            message += self.opt()
        return bytes(message)

    def counts(self, counts: list[int]) -> list[int]:
        return counts

    def opt(self) -> bytes:
        return b"\0" + struct.pack(">HHIH", OPT, 1232, 0, 0)

    def write_record(self, message: bytearray, record: Record, query: Query) -> None:
        message += self.pointer(message, record) if record.name == query.name else in_full(record.name)
        data = record.data + b"".join(map(in_full, record.names)) + record.rest
        message += struct.pack(">HHIH", record.kind, 1, record.ttl, self.size(record, data)) + data

    def pointer(self, message: bytearray, record: Record) -> bytes:
        """To the name in the question."""
        return b"\xc0\x0c"

    def size(self, record: Record, data: bytes) -> int:
        return len(data)

    def framed(self, answer: bytes) -> bytes:
        """An answer with its size before it, as it goes over a stream."""
        return struct.pack(">H", len(answer)) + answer


def in_full(name: str) -> bytes:
    labels = name.split(".") if name else []
    return b"".join(bytes((len(label),)) + label.encode("latin-1") for label in labels) + b"\0"


# --- serving ----------------------------------------------------------------------------------------------------------


def serve(server: NameServer) -> None:
    """Answer one question after the other, until the process is ended."""
    datagrams, listener = _sockets()
    print(datagrams.getsockname()[1], flush=True)
    waiting = selectors.DefaultSelector()
    for each in (datagrams, listener):
        waiting.register(each, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is datagrams:
                data, client = datagrams.recvfrom(65535)
                datagrams.sendto(server.answer(data), client)
            else:
                _serve_stream(server, listener.accept()[0])


def _sockets() -> tuple[socket.socket, socket.socket]:
    """For UDP and for TCP, at the same port."""
    while True:
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        try:
            return datagrams, socket.create_server(datagrams.getsockname())
        except OSError:  # somebody else has that one for TCP
            datagrams.close()


def _serve_stream(server: NameServer, connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as questions:
        try:
            while len(size := questions.read(2)) == 2:
                answer = server.answer(questions.read(int.from_bytes(size, "big")), is_stream=True)
                connection.sendall(server.framed(answer))
        except OSError:
            pass  # the client did not wait for the answer


if __name__ == "__main__":
    serve(NameServer())
