"""A server that adds: `python server.py PORT`. A request is `add 1 2`, and the answer `is 3`; `quit` ends it."""

import socketserver
import sys


class Adder(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            match line.decode().split():
                case ["add", first, second]:
                    self.wfile.write(f"is {add(int(first), int(second))}\n".encode())
                case _:
                    self.wfile.write(b"bye\n")
                    return


def add(first, second):
    total = (first + second) % 100
    return total


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    with Server(("127.0.0.1", int(sys.argv[1])), Adder) as server:
        server.serve_forever()
