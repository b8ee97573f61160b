"""Peers with a memory from everyday life: thresholds, absorbing states, things that expire, and two names at once."""

from __future__ import annotations

import random

from stateful_peers import peer

EVERYDAY = ("tickets", "door", "expiry", "music", "coupons", "elevator", "auction", "library", "vending", "ballot")


@peer(
    {
        "OPEN <title>": "TICKET <number>",
        "ASSIGN <number> <user>": "ASSIGNED | SAME | UNKNOWN | DONE",
        "RESOLVE <number>": "RESOLVED | UNASSIGNED | UNKNOWN | DONE",
        "REOPEN <number>": "REOPENED | ESCALATED | OPEN | UNKNOWN",
        "SHOW <number>": "NEW <title> | OF <user> | SOLVED | UNKNOWN",
    },
    '<title> ::= r"[a-z]{3,9}"',
    '<user> ::= r"[A-Z][a-z]{2,5}"',
    '<number> ::= r"[0-9]{5}"',
)
class Tickets:
    """A ticket that is opened again for the second time is escalated."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.titles: dict[str, str] = {}
        self.users: dict[str, str] = {}
        self.solved: set[str] = set()
        self.reopened: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        name = fields[0]
        if command == "OPEN":
            number = f"{self.chance.randrange(10**5):05}"
            self.titles[number] = name
            return f"TICKET {number}"
        if name not in self.titles:
            return "UNKNOWN"
        if command == "REOPEN":
            if name not in self.solved:
                return "OPEN"
            self.solved.discard(name)
            self.reopened[name] = self.reopened.get(name, 0) + 1
            return "ESCALATED" if self.reopened[name] > 1 else "REOPENED"
        user = self.users.get(name)
        if command == "SHOW":
            return "SOLVED" if name in self.solved else f"OF {user}" if user else f"NEW {self.titles[name]}"
        if name in self.solved:
            return "DONE"
        if command == "ASSIGN":
            self.users[name] = fields[1]
            return "SAME" if user == fields[1] else "ASSIGNED"
        if user is None:
            return "UNASSIGNED"
        self.solved.add(name)
        return "RESOLVED"


@peer(
    {
        "CODE <pin>": "SET | DENIED",
        "UNLOCK <pin>": "UNLOCKED | WRONG | ALARM | OPEN",
        "LOCK": "LOCKED | ALREADY",
        "PUSH": "IN | SHUT | ALARM",
        "SILENCE <pin>": "SILENT | QUIET | WRONG",
    },
    '<pin> ::= r"[0-9]{4}"',
)
class Door:
    """Three wrong codes, or a fourth push while it is locked, raise an alarm, which only the code ends."""

    def __init__(self, chance: random.Random) -> None:
        self.pin = ""
        self.is_open = False
        self.is_alarmed = False
        self.wrong = self.pushes = 0

    def answer(self, command: str, *fields: str) -> str:
        if command == "SILENCE":
            if not self.is_alarmed:
                return "QUIET"
            if fields[0] != self.pin:
                return "WRONG"
            self.is_alarmed, self.wrong, self.pushes = False, 0, 0
            return "SILENT"
        if command == "CODE":
            if self.is_alarmed or (self.pin and not self.is_open):
                return "DENIED"
            self.pin = fields[0]
            return "SET"
        if command == "PUSH":
            if self.is_open:
                return "IN"
            self.pushes += 1
            self.is_alarmed = self.is_alarmed or self.pushes > 3
            return "ALARM" if self.is_alarmed else "SHUT"
        if command == "LOCK":
            was_open, self.is_open = self.is_open, False
            return "LOCKED" if was_open else "ALREADY"
        return self._unlock(fields[0])

    def _unlock(self, pin: str) -> str:
        if self.is_open:
            return "OPEN"
        if not self.is_alarmed and pin == self.pin:
            self.is_open, self.wrong, self.pushes = True, 0, 0
            return "UNLOCKED"
        self.wrong += 1
        self.is_alarmed = self.is_alarmed or self.wrong > 2
        return "ALARM" if self.is_alarmed else "WRONG"


@peer(
    {
        "PUT <key> <life> <val>": "STORED | FULL",
        "GET <key>": "HIT <val> | STALE | MISS",
        "TOUCH <key>": "KEPT | STALE | MISS",
        "SWEEP": "SWEPT | CLEAN",
    },
    '<key> ::= r"[a-z]{4,6}"',
    '<life> ::= "2" | "5" | "9"',
    '<val> ::= r"[0-9]{1,4}"',
)
class Expiry:
    """What is stored goes stale after so many requests, and is there until somebody sweeps."""

    def __init__(self, chance: random.Random) -> None:
        self.data: dict[str, tuple[str, int, int]] = {}
        self.now = 0

    def answer(self, command: str, *fields: str) -> str:
        self.now += 1
        if command == "SWEEP":
            fresh = {key: each for key, each in self.data.items() if each[2] >= self.now}
            count, self.data = len(self.data) - len(fresh), fresh
            return "SWEPT" if count else "CLEAN"
        key = fields[0]
        if command == "PUT":
            if len(self.data) >= 4 and key not in self.data:
                return "FULL"
            self.data[key] = (fields[2], int(fields[1]), self.now + int(fields[1]))
            return "STORED"
        if key not in self.data:
            return "MISS"
        value, life, end = self.data[key]
        if end < self.now:
            return "STALE"
        if command == "TOUCH":
            self.data[key] = (value, life, self.now + life)
            return "KEPT"
        return f"HIT {value}"


@peer(
    {
        "ADD <song>": "ADDED | TWICE | LIMIT",
        "PLAY": "PLAYING <song> | ON | NOTHING",
        "PAUSE": "PAUSED | SILENT",
        "SKIP": "NEXT <song> | END | SILENT",
        "LIKE <song>": "LIKED | FAVOURITE | NOSONG",
    },
    '<song> ::= r"[a-z]{4,8}"',
)
class Music:
    """What is liked three times is a favourite; at most four songs wait, each once."""

    def __init__(self, chance: random.Random) -> None:
        self.songs: list[str] = []
        self.likes: dict[str, int] = {}
        self.is_playing = False

    def answer(self, command: str, *fields: str) -> str:
        if command == "ADD":
            if fields[0] in self.songs:
                return "TWICE"
            if len(self.songs) >= 4:
                return "LIMIT"
            self.songs.append(fields[0])
            return "ADDED"
        if command == "LIKE":
            if fields[0] not in self.songs:
                return "NOSONG"
            self.likes[fields[0]] = self.likes.get(fields[0], 0) + 1
            return "FAVOURITE" if self.likes[fields[0]] > 2 else "LIKED"
        if command == "PLAY":
            if self.is_playing:
                return "ON"
            self.is_playing = bool(self.songs)
            return f"PLAYING {self.songs[0]}" if self.songs else "NOTHING"
        if not self.is_playing:
            return "SILENT"
        if command == "PAUSE":
            self.is_playing = False
            return "PAUSED"
        self.songs.pop(0)
        self.is_playing = bool(self.songs)
        return f"NEXT {self.songs[0]}" if self.songs else "END"


@peer(
    {
        "PICK <item>": "BASKET <count>",
        "DROP <item>": "DROPPED | NOTTHERE",
        "EARN <user>": "COUPON <code> | LATER",
        "REDEEM <code>": "REDUCED | SMALL | ONLYONE | USED | INVALID",
        "BUY": "ORDER <count> | FREE | NOTHING",
    },
    '<item> ::= r"[a-z]{3,7}"',
    '<count> ::= r"[0-9]{1,3}"',
    '<user> ::= r"[A-Z]{3,5}"',
    '<code> ::= r"[A-F0-9]{6}"',
)
class Coupons:
    """A coupon, one for each user and one for each order, needs two things in the basket, and five make it free."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.basket: list[str] = []
        self.earned: dict[str, str] = {}
        self.used: set[str] = set()
        self.coupon = ""

    def answer(self, command: str, *fields: str) -> str:
        if command == "PICK":
            self.basket.append(fields[0])
            return f"BASKET {len(self.basket) % 1000}"
        if command == "DROP":
            if fields[0] not in self.basket:
                return "NOTTHERE"
            self.basket.remove(fields[0])
            return "DROPPED"
        if command == "EARN":
            if fields[0] in self.earned:
                return "LATER"
            code = self.earned[fields[0]] = f"{self.chance.randrange(16**6):06X}"
            return f"COUPON {code}"
        if command == "REDEEM":
            return self._redeem(fields[0])
        if not self.basket:
            return "NOTHING"
        count, self.basket = len(self.basket), []
        is_free = bool(self.coupon) and count >= 5
        self.coupon = ""
        return "FREE" if is_free else f"ORDER {count % 1000}"

    def _redeem(self, code: str) -> str:
        if code not in self.earned.values():
            return "INVALID"
        if code in self.used:
            return "USED"
        if self.coupon:
            return "ONLYONE"
        if len(self.basket) < 2:
            return "SMALL"
        self.coupon = code
        self.used.add(code)
        return "REDUCED"


