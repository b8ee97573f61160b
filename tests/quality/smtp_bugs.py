"""Wrong mail servers and wrong mail clients: what is wrong with them, and within how many sessions that is found.

As a program, `smtp_bugs.py NAME` serves the wrong server of that name, or the right one, and `smtp_bugs.py NAME PORT`
is the client of that name for one session. Each differs in one thing from the right one: the server from `MailSession`,
which is that of the demonstration, the client from `Client` below.
"""

from __future__ import annotations

import base64
import socket
import sys
from dataclasses import dataclass

from palaver.demo.server import ACCOUNT, DEFECTS, MailSession, reply, server_of

# --- Servers ----------------------------------------------------------------------------------------------------------


class RcptBeforeMail(MailSession):
    """Wants to know to whom a letter goes, but not from whom it comes."""

    def rcpt(self, address: str) -> str:
        self.sender = self.sender or "nobody@example.com"
        return super().rcpt(address)


class KeepsRecipients(MailSession):
    """RSET forgets who sends a letter, but not who gets it."""

    def rset(self) -> str:
        self.sender = ""
        return reply(250, "forgotten")


class OneLetterOnly(MailSession):
    """Forgets to forget the envelope of a letter that is on its way."""

    def deliver(self) -> str:
        return reply(250, "on its way")


class TwoGuesses(MailSession):
    """After two wrong passwords says that it is closing, and does not mean it."""

    guesses = 0

    def fail_login(self) -> str:
        self.guesses += 1
        return super().fail_login() if self.guesses < 2 else reply(421, "too many guesses")


class AnyPassword(MailSession):
    """Looks at the name only."""

    def is_right(self, password: str) -> bool:
        return self.user == ACCOUNT[0]


class AnyUser(MailSession):
    """Has one password for everybody, and tells who has no name before it was asked for."""

    def hear_user(self, line: str) -> str:
        super().hear_user(line)
        if self.user == ACCOUNT[0]:
            return reply(334, "UGFzc3dvcmQ6")
        self.understand = self.command
        return reply(535, "there is nobody of that name")


class LoginStaysOpen(MailSession):
    """Who cancels a login is asked for a name again."""

    def cancel(self) -> str:
        self.understand = self.hear_user
        return super().cancel()


class NoSpaceAtTheEnd(MailSession):
    """Forgets the space behind the code of the last line, if there are several."""

    def ehlo(self, client: str) -> str:
        return super().ehlo(client).replace("250 ", "250")


class MixedCodes(MailSession):
    """The lines of one reply have different codes."""

    def help(self) -> str:
        return super().help().replace("214 ", "250 ")


class OtherName(MailSession):
    """Calls itself by the name of its client."""

    def ehlo(self, client: str) -> str:
        return super().ehlo(client).replace(self.host, client)


class HelpHangsUp(MailSession):
    """Needs help itself."""

    def help(self) -> str:
        self.is_over = True
        return ""


class NoopTwice(MailSession):
    """Answers NOOP twice."""

    def noop(self) -> str:
        return super().noop() * 2


class EndlessReply(MailSession):
    """Does not end the line of its last reply."""

    def quit(self) -> str:
        return super().quit().removesuffix("\r\n")


class DotEndsLetter(MailSession):
    """Takes every line that begins with a dot for the end of the letter, and so the rest of it for commands."""

    def ends_letter(self, line: str) -> bool:
        return line.startswith(".")


class FewRecipients(MailSession):
    """Has room for three addresses, and hangs up if there are more."""

    def rcpt(self, address: str) -> str:
        answer = super().rcpt(address)
        self.is_over = len(self.recipients) > 3
        return "" if self.is_over else answer


class LoginTwice(MailSession):
    """Lets who has logged in log in again."""

    def auth(self, mechanism: str) -> str:
        self.is_logged_in = False
        return super().auth(mechanism)


class ShortAnswer(MailSession):
    """Answers RSET with two digits."""

    def rset(self) -> str:
        return super().rset().replace("250", "25")


class NeverQuits(MailSession):
    """Leaves without a word."""

    def quit(self) -> str:
        self.is_over = True
        return ""


