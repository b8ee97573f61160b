"""A server that forks for each connection, and whose child has an error that a sanitizer reports."""

import os
import socket
import sys

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        child = os.fork()
        if child == 0:
            connection.recv(100)
            print("==99==ERROR: AddressSanitizer: stack-buffer-overflow in handle()", file=sys.stderr, flush=True)
            os.abort()
        connection.close()
        os.waitpid(child, 0)
