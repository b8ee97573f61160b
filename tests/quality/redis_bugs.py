"""Wrong servers of Redis: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Store`, the right one, in one
thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

from typing import Any

from catalogue import Bug

from servers.in_process import serve_streams
from servers.redis_small import Store


class CountsCharacters(Store):
    """Tells how many characters a value has, not how many bytes."""

    def bulk(self, value: bytes) -> bytes:
        return b"$%d\r\n%s\r\n" % (len(value.replace(b"\r\n", b"\n")), value)


class EmptyListsStay(Store):
    """Keeps a list from which the last item was taken."""

    def keep(self, key: bytes, value: Any) -> None:
        self.data[key] = value


class PushesInOrder(Store):
    """Puts several values before a list in the order in which they were given."""

    def do_lpush(self, key: bytes, *values: bytes) -> object:
        return super().do_lpush(key, *reversed(values))


class CountsTwice(Store):
    """Counts what a set has already."""

    def do_sadd(self, key: bytes, *values: bytes) -> object:
        super().do_sadd(key, *values)
        return len(values)


class WrapsAround(Store):
    """Adds as a machine does."""

    def add(self, key: bytes, amount: int) -> int:
        total = self.number(self.find(key, bytes) or b"0") + amount
        total = (total + (1 << 63)) % (1 << 64) - (1 << 63)
        self.keep(key, b"%d" % total)
        return total


class ReadsAnyNumber(Store):
    """Adds to what is no number in its shortest form."""

    def number(self, text: bytes) -> int:
        return int(text) if text.isdigit() and len(text) < 19 else super().number(text)


class LastIsExcluded(Store):
    """Ends ranges of lists before their last index, as Python does."""

    def do_lrange(self, key: bytes, first: bytes, last: bytes) -> object:
        items = self.found(key, list)
        return items[int(first) : int(last)] if last != b"-1" else super().do_lrange(key, first, last)


class NilIsEmpty(Store):
    """Has an empty value for a field that there is not."""

    def do_hget(self, key: bytes, field: bytes) -> object:
        return super().do_hget(key, field) or b""


class AnyKind(Store):
    """Takes the value of another kind for none."""

    def find(self, key: bytes, kind: type) -> Any:
        value = self.data.get(key)
        return value if isinstance(value, kind) else None


class RenameCopies(Store):
    """Leaves the old name there."""

    def do_rename(self, old: bytes, new: bytes) -> object:
        value = self.data.get(old)
        answer = super().do_rename(old, new)
        self.data[old] = value
        return answer


class StaysThere(Store):
    """Says goodbye, and stays."""

    def do_quit(self) -> object:
        return "OK"


BUGS = (
    Bug("CountsCharacters", 10, "unexpected response"),
    Bug("EmptyListsStay", 5, "constraint violated"),
    Bug("PushesInOrder", 25, "constraint violated"),
    Bug("CountsTwice", 5, "constraint violated"),
    Bug("WrapsAround", 25, "constraint violated"),
    Bug("ReadsAnyNumber", 25, "constraint violated"),
    Bug("LastIsExcluded", 10, "constraint violated"),
    Bug("NilIsEmpty", 5, "constraint violated"),
    Bug("AnyKind", 5, "constraint violated"),
    Bug("RenameCopies", 10, "constraint violated"),
    Bug("StaysThere", 5, "no response"),
)


if __name__ == "__main__":
    serve_streams([Store, *Store.__subclasses__()])
