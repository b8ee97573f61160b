"""A real SMTP server on a free port of the loopback interface: python smtp_server.py; it prints the port."""

import asyncio
import signal

from aiosmtpd.smtp import SMTP


class Sink:
    async def handle_DATA(self, server: object, session: object, envelope: object) -> str:
        return "250 2.0.0 Message accepted"


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Sink(), hostname="localhost", timeout=30, loop=loop), "127.0.0.1", 0)
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    server.close()


asyncio.run(main())
