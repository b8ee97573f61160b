"""Wrong servers of TFTP: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Transfer`, the right one, in
one thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

import struct

from catalogue import Bug

from servers.in_process import serve_datagrams
from servers.tftp_small import ACK, Transfer


class SorcerersApprentice(Transfer):
    """Sends a block again when one before it is acknowledged again."""

    def told_again(self) -> list[bytes]:
        return [self.data()]


class NoEmptyBlock(Transfer):
    """Ends with a full block if the file does."""

    def is_last(self) -> bool:
        return self.block * self.size >= len(self.content)


class CountsFromZero(Transfer):
    """The first block that is read has the number 0."""

    def data(self) -> bytes:
        data = super().data()
        return data[:2] + struct.pack(">H", self.block - 1) + data[4:]


class LargerBlocks(Transfer):
    """Wants larger blocks than it was asked for."""

    def granted(self, options: dict[bytes, bytes], *, is_reading: bool) -> dict[bytes, bytes]:
        granted = super().granted(options, is_reading=is_reading)
        return granted | {b"blksize": b"1428"} if b"blksize" in granted else granted


class OffersUnasked(Transfer):
    """Tells the size of a file to whoever asks for any option."""

    def granted(self, options: dict[bytes, bytes], *, is_reading: bool) -> dict[bytes, bytes]:
        granted = super().granted(options, is_reading=is_reading)
        return granted | {b"tsize": b"%d" % self.total()} if granted and is_reading else granted


class WrongTotal(Transfer):
    """Tells the size in blocks."""

    def total(self) -> int:
        return -(-len(self.content) // self.size)


class OldEndStays(Transfer):
    """Writes over a file, and leaves the rest of it there."""

    def store(self) -> None:
        old = self.files.get(self.name, b"")
        self.files[self.name] = self.content + old[len(self.content) :]


class SilentAboutOld(Transfer):
    """Does not acknowledge a block that comes again."""

    def taken_again(self, data: bytes) -> list[bytes]:
        return []


class StoresTwice(Transfer):
    """Appends a block that comes again."""

    def taken_again(self, data: bytes) -> list[bytes]:
        self.content += data
        return super().taken_again(data)


class MissingIsEmpty(Transfer):
    """Takes a file that is not there for an empty one."""

    def exists(self) -> bool:
        return True


class NoEndOfReason(Transfer):
    """Does not end the text of an error."""

    def reason(self, text: bytes) -> bytes:
        return text


class AcknowledgesNext(Transfer):
    """Acknowledges the block that it waits for."""

    def ack(self, number: int) -> bytes:
        return struct.pack(">2H", ACK, number + 1 if number else 0)


BUGS = (
    Bug("SorcerersApprentice", 10, "out of turn"),
    Bug("NoEmptyBlock", 10, "no response"),
    Bug("CountsFromZero", 5, "constraint violated"),
    Bug("LargerBlocks", 5, "constraint violated"),
    Bug("OffersUnasked", 5, "constraint violated"),
    Bug("WrongTotal", 10, "constraint violated"),
    Bug("OldEndStays", 20, "constraint violated"),
    Bug("SilentAboutOld", 20, "no response"),
    Bug("StoresTwice", 20, "constraint violated"),
    Bug("MissingIsEmpty", 5, "constraint violated"),
    Bug("NoEndOfReason", 5, "unexpected response"),
    Bug("AcknowledgesNext", 5, "constraint violated"),
)


if __name__ == "__main__":
    serve_datagrams([Transfer, *Transfer.__subclasses__()], fresh_ports=True)
