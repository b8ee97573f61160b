"""A server that aborts some time after its third answer."""

import os
import socket
import sys
import time

count = 0
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        if not connection.recv(1000):
            continue
        count += 1
        connection.sendall(b"OK\n")
        connection.close()
        if count == 3:
            time.sleep(float(sys.argv[2]))
            os.abort()
