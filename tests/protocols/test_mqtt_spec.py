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

# A client that publishes, subscribes, and waits for what it has subscribed to.
PAHO = """
import sys, threading
import paho.mqtt.client as mqtt
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv311)
connected, heard = threading.Event(), threading.Event()
client.on_connect = lambda *_: connected.set()
client.on_message = lambda *_: heard.set()
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_start()
assert connected.wait(20)
client.publish("palaver/a", b"hello", qos=0)
client.publish("palaver/a", b"hello", qos=1).wait_for_publish(20)
client.subscribe("palaver/+", qos=1)
assert heard.wait(20)
client.disconnect()
client.loop_stop()
"""
CLIENTS = {
    "paho": shlex.join([sys.executable, "-c", PAHO, "{port}"]),
    "mosquitto_pub": "mosquitto_pub -p {port} -q 1 -r -t palaver/a -m hello --will-topic palaver/w --will-payload gone",
    "mosquitto_sub": "mosquitto_sub -p {port} -q 1 -t palaver/# -C 1",
}


def talk(palaver: Any, port: int, sessions: int) -> Any:
    return palaver("talk", "mqtt", "--client", str(port), "-n", str(sessions), "--unguided", "--seed", "1")


@pytest.mark.parametrize(("name", "paths"), [("mqtt", "1165 5-paths"), ("mqtt_clients", "534 5-paths")])
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
