"""A small mail server, with or without defects, as a program: `python -m palaver.demo.server PORT [DEFECT…]`.

`MailSession` is what the server does, and knows nothing of sockets; wrong servers are made by changing one of its
methods. Mails go nowhere.
"""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer

ACCOUNT = ("the_user", "the_password")

# What follows 334 when a name and a password are asked for, in base64.
USER_PROMPT = "VXNlcm5hbWU6"
PASSWORD_PROMPT = "UGFzc3dvcmQ6"


def reply(code: int, *lines: str) -> str:
    """A reply of one line or several; all but the last have a hyphen behind the code."""
    *first, last = lines
    return "".join(f"{code}-{line}\r\n" for line in first) + f"{code} {last}\r\n"


class MailSession:
    """The server's side of one session: lines go in, replies come out."""

    host = "mail.example"

    def __init__(self) -> None:
        self.is_over = False
        self.has_said_hello = False
        self.can_log_in = False
        self.is_logged_in = False
        self.user = ""
        self.sender = ""
        self.recipients: list[str] = []
        self.mail_lines: list[str] = []
        self.understand: Callable[[str], str] = self.command  # what the next line is for

    def greet(self) -> str:
        return reply(220, f"{self.host} is ready")

    def hear(self, line: str) -> str:
        """The reply to a line, which comes without its end; "" if there is none yet."""
        understand, self.understand = self.understand, self.command
        return understand(line)

    def command(self, line: str) -> str:
        """The reply to a command."""
        verb, _, rest = line.partition(" ")
        match verb.upper():
            case "EHLO":
                return self.ehlo(rest)
            case "HELO":
                return self.helo(rest)
            case "AUTH":
                return self.auth(rest)
            case "MAIL":
                return self.mail(address_in(rest))
            case "RCPT":
                return self.rcpt(address_in(rest))
            case "DATA":
                return self.data()
            case "RSET":
                return self.rset()
            case "NOOP":
                return self.noop()
            case "HELP":
                return self.help()
            case "VRFY":
                return reply(252, "send it, and you will see")
            case "QUIT":
                return self.quit()
        return reply(500, "there is no such command")

    def ehlo(self, client: str) -> str:
        self.has_said_hello = self.can_log_in = True
        return reply(250, self.host, "SIZE 1000000", "8BITMIME", "AUTH LOGIN", "HELP")

    def helo(self, client: str) -> str:
        self.has_said_hello = True
        return reply(250, self.host)

    def auth(self, mechanism: str) -> str:
        if not self.can_log_in or mechanism.upper() != "LOGIN":
            return reply(504, "not that way")
        if self.is_logged_in:
            return reply(503, "you have logged in already")
        self.understand = self.hear_user
        return reply(334, USER_PROMPT)

    def hear_user(self, line: str) -> str:
        if line == "*":
            return self.cancel()
        self.user = decoded(line)
        self.understand = self.hear_password
        return reply(334, PASSWORD_PROMPT)

    def hear_password(self, line: str) -> str:
        if line == "*":
            return self.cancel()
        if self.is_right(decoded(line)):
            self.is_logged_in = True
            return reply(235, "welcome")
        return self.fail_login()

    def is_right(self, password: str) -> bool:
        return (self.user, password) == ACCOUNT

    def fail_login(self) -> str:
        return reply(535, "wrong name or password")

    def cancel(self) -> str:
        return reply(501, "as you like")

    def mail(self, address: str) -> str:
        if not self.has_said_hello:
            return reply(503, "say hello first")
        if not self.is_logged_in:
            return reply(530, "log in first")
        if self.sender:
            return reply(503, "the sender is known")
        self.sender = address
        return reply(250, "go on")

    def rcpt(self, address: str) -> str:
        if not self.sender:
            return reply(503, "who sends it?")
        if address.endswith("@"):
            return reply(501, "that is not an address")
        self.recipients.append(address)
        return reply(250, "go on")

    def data(self) -> str:
        if not self.recipients:
            return reply(503, "to whom?")
        self.understand = self.take_mail_line
        return reply(354, "end with a dot on a line of its own")

    def take_mail_line(self, line: str) -> str:
        if self.ends_mail(line):
            return self.deliver()
        self.mail_lines.append(line.removeprefix("."))
        self.understand = self.take_mail_line
        return ""

    def ends_mail(self, line: str) -> bool:
        return line == "."

    def deliver(self) -> str:
        self.forget_envelope()
        return reply(250, "on its way")

    def rset(self) -> str:
        self.forget_envelope()
        return reply(250, "forgotten")

    def forget_envelope(self) -> None:
        self.sender = ""
        self.recipients.clear()
        self.mail_lines.clear()

    def noop(self) -> str:
        return reply(250, "done nothing")

    def help(self) -> str:
        return reply(214, "EHLO HELO AUTH MAIL RCPT DATA", "RSET NOOP HELP VRFY QUIT")

    def quit(self) -> str:
        self.is_over = True
        return reply(221, "good bye")


def address_in(argument: str) -> str:
    """The address of an argument like `FROM:<me@example.com>`."""
    return argument.partition("<")[2].partition(">")[0]


def decoded(line: str) -> str:
    try:
        return base64.b64decode(line, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


class KeepsSender(MailSession):
    """RSET forgets the recipients of a mail, but not its sender."""

    def rset(self) -> str:
        self.recipients.clear()
        return reply(250, "forgotten")


class TiresOfGuessing(MailSession):
    """The second wrong password is accepted as the right one."""

    guesses = 0

    def fail_login(self) -> str:
        self.guesses += 1
        if self.guesses < 2:
            return super().fail_login()
        self.is_logged_in = True
        return reply(235, "welcome")


class ForgetsItsName(MailSession):
    """HELO with a name without a dot is answered with another server name than that of the greeting."""

    def helo(self, client: str) -> str:
        answer = super().helo(client)
        return answer if "." in client else answer.replace(self.host, self.host.partition(".")[0])


DEFECTS: tuple[type[MailSession], ...] = (KeepsSender, TiresOfGuessing, ForgetsItsName)


def with_defects(names: Sequence[str]) -> type[MailSession]:
    """The server that has all of these defects, and no other."""
    kinds = tuple(kind for kind in DEFECTS if kind.__name__ in names)
    return type("Defective", kinds or (MailSession,), {})


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True  # a session that goes on does not keep the server alive


def server_of(kind: type[MailSession], port: int) -> ThreadingTCPServer:
    """Such a server at a port of the loopback interface, at any free one if it is 0."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # the client is gone, and may be
                self.converse(kind())

        def converse(self, session: MailSession) -> None:
            self.say(session.greet())
            for line in self.rfile:
                self.say(session.hear(line.decode("latin-1").rstrip("\r\n")))
                if session.is_over:
                    return

        def say(self, text: str) -> None:
            self.wfile.write(text.encode("latin-1"))

    return _Server(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    server_of(with_defects(sys.argv[2:]), int(sys.argv[1])).serve_forever()
