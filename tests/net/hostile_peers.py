"""Servers on loopback that misbehave, each a function of a connection that was accepted."""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Peer: TypeAlias = Callable[[socket.socket], None]

OSC = b"\x1b]52;c;cm0gLXJmIH4=\x07\x1b[2J\x9b31m\r"


@contextmanager
def serving(peer: Peer) -> Iterator[int]:
    """A server whose connections are all given to the peer; its port."""
    ended = threading.Event()
    open_sockets: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:

        def hold(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                peer(connection)

        def accept() -> None:
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    connection, _ = server.accept()
                    open_sockets.append(connection)
                    threading.Thread(target=hold, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            ended.set()
            for held in open_sockets:
                with contextlib.suppress(OSError):
                    held.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def until_closed(connection: socket.socket) -> None:
    """Read until the client has gone."""
    while connection.recv(65536):
        pass


def asked(connection: socket.socket) -> bytes:
    """Read what is there."""
    return connection.recv(65536)


def says(*pieces: bytes) -> Peer:
    """Send this when asked, then nothing."""

    def peer(connection: socket.socket) -> None:
        asked(connection)
        for piece in pieces:
            connection.sendall(piece)
        until_closed(connection)

    return peer


def endlessly(data: bytes, begin: bytes = b"") -> Peer:
    """Send this when asked, again and again."""

    def peer(connection: socket.socket) -> None:
        asked(connection)
        connection.sendall(begin)
        while True:
            connection.sendall(data)

    return peer


def drips(data: bytes, every: float, begin: bytes = b"") -> Peer:
    """Send byte after byte, one `every` so many seconds, for ever."""

    def peer(connection: socket.socket) -> None:
        asked(connection)
        connection.sendall(begin)
        pause = threading.Event()
        for byte in itertools.cycle(data):
            pause.wait(every)
            connection.sendall(bytes([byte]))

    return peer


def unasked(data: bytes) -> Peer:
    """Send this at once."""

    def peer(connection: socket.socket) -> None:
        connection.sendall(data)
        until_closed(connection)

    return peer


def closes(after: bytes = b"") -> Peer:
    def peer(connection: socket.socket) -> None:
        asked(connection)
        connection.sendall(after)

    return peer


def resets(after: bytes = b"") -> Peer:
    def peer(connection: socket.socket) -> None:
        asked(connection)
        connection.sendall(after)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return peer


def half_closes(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_WR)
    until_closed(connection)


def never_reads(connection: socket.socket) -> None:
    threading.Event().wait()


# --- TLS --------------------------------------------------------------------------------------------------------------

# A record of TLS 1.2 with a handshake message of type 0 and without content.
HELLO_REQUEST = b"\x16\x03\x03\x00\x04\x00\x00\x00\x00"


def encrypted(certificate: str, peer: Peer) -> Peer:
    """The peer behind a good handshake."""

    def hold(connection: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with context.wrap_socket(connection, server_side=True) as channel:
            peer(channel)

    return hold


def breaks_encryption(certificate: str, data: bytes, *, for_ever: bool = False) -> Peer:
    """After a good handshake, send this past the encryption."""

    def hold(connection: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        library = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                library.do_handshake()
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(65536))
            else:
                break
        connection.sendall(outgoing.read())
        connection.sendall(data)
        while for_ever:
            connection.sendall(data)
        until_closed(connection)

    return hold


# --- datagrams --------------------------------------------------------------------------------------------------------


@contextmanager
def serving_datagrams(answer: Callable[[socket.socket, socket.socket, tuple[str, int]], None]) -> Iterator[int]:
    """A server for datagrams; `answer` gets its socket, that of a stranger, and the address of each client."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        server.bind(("127.0.0.1", 0))
        stranger.bind(("127.0.0.1", 0))
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    _, client = server.recvfrom(65535)
                    answer(server, stranger, client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = server.getsockname()[1]
        try:
            yield port
        finally:
            ended.set()
            stranger.sendto(b"", ("127.0.0.1", port))
            thread.join(10)


def answers_from_elsewhere(_: socket.socket, stranger: socket.socket, client: tuple[str, int]) -> None:
    stranger.sendto(b"OK\n", client)


def answers_in_a_flood(server: socket.socket, stranger: socket.socket, client: tuple[str, int]) -> None:
    """A thousand datagrams of a stranger, and the answer among them."""
    for number in range(1000):
        stranger.sendto(b"NO\n" * 100, client)
        if number == 500:
            server.sendto(b"OK\n", client)


def answers_without_end(server: socket.socket, _: socket.socket, client: tuple[str, int]) -> None:
    for _count in range(1000):
        server.sendto(b"OK\n", client)


def answers_in_large(server: socket.socket, _: socket.socket, client: tuple[str, int]) -> None:
    server.sendto(b"\xff" * 65000, client)
