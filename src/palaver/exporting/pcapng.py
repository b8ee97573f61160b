"""Captures of packets (draft-ietf-opsawg-pcapng): conversations with Ethernet, IP, TCP and UDP headers made for them.

How it works. A section header names palaver, an interface follows, then a packet block for each packet, whose comment
names the messages that end in it. A TCP connection has its handshake, sequence and acknowledgement numbers, and its
end; every segment is acknowledged, so that whoever analyses the capture finds nothing odd that we have made up. What
went over TLS is in clear, and what went over a unix socket or the streams of a program is shown as TCP.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from palaver.exporting.conversation import StepKind, WireConversation, WireLink, WireStep
from palaver.lean_dataclasses import dataclass
from palaver.printable import printable

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER = 0x1A2B3C4D
_COMMENT, _USER_APPLICATION, _NAME = 1, 4, 2
_ETHERNET = 1
_MACS = (b"\x02\x00\x00\x00\x00\x01", b"\x02\x00\x00\x00\x00\x02")  # ours, and the peer's: locally administered
_TCP, _UDP = 6, 17
_FIN, _SYN, _RST, _PSH, _ACK = 1, 2, 4, 8, 16
# As much as Ethernet carries, and the first sequence numbers of both sides.
_SEGMENT_BYTES = 1440
_WINDOW = 65535
_FIRST_NUMBERS = (1000, 5000)
# Ports of our own for connections that we open, and for what has none.
_FIRST_PORT = 49152
_SHOWN_PORT = 1
# Addresses for documentation, if the peer is on another machine (RFC 5737, RFC 3849).
_OURS_V4, _OURS_V6 = "192.0.2.1", "2001:db8::1"


def capture(conversation: WireConversation) -> bytes:
    """The capture of a conversation, with the finding as the comment of its last packet."""
    finding = conversation.finding
    section = struct.pack("<IHHq", _BYTE_ORDER, 1, 0, -1)
    options = _option(_COMMENT, finding.headline) + _option(_USER_APPLICATION, "palaver") + _END_OF_OPTIONS
    blocks = [_block(_SECTION, section + options)]
    interface = struct.pack("<HHI", _ETHERNET, 0, 0) + _option(_NAME, "palaver") + _END_OF_OPTIONS
    blocks.append(_block(_INTERFACE, interface))
    packets = list(_packets(conversation.steps))
    for number, packet in enumerate(packets, 1):
        comments = list(packet.comments)
        if number == len(packets):
            comments.append(finding.headline)
        blocks.append(_packet_block(packet, comments))
    return b"".join(blocks)


@dataclass(frozen=True, slots=True)
class _Packet:
    at: float
    frame: bytes
    comments: tuple[str, ...] = ()


_END_OF_OPTIONS = struct.pack("<HH", 0, 0)


def _option(code: int, text: str) -> bytes:
    value = printable(text).encode("utf-8", "backslashreplace")[:65535]
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def _packet_block(packet: _Packet, comments: list[str]) -> bytes:
    microseconds = max(0, round(packet.at * 1_000_000))
    size = len(packet.frame)
    head = struct.pack("<IIIII", 0, microseconds >> 32, microseconds & 0xFFFFFFFF, size, size)
    options = b"".join(_option(_COMMENT, comment) for comment in comments)
    return _block(_PACKET, head + _padded(packet.frame) + (options + _END_OF_OPTIONS if options else b""))


def _packets(steps: tuple[WireStep, ...]) -> Iterator[_Packet]:
    """The packets of all steps. A link that is opened again is another connection."""
    flows: dict[str, _Flow] = {}
    count = 0
    for step in steps:
        flow = flows.get(step.link.name)
        if flow is None or step.kind is StepKind.OPENED:
            flow = flows[step.link.name] = _Flow(step.link, count)
            count += 1
            yield from flow.opened(step.at)
            if step.kind is StepKind.OPENED:
                continue
        yield from flow.step(step)


class _Flow:
    """The packets of one connection. Side 0 is ours, side 1 the peer's."""

    def __init__(self, link: WireLink, number: int) -> None:
        self._link = link
        self._next = list(_FIRST_NUMBERS)  # the next sequence number of each side
        self._has_ended = [False, False]
        self._identification = 0
        has_port = bool(link.address.port)
        theirs, own = link.address.port or _SHOWN_PORT + number, _FIRST_PORT + number
        self._ports = (theirs, own) if link.is_listening else (own, theirs)
        self._addresses = _addresses(link.address.host)
        self._remark = () if has_port else (f"{link.address}, shown as TCP",)

    def opened(self, at: float) -> Iterator[_Packet]:
        """The handshake; datagrams have none."""
        if self._link.is_datagram:
            return
        caller = 1 if self._link.is_listening else 0
        yield self._tcp(at, caller, _SYN, comments=self._remark)
        self._next[caller] += 1
        yield self._tcp(at, 1 - caller, _SYN | _ACK)
        self._next[1 - caller] += 1
        yield self._tcp(at, caller, _ACK)

    def step(self, step: WireStep) -> Iterator[_Packet]:
        """The packets of something that happened."""
        match step.kind:
            case StepKind.SENT | StepKind.RECEIVED:
                yield from self._data(step, 0 if step.kind is StepKind.SENT else 1)
            case StepKind.FINISHED | StepKind.CLOSED:
                yield from self._end(step.at, 0)
            case StepKind.ENDED:
                yield from self._end(step.at, 1)
            case StepKind.BROKEN:
                if not self._link.is_datagram and not self._has_ended[1]:
                    self._has_ended = [True, True]
                    yield self._tcp(step.at, 1, _RST | _ACK)
            case StepKind.OPENED | StepKind.SECURED:
                pass

    def _data(self, step: WireStep, side: int) -> Iterator[_Packet]:
        if self._link.is_datagram:
            yield self._udp(step.at, side, step.data, step.names)
            return
        pieces = [step.data[at : at + _SEGMENT_BYTES] for at in range(0, len(step.data), _SEGMENT_BYTES)]
        for number, piece in enumerate(pieces, 1):
            names = step.names if number == len(pieces) else ()
            yield self._tcp(step.at, side, _PSH | _ACK, piece, names)
            self._next[side] += len(piece)
            yield self._tcp(step.at, 1 - side, _ACK)

    def _end(self, at: float, side: int) -> Iterator[_Packet]:
        if self._link.is_datagram or self._has_ended[side]:
            return
        self._has_ended[side] = True
        yield self._tcp(at, side, _FIN | _ACK)
        self._next[side] += 1
        yield self._tcp(at, 1 - side, _ACK)

    def _tcp(self, at: float, side: int, flags: int, data: bytes = b"", comments: tuple[str, ...] = ()) -> _Packet:
        acknowledged = self._next[1 - side] & 0xFFFFFFFF if flags & _ACK else 0
        ports = self._ports[side], self._ports[1 - side]
        head = struct.pack("!HHIIBBH", *ports, self._next[side] & 0xFFFFFFFF, acknowledged, 5 << 4, flags, _WINDOW)
        total = self._checksum(side, _TCP, head + bytes(4) + data)
        return self._packet(at, side, _TCP, head + struct.pack("!HH", total, 0) + data, comments)

    def _udp(self, at: float, side: int, data: bytes, comments: tuple[str, ...]) -> _Packet:
        head = struct.pack("!HHH", self._ports[side], self._ports[1 - side], len(data) + 8)
        total = self._checksum(side, _UDP, head + bytes(2) + data) or 0xFFFF  # 0 would mean that there is none
        return self._packet(at, side, _UDP, head + struct.pack("!H", total) + data, comments)

    def _checksum(self, side: int, protocol: int, segment: bytes) -> int:
        source, destination = self._addresses[side].packed, self._addresses[1 - side].packed
        return internet_checksum(source + destination + struct.pack("!II", protocol, len(segment)) + segment)

    def _packet(self, at: float, side: int, protocol: int, segment: bytes, comments: tuple[str, ...]) -> _Packet:
        source, destination = self._addresses[side], self._addresses[1 - side]
        if isinstance(source, IPv4Address):
            self._identification = (self._identification + 1) & 0xFFFF
            size = 20 + len(segment)
            head = struct.pack("!BBHHHBB", 0x45, 0, size, self._identification, 0x4000, 64, protocol)
            places = source.packed + destination.packed
            head += struct.pack("!H", internet_checksum(head + bytes(2) + places)) + places
        else:
            head = struct.pack("!IHBB", 6 << 28, len(segment), protocol, 64) + source.packed + destination.packed
        kind = b"\x08\x00" if isinstance(source, IPv4Address) else b"\x86\xdd"
        return _Packet(at, _MACS[1 - side] + _MACS[side] + kind + head + segment, comments)


def _addresses(host: str) -> tuple[IPv4Address | IPv6Address, IPv4Address | IPv6Address]:
    """Our address, and that of the peer; a name stands for this machine."""
    try:
        theirs = ip_address(host.partition("%")[0])
    except ValueError:
        theirs = IPv4Address("127.0.0.1")
    if theirs.is_loopback or theirs.is_unspecified:
        loopback = IPv4Address("127.0.0.1") if isinstance(theirs, IPv4Address) else IPv6Address("::1")
        return loopback, loopback
    return (IPv4Address(_OURS_V4) if isinstance(theirs, IPv4Address) else IPv6Address(_OURS_V6)), theirs


def internet_checksum(data: bytes) -> int:
    """The checksum of the Internet protocols (RFC 1071)."""
    padded = data + bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
