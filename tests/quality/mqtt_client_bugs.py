"""Wrong clients of MQTT: what they send, and what that is found to be."""

from __future__ import annotations

from catalogue import WrongMessage

DISCONNECT = b"\xe0\x00"


def text(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


def packet(kind: int, body: bytes) -> bytes:
    return bytes((kind, len(body))) + body


def connect(flags: int = 2, *, protocol: bytes = b"\x00\x04MQTT\x04", more: bytes = b"") -> bytes:
    return packet(0x10, protocol + bytes((flags,)) + b"\x00\x3c" + text(b"wrong") + more)


def publish(kind: int = 0x30, *, topic: bytes = b"palaver/a", number: bytes = b"") -> bytes:
    return packet(kind, text(topic) + number + b"hello")


def subscribe(kind: int = 0x82, *, qos: int = 0) -> bytes:
    return packet(kind, b"\x00\x07" + text(b"palaver/+") + bytes((qos,)))


# It does not wait until it is accepted, and need not.
RIGHT = connect(0xC6, more=text(b"will") + text(b"gone") + text(b"user") + text(b"password")) + publish() + DISCONNECT

BUGS = (
    WrongMessage("a flag that is reserved", connect(3), "constraint violated"),
    WrongMessage("a password without a user", connect(0x42, more=text(b"password")), "constraint violated"),
    WrongMessage("a QoS of no will", connect(0x0A), "constraint violated"),
    WrongMessage("another protocol", connect(protocol=b"\x00\x06MQIsdp\x03"), "unexpected response"),
    WrongMessage("no connection", publish(), "unexpected response"),
    WrongMessage("two connections", connect() + connect(), "unexpected response"),
    WrongMessage("the packet 0", connect() + publish(0x32, number=b"\x00\x00"), "constraint violated"),
    WrongMessage("a wildcard", connect() + publish(topic=b"palaver/#"), "constraint violated"),
    WrongMessage("the QoS 3", connect() + publish(0x36, number=b"\x00\x01"), "unexpected response"),
    WrongMessage("a subscription with other flags", connect() + subscribe(0x80), "unexpected response"),
    WrongMessage("a subscription with the QoS 3", connect() + subscribe(qos=3), "unexpected response"),
    WrongMessage("a ping that is too long", connect() + b"\xc0\x01\x00", "unexpected response"),
)
