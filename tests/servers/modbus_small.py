"""A device of Modbus TCP in a few lines, to be made wrong: `modbus_small.py` prints its port, and serves it."""

from __future__ import annotations

import struct
from collections import defaultdict

from servers.in_process import serve_streams

NO_FUNCTION, NO_ADDRESS, NO_VALUE = 1, 2, 3


class Refused(Exception):
    """With the number of the reason."""

    def __init__(self, reason: int) -> None:
        self.reason = reason


class Device:
    """One connection and its coils and registers. A method does one thing that can be done wrong."""

    def __init__(self) -> None:
        self.is_over = False
        self.begun = b""
        self.coils: dict[int, int] = defaultdict(int)
        self.registers: dict[int, int] = defaultdict(int)

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        self.begun += data
        answers = b""
        while len(self.begun) >= 7 and len(self.begun) >= 6 + (size := struct.unpack(">H", self.begun[4:6])[0]):
            request, self.begun = self.begun[: 6 + size], self.begun[6 + size :]
            answers += self.answer(request)
        return answers

    def answer(self, request: bytes) -> bytes:
        function = request[7]
        try:
            data = self.respond(function, request[8:])
        except Refused as refused:
            function, data = self.refused(function), bytes((refused.reason,))
        return self.number(request) + struct.pack(">2HBB", 0, len(data) + 2, request[6], function) + data

    def number(self, request: bytes) -> bytes:
        return request[:2]

    def refused(self, function: int) -> int:
        return function + 128

    def respond(self, function: int, data: bytes) -> bytes:
        if function in (1, 2):
            return self.read_bits(*struct.unpack(">2H", data))
        if function in (3, 4):
            return self.read_words(*struct.unpack(">2H", data))
        if function == 5:
            address, value = struct.unpack(">2H", data)
            self.coils[address] = self.coil(value)
            return data
        if function == 6:
            address, value = struct.unpack(">2H", data)
            self.registers[address] = value
            return data
        if function == 15:
            return self.write_coils(data[:4], data[5:])
        if function == 16:
            return self.write_words(data[:4], data[5:])
        if function == 22:
            address, kept, more = struct.unpack(">3H", data)
            self.registers[address] = self.masked(self.registers[address], kept, more)
            return data
        if function == 23:
            return self.read_and_write(data)
        raise Refused(NO_FUNCTION)

    def check(self, address: int, count: int, most: int) -> None:
        if not 1 <= count <= most:
            raise Refused(NO_VALUE)
        if address + count > 65536:
            raise Refused(NO_ADDRESS)

    def coil(self, value: int) -> int:
        if value not in (0, 0xFF00):
            raise Refused(NO_VALUE)
        return value >> 15

    def read_bits(self, address: int, count: int) -> bytes:
        self.check(address, count, 2000)
        return self.packed([self.coils[address + i] for i in range(count)])

    def packed(self, bits: list[int]) -> bytes:
        data = bytes(sum(bit << i for i, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8))
        return bytes((len(data),)) + data

    def read_words(self, address: int, count: int) -> bytes:
        self.check(address, count, 125)
        words = [self.registers[address + i] for i in range(count)]
        return bytes((2 * count,)) + struct.pack(f">{count}H", *words)

    def write_coils(self, place: bytes, data: bytes) -> bytes:
        address, count = struct.unpack(">2H", place)
        self.check(address, count, 1968)
        for i in range(count):
            self.coils[address + i] = data[i // 8] >> i % 8 & 1
        return place

    def write_words(self, place: bytes, data: bytes) -> bytes:
        address, count = struct.unpack(">2H", place)
        self.check(address, count, 123)
        for i, word in enumerate(struct.unpack(f">{count}H", data)):
            self.registers[address + i] = word
        return place

    def masked(self, value: int, kept: int, more: int) -> int:
        return value & kept | more & ~kept & 0xFFFF

    def read_and_write(self, data: bytes) -> bytes:
        """First it is written, then read; if either is refused, nothing is done."""
        address, count = struct.unpack(">2H", data[:4])
        self.check(address, count, 125)
        self.write_words(data[4:8], data[9:])
        return self.read_words(address, count)


if __name__ == "__main__":
    serve_streams([Device])
