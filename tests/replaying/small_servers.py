"""Small servers for `test_live_replay_and_shrinking.py`, each with a defect of its own: `small_servers.py NAME PORT`.

They need nothing that is installed, so that they start fast.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys

name, port = sys.argv[1], int(sys.argv[2])


class Server:
    """Answers `ok` to everything; `answer` is what others change."""

    def greeting(self) -> str:
        return "hello\n"

    def answer(self, line: str, earlier: list[str]) -> str:
        return "ok\n"

    def run(self) -> None:
        listening = socket.create_server(("127.0.0.1", port), reuse_port=False)
        while True:
            connection, _ = listening.accept()
            with connection, connection.makefile("rw", newline="\n") as stream:
                stream.write(self.greeting())
                stream.flush()
                earlier: list[str] = []
                for line in stream:
                    answer = "bye\n" if line.startswith("quit") else self.answer(line, earlier)
                    earlier.append(line)
                    stream.write(answer)
                    stream.flush()
                    if answer == "bye\n":
                        break


class Hangs(Server):
    """Never answers a `get b` after a note, nor anybody else from then on."""

    def answer(self, line: str, earlier: list[str]) -> str:
        if line == "get b\n" and any(each.startswith("note ") for each in earlier):
            socket.create_server(("127.0.0.1", 0)).accept()
        return "ok\n"


class Wrong(Server):
    def answer(self, line: str, earlier: list[str]) -> str:
        return "perhaps\n" if line == "get c\n" else "ok\n"


class Raises(Server):
    def answer(self, line: str, earlier: list[str]) -> str:
        return "ok\n" if line != "get c\n" else str(1 / 0)


class Sometimes(Server):
    """Is wrong about a `get a` in two of three processes; it counts them in a file."""

    def run(self) -> None:
        with open("count", "a+") as file:
            file.write("x")
            file.flush()
            self.is_wrong = os.path.getsize("count") % 3 != 0
        super().run()

    def answer(self, line: str, earlier: list[str]) -> str:
        return "perhaps\n" if self.is_wrong and line == "get a\n" else "ok\n"


class Tires(Raises):
    """Starts six times, which it counts in a file, and never again."""

    def run(self) -> None:
        with open("count", "a+") as file:
            file.write("x")
            file.flush()
            if os.path.getsize("count") <= 6:
                super().run()


class Remembers(Server):
    """Is wrong about a `get a` once anybody has said a `put a` and gone."""

    has_gone = False

    def greeting(self) -> str:
        self.is_wrong = self.has_gone
        return super().greeting()

    def answer(self, line: str, earlier: list[str]) -> str:
        self.has_gone = self.has_gone or line.startswith("put a ")
        return "perhaps\n" if self.is_wrong and line == "get a\n" else "ok\n"


class Asks(Server):
    """Gives a ticket, takes it back with a name, and has no name for others."""

    def greeting(self) -> str:
        self.ticket = secrets.token_hex(20)
        return f"ticket {self.ticket}\n"

    def answer(self, line: str, earlier: list[str]) -> str:
        return "perhaps\n" if line.startswith(f"take {self.ticket} ") else "ok\n"


def client() -> None:
    """Says something that is no note."""
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw", newline="\n") as stream:
        stream.readline()
        stream.write("nope\n")
        stream.flush()
        stream.readline()


SERVERS = {
    "asks": Asks,
    "right": Server,
    "hangs": Hangs,
    "raises": Raises,
    "wrong": Wrong,
    "sometimes": Sometimes,
    "remembers": Remembers,
    "tires": Tires,
}
client() if name == "client" else SERVERS[name]().run()