@peer(
    {
        "CALL <floor>": "COMING | HERE | DEAF",
        "RIDE": "MOVED | ARRIVED <floor> | STANDING",
        "ENTER": "ENTERED | CROWDED | NODOOR",
        "LEAVE": "LEFT | EMPTY | NODOOR",
        "STOP": "HALTED | REPAIRED",
    },
    '<floor> ::= r"[0-6]"',
)
class Elevator:
    """Its door is open where it has arrived; at most three fit in, and who stops it makes it deaf."""

    def __init__(self, chance: random.Random) -> None:
        self.floor, self.people = 0, 0
        self.wanted: int | None = None
        self.is_open = True
        self.is_halted = False

    def answer(self, command: str, *fields: str) -> str:
        if command == "STOP":
            self.is_halted = not self.is_halted
            return "HALTED" if self.is_halted else "REPAIRED"
        if command == "CALL":
            if self.is_halted:
                return "DEAF"
            if int(fields[0]) == self.floor:
                self.is_open = True
                return "HERE"
            self.wanted, self.is_open = int(fields[0]), False
            return "COMING"
        if command == "RIDE":
            if self.is_halted or self.wanted is None:
                return "STANDING"
            self.floor += 1 if self.wanted > self.floor else -1
            if self.floor != self.wanted:
                return "MOVED"
            self.wanted, self.is_open = None, True
            return f"ARRIVED {self.floor}"
        if not self.is_open:
            return "NODOOR"
        if command == "ENTER":
            self.people += self.people < 4
            return "CROWDED" if self.people > 3 else "ENTERED"
        self.people = max(self.people, 1) - 1
        return "LEFT" if self.people else "EMPTY"


