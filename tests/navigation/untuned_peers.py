"""More peers with a memory, written when guidance was there: nobody has tuned anything for them."""

from __future__ import annotations

import random

from stateful_peers import peer

UNTUNED = ("scheduler", "bank", "chat", "booking", "files", "accounts", "graph")


@peer(
    {
        "SUBMIT <priority> <job>": "QUEUED | EXISTS",
        "LEASE <worker>": "LEASED <job> | IDLE | BUSY",
        "DONE <worker> <job>": "FINISHED | NOTYOURS | NOJOB",
        "ABORT <worker>": "ABORTED | NOTHING",
        "STATUS <job>": "WAITING | RUNNING | OVER | NOJOB",
    },
    '<priority> ::= "high" | "low"',
    '<job> ::= r"[a-z]{4,7}"',
    '<worker> ::= r"w[0-9]{2,3}"',
)
class Scheduler:
    def __init__(self, chance: random.Random) -> None:
        self.waiting: list[tuple[str, str]] = []
        self.leases: dict[str, str] = {}
        self.states: dict[str, str] = {}

    def answer(self, command: str, *fields: str) -> str:
        if command == "SUBMIT":
            return self._submit(*fields)
        if command == "LEASE":
            return self._lease(*fields)
        if command == "STATUS":
            return self.states.get(fields[0], "NOJOB")
        if command == "ABORT":
            if fields[0] not in self.leases:
                return "NOTHING"
            job = self.leases.pop(fields[0])
            self.states[job] = "WAITING"
            self.waiting.append(("low", job))
            return "ABORTED"
        worker, job = fields
        if self.states.get(job) != "RUNNING":
            return "NOJOB"
        if self.leases.get(worker) != job:
            return "NOTYOURS"
        self.states[self.leases.pop(worker)] = "OVER"
        return "FINISHED"

    def _submit(self, priority: str, job: str) -> str:
        if job in self.states:
            return "EXISTS"
        self.states[job] = "WAITING"
        self.waiting.append((priority, job))
        self.waiting.sort(key=lambda each: each[0] == "low")
        return "QUEUED"

    def _lease(self, worker: str) -> str:
        if worker in self.leases:
            return "BUSY"
        if not self.waiting:
            return "IDLE"
        job = self.leases[worker] = self.waiting.pop(0)[1]
        self.states[job] = "RUNNING"
        return f"LEASED {job}"


@peer(
    {
        "OPEN <account>": "OPENED | EXISTS",
        "DEPOSIT <account> <amount>": "BALANCE <amount> | NOACCOUNT | FROZEN",
        "WITHDRAW <account> <amount>": "BALANCE <amount> | OVERDRAWN | REFUSED | NOACCOUNT | FROZEN",
        "TRANSFER <account> <account> <amount>": "MOVED | SAME | REFUSED | NOACCOUNT | FROZEN",
        "CLOSE <account>": "CLOSED | NOTEMPTY | NOACCOUNT",
    },
    '<account> ::= r"[A-Z]{2}[0-9]{4}"',
    '<amount> ::= "10" | "50" | r"[0-9]{1,3}"',
)
class Bank:
    """An account may be overdrawn by 100, and is frozen by the third refusal."""

    def __init__(self, chance: random.Random) -> None:
        self.balances: dict[str, int] = {}
        self.refusals: dict[str, int] = {}

    def answer(self, command: str, *fields: str) -> str:
        account = fields[0]
        if command == "OPEN":
            is_new = self.balances.setdefault(account, 0) == 0 and account not in self.refusals
            self.refusals.setdefault(account, 0)
            return "OPENED" if is_new else "EXISTS"
        accounts = fields[:2] if command == "TRANSFER" else fields[:1]
        if any(each not in self.balances for each in accounts):
            return "NOACCOUNT"
        if command == "CLOSE":
            if self.balances[account]:
                return "NOTEMPTY"
            del self.balances[account], self.refusals[account]
            return "CLOSED"
        if any(self.refusals[each] >= 3 for each in accounts):
            return "FROZEN"
        amount = int(fields[-1])
        if command == "DEPOSIT":
            self.balances[account] += amount
            return f"BALANCE {abs(self.balances[account]) % 1000}"
        if command == "TRANSFER" and fields[0] == fields[1]:
            return "SAME"
        if self.balances[account] - amount < -100:
            self.refusals[account] += 1
            return "REFUSED"
        self.balances[account] -= amount
        if command == "TRANSFER":
            self.balances[fields[1]] += amount
            return "MOVED"
        return "OVERDRAWN" if self.balances[account] < 0 else f"BALANCE {self.balances[account] % 1000}"


