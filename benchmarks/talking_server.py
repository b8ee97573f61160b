"""A real SMTP server for the benchmarks: aiosmtpd on a free port of the loopback interface, which counts messages.

It prints its port. For each line on the standard input it prints what it has counted since the last one, as JSON; at
the end of the input it ends. SMTP takes turns, so a message is whatever comes in one direction before the other.
It runs under the Python of a venv with aiosmtpd, so it imports nothing else.
"""

import asyncio
import json
import sys
import time

from aiosmtpd.smtp import SMTP


class Tally:
    """What was counted: conversations, messages, and the time from each connection to its latest message."""

    def __init__(self):
        self.sessions = 0
        self.messages = 0
        self.open_seconds = 0.0


tally = Tally()


class CountingServer(SMTP):
    """Counts each change of direction."""

    def connection_made(self, transport):
        self.is_ours = None
        self.latest = time.perf_counter()
        tally.sessions += 1
        super().connection_made(transport)

    def data_received(self, data):
        self.turn(False)
        super().data_received(data)

    async def push(self, status):
        self.turn(True)
        await super().push(status)

    def turn(self, is_ours):
        if is_ours is not self.is_ours:
            self.is_ours = is_ours
            now = time.perf_counter()
            tally.messages += 1
            tally.open_seconds += now - self.latest
            self.latest = now


class Sink:
    async def handle_DATA(self, server, session, envelope):
        return "250 2.0.0 Message accepted"


async def main():
    loop = asyncio.get_running_loop()

    def make():
        return CountingServer(Sink(), hostname="localhost", timeout=60, loop=loop)

    server = await loop.create_server(make, "127.0.0.1", 0)
    asked = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(asked), sys.stdin)
    print(server.sockets[0].getsockname()[1], flush=True)
    global tally
    while await asked.readline():
        print(json.dumps(vars(tally)), flush=True)
        tally = Tally()
    server.close()


asyncio.run(main())
