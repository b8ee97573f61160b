"""Wrong mail clients: what is wrong with them, and within how many sessions that is found.

As a program, `smtp_client_bugs.py NAME PORT` is the client of that name for one conversation. Each differs from
`Client`, the right one, in one thing. A bug more is a class, and a row in the table at the end. Nothing of palaver is
imported, because this program is started for each conversation.
"""

from __future__ import annotations

import base64
import socket
import sys
from contextlib import suppress

from catalogue import Bug

ACCOUNT = ("the_user", "the_password")


class Refused(Exception):
    """The server has said no."""


class Client:
    """Sends one letter, and says good bye as soon as it is told no."""

    sender = "a@example.com"
    lines = ("From: <a@example.com>", "To: <b@example.com>", "Subject: Greetings", "", "Hello", ".dotted")

    def __init__(self, port: int) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.replies = self.connection.makefile("r", newline="\r\n")

    def run(self) -> None:
        with self.connection:
            try:
                self.hear()
                features = self.hello()
                self.log_in(features)
                self.name_sender(" SIZE=100" if "SIZE" in features else "")
                self.name_recipient()
                self.send_letter()
            except Refused:
                pass
            self.leave()

    def ask(self, line: str) -> str:
        """What is said to a command."""
        self.say(f"{line}\r\n")
        return self.hear()

    def say(self, text: str) -> None:
        self.connection.sendall(text.encode())

    def hear(self) -> str:
        """A reply, to its last line."""
        reply = line = self.replies.readline()
        while line[3:4] == "-":
            line = self.replies.readline()
            reply += line
        if reply[:1] not in ("2", "3"):
            raise Refused
        return reply

    def hello(self) -> str:
        return self.ask("EHLO client.example")

    def log_in(self, features: str) -> None:
        user, password = ACCOUNT
        if "PLAIN" in features:
            self.ask(f"AUTH PLAIN {self.encode(f'{chr(0)}{user}{chr(0)}{password}')}")
        else:
            self.ask("AUTH LOGIN")
            self.ask(self.encode(user))
            self.ask(self.encode(password))

    def encode(self, secret: str) -> str:
        return base64.b64encode(secret.encode()).decode()

    def name_sender(self, size: str) -> None:
        self.ask(f"MAIL FROM:<{self.sender}>{size}")

    def name_recipient(self) -> None:
        self.ask("RCPT TO:<b@example.com>")

    def send_letter(self) -> None:
        self.ask("DATA")
        self.say("".join(f"{self.stuffed(line)}\r\n" for line in self.lines))
        self.ask(".")

    def stuffed(self, line: str) -> str:
        return f".{line}" if line.startswith(".") else line

    def leave(self) -> None:
        self.say("QUIT\r\n")
        self.replies.readline()


class MailFirst(Client):
    """Names the sender before it says hello."""

    def hello(self) -> str:
        self.name_sender("")
        return super().hello()


class GoesOnUnknown(Client):
    """Goes on when it was not let in."""

    def log_in(self, features: str) -> None:
        with suppress(Refused):
            super().log_in(features)


class NoBase64(Client):
    """Writes the password as it is."""

    def encode(self, secret: str) -> str:
        return secret.replace(chr(0), " ")


class TwoBytes(Client):
    """Has two bytes for each letter of the password."""

    def encode(self, secret: str) -> str:
        return base64.b64encode(secret.encode("utf-16-le")).decode()


class AlwaysLogin(Client):
    """Does not look at how one may log in."""

    def log_in(self, features: str) -> None:
        super().log_in("")


class AlwaysSize(Client):
    """Tells the size of the letter to servers that did not ask for it."""

    def name_sender(self, size: str) -> None:
        super().name_sender(" SIZE=100")


class OtherSender(Client):
    """Has another name on the envelope than in the letter."""

    sender = "nobody@example.com"


class DataForNobody(Client):
    """Sends the letter also to nobody."""

    def name_recipient(self) -> None:
        with suppress(Refused):
            super().name_recipient()


class AllAtOnce(Client):
    """Does not wait for the answer to MAIL before it says RCPT."""

    def name_sender(self, size: str) -> None:
        self.say(f"MAIL FROM:<{self.sender}>{size}\r\nRCPT TO:<b@example.com>\r\n")
        self.hear()

    def name_recipient(self) -> None:
        self.hear()


class SingleDots(Client):
    """Sends lines that begin with a dot as they are."""

    def stuffed(self, line: str) -> str:
        return line


class UnixLines(Client):
    """Ends lines of letters, and the letters, as they end in files."""

    def send_letter(self) -> None:
        self.ask("DATA")
        self.say("".join(f"{self.stuffed(line)}\n" for line in self.lines) + ".\n")
        self.hear()


class NoGoodBye(Client):
    """Leaves as soon as the letter is taken."""

    def leave(self) -> None:
        """It has nothing to say."""


BUGS = (
    Bug("MailFirst", 1, "unexpected response"),
    Bug("GoesOnUnknown", 10, "unexpected response"),
    Bug("NoBase64", 1, "unexpected response"),
    Bug("TwoBytes", 1, "constraint violated"),
    Bug("AlwaysLogin", 10, "constraint violated"),
    Bug("AlwaysSize", 5, "constraint violated"),
    Bug("OtherSender", 25, "constraint violated"),
    Bug("DataForNobody", 1, "unexpected response"),
    Bug("AllAtOnce", 1, "out of turn"),
    Bug("SingleDots", 25, "unexpected response"),
    Bug("UnixLines", 25, "unexpected response"),
    Bug("NoGoodBye", 35, "connection closed"),
)


if __name__ == "__main__":
    clients: list[type[Client]] = [Client, *Client.__subclasses__()]
    kinds = {kind.__name__: kind for kind in clients}
    kinds[sys.argv[1]](int(sys.argv[2])).run()
