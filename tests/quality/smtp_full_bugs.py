"""Wrong mail servers that only `smtp_full` can find: what is wrong with them, and how soon that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `FullSession`, the right one,
in one thing.
"""

from __future__ import annotations

import base64
import binascii
import re

from catalogue import Bug
from mail_servers import serve

from palaver.demo.server import ACCOUNT, PASSWORD_PROMPT, MailSession, reply

PARAMETER = re.compile(r"SIZE=[0-9]{1,6}|BODY=(7BIT|8BITMIME)|AUTH=<>", re.IGNORECASE)
PATH = re.compile(r"<([^<> ]+@([A-Za-z0-9.-]+|\[[^\]]+\])|\"[^\"]+\"@[A-Za-z0-9.-]+|Postmaster)?>")


class FullSession(MailSession):
    """The small server, which knows AUTH PLAIN, too, and refuses what is written wrongly."""

    def command(self, line: str) -> str:
        verb, _, rest = line.partition(" ")
        match verb.upper():
            case "QUIT" if rest:
                return self.odd_quit()
            case "EHLO" | "HELO" | "VRFY" | "EXPN" if not rest:
                return reply(501, "too few words")
            case "RSET" | "DATA" if rest:
                return reply(501, "too many words")
            case "MAIL" | "RCPT":
                return self.envelope(verb.upper(), rest)
            case "EXPN" | "STARTTLS":
                return reply(502, "not here")
        return super().command(line) if verb.isascii() else self.unknown()

    def unknown(self) -> str:
        return reply(500, "there is no such command")

    def odd_quit(self) -> str:
        return reply(501, "too many words")

    def envelope(self, verb: str, rest: str) -> str:
        keyword = {"MAIL": "FROM:", "RCPT": "TO:"}[verb]
        path, *parameters = rest[len(keyword) :].split(" ")
        is_path = rest.upper().startswith(keyword) and PATH.fullmatch(path) and (verb == "MAIL" or path != "<>")
        if not is_path:
            return reply(501, "that is not an address")
        known = [PARAMETER.fullmatch(each) for each in parameters]
        if not all(known) or (verb == "RCPT" and parameters):
            return self.refuse_parameters(verb, path)
        return self.mail(path) if verb == "MAIL" else self.rcpt(path)

    def refuse_parameters(self, verb: str, path: str) -> str:
        return reply(555, "not with that parameter")

    def ehlo(self, client: str) -> str:
        self.forget_envelope()
        return super().ehlo(client).replace("AUTH LOGIN", "AUTH LOGIN PLAIN")

    def helo(self, client: str) -> str:
        self.forget_envelope()
        return super().helo(client)

    def auth(self, mechanism: str) -> str:
        words = mechanism.split()
        if not self.can_log_in:
            return reply(503, "say EHLO first")
        if self.is_logged_in:
            return reply(503, "you have logged in already")
        match [word.upper() if number == 0 else word for number, word in enumerate(words)]:
            case ["LOGIN"]:
                return super().auth("LOGIN")
            case ["LOGIN", name]:
                return self.login_of(name)
            case ["PLAIN"]:
                self.understand = self.hear_plain
                return "334 \r\n"
            case ["PLAIN", account]:
                return self.hear_plain(account)
        return reply(504, "not that way")

    def login_of(self, name: str) -> str:
        return self.hear_user(name)

    def hear_user(self, line: str) -> str:
        return super().hear_user(line) if line == "*" or is_base64(line) else reply(501, "that is not base64")

    def hear_password(self, line: str) -> str:
        return super().hear_password(line) if line == "*" or is_base64(line) else reply(501, "that is not base64")

    def hear_plain(self, line: str) -> str:
        if line == "*":
            return self.cancel()
        if not is_base64(line):
            return reply(501, "that is not base64")
        _, *account = base64.b64decode(line).decode("latin-1").split("\0")
        if not self.is_account(account):
            return self.fail_login()
        self.is_logged_in = True
        return reply(235, "welcome")

    def is_account(self, words: list[str]) -> bool:
        return words == list(ACCOUNT)


def is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True


class AnyPlainPassword(FullSession):
    """AUTH PLAIN looks at the name only."""

    def is_account(self, words: list[str]) -> bool:
        return words[:1] == [ACCOUNT[0]]


class CancelIsAPassword(FullSession):
    """Takes the star that cancels a login for a password, once it has the name."""

    def hear_password(self, line: str) -> str:
        return self.fail_login() if line == "*" else super().hear_password(line)


class AsksTwice(FullSession):
    """Asks for the name that came with AUTH LOGIN."""

    def login_of(self, name: str) -> str:
        self.understand = self.hear_user
        return reply(334, PASSWORD_PROMPT)


class NestedMail(FullSession):
    """The last sender is the one that counts."""

    def mail(self, address: str) -> str:
        self.sender = ""
        return super().mail(address)


class UnknownIsFine(FullSession):
    """Has nothing against commands that are not ASCII."""

    def unknown(self) -> str:
        return reply(250, "if you say so")


class KeepsRefusedSender(FullSession):
    """Refuses a parameter, and remembers the sender."""

    def refuse_parameters(self, verb: str, path: str) -> str:
        if verb == "MAIL" and self.is_logged_in:
            self.sender = path
        return super().refuse_parameters(verb, path)


class LeavesAtOddQuit(FullSession):
    """Says that QUIT has no arguments, and leaves."""

    def odd_quit(self) -> str:
        self.is_over = True
        return super().odd_quit()


class WaitsAfterLoneDot(FullSession):
    """Goes on waiting for the end of a letter with a line that was one dot before it was sent, and says so."""

    def deliver(self) -> str:
        is_odd = "." in self.mail_lines
        return reply(354, "there is more to come") if is_odd else super().deliver()


class OtherNameLater(FullSession):
    """Has another name for those who say hello again."""

    hellos = 0

    def ehlo(self, client: str) -> str:
        self.hellos += 1
        return super().ehlo(client).replace(self.host, f"{'other.' * (self.hellos > 1)}{self.host}")


BUGS = (
    Bug("AnyPlainPassword", 20, "unexpected response"),
    Bug("CancelIsAPassword", 40, "unexpected response"),
    Bug("AsksTwice", 20, "unexpected response"),
    Bug("NestedMail", 20, "unexpected response"),
    Bug("UnknownIsFine", 20, "unexpected response"),
    Bug("KeepsRefusedSender", 20, "unexpected response"),
    Bug("LeavesAtOddQuit", 20, "connection closed"),
    Bug("WaitsAfterLoneDot", 40, "unexpected response"),
    Bug("OtherNameLater", 20, "constraint violated"),
)


if __name__ == "__main__":
    serve([FullSession, *FullSession.__subclasses__()])
