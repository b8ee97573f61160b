"""Wrong FTP clients, as one program: `ftp_wrong_clients.py NAME PORT` is the one of that name for one conversation.

Each differs in one thing from `Client`, the right one.
"""

from __future__ import annotations

import re
import socket
import sys
from contextlib import closing, suppress

LIMIT_S = 10.0


class Refused(Exception):
    """The server has said no."""


class Client:
    """Looks around, brings a file and fetches one, whatever of that it is allowed to do; and says good bye."""

    end_of_line = "\r\n"

    def __init__(self, port: int) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self.replies = self.connection.makefile("r", newline="\r\n")

    def run(self) -> None:
        with self.connection:
            try:
                self.hear()
                self.log_in()
                self.work()
            except Refused:
                pass
            self.leave()

    def work(self) -> None:
        self.ask("TYPE I")
        with suppress(Refused):
            self.ask("PWD")
        with suppress(Refused):
            self.fetch("LIST")
        with suppress(Refused):
            self.bring("STOR copy.txt", b"One line.\r\n")
        with suppress(Refused):
            self.ask("CWD docs")
            self.fetch("RETR notes.txt")

    def log_in(self) -> None:
        self.ask("USER the_user")
        self.ask("PASS the_password")

    def ask(self, command: str) -> str:
        """What is said to a command."""
        self.connection.sendall(f"{command}{self.end_of_line}".encode())
        return self.hear()

    def hear(self) -> str:
        """A reply, to its last line: the first that begins with the number of the reply and a blank (RFC 959, 4.2)."""
        reply = line = self.replies.readline()
        while line[:4] != reply[:3] + " ":
            if not line:
                raise Refused
            line = self.replies.readline()
            reply += line
        if reply[:1] not in ("1", "2", "3"):
            raise Refused
        return reply

    def fetch(self, command: str) -> None:
        with closing(self.connected()) as data:
            self.ask(command)
            while data.recv(1024):
                pass
        self.hear()

    def bring(self, command: str, content: bytes) -> None:
        with closing(self.connected()) as data:
            self.ask(command)
            data.sendall(content)
        self.hear()

    def connected(self) -> socket.socket:
        """The data connection."""
        return socket.create_connection(("127.0.0.1", self.port()), timeout=LIMIT_S)

    def port(self) -> int:
        try:
            return self.extended_port()
        except Refused:
            return self.classic_port()

    def extended_port(self) -> int:
        return int(re.findall(r"\(\|\|\|(\d+)\|\)", self.ask("EPSV"))[0])

    def classic_port(self) -> int:
        high, low = re.findall(r"\(\d+,\d+,\d+,\d+,(\d+),(\d+)\)", self.ask("PASV"))[0]
        return int(high) * 256 + int(low)

    def leave(self) -> None:
        self.ask("QUIT")


class PasswordFirst(Client):
    """Says the password before it has said who it is."""

    def log_in(self) -> None:
        with suppress(Refused):
            self.ask("PASS the_password")
        super().log_in()


class GoesOnUnknown(Client):
    """Goes on when it was not let in."""

    def log_in(self) -> None:
        self.ask("USER the_user")
        with suppress(Refused):
            self.ask("PASS wrong")


class Guesses(Client):
    """Tries one password after the other."""

    def log_in(self) -> None:
        for password in ("123456", "secret", "password", "the_password"):
            self.ask("USER the_user")
            with suppress(Refused):
                self.ask(f"PASS {password}")


class NoPort(Client):
    """Asks for a file before it has asked for a port."""

    def fetch(self, command: str) -> None:
        self.ask(command)
        super().fetch(command)


class Careless(Client):
    """Does not look whether the data connection could be opened, which by itself is no mistake."""

    def connected(self) -> socket.socket:
        try:
            return super().connected()
        except (OSError, Refused):
            return socket.socketpair()[0]


class OldPort(Careless):
    """Uses a port twice."""

    known = 0

    def port(self) -> int:
        self.known = self.known or super().port()
        return self.known


class OtherPort(Careless):
    """Takes the bytes of the port in the wrong order."""

    def port(self) -> int:
        high, low = divmod(self.classic_port(), 256)
        return low * 256 + high


class NoFallback(Careless):
    """Goes on without a port if the server does not know EPSV."""

    def port(self) -> int:
        return self.extended_port()


class NeverEnds(Client):
    """Sends a file and keeps the data connection open, waiting for a word of the server."""

    def bring(self, command: str, content: bytes) -> None:
        with closing(self.connected()) as data:
            self.ask(command)
            data.sendall(content)
            self.hear()


class BareNewline(Client):
    """Ends its lines as they end in files."""

    end_of_line = "\n"


class AllAtOnce(Client):
    """Does not wait for the answer to USER before it says PASS."""

    def log_in(self) -> None:
        self.connection.sendall(b"USER the_user\r\nPASS the_password\r\n")
        self.hear()
        self.hear()


class TooSoon(Client):
    """Does not wait for the end of a transfer."""

    def fetch(self, command: str) -> None:
        with closing(self.connected()):
            self.ask(command)


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2])).run()
