"""A client that sends one message and then listens until it is left: `sender.py udp|tcp HEX PORT`."""

from __future__ import annotations

import socket
import sys

if __name__ == "__main__":
    protocol, sent, port = sys.argv[1:]
    kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as connection:
        connection.settimeout(2)
        connection.connect(("127.0.0.1", int(port)))
        connection.sendall(bytes.fromhex(sent))
        if protocol == "tcp":
            connection.shutdown(socket.SHUT_WR)
        try:
            while connection.recv(65536):
                pass
        except OSError:
            pass
