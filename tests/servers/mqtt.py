"""Brokers of MQTT: mosquitto, and a small one."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from servers.common import PLACES, free_port, greets, started
from servers.web import WebServer, web_server

HERE = Path(__file__).parent
SMALL = HERE / "mqtt_small.py"

# A client that publishes, subscribes, and waits for what it has subscribed to.
_PAHO = """
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
PAHO = shlex.join([sys.executable, "-c", _PAHO, "{port}"])

needs_mosquitto = pytest.mark.servers("mosquitto")


@contextmanager
def mosquitto() -> Iterator[WebServer]:
    """Without a configuration: it serves the loopback interface, and anybody."""
    with tempfile.TemporaryDirectory(prefix="mosquitto") as name:
        port = free_port()
        command = [shutil.which("mosquitto", path=PLACES) or "mosquitto", "-p", str(port)]
        with started(command, is_ready=partial(greets, port), log=Path(name) / "log"):
            yield WebServer(port)


@contextmanager
def small() -> Iterator[WebServer]:
    """The one that is made wrong elsewhere."""
    with web_server(SMALL) as server:
        yield server
