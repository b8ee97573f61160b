"""A server that leaves some connections without an answer: `once` the second one, `hung` all from the second on."""

import socket
import sys

count = 0
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    kept = []
    while True:
        connection, _ = server.accept()
        if not connection.recv(100):
            continue
        count += 1
        if count == 2 or (count > 2 and sys.argv[2] == "hung"):
            kept.append(connection)
            continue
        connection.sendall(b"OK\n")
        connection.close()
