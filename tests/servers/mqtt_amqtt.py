"""The broker of the package amqtt, to which anybody may connect: prints its port, and serves it."""

from __future__ import annotations

import asyncio
import logging
import sys

from amqtt.broker import Broker

from servers.common import free_port


async def serve() -> None:
    logging.disable(logging.CRITICAL)
    port = free_port()
    listeners = {"default": {"type": "tcp", "bind": f"127.0.0.1:{port}"}}
    plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
    broker = Broker({"listeners": listeners, "plugins": plugins})
    await broker.start()
    print(port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(serve()))
