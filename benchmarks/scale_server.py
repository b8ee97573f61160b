"""Fast servers for `scale.py`: `scale_server.py echo|mail` prints its port, and serves until its input ends.

`echo` sends back datagrams; `mail` is the mail server of the demo, without its threads.
"""

from __future__ import annotations

import selectors
import socket
import sys
from collections.abc import Callable

from palaver.demo.server import MailSession

Ready = Callable[[], None]


class Server:
    """Sockets and what is done when something comes."""

    def __init__(self) -> None:
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(sys.stdin, selectors.EVENT_READ, None)

    def add(self, connection: socket.socket, ready: Ready) -> None:
        self._waiting.register(connection, selectors.EVENT_READ, ready)

    def remove(self, connection: socket.socket) -> None:
        self._waiting.unregister(connection)
        connection.close()

    def serve(self) -> None:
        while True:
            for key, _ in self._waiting.select():
                if key.data is None:
                    return
                key.data()


def echo(server: Server) -> int:
    serving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    serving.bind(("127.0.0.1", 0))
    server.add(serving, lambda: serving.sendto(*serving.recvfrom(65536)) and None)
    return int(serving.getsockname()[1])


def mail(server: Server) -> int:
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    server.add(listening, lambda: MailConnection(server, listening.accept()[0]).greet())
    return int(listening.getsockname()[1])


class MailConnection:
    def __init__(self, server: Server, connection: socket.socket) -> None:
        self._server, self._connection = server, connection
        self._session = MailSession()
        self._unread = b""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.add(connection, self._read)

    def greet(self) -> None:
        self._connection.sendall(self._session.greet().encode())

    def _read(self) -> None:
        try:
            received = self._connection.recv(65536)
            *lines, self._unread = (self._unread + received).split(b"\n")
            answers = [self._session.hear(line.decode("latin-1").rstrip("\r")) for line in lines]
            self._connection.sendall("".join(answers).encode("latin-1"))
        except OSError:
            received = b""  # the client did not wait
        if not received or self._session.is_over:
            self._server.remove(self._connection)


def main() -> None:
    server = Server()
    print({"echo": echo, "mail": mail}[sys.argv[1]](server), flush=True)
    server.serve()


main()
