"""A server to be tested. It says back what it is told, and does as it is told in some other ways."""

import os
import signal
import socket
import subprocess
import sys


def main() -> None:
    kind, port = sys.argv[1], int(sys.argv[2])
    if kind == "udp":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as endpoint:
            endpoint.bind(("127.0.0.1", port))
            while True:
                data, sender = endpoint.recvfrom(100)
                endpoint.sendto(data, sender)
    with socket.create_server(("127.0.0.1", port)) as server:
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            with connection:
                serve(connection, server)


def serve(connection: socket.socket, server: socket.socket) -> None:
    while data := connection.recv(100):
        match data.decode().split():
            case ["crash"]:
                print("about to crash", flush=True)
                os.kill(os.getpid(), signal.SIGSEGV)
            case ["exit", code]:
                print(f"about to exit with {code}", file=sys.stderr, flush=True)
                sys.exit(int(code))
            case ["chat", count]:
                print("blah " * int(count), flush=True)
                connection.sendall(b"done")
            case ["hush"]:
                sys.stdout.close()
                os.close(1)
                os.close(2)
                connection.sendall(b"quiet")
            case ["child"]:
                # One that holds the port.
                child = subprocess.Popen(["sleep", "60"], pass_fds=[server.fileno()])
                connection.sendall(str(child.pid).encode())
            case ["pid"]:
                connection.sendall(str(os.getpid()).encode())
            case _:
                connection.sendall(data)


main()