@peer(
    {
        "CREATE <room>": "CREATED | TAKEN",
        "INVITE <user> <room>": "INVITED | ALREADY | NOROOM",
        "JOIN <user> <room>": "JOINED | MEMBER | UNINVITED | BANNED | NOROOM",
        "TALK <user> <room> <text>": "SAID | ALONE | NOTIN",
        "BAN <user> <room>": "DONE | NOTIN",
        "PART <user> <room>": "LEFT | EMPTIED | NOTIN",
    },
    '<room> ::= "#" r"[a-z]{2,5}"',
    '<user> ::= r"[A-Z][a-z]{2,5}"',
    '<text> ::= r"[a-z]{1,9}"',
)
class Chat:
    """A room is for who was invited, and ends when the last one leaves."""

    def __init__(self, chance: random.Random) -> None:
        self.members: dict[str, set[str]] = {}
        self.invited: set[tuple[str, str]] = set()
        self.banned: set[tuple[str, str]] = set()

    def answer(self, command: str, *fields: str) -> str:
        if command == "CREATE":
            is_new = fields[0] not in self.members
            self.members.setdefault(fields[0], set())
            return "CREATED" if is_new else "TAKEN"
        user, room = fields[:2]
        members = self.members.get(room)
        if command in ("INVITE", "JOIN"):
            return "NOROOM" if members is None else self._entrance(command, user, room, members)
        if members is None or user not in members:
            return "NOTIN"
        if command == "TALK":
            return "SAID" if len(members) > 1 else "ALONE"
        members.discard(user)
        if command == "BAN":
            self.banned.add((user, room))
            return "DONE"
        if members:
            return "LEFT"
        del self.members[room]
        return "EMPTIED"

    def _entrance(self, command: str, user: str, room: str, members: set[str]) -> str:
        if command == "INVITE":
            is_new = (user, room) not in self.invited
            self.invited.add((user, room))
            return "INVITED" if is_new else "ALREADY"
        if (user, room) in self.banned:
            return "BANNED"
        if user in members:
            return "MEMBER"
        if (user, room) not in self.invited:
            return "UNINVITED"
        members.add(user)
        return "JOINED"


@peer(
    {
        "RESERVE <seat> <user>": "HELD <ticket> | TAKEN",
        "PAY <ticket>": "PAID | UNKNOWN | TWICE",
        "CANCEL <ticket>": "REFUNDED | RELEASED | UNKNOWN",
        "SEAT <seat>": "FREE | HELDBY <user> | SOLD",
    },
    '<seat> ::= r"[A-F][0-9]{1,2}"',
    '<user> ::= r"[a-z]{3,6}"',
    '<ticket> ::= r"[0-9]{6}"',
)
class Booking:
    """A seat is held for a ticket, and sold when the ticket is paid."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.seats: dict[str, tuple[str, str]] = {}  # the user and the ticket
        self.tickets: dict[str, str] = {}  # the seat
        self.paid: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        name = fields[0]
        if command == "RESERVE":
            if name in self.seats:
                return "TAKEN"
            ticket = f"{self.chance.randrange(10**6):06}"
            self.seats[name], self.tickets[ticket] = (fields[1], ticket), name
            return f"HELD {ticket}"
        if command == "SEAT":
            if name not in self.seats:
                return "FREE"
            user, ticket = self.seats[name]
            return "SOLD" if ticket in self.paid else f"HELDBY {user}"
        if name not in self.tickets:
            return "UNKNOWN"
        is_paid = name in self.paid
        if command == "PAY":
            self.paid.add(name)
            return "TWICE" if is_paid else "PAID"
        del self.seats[self.tickets.pop(name)]
        return "REFUNDED" if is_paid else "RELEASED"


@peer(
    {
        "OPEN <file> <mode>": "HANDLE <handle> | MISSING | TOOMANY",
        "READ <handle>": "DATA <data> | EOF | BAD | DENIED",
        "WRITE <handle> <data>": "WROTE | BAD | DENIED",
        "CLOSE <handle>": "OK | BAD",
        "REMOVE <file>": "OK | BUSY | MISSING",
    },
    '<file> ::= r"[a-z]{3,6}"',
    '<mode> ::= "r" | "w"',
    '<handle> ::= r"[0-9]{4}"',
    '<data> ::= r"[a-z]{1,4}"',
)
class Files:
    """At most four handles are open at a time; a file that is open is not removed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.files: dict[str, list[str]] = {}
        self.handles: dict[str, tuple[str, str, list[str]]] = {}  # the file, the mode, and what is still to be read

    def answer(self, command: str, *fields: str) -> str:
        name = fields[0]
        if command == "OPEN":
            return self._open(name, fields[1])
        if command == "REMOVE":
            if any(file == name for file, _, _ in self.handles.values()):
                return "BUSY"
            return "MISSING" if self.files.pop(name, None) is None else "OK"
        if name not in self.handles:
            return "BAD"
        if command == "CLOSE":
            del self.handles[name]
            return "OK"
        file, mode, rest = self.handles[name]
        if mode != command[0].lower():
            return "DENIED"
        if command == "WRITE":
            self.files[file].append(fields[1])
            return "WROTE"
        return f"DATA {rest.pop(0)}" if rest else "EOF"

    def _open(self, name: str, mode: str) -> str:
        if len(self.handles) == 4:
            return "TOOMANY"
        if mode == "r" and name not in self.files:
            return "MISSING"
        handle = f"{self.chance.randrange(10**4):04}"
        self.handles[handle] = (name, mode, list(self.files.setdefault(name, [])))
        return f"HANDLE {handle}"