@peer(
    {
        "OFFER <item> <price>": "LISTED | EXISTS",
        "BID <user> <item> <price>": "HIGHEST | TOOLOW | YOURS | NOITEM | SOLD",
        "HAMMER <item>": "TO <user> | FIRSTCALL | NOBIDS | NOITEM | SOLD",
        "WITHDRAW <item>": "WITHDRAWN | HASBIDS | NOITEM",
    },
    '<item> ::= r"[a-z]{4,6}"',
    '<user> ::= r"[A-Z][a-z]{2,4}"',
    '<price> ::= r"[1-9][0-9]{0,2}"',
)
class Auction:
    """The second stroke of the hammer sells, unless somebody has bid between."""

    def __init__(self, chance: random.Random) -> None:
        self.prices: dict[str, int] = {}
        self.bidders: dict[str, str] = {}
        self.strokes: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        item = fields[1] if command == "BID" else fields[0]
        if command == "OFFER":
            if item in self.prices:
                return "EXISTS"
            self.prices[item], self.strokes[item] = int(fields[1]), 0
            return "LISTED"
        if item not in self.prices:
            return "NOITEM"
        if command == "WITHDRAW":
            if item in self.bidders:
                return "HASBIDS"
            del self.prices[item]
            return "WITHDRAWN"
        if self.strokes[item] > 1:
            return "SOLD"
        if command == "BID":
            return self._bid(fields[0], item, int(fields[2]))
        if item not in self.bidders:
            return "NOBIDS"
        self.strokes[item] += 1
        return f"TO {self.bidders[item]}" if self.strokes[item] > 1 else "FIRSTCALL"

    def _bid(self, user: str, item: str, price: int) -> str:
        if self.bidders.get(item) == user:
            return "YOURS"
        if price <= self.prices[item]:
            return "TOOLOW"
        self.bidders[item], self.prices[item], self.strokes[item] = user, price, 0
        return "HIGHEST"


