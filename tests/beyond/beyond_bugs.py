"""Mail servers with a defect that only wrong messages show, each the strict one but for one thing.

A bug more is a class; its name goes into the table at the end, with the kind of finding that shows it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from servers.in_process import StreamSession
from servers.mail_strict import StrictMail, reply


class SkipsNul(StrictMail):
    """Takes no notice of NUL."""

    def take(self, line: bytes) -> bytes:
        return super().take(line.replace(b"\0", b""))


class CutsAtNul(StrictMail):
    """Takes NUL for the end of a line."""

    def take(self, line: bytes) -> bytes:
        return super().take(line.partition(b"\0")[0])


class SkipsControls(StrictMail):
    """Takes no notice of control characters."""

    def take(self, line: bytes) -> bytes:
        return super().take(re.sub(rb"[\x00-\x1f\x7f]", b"", line))


class StripsHighBits(StrictMail):
    """Has only seven bits."""

    def take(self, line: bytes) -> bytes:
        return super().take(bytes(byte & 0x7F for byte in line))


class SkipsHighBytes(StrictMail):
    """Takes no notice of bytes beyond ASCII."""

    def take(self, line: bytes) -> bytes:
        return super().take(bytes(byte for byte in line if byte < 0x80))


class TrimsBlanks(StrictMail):
    """Takes a command with a blank before it."""

    def take(self, line: bytes) -> bytes:
        return super().take(line.lstrip() if self.waits_for == "command" else line)


class SkipsBlanks(StrictMail):
    """Takes no notice of blanks inside of a word."""

    def take(self, line: bytes) -> bytes:
        words = re.match(rb"([A-Za-z] ?){4}", line) if self.waits_for == "command" else None
        return super().take(words[0].replace(b" ", b"") + b" " + line[words.end() :].lstrip() if words else line)


class RepeatsWhatItHears(StrictMail):
    """Puts into its refusal what cannot stand there."""

    def unreadable(self, line: bytes) -> bytes:
        return b"500 what is " + line + b"\r\n"


class NoCodeForUnknown(StrictMail):
    """Refuses without a code."""

    def unknown(self, line: bytes) -> bytes:
        return b"unknown command\r\n"


class WrongCodeForUnknown(StrictMail):
    """Is polite to what it does not know."""

    def unknown(self, line: bytes) -> bytes:
        return reply(250, "I do not know, but fine")


class AsksForMore(StrictMail):
    """Answers what it does not know with a question."""

    def unknown(self, line: bytes) -> bytes:
        return reply(334, "")


class SaysHelp(StrictMail):
    """Answers what it does not know with help."""

    def unknown(self, line: bytes) -> bytes:
        return reply(214, "try HELP")


class RefusesTwice(StrictMail):
    """Refuses what it does not know twice."""

    def unknown(self, line: bytes) -> bytes:
        return super().unknown(line) * 2


class NoLineEnd(StrictMail):
    """Does not end the line of a refusal."""

    def unknown(self, line: bytes) -> bytes:
        return super().unknown(line).removesuffix(b"\r\n")


class OnlyLineFeed(StrictMail):
    """Ends the line of a refusal as files do."""

    def unknown(self, line: bytes) -> bytes:
        return super().unknown(line).replace(b"\r\n", b"\n")


class SaysNothing(StrictMail):
    """Does not answer what it does not know."""

    def unknown(self, line: bytes) -> bytes:
        return b""


class SaysNothingToNoise(StrictMail):
    """Does not answer what it cannot read."""

    def unreadable(self, line: bytes) -> bytes:
        return b""


class SaysNothingToMalformed(StrictMail):
    """Does not answer a known command that is malformed."""

    def malformed(self, line: bytes) -> bytes:
        return b""


class FourDigits(StrictMail):
    """Refuses with a code of four digits."""

    def malformed(self, line: bytes) -> bytes:
        return reply(5010, "malformed")


class LogsOut(StrictMail):
    """Refuses what it does not know, and logs out."""

    def unknown(self, line: bytes) -> bytes:
        self.is_known = False
        return super().unknown(line)


class ForgetsTheEnvelope(StrictMail):
    """Refuses what it does not know, and forgets the letter."""

    def unknown(self, line: bytes) -> bytes:
        self.forget()
        return super().unknown(line)


class ForgetsTheHello(StrictMail):
    """Refuses what it cannot read, and wants to be greeted again."""

    def unreadable(self, line: bytes) -> bytes:
        self.hello = ""
        return super().unreadable(line)


class KeepsHalfALine(StrictMail):
    """Refuses what it cannot read, and takes its end for the beginning of the next line."""

    def unreadable(self, line: bytes) -> bytes:
        self.buffer = line[-1:] + self.buffer
        return super().unreadable(line)


class NullRecipient(StrictMail):
    """Takes a letter to nobody."""

    def rcpt(self, line: bytes) -> bytes:
        return super().rcpt(line.replace(b"<>", b"<nobody@example>"))


class EmptyHello(StrictMail):
    """Does not want to know who says hello."""

    def ehlo(self, line: bytes) -> bytes:
        return super().ehlo(line.rstrip() + b" somebody.example" if len(line.rstrip()) == 4 else line)

    helo = ehlo


class AnyHello(StrictMail):
    """Takes any noise for a name."""

    def is_readable(self, line: bytes) -> bool:
        return super().is_readable(line) or line[:4].upper() in (b"EHLO", b"HELO")

    def ehlo(self, line: bytes) -> bytes:
        return super().ehlo(line[:4] + b" somebody.example" if line[4:5] == b" " else line)

    helo = ehlo


class FirstLetters(StrictMail):
    """Knows commands by their first three letters."""

    def command(self, word: str, line: bytes) -> bytes:
        known = ("ehlo", "mail", "rcpt", "data", "rset", "noop", "quit")
        for each in known:
            if len(word) == 4 and word[:3] == each[:3]:
                return super().command(each, each.encode() + line[4:])
        return super().command(word, line)


class LeavesAfterNoise(StrictMail):
    """Refuses, and does not read any more."""

    def unreadable(self, line: bytes) -> bytes:
        self.waits_for = "letter"
        return super().unreadable(line)


class BeyondBug(NamedTuple):
    """A server, and the kind of finding that shows what is wrong with it."""

    server: type[StreamSession]
    finding: str
    goal: str = "history"  # plans for pairs of messages lead to states that random walks seldom come to
    seed: int = 1


BUGS = (
    BeyondBug(SkipsNul, "wrong message accepted"),
    BeyondBug(CutsAtNul, "wrong message accepted"),
    BeyondBug(SkipsControls, "wrong message accepted"),
    BeyondBug(StripsHighBits, "wrong message accepted"),
    BeyondBug(SkipsHighBytes, "wrong message accepted"),
    BeyondBug(TrimsBlanks, "wrong message accepted"),
    BeyondBug(SkipsBlanks, "wrong message accepted", seed=3),
    BeyondBug(RepeatsWhatItHears, "wrong refusal"),
    BeyondBug(NoCodeForUnknown, "wrong refusal"),
    BeyondBug(WrongCodeForUnknown, "wrong message accepted"),
    BeyondBug(AsksForMore, "wrong message accepted"),
    BeyondBug(SaysHelp, "wrong message accepted"),
    BeyondBug(RefusesTwice, "state changed although refused"),
    BeyondBug(NoLineEnd, "wrong refusal"),
    BeyondBug(OnlyLineFeed, "wrong refusal"),
    BeyondBug(SaysNothing, "wrong refusal"),
    BeyondBug(SaysNothingToNoise, "wrong refusal"),
    BeyondBug(SaysNothingToMalformed, "wrong refusal"),
    BeyondBug(FourDigits, "wrong refusal"),
    BeyondBug(LogsOut, "state changed although refused"),
    BeyondBug(ForgetsTheEnvelope, "state changed although refused", goal="beyond"),
    BeyondBug(ForgetsTheHello, "state changed although refused"),
    BeyondBug(KeepsHalfALine, "state changed although refused"),
    BeyondBug(NullRecipient, "wrong message accepted", seed=2),
    BeyondBug(EmptyHello, "wrong message accepted"),
    BeyondBug(AnyHello, "wrong message accepted"),
    BeyondBug(FirstLetters, "wrong message accepted", seed=5),
    BeyondBug(LeavesAfterNoise, "wrong refusal", goal="beyond"),
)
