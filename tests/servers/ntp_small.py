"""A server of NTP in a few lines, to be made wrong: `ntp_small.py` prints its port, and serves it."""

from __future__ import annotations

import struct
import time

from servers.in_process import serve_datagrams

SINCE_1900 = 2_208_988_800


class TimeServer:
    """What one client is told. A method gives one field, which can be wrong."""

    def __init__(self, shared: dict[bytes, bytes]) -> None:
        self.is_over = False
        self.count = 0

    def hear(self, data: bytes) -> list[bytes]:
        self.count += 1
        received = self.now()
        head = bytes((self.flags(data[0] >> 3 & 7), self.stratum(), self.poll(data[2]), 0xEC))
        source = bytes(8) + b"LOCL"
        times = (self.reference(received), self.origin(data), self.received(received), self.sent(received))
        return [self.written(head + source + struct.pack(">4Q", *times))]

    def now(self) -> int:
        seconds, nanoseconds = divmod(time.monotonic_ns(), 10**9)
        return SINCE_1900 + seconds << 32 | (nanoseconds << 32) // 10**9

    def flags(self, version: int) -> int:
        return self.leap() << 6 | version << 3 | 4

    def leap(self) -> int:
        return 0

    def stratum(self) -> int:
        return 2

    def poll(self, asked: int) -> int:
        return asked

    def reference(self, received: int) -> int:
        return received - (60 << 32)

    def origin(self, data: bytes) -> int:
        origin: int = struct.unpack(">Q", data[40:48])[0]
        return origin

    def received(self, received: int) -> int:
        return received

    def sent(self, received: int) -> int:
        return self.now()

    def written(self, response: bytes) -> bytes:
        return response


if __name__ == "__main__":
    serve_datagrams([TimeServer])