@peer(
    {
        "ENROL <reader>": "CARD | KNOWN",
        "LEND <reader> <book>": "LENT | OUT | LIMIT | STRANGER",
        "RETURN <reader> <book>": "BACK | WAITED <reader> | NOTYOURS | STRANGER",
        "RESERVE <reader> <book>": "NOTED | INSHELF | TAKEN | STRANGER",
        "EXPEL <reader>": "GONE | HASBOOKS | STRANGER",
    },
    '<reader> ::= r"[A-Z][a-z]{2,5}"',
    '<book> ::= r"[a-z]{4,8}"',
)
class Library:
    """A reader has two books at most; a book that is out may be reserved by one other reader."""

    def __init__(self, chance: random.Random) -> None:
        self.readers: set[str] = set()
        self.lent: dict[str, str] = {}
        self.reserved: dict[str, str] = {}

    def answer(self, command: str, *fields: str) -> str:
        reader = fields[0]
        if command == "ENROL":
            is_known = reader in self.readers
            self.readers.add(reader)
            return "KNOWN" if is_known else "CARD"
        if reader not in self.readers:
            return "STRANGER"
        count = list(self.lent.values()).count(reader)
        if command == "EXPEL":
            if count:
                return "HASBOOKS"
            self.readers.discard(reader)
            return "GONE"
        return self._book(command, reader, fields[1], count)

    def _book(self, command: str, reader: str, book: str, count: int) -> str:
        owner = self.lent.get(book)
        if command == "RETURN":
            if owner != reader:
                return "NOTYOURS"
            del self.lent[book]
            other = self.reserved.pop(book, None)
            return "BACK" if other is None else f"WAITED {other}"
        if command == "RESERVE":
            if owner is None:
                return "INSHELF"
            if owner == reader or book in self.reserved:
                return "TAKEN"
            self.reserved[book] = reader
            return "NOTED"
        if owner is not None:
            return "OUT"
        if count >= 2:
            return "LIMIT"
        self.lent[book] = reader
        return "LENT"


@peer(
    {
        "INSERT <coin>": "CREDIT <credit> | RETURNED",
        "CHOOSE <slot>": "DROPPED | CHANGE <credit> | POOR | SOLDOUT",
        "REFUND": "COINS <credit> | NOTHING",
        "SERVICE": "FILLED | BUSY",
    },
    '<coin> ::= "10" | "20" | "50"',
    '<slot> ::= "A" | "B" | "C"',
    '<credit> ::= r"[0-9]{1,3}"',
)
class Vending:
    """Two of each are there, for 60; a credit of 100 is the most, and who serves the machine must find none."""

    def __init__(self, chance: random.Random) -> None:
        self.credit = 0
        self.left = dict.fromkeys("ABC", 2)

    def answer(self, command: str, *fields: str) -> str:
        if command == "INSERT":
            if self.credit + int(fields[0]) > 100:
                return "RETURNED"
            self.credit += int(fields[0])
            return f"CREDIT {self.credit}"
        if command == "SERVICE":
            if self.credit:
                return "BUSY"
            self.left = dict.fromkeys("ABC", 2)
            return "FILLED"
        if command == "REFUND":
            credit, self.credit = self.credit, 0
            return f"COINS {credit}" if credit else "NOTHING"
        if not self.left[fields[0]]:
            return "SOLDOUT"
        if self.credit < 60:
            return "POOR"
        self.left[fields[0]] -= 1
        rest, self.credit = self.credit - 60, 0
        return f"CHANGE {rest}" if rest else "DROPPED"


@peer(
    {
        "CALL <topic>": "CALLED | TWICE",
        "YES <user> <topic>": "COUNTED | CHANGED | AGAIN | NOTOPIC | OVER",
        "NO <user> <topic>": "COUNTED | CHANGED | AGAIN | NOTOPIC | OVER",
        "COUNT <topic>": "PASSED | FAILED | TIE | QUORUM | NOTOPIC",
    },
    '<topic> ::= r"[a-z]{4,8}"',
    '<user> ::= r"[A-Z]{2,4}"',
)
class Ballot:
    """Two votes at least are counted; a vote that is passed or failed is over, after a tie it goes on."""

    def __init__(self, chance: random.Random) -> None:
        self.votes: dict[str, dict[str, str]] = {}
        self.over: dict[str, str] = {}

    def answer(self, command: str, *fields: str) -> str:
        topic = fields[-1]
        if command == "CALL":
            is_new = topic not in self.votes
            self.votes.setdefault(topic, {})
            return "CALLED" if is_new else "TWICE"
        if topic not in self.votes:
            return "NOTOPIC"
        votes = self.votes[topic]
        if command == "COUNT":
            balance = sum(1 if vote == "YES" else -1 for vote in votes.values())
            if len(votes) < 2:
                return "QUORUM"
            if not balance:
                return "TIE"
            return self.over.setdefault(topic, "PASSED" if balance > 0 else "FAILED")
        if topic in self.over:
            return "OVER"
        before = votes.get(fields[0])
        votes[fields[0]] = command
        return "COUNTED" if before is None else "AGAIN" if before == command else "CHANGED"
