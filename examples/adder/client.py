"""The client of the server."""

import socket


def add(port, first, second):
    """The sum of two numbers, as the server at a port knows it."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        file = connection.makefile("rwb")
        file.write(f"add {first} {second}\n".encode())
        file.flush()
        answer = file.readline()
        file.write(b"quit\n")
        file.flush()
        file.readline()
        return int(answer.split()[1])
