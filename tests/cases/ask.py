"""A server that crashes in two ways, depending on the first letter of the word."""

import os
import signal
import socket
import sys

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        data = connection.recv(1000)
        letter = data[4:5]
        if letter < b"i":
            print("AssertionError: harmless", flush=True)
            sys.exit(1)
        if letter < b"q":
            print("==1==ERROR: AddressSanitizer: heap-buffer-overflow WRITE in parse() input", data, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        connection.sendall(b"OK\n")
        connection.close()
