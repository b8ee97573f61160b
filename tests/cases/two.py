"""Whoever asks is told `one`, but the others are told `two` before; argument: the port."""

import asyncio
import sys

others: list[asyncio.StreamWriter] = []


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    others.append(writer)
    while line := await reader.readline():
        if line == b"ask\n":
            while len(others) < 2:  # the other one has connected, but was not accepted yet
                await asyncio.sleep(0.001)
            for other in others:
                if other is not writer:
                    other.write(b"two\n")
                    await other.drain()
            await asyncio.sleep(0.02)
            writer.write(b"one\n")
            await writer.drain()
    others.remove(writer)
    writer.close()


async def main() -> None:
    async with await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1])) as server:
        await server.serve_forever()


asyncio.run(main())
