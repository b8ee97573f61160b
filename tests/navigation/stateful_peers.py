"""Small peers with a memory: what they answer depends on what was said before, and on the names in it.

Each has a spec, written as a table of commands and answers, and a class that answers lines of text. A peer forgets
everything between sessions. Values that it invents (tokens, ids, cursors) cannot be guessed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from guided import ADDRESS, setup_of

from palaver.addresses import parse_party_address
from palaver.campaign.events import Event, SessionStarted
from palaver.campaign.run import Budget, Campaign, Until
from palaver.navigation.guidance import Guidance
from palaver.random_source import RandomSource
from palaver.session.engine import Timeouts
from palaver.session.interface import Action, Close, Closed, Input, Open, Received, Send
from palaver.transport.memory_network import MemoryNetwork


class Memory(Protocol):
    """Answers one line after another."""

    def answer(self, command: str, *fields: str) -> str:
        """The answer to a command."""


class StatefulPeer(NamedTuple):
    """A spec, and what makes a peer that follows it; the argument is where invented values come from."""

    spec: str
    make: Callable[[random.Random], Memory]


PEERS: dict[str, StatefulPeer] = {}


def peer(
    commands: Mapping[str, str], *rules: str, greeting: str = ""
) -> Callable[[Callable[[random.Random], Memory]], Callable[[random.Random], Memory]]:
    """Add a peer: by each command its answers, and the rules of the fields in both."""
    spec = "\n".join(dialogue(commands, rules, greeting))

    def add(make: Callable[[random.Random], Memory]) -> Callable[[random.Random], Memory]:
        PEERS[make.__name__.lower()] = StatefulPeer(spec, make)
        return make

    return add


def dialogue(commands: Mapping[str, str], rules: Sequence[str], greeting: str = "") -> Iterator[str]:
    """The rules of a spec in which the client may send any command at any time, until it leaves."""
    texts: dict[str, str] = {}

    def message(party: str, prefix: str, text: str) -> str:
        name = prefix + "_".join(word.lower() for word in text.split() if word.isalpha())
        texts[name] = text
        return f"<{party}:{name}>"

    steps = []
    for command, answers in commands.items():
        name = command.split()[0].lower()
        replies = " | ".join(message("Server", "s_", answer.strip()) for answer in answers.split("|"))
        steps.append((name, f"<{name}> ::= {message('Client', 'c_', command)} ({replies})"))
    first = message("Server", "s_", greeting) + " " if greeting else ""
    yield f"<start> ::= {first}<step>* {message('Client', 'c_', 'QUIT')} {message('Server', 's_', 'BYE')}"
    yield "<step> ::= " + " | ".join(f"<{name}>" for name, _ in steps)
    yield from (rule for _, rule in steps)
    for name, text in texts.items():
        words = (word if word.startswith("<") else f'"{word}"' for word in text.split())
        body = ' " " '.join(words)
        yield f'<{name}> ::= {body} "\\n"'
    yield from rules


@peer(
    {
        "SET <key> <val>": "OK",
        "GET <key>": "VALUE <val> | NONE",
        "DEL <key>": "GONE | NONE",
        "REN <key> <key>": "RENAMED | NONE | TAKEN",
    },
    '<key> ::= r"[a-z]{4,8}"',
    '<val> ::= r"[0-9]{1,5}"',
)
class Store:
    def __init__(self, chance: random.Random) -> None:
        self.data: dict[str, str] = {}

    def answer(self, command: str, *fields: str) -> str:
        key, data = fields[0], self.data
        if command == "SET":
            data[key] = fields[1]
            return "OK"
        if key not in data:
            return "NONE"
        if command == "GET":
            return f"VALUE {data[key]}"
        if command == "REN":
            if fields[1] in data:
                return "TAKEN"
            data[fields[1]] = data.pop(key)
            return "RENAMED"
        del data[key]
        return "GONE"


@peer(
    {"PUSH <val>": "OK | FULL", "POP": "ITEM <val> | EMPTY", "CLEAR": "OK"},
    '<val> ::= r"[0-9]{1,5}"',
)
class Queue:
    def __init__(self, chance: random.Random) -> None:
        self.items: list[str] = []

    def answer(self, command: str, *fields: str) -> str:
        if command == "POP":
            return f"ITEM {self.items.pop(0)}" if self.items else "EMPTY"
        if command == "CLEAR":
            self.items.clear()
            return "OK"
        if len(self.items) >= 5:
            return "FULL"
        self.items.append(fields[0])
        return "OK"


@peer({"UP": "OK", "DOWN": "OK | LOW", "FIRE": "FIRED | NOTYET"})
class Counter:
    def __init__(self, chance: random.Random) -> None:
        self.count = 0

    def answer(self, command: str, *fields: str) -> str:
        if command == "FIRE":
            return "FIRED" if self.count >= 6 else "NOTYET"
        if command == "DOWN" and self.count == 0:
            return "LOW"
        self.count += 1 if command == "UP" else -1
        return "OK"


@peer(
    {
        "LOCK <name>": "LOCKED | BUSY",
        "UNLOCK <name>": "UNLOCKED | FREE",
        "STEAL <name>": "STOLEN | FREE | TWICE",
    },
    '<name> ::= r"[a-z]{5}"',
)
class Lock:
    def __init__(self, chance: random.Random) -> None:
        self.held: dict[str, bool] = {}  # by name, True if it was stolen

    def answer(self, command: str, *fields: str) -> str:
        name, held = fields[0], self.held
        if command == "LOCK":
            if name in held:
                return "BUSY"
            held[name] = False
            return "LOCKED"
        if name not in held:
            return "FREE"
        if command == "UNLOCK":
            del held[name]
            return "UNLOCKED"
        was_stolen, held[name] = held[name], True
        return "TWICE" if was_stolen else "STOLEN"


@peer(
    {"GRANT <name>": "GRANTED <token> | HELD", "RENEW <token>": "RENEWED | EXPIRED | UNKNOWN", "TICK": "OK"},
    '<name> ::= r"[a-z]{3,6}"',
    '<token> ::= r"[0-9]{9}"',
)
class Lease:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.now = 0
        self.tokens: dict[str, str] = {}
        self.ends: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        if command == "TICK":
            self.now += 1
            return "OK"
        if command == "GRANT":
            token = self.tokens.get(fields[0])
            if token is not None and self.ends[token] > self.now:
                return "HELD"
            token = self.tokens[fields[0]] = f"{self.chance.randrange(10**9):09d}"
            self.ends[token] = self.now + 2
            return f"GRANTED {token}"
        if fields[0] not in self.ends:
            return "UNKNOWN"
        if self.ends[fields[0]] <= self.now:
            return "EXPIRED"
        self.ends[fields[0]] = self.now + 2
        return "RENEWED"


@peer(
    {
        "SEND <text>": "SENT <id>",
        "READ <id>": "MAIL <text> | NOMAIL | DELETED",
        "MARK <id>": "MARKED | NOMAIL | DELETED",
        "PURGE": "PURGED <number> | NOTHING",
    },
    '<text> ::= r"[a-z]{1,8}"',
    '<id> ::= r"[0-9]{6}"',
    '<number> ::= r"[0-9]+"',
)
class Mailbox:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.mail: dict[str, str] = {}
        self.marked: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        if command == "SEND":
            number = f"{self.chance.randrange(10**6):06d}"
            self.mail[number] = fields[0]
            return f"SENT {number}"
        if command == "PURGE":
            count = len(self.marked)
            for number in self.marked:
                del self.mail[number]
            self.marked.clear()
            return f"PURGED {count}" if count else "NOTHING"
        if fields[0] not in self.mail:
            return "NOMAIL"
        if fields[0] in self.marked:
            return "DELETED"
        if command == "READ":
            return f"MAIL {self.mail[fields[0]]}"
        self.marked.add(fields[0])
        return "MARKED"


@peer(
    {
        "ADD <item>": "ADDED | CLOSED",
        "REMOVE <item>": "REMOVED | ABSENT | CLOSED",
        "CHECKOUT": "TOTAL <number> | EMPTY",
        "PAY": "PAID | NOORDER",
    },
    '<item> ::= r"[a-z]{4,7}"',
    '<number> ::= r"[0-9]+"',
)
class Cart:
    def __init__(self, chance: random.Random) -> None:
        self.items: set[str] = set()
        self.is_ordered = False

    def answer(self, command: str, *fields: str) -> str:
        if command == "PAY":
            if not self.is_ordered:
                return "NOORDER"
            self.is_ordered = False
            self.items.clear()
            return "PAID"
        if command == "CHECKOUT":
            self.is_ordered = bool(self.items)
            return f"TOTAL {len(self.items)}" if self.items else "EMPTY"
        if self.is_ordered:
            return "CLOSED"
        if command == "ADD":
            self.items.add(fields[0])
            return "ADDED"
        if fields[0] not in self.items:
            return "ABSENT"
        self.items.discard(fields[0])
        return "REMOVED"


@peer(
    {
        "BEGIN": "BEGUN | NESTED",
        "WRITE <key>": "WRITTEN | NOTXN",
        "COMMIT": "COMMITTED | NOTHING | NOTXN",
        "ROLLBACK": "ROLLED | NOTXN",
        "READ <key>": "VALUE | DIRTY | NONE",
    },
    '<key> ::= r"[a-z]{4,8}"',
)
class Transaction:
    def __init__(self, chance: random.Random) -> None:
        self.changes: set[str] | None = None
        self.keys: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        changes = self.changes
        if command == "BEGIN":
            if changes is not None:
                return "NESTED"
            self.changes = set()
            return "BEGUN"
        if command == "READ":
            return "DIRTY" if fields[0] in (changes or ()) else "VALUE" if fields[0] in self.keys else "NONE"
        if changes is None:
            return "NOTXN"
        if command == "WRITE":
            changes.add(fields[0])
            return "WRITTEN"
        self.changes = None
        if command == "ROLLBACK":
            return "ROLLED"
        self.keys |= changes
        return "COMMITTED" if changes else "NOTHING"


@peer(
    {"LOGIN <user>": "DENIED | LOCKED", "RESET <user>": "OK | NOTLOCKED", "WORK": "OK"},
    '<user> ::= r"[a-z]{3,5}"',
)
class Lockout:
    def __init__(self, chance: random.Random) -> None:
        self.failures: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        if command == "WORK":
            return "OK"
        times = self.failures.get(fields[0], 0)
        if command == "RESET":
            self.failures.pop(fields[0], None)
            return "OK" if times >= 3 else "NOTLOCKED"
        self.failures[fields[0]] = times + 1
        return "LOCKED" if times >= 3 else "DENIED"


@peer(
    {
        "ADD <item>": "OK",
        "LIST": "PAGE <item> <item> NEXT <cursor> | LAST <items> | NONE",
        "MORE <cursor>": "PAGE <item> <item> NEXT <cursor> | LAST <items> | BADCURSOR",
    },
    '<item> ::= r"[a-z]{3,5}"',
    '<items> ::= <item> (" " <item>)?',
    '<cursor> ::= r"[0-9a-f]{6}"',
)
class Pagination:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.items: list[str] = []
        self.cursors: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        if command == "ADD":
            self.items.append(fields[0])
            return "OK"
        if command == "LIST":
            return self._page(0) if self.items else "NONE"
        return self._page(self.cursors[fields[0]]) if fields[0] in self.cursors else "BADCURSOR"

    def _page(self, start: int) -> str:
        some = self.items[start : start + 2]
        if len(self.items) <= start + 2:
            return " ".join(["LAST", *some])
        cursor = f"{self.chance.randrange(1 << 24):06x}"
        self.cursors[cursor] = start + 2
        return " ".join(["PAGE", *some, "NEXT", cursor])


@peer(
    {
        "NICK <name>": "WELCOME <name> | INUSE | SAME",
        "WHOIS <name>": "YOU | WAS | NOSUCH",
        "MSG <name>": "ECHO | NOSUCH | NONICK",
        "PART": "PARTED | NONICK",
    },
    '<name> ::= r"[a-z]{4,8}"',
)
class Nicks:
    def __init__(self, chance: random.Random) -> None:
        self.name = ""
        self.former: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        if command == "NICK":
            if fields[0] == self.name:
                return "SAME"
            if fields[0] in self.former:
                return "INUSE"
            self._leave()
            self.name = fields[0]
            return f"WELCOME {self.name}"
        if command == "WHOIS":
            return "YOU" if fields[0] == self.name else "WAS" if fields[0] in self.former else "NOSUCH"
        if not self.name:
            return "NONICK"
        if command == "MSG":
            return "ECHO" if fields[0] == self.name else "NOSUCH"
        self._leave()
        return "PARTED"

    def _leave(self) -> None:
        if self.name:
            self.former.add(self.name)
        self.name = ""


@peer(
    {
        "PUB <topic>": "KEPT | DELIVERED",
        "SUB <topic>": "RETAINED | SUBSCRIBED | ALREADY",
        "UNSUB <topic>": "UNSUBSCRIBED | NOTSUBSCRIBED",
        "CLEAR <topic>": "CLEARED | NOTHING",
    },
    '<topic> ::= r"[a-z]{3,9}"',
)
class Retained:
    def __init__(self, chance: random.Random) -> None:
        self.kept: set[str] = set()
        self.subscribed: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        topic = fields[0]
        if command == "PUB":
            self.kept.add(topic)
            return "DELIVERED" if topic in self.subscribed else "KEPT"
        if command == "SUB":
            if topic in self.subscribed:
                return "ALREADY"
            self.subscribed.add(topic)
            return "RETAINED" if topic in self.kept else "SUBSCRIBED"
        names, yes, no = (
            (self.kept, "CLEARED", "NOTHING")
            if command == "CLEAR"
            else (self.subscribed, "UNSUBSCRIBED", "NOTSUBSCRIBED")
        )
        if topic not in names:
            return no
        names.discard(topic)
        return yes


@peer(
    {"PUT <name> <size>": "OK | OVER", "FREE <name>": "OK | MISSING", "STAT": "LOW | HIGH"},
    '<name> ::= r"[a-z]{4}"',
    '<size> ::= r"[1-9][0-9]?"',
)
class Quota:
    def __init__(self, chance: random.Random) -> None:
        self.sizes: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        total = sum(self.sizes.values())
        if command == "STAT":
            return "HIGH" if total > 120 else "LOW"
        if command == "FREE":
            return "OK" if self.sizes.pop(fields[0], None) is not None else "MISSING"
        if total - self.sizes.get(fields[0], 0) + int(fields[1]) > 200:
            return "OVER"
        self.sizes[fields[0]] = int(fields[1])
        return "OK"


@peer(
    {
        "INIT": "UPLOAD <upload>",
        "CHUNK <upload>": "STORED <number> | UNKNOWN | DONE",
        "FINISH <upload>": "COMPLETE <file> | INCOMPLETE | UNKNOWN | DONE",
        "FETCH <file>": "DATA | UNKNOWN",
    },
    '<upload> ::= r"u[0-9a-f]{7}"',
    '<file> ::= r"f[0-9a-f]{7}"',
    '<number> ::= r"[0-9]+"',
)
class Upload:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.chunks: dict[str, int] = {}  # -1 once it is complete
        self.files: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        if command == "INIT":
            name = f"u{self.chance.randrange(1 << 28):07x}"
            self.chunks[name] = 0
            return f"UPLOAD {name}"
        if command == "FETCH":
            return "DATA" if fields[0] in self.files else "UNKNOWN"
        count = self.chunks.get(fields[0])
        if count is None:
            return "UNKNOWN"
        if count < 0:
            return "DONE"
        if command == "CHUNK":
            self.chunks[fields[0]] += 1
            return f"STORED {count + 1}"
        if count < 2:
            return "INCOMPLETE"
        self.chunks[fields[0]] = -1
        name = f"f{self.chance.randrange(1 << 28):07x}"
        self.files.add(name)
        return f"COMPLETE {name}"


@peer({"PUT": "OK", "TAKE": "TAKEN | EMPTY"})
class Shelf:
    def __init__(self, chance: random.Random) -> None:
        self.count = 0

    def answer(self, command: str, *fields: str) -> str:
        if command == "PUT":
            self.count += 3
            return "OK"
        if self.count < 5:
            return "EMPTY"
        self.count -= 5
        return "TAKEN"


class LinePeer:
    """A peer in a network in memory that answers each line. It is driven like a session."""

    wants_to_send = False
    deadline: float | None = None

    def __init__(self, memory: Memory) -> None:
        self.is_over = False
        self._memory = memory
        self._unread = b""
        self._has_begun = False

    def speak(self, at: float) -> bool:
        return False

    def commit(self, at: float) -> Sequence[Action]:
        return []

    def discard(self) -> None:
        pass

    def handle(self, happened: Input) -> Sequence[Action]:
        if not self._has_begun:
            self._has_begun = True
            return [Open("peer", parse_party_address(ADDRESS).address, "listen", None)]
        if isinstance(happened, Closed):
            self.is_over = True
            return [Close("peer")]
        if not isinstance(happened, Received):
            return []
        *lines, self._unread = (self._unread + happened.data).split(b"\n")
        return [Send("peer", f"{self._answer(line.decode())}\n".encode()) for line in lines]

    def _answer(self, line: str) -> str:
        return "BYE" if line == "QUIT" else self._memory.answer(*line.split(" "))


def stateful_campaign(
    name: str, seed: int, *, is_guided: bool = True, until: Until = Until.COVERAGE, **options: bool
) -> Campaign:
    """A run with one of the peers that was not begun."""
    spec, make = PEERS[name]
    ours, network = setup_of(spec), MemoryNetwork()
    guidance = Guidance(ours, RandomSource(seed), **options)  # type: ignore[arg-type]  # as the test has it
    run = Campaign(ours, guidance, seed, Timeouts(), Budget(until), network.loop(), is_guided=is_guided)
    invented = random.Random(seed)

    def appear(event: Event) -> None:
        if isinstance(event, SessionStarted):
            network.add(LinePeer(make(invented))).step()

    return run.attach(appear)
