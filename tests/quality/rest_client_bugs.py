"""Wrong clients of the quotes API: what is wrong with them, and within how many sessions that is found.

As a program, `rest_client_bugs.py NAME PORT` is the client of that name for one conversation. Each differs from
`Client`, the right one, in one thing. A bug more is a class, and a row in the table at the end. Nothing of palaver is
imported, because this program is started for each conversation.
"""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

from catalogue import Bug


class Client:
    """Lists quotes, makes mistakes, adds a quote, and looks after it."""

    post = "POST"
    version = "HTTP/1.1"
    most = 10
    text = 'A "quoted" word'

    def __init__(self, port: int) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.answers = self.connection.makefile("rb")

    def run(self) -> None:
        with self.connection:
            for number in (1, self.most):
                self.ask("GET", f"/quotes?limit={number}")
            self.ask("GET", "/quotes?limit=ten")
            self.ask("POST", "/quotes", "{}")
            self.ask("GET", "/none")
            self.visit()

    def visit(self) -> None:
        self.ask("GET", "/count")
        added = self.ask(self.post, "/quotes", self.quote())
        self.ask("GET", "/count")
        self.look_after(added["id"])

    def quote(self) -> str:
        return json.dumps({"text": self.text})

    def look_after(self, number: int) -> None:
        self.ask("GET", f"/quotes/{number}")
        self.ask("DELETE", f"/quotes/{number}")
        self.ask("GET", f"/quotes/{number}")

    def ask(self, method: str, target: str, body: str = "") -> Any:
        """What is answered to a request; None if it has no body."""
        self.say(self.request(method, target, body))
        return self.hear()

    def request(self, method: str, target: str, body: str) -> str:
        return f"{method} {target} {self.version}\r\nHost: here\r\n{self.length(body)}\r\n{body}"

    def length(self, body: str) -> str:
        return f"Content-Length: {len(body)}\r\n" if body else ""

    def say(self, text: str) -> None:
        self.connection.sendall(text.encode())

    def hear(self) -> Any:
        if not self.answers.readline():
            sys.exit(1)  # nobody wants to talk to us any more
        length = 0
        while (line := self.answers.readline().lower()) != b"\r\n":
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return self.read(self.answers.read(length)) if length else None

    def read(self, body: bytes) -> Any:
        return json.loads(body)


class AlwaysTheFirst(Client):
    """Looks after the first quote, whichever was added."""

    def look_after(self, number: int) -> None:
        super().look_after(1)


class NumbersAreFloats(Client):
    """Reads numbers as JavaScript does, which forgets digits of long ones."""

    def read(self, body: bytes) -> Any:
        return json.loads(body, parse_int=lambda digits: int(float(digits)))


class TooMany(Client):
    """Asks for more than anybody may."""

    most = 100


class NoSecondCount(Client):
    """Does not count again."""

    def visit(self) -> None:
        self.ask("GET", "/count")
        self.look_after(self.ask("POST", "/quotes", self.quote())["id"])


class LeavesItThere(Client):
    """Does not remove what it has added."""

    def look_after(self, number: int) -> None:
        self.ask("GET", f"/quotes/{number}")


class RemovesTwice(Client):
    """Removes a quote that it has removed."""

    def look_after(self, number: int) -> None:
        self.ask("DELETE", f"/quotes/{number}")
        self.ask("DELETE", f"/quotes/{number}")


class Puts(Client):
    """Has another method for adding."""

    post = "PUT"


class SingleQuotes(Client):
    """Writes Python instead of JSON."""

    def quote(self) -> str:
        return str({"text": self.text})


class NoEscapes(Client):
    """Writes JSON by hand, and forgets that a text may contain quotation marks."""

    def quote(self) -> str:
        return f'{{"text": "{self.text}"}}'


class NoLength(Client):
    """Does not tell that there is a body."""

    def length(self, body: str) -> str:
        return ""


class Longer(Client):
    """Announces more than it sends, if that is much."""

    def length(self, body: str) -> str:
        return super().length(body + body[20:])


class OldVersion(Client):
    """Speaks a version of HTTP that has no place for a conversation."""

    version = "HTTP/1.0"


class AllAtOnce(Client):
    """Does not wait for the count before it adds."""

    def visit(self) -> None:
        self.say(self.request("GET", "/count", "") + self.request("POST", "/quotes", self.quote()))
        self.hear()


class NoHttp(Client):
    """Speaks another protocol."""

    def request(self, method: str, target: str, body: str) -> str:
        return "HELO here\r\n"


class Endless(Client):
    """Has more to say about its requests than anybody wants to hear."""

    def length(self, body: str) -> str:
        return "X-More: and so on\r\n" * 10_000


BUGS = (
    Bug("AlwaysTheFirst", 3, "constraint violated"),
    Bug("NumbersAreFloats", 20, "constraint violated"),
    Bug("TooMany", 1, "unexpected response"),
    Bug("NoSecondCount", 1, "unexpected response"),
    Bug("LeavesItThere", 1, "connection closed"),
    Bug("RemovesTwice", 1, "unexpected response"),
    Bug("Puts", 1, "unexpected response"),
    Bug("SingleQuotes", 1, "unexpected response"),
    Bug("NoEscapes", 1, "unexpected response"),
    Bug("NoLength", 1, "out of turn"),
    Bug("Longer", 1, "no response"),
    Bug("OldVersion", 1, "unexpected response"),
    Bug("AllAtOnce", 1, "out of turn"),
    Bug("NoHttp", 1, "unexpected response"),
    Bug("Endless", 1, "unexpected response"),
)


if __name__ == "__main__":
    clients: list[type[Client]] = [Client, *Client.__subclasses__()]
    kinds = {kind.__name__: kind for kind in clients}
    kinds[sys.argv[1]](int(sys.argv[2])).run()
