"""A server that answers rightly, and writes the report of a sanitizer that does not end it."""

import socket
import sys

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        connection.recv(100)
        print("parse.c:12:3: runtime error: signed integer overflow", file=sys.stderr, flush=True)
        connection.sendall(b"OK\n")
        connection.close()
