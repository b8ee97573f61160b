"""The specs of MQTT against brokers, and as the broker of real clients."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers import mqtt
from servers.mqtt import needs_mosquitto

SPECS = Path(library.__file__).parent / "specs"

# A client that does not wait until it is accepted (MQTT 3.1.1, 3.1.4).
HASTY = """
import socket, sys
def text(data): return len(data).to_bytes(2, "big") + data
def packet(kind, body): return bytes((kind, len(body))) + body
def kept(number): return packet(0x32, text(b"palaver/a") + bytes((0, number)) + b"hello")
port, mode = sys.argv[1:]
connect = packet(0x10, b"\\0\\4MQTT\\4\\2\\0\\x3c" + text(b"hasty"))
news = packet(0x30, text(b"palaver/a") + b"hello")
wish = packet(0x82, b"\\0\\7" + text(b"palaver/+") + b"\\0")
accepted, first, second = b"\\x20\\2\\0\\0", b"\\x40\\2\\0\\5", b"\\x40\\2\\0\\6"
sent, due = {
    "news": (news, accepted),
    "kept": (news + kept(5) + news, accepted + first),
    "both": (kept(5) + kept(6), accepted + first + second),
    "wish": (wish, accepted + b"\\x90\\3\\0\\7\\0\\x30"),
    "gone": (news, b""),
}[mode]
with socket.create_connection(("127.0.0.1", int(port)), 20) as connection, connection.makefile("rb") as answers:
    connection.sendall(connect + sent + (b"" if due else b"\\xe0\\0"))
    assert answers.read(len(due)) == due
    if due:
        connection.sendall(b"\\xe0\\0")
"""
# A client that leaves, or does something else, when the first delivery with QoS 1 comes.
LEAVING = """
import socket, sys
port, mode = sys.argv[1:]
with socket.create_connection(("127.0.0.1", int(port)), 20) as connection, connection.makefile("rb") as packets:
    connection.sendall(b"\\x10\\x0d\\0\\4MQTT\\4\\2\\0\\x3c\\0\\1a")
    assert packets.read(4)[0] == 0x20
    connection.sendall(b"\\x82\\6\\0\\1\\0\\1t\\1")
    assert packets.read(5)[0] == 0x90
    while True:
        kind, length = packets.read(2)
        if length > 127:
            length += 128 * (packets.read(1)[0] - 1)
        packets.read(length)
        if kind & 0xf6 == 0x32:
            break
    if mode != "close":
        connection.sendall({"leave": b"\\xe0\\0", "news": b"\\x30\\4\\0\\1tx\\xe0\\0"}[mode])
"""
CLIENTS = {
    "paho": mqtt.PAHO,
    "mosquitto_pub": "mosquitto_pub -p {port} -q 1 -r -t palaver/a -m hello --will-topic palaver/w --will-payload gone",
    "mosquitto_sub": "mosquitto_sub -p {port} -q 1 -t palaver/# -C 1",
}


def talk(palaver: Any, port: int, sessions: int) -> Any:
    return palaver("talk", "mqtt", "--client", str(port), "-n", str(sessions), "--unguided", "--seed", "1")


@pytest.mark.parametrize(("name", "paths"), [("mqtt", "1165 5-paths"), ("mqtt_clients", "1361 5-paths")])
def test_the_spec_is_without_objections(palaver: Any, name: str, paths: str) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPECS / f"{name}.fan"))
    assert (checked.code, checked.said) == (0, "")
    assert paths in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Broker")])
def test_conversations_are_made_up(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", "mqtt", "-n", "2", "--seed", "1", *(only or ["--validate"]))
    assert (made.code, made.said) == (0, "")


def test_a_small_broker_is_talked_to_without_findings(palaver: Any) -> None:
    with mqtt.small() as server:
        talked = talk(palaver, server.port, 3)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_mosquitto
def test_mosquitto_is_talked_to_without_findings(palaver: Any) -> None:
    with mqtt.mosquitto() as server:
        talked = talk(palaver, server.port, 20)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize(
    "name", ["paho", *(pytest.param(name, marks=pytest.mark.servers(name)) for name in CLIENTS if name != "paho")]
)
def test_a_real_client_talks_to_a_broker_of_the_spec(palaver: Any, name: str) -> None:
    where = ("--server", "Broker={port}", "--target", CLIENTS[name])
    talked = palaver("talk", "mqtt_clients", *where, "-n", "3", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize("mode", ["news", "kept", "both", "wish", "gone"])
def test_a_client_need_not_wait_until_it_is_accepted(palaver: Any, mode: str) -> None:
    client = shlex.join([sys.executable, "-c", HASTY, "{port}", mode])
    talked = palaver("talk", "mqtt_clients", "--server", "Broker={port}", "--target", client, "-n", "2", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize(("mode", "code"), [("leave", 0), ("close", 0), ("news", 4)])
def test_a_client_may_leave_while_a_delivery_is_on_its_way(palaver: Any, mode: str, code: int) -> None:
    """It may leave without an acknowledgement (MQTT 3.1.1, 3.14 and 4.4).

    Other news of it may have crossed the delivery, so they accuse nobody.
    """
    client = shlex.join([sys.executable, "-c", LEAVING, "{port}", mode])
    talked = palaver("talk", "mqtt_clients", "--server", "Broker={port}", "--target", client, "-n", "2", "--seed", "1")
    assert talked.code == code, talked.text + talked.said
