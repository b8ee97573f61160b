"""Peers with a memory that were written to find out what guidance cannot do yet; nothing is tuned for them.

What is hard in them differs: thresholds on the very request, states that nothing leaves, an order that must be kept.
"""

from __future__ import annotations

import random

from stateful_peers import peer

UNSEEN = ("limiter", "commit", "undo", "resume", "sticky", "priority", "breaker", "knocking", "trial")


@peer(
    {
        "CALL <user>": "DONE | SLOWDOWN | BANNED",
        "TICK": "TICKED",
        "STATUS <user>": "LEFT <count> | NOBODY | BLOCKED",
        "PARDON <user>": "FREE | INNOCENT",
    },
    '<user> ::= r"[a-z]{3,8}"',
    '<count> ::= "0" | "1" | "2" | "3"',
)
class Limiter:
    """A user has three calls, and one more after each tick; who is refused for the third time is banned."""

    def __init__(self, chance: random.Random) -> None:
        self.left: dict[str, int] = {}
        self.refused: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        if command == "TICK":
            self.left = {user: min(3, count + 1) for user, count in self.left.items()}
            return "TICKED"
        user = fields[0]
        is_banned = self.refused.get(user, 0) >= 3
        if command == "PARDON":
            self.refused.pop(user, None)
            return "FREE" if is_banned else "INNOCENT"
        if command == "STATUS":
            if user not in self.left:
                return "NOBODY"
            return "BLOCKED" if is_banned else f"LEFT {self.left[user]}"
        if is_banned:
            return "BANNED"
        count = self.left.setdefault(user, 3)
        if not count:
            self.refused[user] = self.refused.get(user, 0) + 1
            return "SLOWDOWN"
        self.left[user] = count - 1
        return "DONE"


@peer(
    {
        "BEGIN": "TX <number>",
        "JOIN <number> <site>": "JOINED | TWICE | CLOSED | NOTX",
        "VOTE <number> <site> <wish>": "COUNTED | REVOTE | STRANGER | CLOSED | NOTX",
        "COMMIT <number>": "COMMITTED | WAITING | ABORTED | LONELY | NOTX",
    },
    '<number> ::= r"[0-9]{5}"',
    '<site> ::= r"[a-z]{4,7}"',
    '<wish> ::= "yes" | "no"',
)
class Commit:
    """Two-phase commit: at least two sites join, and what all of them want is done."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.votes: dict[str, dict[str, str]] = {}
        self.closed: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        if command == "BEGIN":
            number = f"{self.chance.randrange(10**5):05}"
            self.votes[number] = {}
            return f"TX {number}"
        number = fields[0]
        if number not in self.votes:
            return "NOTX"
        votes = self.votes[number]
        if command == "COMMIT":
            return self._commit(number, votes)
        if number in self.closed:
            return "CLOSED"
        if command == "JOIN":
            is_known = fields[1] in votes
            votes.setdefault(fields[1], "")
            return "TWICE" if is_known else "JOINED"
        if fields[1] not in votes:
            return "STRANGER"
        has_voted, votes[fields[1]] = bool(votes[fields[1]]), votes[fields[1]] or fields[2]
        return "REVOTE" if has_voted else "COUNTED"

    def _commit(self, number: str, votes: dict[str, str]) -> str:
        if len(votes) < 2:
            return "LONELY"
        if "no" in votes.values():
            self.closed.add(number)
            return "ABORTED"
        if "" in votes.values():
            return "WAITING"
        self.closed.add(number)
        return "COMMITTED"


@peer(
    {
        "WRITE <text>": "WRITTEN",
        "UNDO": "UNDONE <text> | NOTHING",
        "REDO": "REDONE <text> | NOTHING",
        "READ": "TEXT <text> | BLANK",
        "SAVE": "SAVED | SAME",
        "CLOSE": "CLOSED | UNSAVED",
    },
    '<text> ::= r"[a-z]{3,9}"',
)
class Undo:
    """What is written empties the redo stack; after three undos in a row nothing is undone before a write."""

    def __init__(self, chance: random.Random) -> None:
        self.done: list[str] = []
        self.undone: list[str] = []
        self.saved: list[str] = []
        self.in_a_row = 0

    def answer(self, command: str, *fields: str) -> str:
        if command == "WRITE":
            self.done.append(fields[0])
            self.undone.clear()
            self.in_a_row = 0
            return "WRITTEN"
        if command == "UNDO":
            self.in_a_row += 1
            if not self.done or self.in_a_row > 3:
                return "NOTHING"
            self.undone.append(self.done.pop())
            return f"UNDONE {self.undone[-1]}"
        if command == "REDO":
            if not self.undone:
                return "NOTHING"
            self.done.append(self.undone.pop())
            return f"REDONE {self.done[-1]}"
        if command == "READ":
            return f"TEXT {self.done[-1]}" if self.done else "BLANK"
        is_saved = self.saved == self.done
        if command == "CLOSE":
            return "CLOSED" if is_saved else "UNSAVED"
        self.saved = [*self.done]
        return "SAME" if is_saved else "SAVED"


@peer(
    {
        "HELLO <user>": "WELCOME <ticket> | BUSY",
        "ASK": "REPLY | NOLOGIN",
        "SUSPEND": "ASLEEP | NOLOGIN",
        "RESUME <ticket>": "RESUMED <user> | SPENT | INUSE | WRONG",
    },
    '<user> ::= r"[a-z]{3,8}"',
    '<ticket> ::= r"[0-9A-F]{8}"',
)
class Resume:
    """A ticket is good for one user, who has suspended, and only once."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.users: dict[str, str] = {}
        self.spent: set[str] = set()
        self.now = ""

    def answer(self, command: str, *fields: str) -> str:
        if command == "HELLO":
            if self.now:
                return "BUSY"
            self.now = f"{self.chance.randrange(16**8):08X}"
            self.users[self.now] = fields[0]
            return f"WELCOME {self.now}"
        if command == "RESUME":
            ticket = fields[0]
            if ticket not in self.users:
                return "WRONG"
            if ticket in self.spent:
                return "SPENT"
            if self.now:
                return "INUSE"
            self.spent.add(ticket)
            self.now = ticket
            return f"RESUMED {self.users[ticket]}"
        if not self.now:
            return "NOLOGIN"
        if command == "SUSPEND":
            self.now = ""
            return "ASLEEP"
        return "REPLY"


