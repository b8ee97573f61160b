"""The messages that are read: of each kind as many as one likes, all alike and no two the same."""

from __future__ import annotations

import json
import struct


def dns_response(number: int) -> bytes:
    """114 bytes: a question and three answers, no name compressed."""
    host, alias, domain = (_name(name) for name in ("h.abc.de", "www.abc.de", "abc.de"))
    answers = [
        _record(alias, 5, host),
        _record(host, 1, bytes((192, 0, 2, number % 256))),
        _record(domain, 15, struct.pack(">H", 10) + host),
    ]
    header = struct.pack(">6H", number, 0x8180, 1, len(answers), 0, 0)
    return header + alias + struct.pack(">HH", 1, 1) + b"".join(answers)


def _name(text: str) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode() for label in text.split(".")) + b"\0"


def _record(name: bytes, kind: int, data: bytes) -> bytes:
    return name + struct.pack(">HHIH", kind, 1, 3600, len(data)) + data


def ehlo_reply(number: int) -> bytes:
    """Eight lines."""
    size = f"SIZE {10_000_000 + number}"
    texts = ["mail.example.org", "PIPELINING", size, "ETRN", "AUTH PLAIN LOGIN", "8BITMIME", "DSN"]
    return "".join(f"250-{text}\r\n" for text in texts).encode() + b"250 CHUNKING\r\n"


def listing(lines: int, number: int) -> bytes:
    """Lines of 66 bytes or so."""
    return b"".join(_entry(number + line) for line in range(lines))


def _entry(number: int) -> bytes:
    mode = "drwxr-xr-x" if number % 5 == 0 else "-rw-r--r--"
    month = ("Jan", "May", "Oct", "Dec")[number % 4]
    when = f"{number % 24:02}:{number % 60:02}" if number % 3 else f" {1990 + number % 30}"
    size = 1000 + number * 7919 % 900_000
    front = f"{mode} {1 + number % 3:3} ftp      ftp      {size:8}"
    return f"{front} {month} {1 + number % 28:2} {when} file{number}.txt\r\n".encode()


def json_document(size: int, number: int) -> bytes:
    """A list of records, at least `size` bytes."""
    records: list[str] = []
    total = 0
    while total < size:
        records.append(json.dumps(_user(number + len(records))))
        total += len(records[-1]) + 2
    return f"[{', '.join(records)}]".encode()


def _user(number: int) -> dict[str, object]:
    return {
        "id": number * 7919,
        "name": f"user {number}",
        "mail": f"u{number}@example.org",
        "balance": number * 1.25 - 7,
        "tags": ["a\n", 'b"c', ""],
        "active": number % 3 == 0,
        "next": None,
        "more": {"x": -number, "y": [1, 2e10]},
    }


def expression(size: int, number: int) -> bytes:
    """A sum of products, `size` bytes or a few more."""
    terms: list[str] = []
    total = -1
    while total < size:
        each = number + len(terms)
        terms.append(f"{each % 97}*({each % 7}-{each % 89})/{1 + each % 5}")
        total += 1 + len(terms[-1])
    return "+".join(terms).encode()
