"""A mailbox over POP3 in a few lines, to be made wrong: `pop3_small.py` prints its port, and serves it."""

from __future__ import annotations

from servers.in_process import serve_streams

ACCOUNT = (b"the_user", b"the_password")

# What the mailbox holds. Some lines begin with a dot.
LETTERS = (
    b"From: <a@example.com>\r\nSubject: one\r\n\r\nHello.\r\nHow are you?\r\n",
    b"From: <b@example.com>\r\nSubject: two\r\n\r\n.\r\n.dots\r\n\r\nthe last line\r\n",
    b"From: <c@example.com>\r\nSubject: three\r\n\r\n",
    b"From: <d@example.com>\r\nSubject: four\r\n\r\n" + b"A line of many.\r\n" * 30,
)
CAPABILITIES = [b"USER", b"TOP", b"UIDL", b"IMPLEMENTATION small"]

ALWAYS = ("CAPA", "QUIT")
BEFORE_LOGIN = ("USER", "PASS", *ALWAYS)
AFTER_LOGIN = ("STAT", "LIST", "RETR", "DELE", "NOOP", "RSET", "TOP", "UIDL", *ALWAYS)


class NoSuchLetter(Exception):
    """Nothing has that number, or it is marked as deleted."""


class Mailbox:
    """The server's side of one session. A command is a method."""

    def __init__(self) -> None:
        self.is_over = False
        self.begun = b""
        self.user = b""
        self.is_logged_in = False
        self.marked: set[int] = set()

    def greet(self) -> bytes:
        return self.ok(b"ready")

    def hear(self, data: bytes) -> bytes:
        *lines, self.begun = (self.begun + data).split(b"\r\n")
        return b"".join(self.answer(line) for line in lines)

    def answer(self, line: bytes) -> bytes:
        verb, _, rest = line.partition(b" ")
        name = verb.upper().decode("latin-1")
        if name not in self.commands():
            return self.error(b"not now")
        arguments = [rest] if name in BEFORE_LOGIN and rest else rest.split()
        try:
            answer: bytes = getattr(self, f"do_{name.lower()}")(*arguments)
        except (NoSuchLetter, TypeError, ValueError):
            return self.error(b"no such letter")
        return answer

    def commands(self) -> tuple[str, ...]:
        return AFTER_LOGIN if self.is_logged_in else BEFORE_LOGIN

    # Letters.

    def numbers(self) -> list[int]:
        return [number for number in range(1, len(LETTERS) + 1) if number not in self.marked]

    def number(self, text: bytes) -> int:
        if int(text) not in self.numbers():
            raise NoSuchLetter
        return int(text)

    def size(self, number: int) -> int:
        return len(LETTERS[number - 1])

    def unique_id(self, number: int) -> bytes:
        return b"letter-%d" % number

    # Answers.

    def ok(self, text: bytes = b"") -> bytes:
        return b"+OK " + text + b"\r\n"

    def error(self, text: bytes) -> bytes:
        return b"-ERR " + text + b"\r\n"

    def lines(self, lines: list[bytes]) -> bytes:
        return self.ok(b"here it is") + b"".join(self.stuffed(line) + b"\r\n" for line in lines) + b".\r\n"

    def stuffed(self, line: bytes) -> bytes:
        return b"." + line if line.startswith(b".") else line

    # Commands.

    def do_user(self, name: bytes) -> bytes:
        self.user = name
        return self.ok(b"and the password?")

    def do_pass(self, password: bytes) -> bytes:
        self.is_logged_in = self.is_right(password)
        self.user = b""
        return self.ok(b"welcome") if self.is_logged_in else self.error(b"sorry")

    def is_right(self, password: bytes) -> bool:
        return (self.user, password) == ACCOUNT

    def do_capa(self) -> bytes:
        return self.lines(CAPABILITIES)

    def do_quit(self) -> bytes:
        self.is_over = True
        return self.ok(b"bye")

    def do_stat(self) -> bytes:
        return self.ok(b"%d %d" % (len(self.numbers()), sum(map(self.size, self.numbers()))))

    def do_list(self, text: bytes = b"") -> bytes:
        if text:
            number = self.number(text)
            return self.ok(b"%d %d" % (number, self.size(number)))
        return self.lines([b"%d %d" % (number, self.size(number)) for number in self.numbers()])

    def do_uidl(self, text: bytes = b"") -> bytes:
        if text:
            number = self.number(text)
            return self.ok(b"%d %s" % (number, self.unique_id(number)))
        return self.lines([b"%d %s" % (number, self.unique_id(number)) for number in self.numbers()])

    def do_retr(self, text: bytes) -> bytes:
        return self.lines(LETTERS[self.number(text) - 1].split(b"\r\n")[:-1])

    def do_top(self, text: bytes, lines: bytes) -> bytes:
        head, _, body = LETTERS[self.number(text) - 1].partition(b"\r\n\r\n")
        return self.lines([*head.split(b"\r\n"), b"", *body.split(b"\r\n")[:-1][: int(lines)]])

    def do_dele(self, text: bytes) -> bytes:
        self.marked.add(self.number(text))
        return self.ok(b"marked")

    def do_rset(self) -> bytes:
        self.marked.clear()
        return self.ok(b"all are back")

    def do_noop(self) -> bytes:
        return self.ok()


if __name__ == "__main__":
    serve_streams([Mailbox])
