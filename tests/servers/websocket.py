"""Echo servers of WebSocket, started for a test: of the package websockets, of Node.js, websocketd, and a small one."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from servers.common import free_port, greets, started
from servers.web import WebServer, web_server

HERE = Path(__file__).parent

# Debian's package of the library `ws` (node-ws).
NODE_WS = Path("/usr/share/nodejs/ws/package.json")
has_node_ws = pytest.mark.skipif(not NODE_WS.exists(), reason="missing: Debian's node-ws")

_NODE = """
module.paths.push("/usr/share/nodejs");
const {{ WebSocketServer }} = require("ws");
new WebSocketServer({{ host: "127.0.0.1", port: {port} }}).on("connection", (socket) => {{
    socket.on("error", () => {{}});
    socket.on("message", (data, isBinary) => socket.send(data, {{ binary: isBinary }}));
}});
"""


@dataclass(frozen=True)
class EchoServer:
    """A server on the loopback interface."""

    port: int


@contextmanager
def _started(command: Sequence[str], port: int) -> Iterator[EchoServer]:
    with (
        tempfile.TemporaryDirectory() as folder,
        started(command, is_ready=lambda: greets(port), log=Path(folder) / "log", cwd=folder),
    ):
        yield EchoServer(port)


def small() -> AbstractContextManager[WebServer]:
    return web_server(HERE / "websocket_small.py")


def websockets() -> AbstractContextManager[EchoServer]:
    """The asyncio server of the Python package websockets."""
    port = free_port()
    return _started([sys.executable, str(HERE / "websocket_websockets.py"), str(port)], port)


def node_ws() -> AbstractContextManager[EchoServer]:
    """The server of the Node.js package ws."""
    port = free_port()
    return _started(["node", "-e", _NODE.format(port=port)], port)


# It hands text on to a program, here line by line to `cat`, and does not look into it. It takes keys that are too
# short (RFC 6455, 4.2.1).
IS_TEXT = ("--set", "binary=false", "--set", "wrong_text=false", "--set", "short_key=false")


def websocketd() -> AbstractContextManager[EchoServer]:
    """The program websocketd, with `cat` behind it."""
    port = free_port()
    return _started(["websocketd", "--address=127.0.0.1", f"--port={port}", "cat"], port)


# Clients that say something, wait for the answer to it, and leave. The server may have left before.
_WEBSOCKETS = """
import sys
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
try:
    with connect(f"ws://127.0.0.1:{sys.argv[1]}/", compression=None) as connection:
        for message in ("palaver", b"\\x00\\xff", ["in ", "parts"], "y" * 70000):
            connection.send(message)
            connection.recv()
except ConnectionClosed:
    pass
"""
_WEBSOCKET_CLIENT = """
import sys, websocket
connection = websocket.create_connection(f"ws://127.0.0.1:{sys.argv[1]}/", timeout=20)
try:
    for message in ("palaver", "caf\\u00e9"):
        connection.send(message)
        if connection.recv_data()[0] == websocket.ABNF.OPCODE_CLOSE:  # `recv` gives "" for that and for empty text
            connection.shutdown()
            break
    else:
        connection.close()
except websocket.WebSocketConnectionClosedException:
    pass
"""
WEBSOCKETS = shlex.join([sys.executable, "-c", _WEBSOCKETS, "{port}"])
WEBSOCKET_CLIENT = shlex.join([sys.executable, "-c", _WEBSOCKET_CLIENT, "{port}"])
