"""A real SMTP server on a free port of the loopback interface: python smtp_server.py [CERTIFICATE]; it prints the port.

With a certificate it takes letters only after STARTTLS.
"""

import asyncio
import signal
import ssl
import sys

from aiosmtpd.smtp import SMTP


class Sink:
    async def handle_DATA(self, server: object, session: object, envelope: object) -> str:
        return "250 2.0.0 Message accepted"


def context_from(certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def main(certificate: str | None) -> None:
    loop = asyncio.get_running_loop()
    context = context_from(certificate) if certificate else None

    def protocol() -> SMTP:
        return SMTP(
            Sink(),
            hostname="localhost",
            timeout=30,
            loop=loop,
            tls_context=context,
            require_starttls=context is not None,
        )

    server = await loop.create_server(protocol, "127.0.0.1", 0)
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    server.close()


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
