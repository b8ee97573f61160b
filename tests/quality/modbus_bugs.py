"""Wrong devices of Modbus TCP: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Device`, the right one, in
one thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

import struct

from catalogue import Bug

from servers.in_process import serve_streams
from servers.modbus_small import NO_ADDRESS, Device, Refused


class SignedNumbers(Device):
    """Does not echo the number of a request whose highest bit is set."""

    def number(self, request: bytes) -> bytes:
        return bytes((request[0] & 0x7F, request[1]))


class RefusesPlainly(Device):
    """Refuses every function as if it were the same."""

    def refused(self, function: int) -> int:
        return 0x80


class HighestFirst(Device):
    """Packs coils with the first one highest."""

    def packed(self, bits: list[int]) -> bytes:
        data = super().packed(bits)
        return data[:1] + bytes(int(f"{byte:08b}"[::-1], 2) for byte in data[1:])


class LastBitLost(Device):
    """Rounds the number of bytes down when it writes more than eight coils."""

    def write_coils(self, place: bytes, data: bytes) -> bytes:
        address, count = struct.unpack(">2H", place)
        super().write_coils(struct.pack(">2H", address, min(count, 8)), data)
        return place


class AnyCoil(Device):
    """Takes whatever is not 0 for on."""

    def coil(self, value: int) -> int:
        return int(value != 0)


class NoneIsFine(Device):
    """Reads nothing, if it is asked for nothing."""

    def check(self, address: int, count: int, most: int) -> None:
        if count:
            super().check(address, count, most)


class GoesRound(Device):
    """Continues at 0 behind the last address."""

    def check(self, address: int, count: int, most: int) -> None:
        try:
            super().check(address, count, most)
        except Refused as refused:
            if refused.reason != NO_ADDRESS:
                raise


class LittleEndian(Device):
    """Reads several registers with the low byte first."""

    def read_words(self, address: int, count: int) -> bytes:
        data = super().read_words(address, count)
        return data[:1] + struct.pack(f"<{count}H", *struct.unpack(f">{count}H", data[1:]))


class OrMaskSets(Device):
    """Sets all bits of the OR mask, those that are kept, too."""

    def masked(self, value: int, kept: int, more: int) -> int:
        return value & kept | more


class ReadsFirst(Device):
    """Reads before it writes, if it is to do both."""

    def read_and_write(self, data: bytes) -> bytes:
        before = self.read_words(*struct.unpack(">2H", data[:4]))
        super().read_and_write(data)
        return before


class OneTooFar(Device):
    """Writes the last of several registers into the one behind it, too."""

    def write_words(self, place: bytes, data: bytes) -> bytes:
        answer = super().write_words(place, data)
        address, count = struct.unpack(">2H", place)
        self.registers[address + count] = struct.unpack(">H", data[-2:])[0]
        return answer


BUGS = (
    Bug("SignedNumbers", 2, "constraint violated"),
    Bug("RefusesPlainly", 2, "constraint violated"),
    Bug("HighestFirst", 5, "constraint violated"),
    Bug("LastBitLost", 20, "constraint violated"),
    Bug("AnyCoil", 5, "constraint violated"),
    Bug("NoneIsFine", 5, "constraint violated"),
    Bug("GoesRound", 5, "constraint violated"),
    Bug("LittleEndian", 5, "constraint violated"),
    Bug("OrMaskSets", 20, "constraint violated"),
    Bug("ReadsFirst", 5, "constraint violated"),
    Bug("OneTooFar", 5, "constraint violated"),
)


if __name__ == "__main__":
    serve_streams([Device, *Device.__subclasses__()])