@peer(
    {
        "OPEN": "OPENED | ERROR | BROKEN",
        "MOVE": "MOVED | ERROR | BROKEN",
        "SHUT": "SHUTTED | ERROR | BROKEN",
        "RESET": "CLEAR | IDLE | BROKEN",
    }
)
class Sticky:
    """A wrong step is an error until a reset; the third reset breaks it for ever."""

    def __init__(self, chance: random.Random) -> None:
        self.is_open = self.is_wrong = False
        self.moves = self.resets = 0

    def answer(self, command: str, *fields: str) -> str:
        if self.resets >= 3:
            return "BROKEN"
        if command == "RESET":
            if not self.is_wrong:
                return "IDLE"
            self.is_wrong = self.is_open = False
            self.moves = 0
            self.resets += 1
            return "CLEAR"
        allowed = {"OPEN": not self.is_open, "MOVE": self.is_open, "SHUT": self.is_open and self.moves >= 2}
        if self.is_wrong or not allowed[command]:
            self.is_wrong = True
            return "ERROR"
        self.moves = self.moves + 1 if command == "MOVE" else 0
        self.is_open = command != "SHUT"
        return {"OPEN": "OPENED", "MOVE": "MOVED", "SHUT": "SHUTTED"}[command]


@peer(
    {
        "ADD <job> <rank>": "ADDED | AGAIN",
        "NEXT": "RUN <job> | URGENT <job> | STARVED <job> | NONE",
        "RAISE <job>": "RAISED | TOP | MISSING",
        "DROP <job>": "DROPPED | MISSING",
    },
    '<job> ::= r"[a-z]{3,8}"',
    '<rank> ::= r"[1-9]"',
)
class Priority:
    """The highest rank comes first; a job that was passed over three times comes as starved."""

    def __init__(self, chance: random.Random) -> None:
        self.ranks: dict[str, int] = {}
        self.passed: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        if command == "NEXT":
            return self._next()
        job = fields[0]
        is_known = job in self.ranks
        if command == "ADD":
            if is_known:
                return "AGAIN"
            self.ranks[job], self.passed[job] = int(fields[1]), 0
            return "ADDED"
        if not is_known:
            return "MISSING"
        if command == "DROP":
            del self.ranks[job]
            return "DROPPED"
        if self.ranks[job] == 9:
            return "TOP"
        self.ranks[job] += 1
        return "RAISED"

    def _next(self) -> str:
        if not self.ranks:
            return "NONE"
        starved = [job for job in self.ranks if self.passed[job] >= 3]
        job = starved[0] if starved else max(self.ranks, key=lambda each: self.ranks[each])
        rank = self.ranks.pop(job)
        for other in self.ranks:
            self.passed[other] += 1
        return f"STARVED {job}" if starved else f"URGENT {job}" if rank == 9 else f"RUN {job}"


