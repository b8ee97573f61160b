"""A server with two wrong answers: the second one comes from the fourth session on."""

import socket
import sys

count = 0
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        if not connection.recv(100):
            continue
        count += 1
        connection.sendall(b"ERR busy\n" if count < 4 else b"root:x:0:0: LEAKED SECRET\n")
        connection.close()
