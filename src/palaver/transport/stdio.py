"""The transport over our own standard input and output, or one of them.

A shell or a terminal shares them. So they are neither made non-blocking nor closed; instead we look whether they are
ready each time, and write no more at once than a pipe that is ready is sure to take.
"""

from __future__ import annotations

import os
import select
from selectors import EVENT_READ, EVENT_WRITE

from palaver.addresses import Address
from palaver.transport.channel import Channel, EndOfStream, OpenOptions, PendingChannel, ReadyChannel, Transport

SURE_TO_BE_TAKEN = select.PIPE_BUF


class StandardChannel(Channel):
    """Our standard streams. Either of them may be missing."""

    def __init__(self, input_fd: int | None = 0, output_fd: int | None = 1) -> None:
        self._input = input_fd
        self._output = output_fd

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        interests = {self._input: EVENT_READ} if reading and self._input is not None else {}
        if writing and self._output is not None:
            interests[self._output] = interests.get(self._output, 0) | EVENT_WRITE
        return interests

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        if self._input is None:
            return None
        try:
            if not select.select([self._input], [], [], 0)[0]:
                return None
            return os.read(self._input, limit) or EndOfStream()
        except OSError:  # a terminal that is gone, or a standard input that never was
            return EndOfStream()

    def send(self, data: memoryview) -> int | None:
        if self._output is None:
            return len(data)
        try:
            if not select.select([], [self._output], [], 0)[1]:
                return None
            return os.write(self._output, data[:SURE_TO_BE_TAKEN])
        except BlockingIOError:
            return None
        except OSError:  # nobody reads it
            return len(data)

    def finish(self) -> None:
        pass  # the reader sees the end when this process ends

    def abandon(self) -> None:
        pass


class StandardTransport(Transport):
    def __init__(self, *, reads: bool, writes: bool) -> None:
        self._reads, self._writes = reads, writes

    def connect(self, address: Address, options: OpenOptions) -> PendingChannel:
        input_fd, output_fd = options.standard
        return ReadyChannel(StandardChannel(input_fd if self._reads else None, output_fd if self._writes else None))


STDIO = StandardTransport(reads=True, writes=True)
STDIN = StandardTransport(reads=True, writes=False)
STDOUT = StandardTransport(reads=False, writes=True)
