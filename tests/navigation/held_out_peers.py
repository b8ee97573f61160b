"""Three peers that were written last, after all tuning: no constant of guidance was chosen with them in sight."""

from __future__ import annotations

import random

from stateful_peers import peer

HELD_OUT = ("parking", "recipes", "printer")


@peer(
    {
        "ENTER <plate>": "TICKET <slip> | INSIDE | CROWDED",
        "PAY <slip>": "PAID | ALREADY | NOSLIP",
        "LEAVE <plate> <slip>": "GOODBYE | UNPAID | OTHERCAR | NOSLIP",
        "LOST <plate>": "TICKET <slip> | OUTSIDE",
    },
    '<plate> ::= r"[A-Z]{2}[0-9]{3}"',
    '<slip> ::= r"[0-9]{6}"',
)
class Parking:
    """At most three cars are inside, each with a slip; who loses it gets another one."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.slips: dict[str, str] = {}  # the car of each
        self.paid: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        name = fields[0]
        if command == "ENTER":
            if name in self.slips.values():
                return "INSIDE"
            return "CROWDED" if len(self.slips) >= 3 else self._issue(name)
        if command == "LOST":
            old = [slip for slip, plate in self.slips.items() if plate == name]
            if not old:
                return "OUTSIDE"
            del self.slips[old[0]]
            return self._issue(name)
        slip = fields[-1]
        if slip not in self.slips:
            return "NOSLIP"
        is_paid = slip in self.paid
        if command == "PAY":
            self.paid.add(slip)
            return "ALREADY" if is_paid else "PAID"
        if self.slips[slip] != name:
            return "OTHERCAR"
        if not is_paid:
            return "UNPAID"
        del self.slips[slip]
        return "GOODBYE"

    def _issue(self, plate: str) -> str:
        slip = f"{self.chance.randrange(10**6):06}"
        self.slips[slip] = plate
        return f"TICKET {slip}"


@peer(
    {
        "STOCK <food>": "STOCKED | ENOUGH",
        "NEED <dish> <food>": "NOTED | TWICE",
        "COOK <dish>": "COOKED | LACKS <food> | NODISH",
        "SERVE <dish>": "SERVED | COLD | RAW",
        "CLEAN": "CLEANED | TIDY",
    },
    '<food> ::= r"[a-z]{3,7}"',
    '<dish> ::= r"[A-Z][a-z]{3,6}"',
)
class Recipes:
    """A dish takes its foods from the stock, which holds two of each, and is cold after three more requests."""

    def __init__(self, chance: random.Random) -> None:
        self.stock: dict[str, int] = {}
        self.needs: dict[str, list[str]] = {}
        self.cooked: dict[str, int] = {}
        self.now = 0

    def answer(self, command: str, *fields: str) -> str:
        self.now += 1
        if command == "CLEAN":
            had_some = bool(self.cooked)
            self.cooked.clear()
            return "CLEANED" if had_some else "TIDY"
        name = fields[0]
        if command == "STOCK":
            if self.stock.get(name, 0) >= 2:
                return "ENOUGH"
            self.stock[name] = self.stock.get(name, 0) + 1
            return "STOCKED"
        if command == "NEED":
            foods = self.needs.setdefault(name, [])
            is_known = fields[1] in foods
            foods.append(fields[1])
            return "TWICE" if is_known else "NOTED"
        if command == "SERVE":
            if name not in self.cooked:
                return "RAW"
            return "COLD" if self.now - self.cooked.pop(name) > 3 else "SERVED"
        if name not in self.needs:
            return "NODISH"
        for food in self.needs[name]:
            if not self.stock.get(food):
                return f"LACKS {food}"
        for food in dict.fromkeys(self.needs[name]):
            self.stock[food] -= 1
        self.cooked[name] = self.now
        return "COOKED"


@peer(
    {
        "QUEUE <user> <pages>": "JOB <job> | QUOTA",
        "PRINT": "PRINTED <job> | JAM | PAPER | IDLE",
        "REFILL": "FILLED | FULL",
        "CANCEL <user> <job>": "CANCELLED | NOTYOURS | NOJOB",
        "FIX": "FIXED | WORKS",
    },
    '<user> ::= r"[a-z]{3,6}"',
    '<pages> ::= "1" | "4" | "9"',
    '<job> ::= r"[0-9]{4}"',
)
class Printer:
    """It has paper for ten pages, jams at every fourth job, and a user has at most two jobs."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.jobs: dict[str, tuple[str, int]] = {}
        self.paper, self.printed = 10, 0
        self.is_jammed = False

    def answer(self, command: str, *fields: str) -> str:
        if command == "QUEUE":
            if sum(user == fields[0] for user, _ in self.jobs.values()) >= 2:
                return "QUOTA"
            job = f"{self.chance.randrange(10**4):04}"
            self.jobs[job] = (fields[0], int(fields[1]))
            return f"JOB {job}"
        if command == "CANCEL":
            if fields[1] not in self.jobs:
                return "NOJOB"
            if self.jobs[fields[1]][0] != fields[0]:
                return "NOTYOURS"
            del self.jobs[fields[1]]
            return "CANCELLED"
        if command == "FIX":
            was_jammed, self.is_jammed = self.is_jammed, False
            return "FIXED" if was_jammed else "WORKS"
        if command == "REFILL":
            is_full, self.paper = self.paper == 10, 10
            return "FULL" if is_full else "FILLED"
        return self._print()

    def _print(self) -> str:
        if self.is_jammed:
            return "JAM"
        if not self.jobs:
            return "IDLE"
        job = next(iter(self.jobs))
        if self.jobs[job][1] > self.paper:
            return "PAPER"
        self.printed += 1
        if self.printed % 4 == 0:
            self.is_jammed = True
            return "JAM"
        self.paper -= self.jobs.pop(job)[1]
        return f"PRINTED {job}"
