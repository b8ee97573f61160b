"""Mailboxes over POP3 with a defect that only wrong messages show, each the strict one but for one thing."""

from __future__ import annotations

import re

from beyond_bugs import BeyondBug

from servers.pop3_small import Mailbox

RIGHT = re.compile(
    rb"(?i:USER|PASS) [ -~]+|(?i:STAT|NOOP|RSET|CAPA|QUIT)|(?i:LIST|UIDL)( [0-9]+)?|(?i:RETR|DELE) [0-9]+|"
    rb"(?i:TOP) [0-9]+ [0-9]+"
)


class StrictMailbox(Mailbox):
    """Refuses what is malformed, out of place or unknown, and changes nothing by that."""

    def answer(self, line: bytes) -> bytes:
        if RIGHT.fullmatch(line) is None:
            return self.malformed(line)
        if line[:4].upper() == b"PASS" and not self.user:
            return self.unasked(line)
        return super().answer(line)

    def malformed(self, line: bytes) -> bytes:
        """The answer to what is no command."""
        return self.error(b"malformed")

    def unasked(self, line: bytes) -> bytes:
        """The answer to a password without a name."""
        return self.error(b"who are you?")


class SkipsNul(StrictMailbox):
    """Takes no notice of NUL."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(line.replace(b"\0", b""))


class CutsAtNul(StrictMailbox):
    """Takes NUL for the end of a line."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(line.partition(b"\0")[0])


class SkipsControls(StrictMailbox):
    """Takes no notice of control characters."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(re.sub(rb"[\x00-\x1f\x7f]", b"", line))


class SkipsHighBytes(StrictMailbox):
    """Takes no notice of bytes beyond ASCII."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(bytes(byte for byte in line if byte < 0x80))


class TrimsBlanks(StrictMailbox):
    """Takes a command with blanks before it."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(line.lstrip())


class TabsAreBlanks(StrictMailbox):
    """Takes a TAB for a blank."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(line.replace(b" \t", b" ").replace(b"\t", b" "))


class FirstLetterWithout(StrictMailbox):
    """Takes the first letter if none is named."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(line.rstrip() + b" 1" if line.strip().upper() in (b"RETR", b"DELE") else line)


class SignedNumbers(StrictMailbox):
    """Takes what Python takes for a number."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(re.sub(rb"[^ -~]|-", b"", line) if b" " in line else line)


class NoNameNeeded(StrictMailbox):
    """Takes a user without a name."""

    def answer(self, line: bytes) -> bytes:
        return super().answer(line.rstrip() + b" nobody" if line.strip().upper() == b"USER" else line)


class IsPolite(StrictMailbox):
    """Says yes to what is malformed."""

    def malformed(self, line: bytes) -> bytes:
        return self.ok(b"whatever you mean")


class SaysNothing(StrictMailbox):
    """Does not answer what is malformed."""

    def malformed(self, line: bytes) -> bytes:
        return b""


class NoIndicator(StrictMailbox):
    """Refuses without -ERR."""

    def malformed(self, line: bytes) -> bytes:
        return b"malformed\r\n"


class SmallLetters(StrictMailbox):
    """Refuses in small letters."""

    def malformed(self, line: bytes) -> bytes:
        return b"-err malformed\r\n"


class OnlyLineFeed(StrictMailbox):
    """Ends the line of a refusal as files do."""

    def malformed(self, line: bytes) -> bytes:
        return b"-ERR malformed\n"


class NoLineEnd(StrictMailbox):
    """Does not end the line of a refusal."""

    def malformed(self, line: bytes) -> bytes:
        return b"-ERR malformed"


class RefusesTwice(StrictMailbox):
    """Refuses what is malformed twice."""

    def malformed(self, line: bytes) -> bytes:
        return super().malformed(line) * 2


class LogsOut(StrictMailbox):
    """Refuses what is malformed, and logs out."""

    def malformed(self, line: bytes) -> bytes:
        self.is_logged_in = False
        return super().malformed(line)


class ForgetsTheName(StrictMailbox):
    """Refuses what is malformed, and forgets who was named."""

    def malformed(self, line: bytes) -> bytes:
        self.user = b""
        return super().malformed(line)


class DeletesALetter(StrictMailbox):
    """Refuses what is malformed, and deletes a letter."""

    def malformed(self, line: bytes) -> bytes:
        self.marked.add(2)
        return super().malformed(line)


class KeepsHalfALine(StrictMailbox):
    """Refuses what is malformed, and takes its end for the beginning of the next line."""

    def malformed(self, line: bytes) -> bytes:
        self.begun = line[-1:] + self.begun
        return super().malformed(line)


class AnyPassword(StrictMailbox):
    """Lets in who gives a password, and no name."""

    def unasked(self, line: bytes) -> bytes:
        self.is_logged_in = True
        return self.ok(b"welcome")


class AsksForNoName(StrictMailbox):
    """Is polite to a password without a name."""

    def unasked(self, line: bytes) -> bytes:
        return self.ok(b"noted")


class NoopForStrangers(StrictMailbox):
    """Answers strangers who only want to know if it is there."""

    def commands(self) -> tuple[str, ...]:
        return (*super().commands(), "NOOP", "RSET")


class ListsForStrangers(StrictMailbox):
    """Shows strangers which letters there are."""

    def commands(self) -> tuple[str, ...]:
        return (*super().commands(), "UIDL", "LIST", "TOP")


ACCEPTED, REFUSAL, CHANGED = "wrong message accepted", "wrong refusal", "state changed although refused"
POP3_BUGS = (
    BeyondBug(SkipsNul, ACCEPTED),
    BeyondBug(CutsAtNul, ACCEPTED),
    BeyondBug(SkipsControls, ACCEPTED),
    BeyondBug(SkipsHighBytes, ACCEPTED),
    BeyondBug(TrimsBlanks, ACCEPTED),
    BeyondBug(TabsAreBlanks, ACCEPTED),
    BeyondBug(FirstLetterWithout, ACCEPTED),
    BeyondBug(SignedNumbers, ACCEPTED),
    BeyondBug(NoNameNeeded, ACCEPTED),
    BeyondBug(IsPolite, ACCEPTED),
    BeyondBug(SaysNothing, REFUSAL),
    BeyondBug(NoIndicator, REFUSAL),
    BeyondBug(SmallLetters, REFUSAL),
    BeyondBug(OnlyLineFeed, REFUSAL),
    BeyondBug(NoLineEnd, REFUSAL),
    BeyondBug(RefusesTwice, CHANGED),
    BeyondBug(LogsOut, CHANGED),
    BeyondBug(ForgetsTheName, CHANGED),
    BeyondBug(DeletesALetter, CHANGED),
    BeyondBug(KeepsHalfALine, CHANGED),
    BeyondBug(AnyPassword, ACCEPTED),
    BeyondBug(AsksForNoName, ACCEPTED),
    BeyondBug(NoopForStrangers, ACCEPTED),
    BeyondBug(ListsForStrangers, ACCEPTED),
)
