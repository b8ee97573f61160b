"""Small servers that are made of classes, all in one program: it prints the name and the port of each, and `ready`.

A class of sessions over a stream has `greet` and `hear`: bytes go in as they come, bytes come out, and `is_over` tells
that the server closes the connection. So a wrong server is a subclass of the right one, in which a method is different.
A class of sessions by datagrams has `hear` only, and gets what all sessions of its server share.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Protocol


class StreamSession(Protocol):
    """The server's side of one connection."""

    is_over: bool

    def greet(self) -> bytes: ...

    def hear(self, data: bytes) -> bytes: ...


class DatagramSession(Protocol):
    """The server's side of what one address says: each datagram is answered by some."""

    is_over: bool

    def __init__(self, shared: dict[bytes, bytes]) -> None: ...

    def hear(self, data: bytes) -> list[bytes]: ...


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def stream_server(kind: type[StreamSession]) -> ThreadingTCPServer:
    """Such a server at a free port of the loopback interface."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            connection: socket.socket = self.request
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            session = kind()
            with suppress(OSError):  # the client is gone, and may be
                connection.sendall(session.greet())
                while not session.is_over and (data := connection.recv(65536)):
                    connection.sendall(session.hear(data))

    return _Server(("127.0.0.1", 0), Handler)


def serve_streams(kinds: Sequence[type[StreamSession]]) -> None:
    """Serve all of them until the program is ended."""
    threads = []
    for kind in kinds:
        server = stream_server(kind)
        # The port alone if there is one server only, as for other programs that serve.
        print(*([kind.__name__] if len(kinds) > 1 else []), server.server_address[1])
        threads.append(Thread(target=server.serve_forever))
        threads[-1].start()
    print("ready", flush=True)
    # The servers start a thread for each session, and may not do so while Python shuts down.
    for thread in threads:
        thread.join()


def serve_datagrams(kinds: Sequence[type[DatagramSession]], *, fresh_ports: bool = False) -> None:
    """The same for datagrams; with fresh ports, each session is answered from a port of its own, as in TFTP.

    If the program is given the name and the port of one, it serves that alone.
    """
    name, port = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) == 3 else ("", 0)
    threads = []
    for kind in [kind for kind in kinds if name in ("", kind.__name__)]:
        listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listening.bind(("127.0.0.1", port))
        print(*([kind.__name__] if len(kinds) > 1 else []), listening.getsockname()[1])
        serve = _serve_callers if fresh_ports else _serve_addresses
        threads.append(Thread(target=serve, args=(kind, listening)))
        threads[-1].start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


def _serve_addresses(kind: type[DatagramSession], listening: socket.socket) -> None:
    sessions: dict[tuple[str, int], DatagramSession] = {}
    shared: dict[bytes, bytes] = {}
    while True:
        data, caller = listening.recvfrom(65536)
        session = sessions.setdefault(caller, kind(shared))
        for answer in session.hear(data):
            listening.sendto(answer, caller)
        if session.is_over:
            del sessions[caller]


def _serve_callers(kind: type[DatagramSession], listening: socket.socket) -> None:
    shared: dict[bytes, bytes] = {}
    while True:
        data, caller = listening.recvfrom(65536)
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        own.bind(("127.0.0.1", 0))
        own.connect(caller)
        own.settimeout(5.0)
        Thread(target=_serve_caller, args=(kind(shared), own, data), daemon=True).start()


def _serve_caller(session: DatagramSession, own: socket.socket, data: bytes) -> None:
    with own, suppress(OSError):  # the caller is gone, and may be
        while True:
            for answer in session.hear(data):
                own.send(answer)
            if session.is_over:
                return
            data = own.recv(65536)


@contextmanager
def ports_of(program: Path, folder: Path) -> Iterator[dict[str, str]]:
    """Where the servers of a program are, by their names, while it runs."""
    from servers.common import started  # pytest and more, which the servers themselves do not need

    log = folder / "log"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    ready = lambda: "ready" in log.read_text()  # noqa: E731
    with started([sys.executable, str(program)], is_ready=ready, log=log, env=environment):
        yield dict(re.findall(r"^(\w+) (\d+)$", log.read_text(), re.MULTILINE))