@peer(
    {
        "SIGNUP <user> <pin>": "WELCOME | EXISTS",
        "LOGIN <user> <pin>": "TOKEN <token> | WRONG | LOCKED | NOUSER",
        "WHOAMI <token>": "YOU <user> | EXPIRED",
        "LOGOUT <token>": "BYE | EXPIRED",
        "CHANGE <token> <pin>": "CHANGED | SAME | EXPIRED",
    },
    '<user> ::= r"[a-z]{4,8}"',
    '<pin> ::= r"[0-9]{4}"',
    '<token> ::= r"[a-f0-9]{8}"',
)
class Accounts:
    """Three wrong numbers lock a user out; with a new number all tokens of the user expire."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.pins: dict[str, str] = {}
        self.wrong: dict[str, int] = {}
        self.tokens: dict[str, str] = {}

    def answer(self, command: str, *fields: str) -> str:
        name = fields[0]
        if command == "SIGNUP":
            if name in self.pins:
                return "EXISTS"
            self.pins[name], self.wrong[name] = fields[1], 0
            return "WELCOME"
        if command == "LOGIN":
            return self._login(name, fields[1])
        if name not in self.tokens:
            return "EXPIRED"
        user = self.tokens[name]
        if command == "WHOAMI":
            return f"YOU {user}"
        if command == "LOGOUT":
            del self.tokens[name]
            return "BYE"
        if self.pins[user] == fields[1]:
            return "SAME"
        self.pins[user] = fields[1]
        self.tokens = {token: owner for token, owner in self.tokens.items() if owner != user}
        return "CHANGED"

    def _login(self, user: str, pin: str) -> str:
        if user not in self.pins:
            return "NOUSER"
        if self.wrong[user] == 3:
            return "LOCKED"
        if self.pins[user] != pin:
            self.wrong[user] += 1
            return "WRONG"
        self.wrong[user] = 0
        token = f"{self.chance.randrange(16**8):08x}"
        self.tokens[token] = user
        return f"TOKEN {token}"


@peer(
    {
        "ADD <node>": "ADDED | THERE",
        "LINK <node> <node>": "LINKED | CYCLE | SELF | MISSING | ALREADY",
        "PATH <node> <node>": "YES | NO | MISSING",
        "DROP <node>": "DROPPED | LEAF | MISSING",
    },
    '<node> ::= r"n[0-9]{2,3}"',
)
class Graph:
    """A graph without cycles."""

    def __init__(self, chance: random.Random) -> None:
        self.links: dict[str, set[str]] = {}

    def answer(self, command: str, *fields: str) -> str:
        first, last = fields[0], fields[-1]
        if command == "ADD":
            is_new = first not in self.links
            self.links.setdefault(first, set())
            return "ADDED" if is_new else "THERE"
        if any(each not in self.links for each in fields):
            return "MISSING"
        if command == "DROP":
            dropped = self.links.pop(first)
            for links in self.links.values():
                links.discard(first)
            return "DROPPED" if dropped else "LEAF"
        if command == "PATH":
            return "YES" if self._leads(first, last) else "NO"
        if first == last:
            return "SELF"
        if last in self.links[first]:
            return "ALREADY"
        if self._leads(last, first):
            return "CYCLE"
        self.links[first].add(last)
        return "LINKED"

    def _leads(self, first: str, last: str) -> bool:
        found = [first]
        for node in found:
            found.extend(sorted(self.links[node].difference(found)))
        return last in found
