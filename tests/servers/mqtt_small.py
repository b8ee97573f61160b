"""A broker of MQTT 3.1.1 in a few lines, to be made wrong: `mqtt_small.py` prints its port, and serves it."""

from __future__ import annotations

import socket
from contextlib import suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Lock, Thread


class Violation(Exception):
    """The client has broken a rule, and its connection is closed."""


def varint(number: int) -> bytes:
    data = b""
    while number > 127:
        data += bytes([number % 128 + 128])
        number //= 128
    return data + bytes([number])


def text(value: bytes) -> bytes:
    return len(value).to_bytes(2, "big") + value


def taken(body: bytes) -> tuple[bytes, bytes]:
    """The text that a body begins with, and what follows it."""
    length = int.from_bytes(body[:2], "big")
    return body[2 : 2 + length], body[2 + length :]


class Connection:
    """A client of the broker: where its packets go, and what it has subscribed to."""

    def __init__(self, peer: socket.socket) -> None:
        self.peer = peer
        self.is_known = False
        self.subscriptions: dict[bytes, int] = {}
        self.last_id = 0

    def send(self, first: int, body: bytes = b"") -> None:
        with suppress(OSError):  # it may be gone
            self.peer.sendall(bytes([first]) + varint(len(body)) + body)


class Broker:
    """Everything that clients share. A kind of packet is a method."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.retained: dict[bytes, tuple[bytes, int]] = {}

    def hear(self, client: Connection, first: int, body: bytes) -> None:
        kind, flags = first >> 4, first & 15
        if client.is_known == (kind == 1):
            raise Violation("the first packet is a CONNECT, and no other")
        handlers = {1: self.connect, 3: self.publish, 4: self.puback, 8: self.subscribe, 10: self.unsubscribe}
        if kind == 12:
            client.send(0xD0)
        elif kind == 14:
            raise Violation("it leaves, which is none")
        elif kind in handlers:
            handlers[kind](client, flags, body)
        else:
            raise Violation("no such packet")

    def connect(self, client: Connection, flags: int, body: bytes) -> None:
        client.is_known = True
        self.connections.append(client)
        client.send(0x20, b"\0\0")

    def puback(self, client: Connection, flags: int, body: bytes) -> None:
        pass

    def publish(self, client: Connection, flags: int, body: bytes) -> None:
        topic, rest = taken(body)
        qos = flags >> 1 & 3
        if qos:
            self.acknowledge(client, rest[:2])
            rest = rest[2:]
        if flags & 1:
            self.retain(topic, rest, qos)
        for each in list(self.connections):
            granted = [self.granted(asked) for name, asked in each.subscriptions.items() if self.matches(name, topic)]
            if granted:
                self.deliver(each, topic, rest, min(qos, max(granted)), retained=False)

    def acknowledge(self, client: Connection, packet_id: bytes) -> None:
        client.send(0x40, packet_id)

    def retain(self, topic: bytes, payload: bytes, qos: int) -> None:
        self.retained[topic] = (payload, qos)
        if not payload:
            del self.retained[topic]

    def deliver(self, client: Connection, topic: bytes, payload: bytes, qos: int, *, retained: bool) -> None:
        packet_id = b""
        if qos:
            packet_id = self.new_id(client).to_bytes(2, "big")
        client.send(0x30 | qos << 1 | retained, text(topic) + packet_id + payload)

    def new_id(self, client: Connection) -> int:
        client.last_id += 1
        return client.last_id

    def granted(self, asked: int) -> int:
        return asked

    def subscribe(self, client: Connection, flags: int, body: bytes) -> None:
        packet_id, body = body[:2], body[2:]
        self.check_flags(flags)
        if not body:
            raise Violation("nothing is subscribed to")
        name, rest = taken(body)
        qos = rest[0]
        if qos > 2:
            raise Violation("no such QoS")
        client.subscriptions[name] = qos
        client.send(0x90, packet_id + bytes([self.granted(qos)]))
        for topic, (payload, old) in self.retained.items():
            if self.matches(name, topic):
                self.deliver(client, topic, payload, min(old, self.granted(qos)), retained=True)

    def check_flags(self, flags: int) -> None:
        if flags != 2:
            raise Violation("reserved flags")

    def unsubscribe(self, client: Connection, flags: int, body: bytes) -> None:
        client.subscriptions.pop(taken(body[2:])[0], None)
        client.send(0xB0, body[:2])

    def matches(self, name: bytes, topic: bytes) -> bool:
        levels, wanted = topic.split(b"/"), name.split(b"/")
        if wanted[-1] == b"#":
            wanted.pop()
            levels = levels[: len(wanted)]
        return len(levels) == len(wanted) and all(b in (a, b"+") for a, b in zip(levels, wanted, strict=True))


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def broker_server(kind: type[Broker]) -> ThreadingTCPServer:
    """Such a broker at a free port of the loopback interface."""
    broker, lock = kind(), Lock()

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = Connection(self.request)
            with suppress(OSError, Violation, IndexError):
                while True:
                    first, body = _packet(self.request)
                    with lock:
                        broker.hear(client, first, body)
            if client in broker.connections:
                broker.connections.remove(client)

    return _Server(("127.0.0.1", 0), Handler)


def _packet(peer: socket.socket) -> tuple[int, bytes]:
    first = _exactly(peer, 1)[0]
    length = shift = 0
    while True:
        byte = _exactly(peer, 1)[0]
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return first, _exactly(peer, length)


def _exactly(peer: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = peer.recv(length - len(data))
        if not piece:
            raise Violation("the connection has ended")
        data += piece
    return data


def serve_brokers(kinds: list[type[Broker]]) -> None:
    """Serve all of them until the program is ended; the port alone is printed if there is one only."""
    threads = []
    for kind in kinds:
        server = broker_server(kind)
        print(*([kind.__name__] if len(kinds) > 1 else []), server.server_address[1])
        threads.append(Thread(target=server.serve_forever))
        threads[-1].start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    serve_brokers([Broker])