@peer(
    {
        "CALL <mode>": "GOOD | FAILED | TRIPPED",
        "PROBE <mode>": "CLOSED | STILL | NOTOPEN | EARLY",
        "STATE": "SOUND | SHAKY | OPEN",
    },
    '<mode> ::= "ok" | "bad"',
)
class Breaker:
    """Three failures in a row open the circuit; it is probed after two refused calls at the earliest."""

    def __init__(self, chance: random.Random) -> None:
        self.failures = self.refused = 0

    def answer(self, command: str, *fields: str) -> str:
        is_open = self.failures >= 3
        if command == "STATE":
            return "OPEN" if is_open else "SHAKY" if self.failures == 2 else "SOUND"
        is_good = fields[0] == "ok"
        if command == "PROBE":
            if not is_open:
                return "NOTOPEN"
            if self.refused < 2:
                return "EARLY"
            self.refused = 0
            self.failures = 0 if is_good else 3
            return "CLOSED" if is_good else "STILL"
        if is_open:
            self.refused += 1
            return "TRIPPED"
        self.failures = 0 if is_good else self.failures + 1
        return "GOOD" if is_good else "FAILED"


@peer(
    {
        "KNOCK": "SILENCE | COMING | ANGRY",
        "RING": "HEARD | UNHEARD",
        "ENTER": "INSIDE | LOCKED",
        "LEAVE": "OUT | NOTIN",
    }
)
class Knocking:
    """It is opened to who knocks four times in a row, and to nobody who goes on to knock."""

    def __init__(self, chance: random.Random) -> None:
        self.knocks = 0
        self.is_in = self.is_angry = False

    def answer(self, command: str, *fields: str) -> str:
        if command == "KNOCK":
            self.knocks += 1
            self.is_angry = self.is_angry or self.knocks > 4
            return "ANGRY" if self.is_angry else "COMING" if self.knocks == 4 else "SILENCE"
        knocks, self.knocks = self.knocks, 0
        if command == "RING":
            return "HEARD" if knocks == 2 and not self.is_angry else "UNHEARD"
        if command == "LEAVE":
            was_in, self.is_in = self.is_in, False
            return "OUT" if was_in else "NOTIN"
        if knocks != 4 or self.is_angry or self.is_in:
            return "LOCKED"
        self.is_in = True
        return "INSIDE"


@peer(
    {
        "KEY": "KEYIS <code>",
        "ACTIVATE <code>": "ACTIVE | INVALID | TOOLATE | ALREADY",
        "EXPORT <name>": "EXPORTED | MARKED | EXPIRED",
        "PRINT <name>": "PRINTED | NOEXPORT | EXPIRED",
    },
    '<code> ::= r"[A-Z0-9]{6}"',
    '<name> ::= r"[a-z]{3,8}"',
)
class Trial:
    """Twelve requests are free; then nothing is done any more, and it is too late for a key."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.keys: set[str] = set()
        self.exported: set[str] = set()
        self.requests = 0
        self.is_active = False

    def answer(self, command: str, *fields: str) -> str:
        self.requests += 1
        is_over = self.requests > 12 and not self.is_active
        if command == "KEY":
            key = f"{self.chance.randrange(10**6):06}"
            self.keys.add(key)
            return f"KEYIS {key}"
        if command == "ACTIVATE":
            if self.is_active:
                return "ALREADY"
            if is_over:
                return "TOOLATE"
            self.is_active = fields[0] in self.keys
            return "ACTIVE" if self.is_active else "INVALID"
        if is_over:
            return "EXPIRED"
        if command == "EXPORT":
            self.exported.add(fields[0])
            return "EXPORTED" if self.is_active else "MARKED"
        return "PRINTED" if fields[0] in self.exported else "NOEXPORT"
