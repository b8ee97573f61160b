"""Wrong IMAP servers: what is wrong with them, and within how many sessions that is found.

As a program, this is all of them, and it prints their names and ports. Each differs from `Mail`, the right one, in one
thing. A bug more is a class, and a row in the table at the end.
"""

from __future__ import annotations

from catalogue import Bug

from servers.imap_small import Letter, Mail, name_of
from servers.in_process import serve_streams


class PeekMarks(Mail):
    """Marks a letter as seen that was only to be looked at."""

    def marks_as_seen(self, item: bytes) -> bool:
        return super().marks_as_seen(item.replace(b".PEEK", b""))


class OneByteMore(Mail):
    """Tells sizes with the end of the text, which is not part of it."""

    def size(self, letter: Letter) -> int:
        return len(letter.text) + 2


class HeadWithoutEnd(Mail):
    """Forgets that the empty line belongs to the head."""

    def section(self, text: bytes, section: bytes) -> bytes:
        part = super().section(text, section)
        return part[:-2] if section == b"HEADER" else part


class AddsOnly(Mail):
    """Adds flags where it should replace them."""

    def change(self, letter: Letter, kind: bytes, flags: set[bytes]) -> None:
        super().change(letter, kind if kind[:1] in (b"+", b"-") else b"+" + kind, flags)


class AnyPassword(Mail):
    """Looks at the name only."""

    def is_right(self, account: list[bytes]) -> bool:
        return account[0] == b"the_user"


class NoMailboxNeeded(Mail):
    """Closes what was not opened."""

    def check(self, name: str) -> None:
        if name != "CLOSE":
            super().check(name)

    def do_close(self) -> None:
        if self.selected is not None:
            super().do_close()


class SilentChangesNothing(Mail):
    """Changes nothing if it is to be silent."""

    def change(self, letter: Letter, kind: bytes, flags: set[bytes]) -> None:
        if not kind.endswith(b".SILENT"):
            super().change(letter, kind, flags)


class SearchIsCaseSensitive(Mail):
    """Looks for words as they are written."""

    def is_within(self, word: bytes, text: bytes) -> bool:
        return word in text


class ForgetsFlags(Mail):
    """Does not keep the flags that a letter comes with."""

    def do_append(self, rest: bytes, letter: bytes) -> None:
        super().do_append(rest, letter)
        for box in self.boxes.values():
            if box.letters and b" (" in rest:
                box.letters[-1].flags.clear()


class ExamineWrites(Mail):
    """Lets a mailbox be changed that was only to be looked at, and does not say that it is not."""

    def do_examine(self, rest: bytes) -> None:
        self.do_select(rest)


class MakesTwice(Mail):
    """Makes a mailbox that there is, which is empty then."""

    def do_create(self, rest: bytes) -> None:
        self.boxes.pop(name_of(rest), None)
        super().do_create(rest)


class StaysThere(Mail):
    """Says goodbye, and stays."""

    def do_logout(self) -> None:
        super().do_logout()
        self.is_over = False


class OtherTag(Mail):
    """Answers a search with a tag in capitals."""

    def do_search(self, rest: bytes, is_by_uid: bool) -> None:
        super().do_search(rest, is_by_uid)
        self.tag = self.tag.upper()


BUGS = (
    Bug("PeekMarks", 30, "constraint violated"),
    Bug("OneByteMore", 8, "constraint violated"),
    Bug("HeadWithoutEnd", 8, "constraint violated"),
    Bug("AddsOnly", 8, "constraint violated"),
    Bug("AnyPassword", 30, "unexpected response"),
    Bug("NoMailboxNeeded", 8, "constraint violated"),
    Bug("SilentChangesNothing", 8, "constraint violated"),
    Bug("SearchIsCaseSensitive", 8, "constraint violated"),
    Bug("ForgetsFlags", 8, "constraint violated"),
    Bug("ExamineWrites", 8, "constraint violated"),
    Bug("MakesTwice", 8, "constraint violated"),
    Bug("StaysThere", 8, "no response"),
    Bug("OtherTag", 8, "constraint violated"),
)


if __name__ == "__main__":
    serve_streams([Mail, *Mail.__subclasses__()])
