"""More peers with a memory, written when guidance was there: nobody has tuned anything for them."""

from __future__ import annotations

import random

from stateful_peers import peer

UNTUNED = ("scheduler", "bank", "chat")


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
