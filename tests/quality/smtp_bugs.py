"""Wrong mail servers: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `MailSession`, the right one,
in one thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

from catalogue import Bug
from mail_servers import serve

from palaver.demo.server import ACCOUNT, MailSession, reply


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


class TellsWhoThereIs(MailSession):
    """Sends those away whom it does not know, before it has heard the password."""

    def hear_user(self, line: str) -> str:
        answer = super().hear_user(line)
        if self.user == ACCOUNT[0]:
            return answer
        self.understand = self.command
        return self.fail_login()


class ThirdTimeLucky(MailSession):
    """Takes the third wrong password for the right one."""

    guesses = 0

    def fail_login(self) -> str:
        self.guesses += 1
        return super().fail_login() if self.guesses < 3 else reply(235, "welcome")


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


class DotsAreEnds(MailSession):
    """Takes a line that begins with a dot for the end of one letter and the beginning of another."""

    dotted = 0

    def deliver(self) -> str:
        letters = 1 + self.dotted
        self.dotted = 0
        return super().deliver() * letters

    def take_mail_line(self, line: str) -> str:
        self.dotted += line.startswith("..")
        return super().take_mail_line(line)


class OneRecipient(MailSession):
    """Has room for one address, and hangs up if there are more."""

    def rcpt(self, address: str) -> str:
        answer = super().rcpt(address)
        self.is_over = len(self.recipients) > 1
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


class LeavesSilently(MailSession):
    """Leaves without a word."""

    def quit(self) -> str:
        self.is_over = True
        return ""


BUGS = (
    Bug("RcptBeforeMail", 1, "unexpected response"),
    Bug("KeepsRecipients", 1, "unexpected response"),
    Bug("KeepsSender", 8, "unexpected response"),
    Bug("OneLetterOnly", 1, "unexpected response"),
    # It takes two wrong guesses in one session: with the seeds 1 to 6, that is session 3, 3, 17, 20, 3 and 30.
    Bug("TwoGuesses", 80, "no response"),
    Bug("TiresOfGuessing", 80, "unexpected response"),
    Bug("ThirdTimeLucky", 200, "unexpected response"),
    Bug("AnyPassword", 5, "unexpected response"),
    Bug("TellsWhoThereIs", 5, "unexpected response"),
    Bug("LoginStaysOpen", 5, "unexpected response"),
    Bug("LoginTwice", 8, "unexpected response"),
    Bug("NoSpaceAtTheEnd", 1, "unexpected response"),
    Bug("MixedCodes", 8, "unexpected response"),
    Bug("ShortAnswer", 1, "unexpected response"),
    Bug("OtherName", 1, "constraint violated"),
    Bug("ForgetsItsName", 40, "constraint violated"),
    Bug("NoopTwice", 1, "out of turn"),
    Bug("DotsAreEnds", 8, "out of turn"),
    Bug("OneRecipient", 8, "connection closed"),
    Bug("HelpHangsUp", 8, "connection closed"),
    Bug("EndlessReply", 1, "connection closed"),
    Bug("LeavesSilently", 1, "connection closed"),
)


if __name__ == "__main__":
    # What can be wrong in the demo is among them.
    serve([MailSession, *MailSession.__subclasses__()])
