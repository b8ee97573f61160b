"""A small name server made of dnslib: `dns_dnslib.py PORT ZONEFILE`. UDP and TCP, until it is told to end."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

from dnslib import EDNS0, QTYPE, RCODE, RR, DNSLabel, DNSRecord
from dnslib.server import BaseResolver, DNSHandler, DNSLogger, DNSServer

ZONE = DNSLabel("example.test")
CLOSED = DNSLabel("closed.test")
OPT_SIZE = 11


class Resolver(BaseResolver):  # type: ignore[misc]  # the library has no types
    """Answers from one zone. It follows aliases, refers to the servers of zones below, and knows wildcards."""

    def __init__(self, records: list[RR]) -> None:
        self._records = records
        self._soa = [record for record in records if record.rtype == QTYPE.SOA]

    def resolve(self, request: DNSRecord, handler: DNSHandler) -> DNSRecord:
        reply = request.reply(ra=0)
        if request.q.qname.matchSuffix(CLOSED):
            reply.header.rcode = RCODE.REFUSED
            reply.header.aa = 0
        else:
            self._answer(request.q.qname, request.q.qtype, reply)
        asked = [record for record in request.ar if record.rtype == QTYPE.OPT]
        limit = asked[0].edns_len if asked else 512
        if handler.protocol == "udp" and len(reply.pack()) + OPT_SIZE > limit:
            reply = truncated(request, reply)
        if asked:
            reply.add_ar(EDNS0(udp_len=1232, flags="do" if asked[0].edns_do else ""))
        return reply

    def _answer(self, name: DNSLabel, kind: int, reply: DNSRecord) -> None:
        seen: list[DNSLabel] = []
        while name not in seen:
            seen.append(name)
            if self._refer(name, reply):
                return
            here = self._at(name)
            found = [record for record in here if record.rtype == kind]
            aliases = [record for record in here if record.rtype == QTYPE.CNAME]
            if found or not aliases:
                reply.add_answer(*found)
                if not here:
                    reply.header.rcode = RCODE.NXDOMAIN
                if not found:
                    reply.add_auth(*self._soa)
                return
            reply.add_answer(*aliases)
            name = aliases[0].rdata.label
        reply.header.rcode = RCODE.SERVFAIL

    def _refer(self, name: DNSLabel, reply: DNSRecord) -> bool:
        """Name the servers of a zone below, if the name is in one; whether it is."""
        servers = [each for each in self._records if each.rtype == QTYPE.NS and each.rname != ZONE]
        servers = [each for each in servers if name.matchSuffix(each.rname)]
        if servers:
            reply.header.aa = 0
            reply.add_auth(*servers)
            reply.add_ar(*(record for server in servers for record in self._at(server.rdata.label)))
        return bool(servers)

    def _at(self, name: DNSLabel) -> list[RR]:
        found = [record for record in self._records if record.rname == name]
        if found:
            return found
        star = DNSLabel([b"*", *name.label[1:]])
        return [RR(name, each.rtype, ttl=each.ttl, rdata=each.rdata) for each in self._records if each.rname == star]


def truncated(request: DNSRecord, reply: DNSRecord) -> DNSRecord:
    """A reply without records. That of dnslib would be without the question, too."""
    short = request.reply(ra=0)
    short.header = reply.header
    short.header.tc = 1
    return short


class Handler(DNSHandler):  # type: ignore[misc]  # the library has no types
    """Takes as many questions over one connection as the client has. That of dnslib would take one."""

    def handle(self) -> None:
        if self.server.socket_type != socket.SOCK_STREAM:
            super().handle()
            return
        with suppress(OSError):  # the client has gone
            while self.request.recv(1, socket.MSG_PEEK):
                super().handle()


def main(port: int, zone: str) -> None:
    resolver = Resolver(RR.fromZone(zone))
    logger = DNSLogger("-request,-reply,-truncated,-error")
    for is_tcp in (False, True):
        server = DNSServer(resolver, "127.0.0.1", port, tcp=is_tcp, logger=logger, handler=Handler)
        server.start_thread()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]).read_text())
