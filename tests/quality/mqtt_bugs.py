"""Wrong brokers of MQTT: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Broker`, the right one, in
one thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

from catalogue import Bug

from servers.mqtt_small import Broker, Connection


class PlusIsAll(Broker):
    """Lets + stand for any number of levels."""

    def matches(self, name: bytes, topic: bytes) -> bool:
        return super().matches(name.replace(b"/+", b"/#") if name.endswith(b"/+") else name, topic)


class NotItsParent(Broker):
    """Forgets that # matches the level above it, too."""

    def matches(self, name: bytes, topic: bytes) -> bool:
        return super().matches(name, topic) and not (name.endswith(b"/#") and topic == name[:-2])


class AnyPrefix(Broker):
    """Compares the letters before #, and no levels."""

    def matches(self, name: bytes, topic: bytes) -> bool:
        return topic.startswith(name[:-2]) if name.endswith(b"/#") else super().matches(name, topic)


class RetainedIsOld(Broker):
    """Forgets to tell that a message was retained."""

    def deliver(self, client: Connection, topic: bytes, payload: bytes, qos: int, *, retained: bool) -> None:
        super().deliver(client, topic, payload, qos, retained=False)


class NeverForgets(Broker):
    """Keeps a retained message when it is told to forget it."""

    def retain(self, topic: bytes, payload: bytes, qos: int) -> None:
        if payload:
            super().retain(topic, payload, qos)


class AlwaysOnce(Broker):
    """Delivers with the QoS of the subscription, even if the message has a lower one."""

    def deliver(self, client: Connection, topic: bytes, payload: bytes, qos: int, *, retained: bool) -> None:
        super().deliver(client, topic, payload, max(client.subscriptions.values()), retained=retained)


class NeverLowers(Broker):
    """Delivers with QoS 1 to who has asked for 0."""

    def deliver(self, client: Connection, topic: bytes, payload: bytes, qos: int, *, retained: bool) -> None:
        super().deliver(client, topic, payload, 1 if qos == 0 and len(payload) > 1 else qos, retained=retained)


class ZeroIsNumber(Broker):
    """Begins to count its packets at 0."""

    def new_id(self, client: Connection) -> int:
        return super().new_id(client) - 1


class OneAcknowledgement(Broker):
    """Acknowledges all packets as number 1."""

    def acknowledge(self, client: Connection, packet_id: bytes) -> None:
        super().acknowledge(client, b"\0\1")


class DeliversTwice(Broker):
    """Delivers once for each letter of a message that is a single one, and once more."""

    def deliver(self, client: Connection, topic: bytes, payload: bytes, qos: int, *, retained: bool) -> None:
        for _ in range(2 if payload == b"x" else 1):
            super().deliver(client, topic, payload, qos, retained=retained)


class StaysSubscribed(Broker):
    """Answers who unsubscribes, and goes on."""

    def unsubscribe(self, client: Connection, flags: int, body: bytes) -> None:
        client.send(0xB0, body[:2])


class AnyFlags(Broker):
    """Does not look at flags that are reserved."""

    def check_flags(self, flags: int) -> None:
        pass


BUGS = (
    Bug("PlusIsAll", 25, "out of turn"),
    Bug("NotItsParent", 25, "no response"),
    Bug("AnyPrefix", 10, "out of turn"),
    Bug("RetainedIsOld", 5, "unexpected response"),
    Bug("NeverForgets", 10, "out of turn"),
    Bug("AlwaysOnce", 15, "unexpected response"),
    Bug("NeverLowers", 15, "unexpected response"),
    Bug("ZeroIsNumber", 5, "constraint violated"),
    Bug("OneAcknowledgement", 3, "constraint violated"),
    Bug("DeliversTwice", 15, "out of turn"),
    Bug("StaysSubscribed", 10, "out of turn"),
    Bug("AnyFlags", 25, "out of turn"),
)


if __name__ == "__main__":
    from servers.mqtt_small import serve_brokers

    serve_brokers([Broker, *Broker.__subclasses__()])
