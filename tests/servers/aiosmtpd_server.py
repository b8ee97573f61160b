"""aiosmtpd on the loopback interface, for the user the_user: python aiosmtpd_server.py PORT [CERTIFICATE].

Nobody gets a letter through without having logged in. With a certificate, nobody logs in before STARTTLS.
"""

from __future__ import annotations

import asyncio
import signal
import ssl
import sys
from typing import Any

import aiosmtpd.smtp
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

# A fuzzer makes more mistakes than a server likes to see in one session.
aiosmtpd.smtp.BOGUS_LIMIT = sys.maxsize

ACCOUNT = LoginPassword(b"the_user", b"the_password")


class Sink:
    """Takes every letter and keeps none."""

    async def handle_DATA(self, server: object, session: object, envelope: object) -> str:
        return "250 2.0.0 Message accepted"


def check(server: object, session: object, envelope: object, mechanism: str, data: object) -> AuthResult:
    # What is not "handled" here is answered by aiosmtpd itself, as it answers everybody.
    return AuthResult(success=data == ACCOUNT, handled=False)


def options_for(certificate: str | None) -> dict[str, Any]:
    if certificate is None:
        return {"auth_require_tls": False}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return {"tls_context": context}


async def main(port: int, certificate: str | None) -> None:
    loop = asyncio.get_running_loop()
    options = options_for(certificate)

    def protocol() -> SMTP:
        # The name is given, because to find it out may mean to ask the network.
        return SMTP(Sink(), hostname="localhost", authenticator=check, auth_required=True, loop=loop, **options)

    server = await loop.create_server(protocol, "127.0.0.1", port)
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    await stop.wait()
    server.close()


asyncio.run(main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
