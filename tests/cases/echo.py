"""Answers `ASK word` with `SAY word`, and `QUIT` with `BYE`; argument: the port."""

import socketserver
import sys


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(b"BYE\n" if line == b"QUIT\n" else b"SAY " + line[4:])


socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
