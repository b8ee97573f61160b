"""Mailboxes over IMAP4rev1 in a few lines, to be made wrong: `imap_small.py` prints its port, and serves it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from servers.in_process import serve_streams

ACCOUNT = (b"the_user", b"the_password")
LETTERS = (
    b"From: <a@example.com>\r\nSubject: one\r\n\r\nHello.\r\n",
    b"Subject: two\r\n\r\nTwo lines\r\nof text.\r\n",
)
FLAGS = (b"\\Answered", b"\\Flagged", b"\\Deleted", b"\\Seen", b"\\Draft")
STRANGERS_MAY = ("CAPABILITY", "NOOP", "LOGOUT", "LOGIN")
NEEDS_MAILBOX = ("FETCH", "STORE", "SEARCH", "EXPUNGE", "CLOSE")
_TOKEN = re.compile(rb'[()]|"[^"]*"|[^\s()"\[]+(?:\[[^\]]*\](?:<[\d.]+>)?)?')


class No(Exception):
    """It cannot be done."""


class Bad(Exception):
    """It is no command."""


@dataclass(eq=False)
class Letter:
    """A letter, and what is known of it."""

    text: bytes
    uid: int
    flags: set[bytes] = field(default_factory=set)
    date: bytes = b"01-Feb-2021 12:34:56 +0000"


@dataclass
class Box:
    """A mailbox."""

    letters: list[Letter] = field(default_factory=list)
    next_uid: int = 1

    def add(self, text: bytes, flags: set[bytes], date: bytes) -> Letter:
        self.letters.append(Letter(text, self.next_uid, flags, date))
        self.next_uid += 1
        return self.letters[-1]


def words(text: bytes) -> list[bytes]:
    return [each.strip(b'"') for each in _TOKEN.findall(text)]


def name_of(text: bytes) -> bytes:
    name = text.strip().strip(b'"')
    return b"INBOX" if name.upper() == b"INBOX" else name


def flags_of(text: bytes) -> set[bytes]:
    known = {flag.lower(): flag for flag in FLAGS}
    return {known[each.lower()] for each in words(text) if each.lower() in known}


def field_of(letter: bytes, name: bytes) -> bytes:
    found = re.search(rb"(?im)^%s: ?(.*)\r$" % re.escape(name), letter.partition(b"\r\n\r\n")[0] + b"\r\n")
    return found[1] if found else b""


class Mail:
    """The server's side of one session. A command is a method."""

    def __init__(self) -> None:
        self.is_over = False
        self.begun = b""
        self.is_known = False
        self.boxes = {b"INBOX": Box()}
        for letter in LETTERS:
            self.boxes[b"INBOX"].add(letter, set(), b"01-Feb-2021 12:34:56 +0000")
        self.selected: Box | None = None
        self.is_writable = True
        self.tag = b""
        self.data: list[bytes] = []
        self.is_idle = False
        self.awaited: tuple[bytes, int] | None = None

    def greet(self) -> bytes:
        return b"* OK ready\r\n"

    def hear(self, data: bytes) -> bytes:
        self.begun += data
        said = b""
        while (taken := self.take()) is not None:
            said += taken
        return said

    def take(self) -> bytes | None:
        """The answer to the next command, or to a part of it; None if it is not complete."""
        line, end, rest = self.begun.partition(b"\r\n")
        if self.awaited is not None:
            command, size = self.awaited
            if len(self.begun) < size + 2:
                return None
            letter, self.begun, self.awaited = self.begun[:size], self.begun[size + 2 :], None
            return self.answer(command, letter)
        if not end:
            return None
        self.begun = rest
        if self.is_idle:
            self.is_idle = False
            return self.ended(b"OK")
        literal = re.search(rb"(?i)^\S+ APPEND .*\{(\d+)\}$", line)
        if literal and self.is_known:
            self.awaited = (line, int(literal[1]))
            return b"+ go on\r\n"
        return self.answer(line, b"")

    def answer(self, line: bytes, letter: bytes) -> bytes:
        self.tag, _, command = line.partition(b" ")
        verb, _, rest = command.partition(b" ")
        name, is_by_uid = verb.upper().decode("latin-1"), False
        if name == "UID":
            verb, _, rest = rest.partition(b" ")
            name, is_by_uid = verb.upper().decode("latin-1"), True
        try:
            self.check(name)
            if name == "APPEND":
                self.do_append(rest, letter)
            elif name in ("FETCH", "STORE", "SEARCH"):
                getattr(self, f"do_{name.lower()}")(rest, is_by_uid)
            elif is_by_uid or not hasattr(self, f"do_{name.lower()}"):
                raise Bad
            else:
                getattr(self, f"do_{name.lower()}")(*([rest] if rest else []))
        except No:
            return self.ended(b"NO")
        except (Bad, TypeError, ValueError, IndexError):
            return self.ended(b"BAD")
        return b"+ idling\r\n" if self.is_idle else self.ended(b"OK")

    def check(self, name: str) -> None:
        if not self.is_known and name not in STRANGERS_MAY:
            raise Bad
        if name in NEEDS_MAILBOX and self.selected is None:
            raise Bad

    def tell(self, line: bytes) -> None:
        self.data.append(b"* " + line + b"\r\n")

    def ended(self, result: bytes) -> bytes:
        said = b"".join(self.data) + self.tag + b" " + result + self.remark() + b"\r\n"
        self.data = []
        return said

    def remark(self) -> bytes:
        return b" [READ-ONLY] done" if self.selected is not None and not self.is_writable else b" done"

    # Commands of everybody.

    def do_capability(self) -> None:
        self.tell(b"CAPABILITY IMAP4rev1 IDLE")

    def do_noop(self) -> None:
        pass

    def do_logout(self) -> None:
        self.tell(b"BYE see you")
        self.is_over = True

    def do_login(self, rest: bytes) -> None:
        if not self.is_right(words(rest)):
            raise No
        self.is_known = True

    def is_right(self, account: list[bytes]) -> bool:
        return tuple(account) == ACCOUNT

    # Mailboxes.

    def do_select(self, rest: bytes) -> None:
        self.selected, self.is_writable = None, True
        if name_of(rest) not in self.boxes:
            raise No
        self.selected = self.boxes[name_of(rest)]
        self.tell(b"FLAGS (%s)" % b" ".join(FLAGS))
        self.tell(b"%d EXISTS" % len(self.selected.letters))
        self.tell(b"0 RECENT")
        self.tell(b"OK [UIDVALIDITY 7] for ever")
        self.tell(b"OK [UIDNEXT %d] next" % self.selected.next_uid)

    def do_examine(self, rest: bytes) -> None:
        self.do_select(rest)
        self.is_writable = False

    def do_create(self, rest: bytes) -> None:
        if name_of(rest) in self.boxes:
            raise No
        self.boxes[name_of(rest)] = Box()

    def do_delete(self, rest: bytes) -> None:
        if name_of(rest) not in self.boxes or name_of(rest) == b"INBOX":
            raise No
        del self.boxes[name_of(rest)]

    def do_list(self, rest: bytes) -> None:
        pattern = re.escape(words(rest)[1]).replace(rb"\*", b".*").replace(b"%", b"[^/]*")
        for name in self.boxes:
            if re.fullmatch(pattern, name):
                self.tell(b'LIST () "/" "%s"' % name)

    def do_status(self, rest: bytes) -> None:
        name, _, asked = rest.partition(b" (")
        if not asked.strip(b")"):
            raise Bad
        if name_of(name) not in self.boxes:
            raise No
        box = self.boxes[name_of(name)]
        counts = {b"MESSAGES": len(box.letters), b"RECENT": 0, b"UIDNEXT": box.next_uid, b"UIDVALIDITY": 7}
        counts[b"UNSEEN"] = self.unseen(box)
        told = [b"%s %d" % (each, counts[each]) for each in asked.upper().strip(b")").split()]
        self.tell(b"STATUS %s (%s)" % (name, b" ".join(told)))

    def unseen(self, box: Box) -> int:
        return sum(b"\\Seen" not in letter.flags for letter in box.letters)

    def do_append(self, rest: bytes, letter: bytes) -> None:
        parts = re.fullmatch(rb'(".*?"|\S+) (\(.*\) )?(".*" )?\{\d+\}', rest)
        if parts is None:
            raise Bad
        box = self.boxes.get(name_of(parts[1]))
        if box is None:
            raise No
        date = parts[3].strip().strip(b'"') if parts[3] else b"01-Feb-2021 12:34:56 +0000"
        box.add(letter, flags_of(parts[2] or b""), date)
        if box is self.selected:
            self.tell(b"%d EXISTS" % len(box.letters))

    def do_idle(self) -> None:
        self.is_idle = True

    # Letters.

    @property
    def letters(self) -> list[Letter]:
        assert self.selected is not None
        return self.selected.letters

    def chosen(self, text: bytes, is_by_uid: bool) -> list[Letter]:
        names = [each.uid for each in self.letters] if is_by_uid else list(range(1, len(self.letters) + 1))
        found: set[int] = set()
        for part in text.split(b","):
            ends = [max(names, default=0) if each == b"*" else int(each) for each in part.split(b":")]
            if not is_by_uid and not 1 <= min(ends) <= max(ends) <= len(names):
                raise Bad
            found |= {name for name in names if min(ends) <= name <= max(ends)}
        return [letter for name, letter in zip(names, self.letters, strict=True) if name in found]

    def place(self, letter: Letter) -> int:
        return self.letters.index(letter) + 1

    def do_fetch(self, rest: bytes, is_by_uid: bool) -> None:
        places, asked = rest.split(b" ", 1)
        asked = {b"FAST": b"FLAGS INTERNALDATE RFC822.SIZE", b"ALL": b"FLAGS INTERNALDATE RFC822.SIZE ENVELOPE"}.get(
            asked.upper(), asked
        )
        items = [each.upper() for each in words(asked) if each not in (b"(", b")")]
        if is_by_uid and b"UID" not in items:
            items.insert(0, b"UID")
        for letter in self.chosen(places, is_by_uid):
            if self.is_writable and any(self.marks_as_seen(item) for item in items):
                letter.flags.add(b"\\Seen")
            told = b" ".join(self.item(letter, item) for item in items)
            self.tell(b"%d FETCH (%s)" % (self.place(letter), told))

    def marks_as_seen(self, item: bytes) -> bool:
        return item in (b"RFC822", b"RFC822.TEXT") or item.startswith(b"BODY[")

    def item(self, letter: Letter, item: bytes) -> bytes:
        simple = {
            b"FLAGS": b"FLAGS (%s)" % b" ".join(sorted(letter.flags)),
            b"UID": b"UID %d" % letter.uid,
            b"RFC822.SIZE": b"RFC822.SIZE %d" % self.size(letter),
            b"INTERNALDATE": b'INTERNALDATE "%s"' % letter.date,
            b"ENVELOPE": b'ENVELOPE (NIL "%s" NIL NIL NIL NIL NIL NIL NIL NIL)' % field_of(letter.text, b"Subject"),
        }
        if item in simple:
            return simple[item]
        old = {b"RFC822": b"BODY[]", b"RFC822.HEADER": b"BODY[HEADER]", b"RFC822.TEXT": b"BODY[TEXT]"}
        section = re.fullmatch(rb"BODY(?:\.PEEK)?\[(.*)\](?:<(\d+)\.(\d+)>)?", old.get(item, item))
        if section is None:
            raise Bad
        part = self.section(letter.text, section[1])
        name = item.replace(b".PEEK", b"")
        if section[2]:
            part = self.piece(part, int(section[2]), int(section[3]))
            name = name.rpartition(b"<")[0] + b"<%s>" % section[2]
        return b"%s {%d}\r\n%s" % (name, len(part), part)

    def size(self, letter: Letter) -> int:
        return len(letter.text)

    def piece(self, part: bytes, begin: int, length: int) -> bytes:
        return part[begin : begin + length]

    def section(self, text: bytes, section: bytes) -> bytes:
        head, _, body = text.partition(b"\r\n\r\n")
        if section.startswith(b"HEADER.FIELDS"):
            names = section.partition(b"(")[2].rstrip(b")").split()
            lines = (head + b"\r\n").splitlines(keepends=True)
            return b"".join(line for line in lines if line.partition(b":")[0].upper() in names) + b"\r\n"
        return {b"": text, b"HEADER": head + b"\r\n\r\n", b"TEXT": body, b"1": body}[section]

    def do_store(self, rest: bytes, is_by_uid: bool) -> None:
        places, kind, flags = rest.split(b" ", 2)
        if not self.is_writable:
            raise No
        for letter in self.chosen(places, is_by_uid):
            self.change(letter, kind.upper(), flags_of(flags))
            if not kind.upper().endswith(b".SILENT"):
                uid = b"UID %d " % letter.uid if is_by_uid else b""
                self.tell(b"%d FETCH (%sFLAGS (%s))" % (self.place(letter), uid, b" ".join(sorted(letter.flags))))

    def change(self, letter: Letter, kind: bytes, flags: set[bytes]) -> None:
        if kind.startswith(b"+"):
            letter.flags |= flags
        elif kind.startswith(b"-"):
            letter.flags -= flags
        else:
            letter.flags = flags

    def do_search(self, rest: bytes, is_by_uid: bool) -> None:
        found = [letter for letter in self.letters if self.matches_all(letter, words(rest))]
        names = [letter.uid if is_by_uid else self.place(letter) for letter in found]
        self.tell(b"SEARCH" + b"".join(b" %d" % name for name in names))

    def matches_all(self, letter: Letter, keys: list[bytes]) -> bool:
        if not keys:
            raise Bad
        is_found = True
        while keys and keys[0] != b")":
            one, keys = self.matches(letter, keys)
            is_found = is_found and one
        return is_found

    def matches(self, letter: Letter, keys: list[bytes]) -> tuple[bool, list[bytes]]:
        """Whether it is found by the first key, and the keys behind that."""
        name, keys = keys[0].upper(), keys[1:]
        if name == b"(":
            depth, end = 1, 0
            while depth:
                depth += {b"(": 1, b")": -1}.get(keys[end], 0)
                end += 1
            return self.matches_all(letter, keys[: end - 1]), keys[end:]
        if name == b"NOT":
            is_found, keys = self.matches(letter, keys)
            return not is_found, keys
        if name == b"OR":
            one, keys = self.matches(letter, keys)
            other, keys = self.matches(letter, keys)
            return one or other, keys
        if name == b"UID":
            return letter in self.chosen(keys[0], True), keys[1:]
        if name[:1].isdigit() or name[:1] == b"*":
            return self.place(letter) in self.places(name), keys
        flags = {flag[1:].upper(): flag for flag in FLAGS}
        if name.removeprefix(b"UN") in flags:
            return (flags[name.removeprefix(b"UN")] in letter.flags) != name.startswith(b"UN"), keys
        if name == b"ALL":
            return True, keys
        if name == b"HEADER":
            return self.is_within(keys[1], field_of(letter.text, keys[0])), keys[2:]
        if name in (b"LARGER", b"SMALLER"):
            larger = len(letter.text) > int(keys[0])
            return larger if name == b"LARGER" else len(letter.text) < int(keys[0]), keys[1:]
        where = {b"TEXT": letter.text, b"BODY": self.section(letter.text, b"TEXT")}
        return self.is_within(keys[0], where.get(name, field_of(letter.text, name))), keys[1:]

    def is_within(self, word: bytes, text: bytes) -> bool:
        return word.lower() in text.lower()

    def places(self, text: bytes) -> list[int]:
        last = len(self.letters)
        ends = [sorted(last if each == b"*" else int(each) for each in part.split(b":")) for part in text.split(b",")]
        return [place for place in range(1, last + 1) if any(end[0] <= place <= end[-1] for end in ends)]

    def do_expunge(self) -> None:
        if not self.is_writable:
            raise No
        for letter in [each for each in self.letters if b"\\Deleted" in each.flags]:
            self.tell(b"%d EXPUNGE" % self.place(letter))
            self.letters.remove(letter)

    def do_close(self) -> None:
        if self.is_writable:
            self.letters[:] = [each for each in self.letters if b"\\Deleted" not in each.flags]
        self.selected = None


if __name__ == "__main__":
    serve_streams([Mail])
