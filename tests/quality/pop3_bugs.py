"""Wrong POP3 servers: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Mailbox`, the right one, in
one thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

from catalogue import Bug

from servers.in_process import serve_streams
from servers.pop3_small import AFTER_LOGIN, LETTERS, Mailbox


class DeletedAreListed(Mailbox):
    """Lists letters that are marked as deleted."""

    def do_list(self, text: bytes = b"") -> bytes:
        if text:
            return super().do_list(text)
        marked, self.marked = self.marked, set()
        answer = super().do_list()
        self.marked = marked
        return answer


class DeletesTwice(Mailbox):
    """Deletes what is deleted."""

    def do_dele(self, text: bytes) -> bytes:
        return self.ok(b"marked") if int(text) in self.marked else super().do_dele(text)


class CountsLineFeeds(Mailbox):
    """Tells the sizes that the letters have in its files, where a line ends with one octet."""

    def size(self, number: int) -> int:
        return len(LETTERS[number - 1].replace(b"\r\n", b"\n"))


class NoDotsDoubled(Mailbox):
    """Forgets that a letter may have lines that begin with a dot."""

    def stuffed(self, line: bytes) -> bytes:
        return line


class OneLineMore(Mailbox):
    """Counts the empty line behind the head for one of the lines that are asked for, or not at all."""

    def do_top(self, text: bytes, lines: bytes) -> bytes:
        return super().do_top(text, b"%d" % (int(lines) + 1))


class IdsMoveUp(Mailbox):
    """Numbers its identities by what is left."""

    def unique_id(self, number: int) -> bytes:
        return b"letter-%d" % self.numbers().index(number)


class SameIds(Mailbox):
    """Makes identities of sizes that were rounded."""

    def unique_id(self, number: int) -> bytes:
        return b"size-%d" % (self.size(number) // 100)


class LastIsZero(Mailbox):
    """Takes letters from a list, where number -1 is the last one."""

    def number(self, text: bytes) -> int:
        return 4 if text == b"0" and 4 not in self.marked else super().number(text)


class AnyPassword(Mailbox):
    """Looks at the name only."""

    def is_right(self, password: bytes) -> bool:
        return self.user == b"the_user"


class NoLoginNeeded(Mailbox):
    """Knows all commands all the time."""

    def commands(self) -> tuple[str, ...]:
        return ("USER", "PASS", *AFTER_LOGIN)


class SmallLetters(Mailbox):
    """Answers in small letters when something was deleted."""

    def do_dele(self, text: bytes) -> bytes:
        return super().do_dele(text).lower()


class StaysThere(Mailbox):
    """Says goodbye, and stays."""

    def do_quit(self) -> bytes:
        return self.ok(b"bye")


BUGS = (
    Bug("DeletedAreListed", 5, "constraint violated"),
    Bug("DeletesTwice", 5, "constraint violated"),
    Bug("CountsLineFeeds", 5, "constraint violated"),
    Bug("NoDotsDoubled", 25, "out of turn"),
    Bug("OneLineMore", 25, "constraint violated"),
    Bug("IdsMoveUp", 25, "constraint violated"),
    Bug("SameIds", 25, "constraint violated"),
    Bug("LastIsZero", 5, "constraint violated"),
    Bug("AnyPassword", 25, "unexpected response"),
    Bug("NoLoginNeeded", 5, "unexpected response"),
    Bug("SmallLetters", 5, "unexpected response"),
    Bug("StaysThere", 3, "no response"),
)


if __name__ == "__main__":
    serve_streams([Mailbox, *Mailbox.__subclasses__()])
