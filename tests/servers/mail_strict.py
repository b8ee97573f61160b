"""A strict mail server: it takes what RFC 5321 and RFC 4954 allow, refuses all else, and forgets nothing by that.

It is the right one that wrong ones differ from in one thing: see `beyond/beyond_bugs.py`.
"""

from __future__ import annotations

import base64
import re

NAME = rb"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
DOMAIN = rb"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
MAILBOX = NAME + rb"@" + DOMAIN
HELLO = re.compile(rb"(?i:ehlo|helo) +(" + DOMAIN + rb"|\[[0-9A-Za-z.:]+\])[ \t]*")
MAIL = re.compile(rb"(?i:mail from:)<(" + MAILBOX + rb")?>[ \t]*")
RCPT = re.compile(rb"(?i:rcpt to:)<(" + MAILBOX + rb")>[ \t]*")
VRFY = re.compile(rb"(?i:vrfy|expn) +[!-~][ -~]*")
AUTH = re.compile(rb"(?i:auth login)[ \t]*")
BASE64 = re.compile(rb"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
MOST = 2048  # bytes of a line


def reply(code: int, text: str = "so it is") -> bytes:
    return f"{code} {text}\r\n".encode()


class StrictMail:
    """The server's side of one connection."""

    def __init__(self) -> None:
        self.is_over = False
        self.buffer = b""
        self.hello = ""  # the command that it was said with
        self.user = b""
        self.is_known = False
        self.sender: bytes | None = None
        self.recipients: list[bytes] = []
        self.waits_for = "command"

    def greet(self) -> bytes:
        return reply(220, "mail.example ready")

    def hear(self, data: bytes) -> bytes:
        self.buffer += data
        answers = b""
        while b"\r\n" in self.buffer and not self.is_over:
            line, _, self.buffer = self.buffer.partition(b"\r\n")
            answers += self.take(line)
        return answers

    def take(self, line: bytes) -> bytes:
        """The answer to a line."""
        if self.waits_for == "letter":
            return self.take_letter(line)
        if self.waits_for != "command":
            return self.take_login(line)
        if not self.is_readable(line):
            return self.unreadable(line)
        verb = re.match(rb"[A-Za-z]*", line)
        word = verb[0].decode().lower() if verb else ""
        return self.command(word, line)

    def is_readable(self, line: bytes) -> bool:
        return len(line) <= MOST and re.fullmatch(rb"[\t -~]*", line) is not None

    def unreadable(self, line: bytes) -> bytes:
        return reply(500, "not a command")

    def command(self, word: str, line: bytes) -> bytes:
        known = ("ehlo", "helo", "mail", "rcpt", "data", "rset", "noop", "help", "vrfy", "expn", "quit", "auth")
        return getattr(self, word)(line) if word in known else self.unknown(line)

    def unknown(self, line: bytes) -> bytes:
        return reply(500, "unknown command")

    def malformed(self, line: bytes) -> bytes:
        return reply(501, "malformed")

    def out_of_order(self, line: bytes) -> bytes:
        return reply(503, "not now")

    def forget(self) -> None:
        self.sender, self.recipients = None, []

    def ehlo(self, line: bytes) -> bytes:
        if not HELLO.fullmatch(line):
            return self.malformed(line)
        self.forget()
        self.hello = line[:4].decode().lower()
        if self.hello == "helo":
            return reply(250, "mail.example hello")
        return b"250-mail.example\r\n250-AUTH LOGIN\r\n250 HELP\r\n"

    helo = ehlo

    def auth(self, line: bytes) -> bytes:
        if not re.match(rb"(?i:auth) ", line):
            return self.unknown(line) if re.match(rb"[A-Za-z]{5}", line) else self.malformed(line)
        if self.hello != "ehlo" or self.is_known or self.sender is not None:
            return self.out_of_order(line)
        if not AUTH.fullmatch(line):
            return reply(504, "no such mechanism")
        self.waits_for = "user"
        return reply(334, "VXNlcm5hbWU6")

    def take_login(self, line: bytes) -> bytes:
        step, self.waits_for = self.waits_for, "command"
        if line == b"*" or not BASE64.fullmatch(line):
            return reply(501, "cancelled")
        word = base64.b64decode(line)
        if step == "user":
            self.user, self.waits_for = word, "password"
            return reply(334, "UGFzc3dvcmQ6")
        self.is_known = (self.user, word) == (b"the_user", b"the_password")
        return reply(235, "welcome") if self.is_known else reply(535, "no")

    def mail(self, line: bytes) -> bytes:
        if not MAIL.fullmatch(line):
            return self.malformed(line)
        if not self.hello or self.sender is not None:
            return self.out_of_order(line)
        if not self.is_known:
            return reply(530, "log in first")
        self.sender = line
        return reply(250)

    def rcpt(self, line: bytes) -> bytes:
        if not RCPT.fullmatch(line):
            return self.malformed(line)
        if self.sender is None:
            return self.out_of_order(line)
        self.recipients.append(line)
        return reply(250)

    def data(self, line: bytes) -> bytes:
        if not re.fullmatch(rb"(?i:data)[ \t]*", line):
            return self.malformed(line)
        if not self.recipients:
            return self.out_of_order(line)
        self.waits_for = "letter"
        return reply(354, "go on")

    def take_letter(self, line: bytes) -> bytes:
        if line != b".":
            return b""
        self.forget()
        self.waits_for = "command"
        return reply(250, "taken")

    def rset(self, line: bytes) -> bytes:
        if not re.fullmatch(rb"(?i:rset)[ \t]*", line):
            return self.malformed(line)
        self.forget()
        return reply(250)

    def noop(self, line: bytes) -> bytes:
        return reply(250) if re.fullmatch(rb"(?i:noop)( .*|\t*)", line) else self.malformed(line)

    def help(self, line: bytes) -> bytes:
        return reply(214, "no help") if re.fullmatch(rb"(?i:help)( .*|\t*)", line) else self.malformed(line)

    def vrfy(self, line: bytes) -> bytes:
        return reply(252, "who knows") if VRFY.fullmatch(line) else self.malformed(line)

    expn = vrfy

    def quit(self, line: bytes) -> bytes:
        if not re.fullmatch(rb"(?i:quit)[ \t]*", line):
            return self.malformed(line)
        self.is_over = True
        return reply(221, "bye")
