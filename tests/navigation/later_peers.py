"""Peers with a memory that were written after all tuning: objects with states of their own, invented names, counts."""

from __future__ import annotations

import random

from stateful_peers import peer

LATER = ("documents", "tokens", "teller", "combination", "election", "builds", "invoices", "newsletter")


@peer(
    {
        "PUT <doc> <text>": "CREATED <tag> | EXISTS",
        "GET <doc>": "DOC <tag> <text> | GONE | MISSING",
        "GETIF <doc> <tag>": "UNCHANGED | CHANGED <tag> | GONE | MISSING",
        "UPDATE <doc> <tag> <text>": "UPDATED <tag> | CONFLICT | GONE | MISSING",
        "DELETE <doc> <tag>": "DELETED | CONFLICT | GONE | MISSING",
    },
    '<doc> ::= r"[a-z]{3,8}"',
    '<tag> ::= r"[0-9a-f]{6}"',
    '<text> ::= r"[a-z]{1,6}"',
)
class Documents:
    """A document is changed by who knows its latest version; a name that was deleted is not used again."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.documents: dict[str, tuple[str, str]] = {}
        self.gone: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        name = fields[0]
        if command == "PUT":
            if name in self.documents or name in self.gone:
                return "EXISTS"
            return f"CREATED {self._keep(name, fields[1])}"
        if name not in self.documents:
            return "GONE" if name in self.gone else "MISSING"
        tag, text = self.documents[name]
        if command == "GET":
            return f"DOC {tag} {text}"
        if command == "GETIF":
            return "UNCHANGED" if fields[1] == tag else f"CHANGED {tag}"
        if fields[1] != tag:
            return "CONFLICT"
        if command == "UPDATE":
            return f"UPDATED {self._keep(name, fields[2])}"
        del self.documents[name]
        self.gone.add(name)
        return "DELETED"

    def _keep(self, name: str, text: str) -> str:
        tag = f"{self.chance.randrange(16**6):06x}"
        self.documents[name] = (tag, text)
        return tag


@peer(
    {
        "LOGIN <user>": "GRANT <access> <refresh>",
        "USE <access>": "RESULT | EXPIRED | REVOKED | INVALID",
        "REFRESH <refresh>": "GRANT <access> <refresh> | REUSED | INVALID",
        "REVOKE <access>": "OK | INVALID",
    },
    '<user> ::= r"[a-z]{3,8}"',
    '<access> ::= "a" r"[0-9]{6}"',
    '<refresh> ::= "r" r"[0-9]{6}"',
)
class Tokens:
    """An access token is good for three uses; a refresh token that is used twice takes all others away."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.uses: dict[str, int] = {}
        self.revoked: set[str] = set()
        self.refresh: dict[str, bool] = {}

    def _grant(self) -> str:
        access, refresh = (f"{letter}{self.chance.randrange(10**6):06}" for letter in "ar")
        self.uses[access], self.refresh[refresh] = 0, False
        return f"GRANT {access} {refresh}"

    def answer(self, command: str, *fields: str) -> str:
        name = fields[0]
        if command == "LOGIN":
            return self._grant()
        if command == "REFRESH":
            if name not in self.refresh:
                return "INVALID"
            if self.refresh[name]:
                self.revoked.update(self.uses)
                return "REUSED"
            self.refresh[name] = True
            return self._grant()
        if name not in self.uses:
            return "INVALID"
        if command == "REVOKE":
            self.revoked.add(name)
            return "OK"
        if name in self.revoked:
            return "REVOKED"
        self.uses[name] += 1
        return "RESULT" if self.uses[name] <= 3 else "EXPIRED"


@peer(
    {
        "INSERT": "CARDIN | OCCUPIED | EATEN",
        "ENTER <pin>": "WELCOME | WRONG | SWALLOWED | NOCARD | DONEBEFORE",
        "WITHDRAW <amount>": "CASH <amount> | LIMIT | NOPIN | NOCARD",
        "CHANGE <pin>": "CHANGED | SAMEPIN | NOPIN | NOCARD",
        "EJECT": "CARDOUT | NOCARD",
    },
    '<pin> ::= r"[0-9]{4}"',
    '<amount> ::= "20" | "50" | "100"',
)
class Teller:
    """The number is the first one that is said; the third wrong one costs the card; at most 100 are given."""

    def __init__(self, chance: random.Random) -> None:
        self.pin = ""
        self.is_in = self.is_open = self.is_eaten = False
        self.wrong = self.given = 0

    def answer(self, command: str, *fields: str) -> str:
        if command == "INSERT":
            if self.is_eaten or self.is_in:
                return "EATEN" if self.is_eaten else "OCCUPIED"
            self.is_in = True
            return "CARDIN"
        if not self.is_in:
            return "NOCARD"
        if command == "EJECT":
            self.is_in = self.is_open = False
            self.given = 0
            return "CARDOUT"
        if command == "ENTER":
            return self._enter(fields[0])
        if not self.is_open:
            return "NOPIN"
        if command == "CHANGE":
            is_same, self.pin = self.pin == fields[0], fields[0]
            return "SAMEPIN" if is_same else "CHANGED"
        if self.given + int(fields[0]) > 100:
            return "LIMIT"
        self.given += int(fields[0])
        return f"CASH {fields[0]}"

    def _enter(self, pin: str) -> str:
        if self.is_open:
            return "DONEBEFORE"
        self.pin = self.pin or pin
        if pin == self.pin:
            self.is_open, self.wrong = True, 0
            return "WELCOME"
        self.wrong += 1
        if self.wrong < 3:
            return "WRONG"
        self.is_in, self.is_eaten = False, True
        return "SWALLOWED"


@peer(
    {
        "LEFT": "CLICK | CLACK",
        "RIGHT": "CLICK | CLACK",
        "PULL": "OPENED | STUCK | ISOPEN",
        "SHUT": "SHUTTED | ISSHUT",
    }
)
class Combination:
    """Left, left, right, left; anything else begins anew."""

    CODE = ("LEFT", "LEFT", "RIGHT", "LEFT")

    def __init__(self, chance: random.Random) -> None:
        self.turns = 0
        self.is_open = False

    def answer(self, command: str, *fields: str) -> str:
        if command in ("LEFT", "RIGHT"):
            is_right = self.turns < len(self.CODE) and self.CODE[self.turns] == command
            self.turns = self.turns + 1 if is_right else 0
            return "CLICK" if is_right else "CLACK"
        turns, self.turns = self.turns, 0
        if command == "SHUT":
            was_open, self.is_open = self.is_open, False
            return "SHUTTED" if was_open else "ISSHUT"
        if self.is_open:
            return "ISOPEN"
        self.is_open = turns == len(self.CODE)
        return "OPENED" if self.is_open else "STUCK"


@peer(
    {
        "JOIN <node>": "JOINED | MEMBER",
        "STAND <node>": "STANDING | LEADING | RUNNING | UNKNOWN",
        "VOTE <node> <node>": "VOTED | ELECTED | SPENT | NOELECTION | UNKNOWN",
        "LEADER": "LEADER <node> | NONE",
        "CRASH <node>": "VACANT | LEFT | UNKNOWN",
    },
    '<node> ::= r"n[0-9]{3}"',
)
class Election:
    """Of at least three nodes, who has the votes of two leads until it crashes."""

    def __init__(self, chance: random.Random) -> None:
        self.nodes: dict[str, None] = {}
        self.votes: dict[str, str] = {}
        self.standing: set[str] = set()
        self.leader = ""

    def answer(self, command: str, *fields: str) -> str:
        if command == "LEADER":
            return f"LEADER {self.leader}" if self.leader else "NONE"
        node = fields[0]
        if command == "JOIN":
            is_known = node in self.nodes
            self.nodes[node] = None
            return "MEMBER" if is_known else "JOINED"
        if any(each not in self.nodes for each in fields):
            return "UNKNOWN"
        if command == "CRASH":
            del self.nodes[node]
            self.standing.discard(node)
            was_leading, self.leader = self.leader == node, "" if self.leader == node else self.leader
            return "VACANT" if was_leading else "LEFT"
        if command == "STAND":
            if self.leader or node in self.standing:
                return "LEADING" if self.leader else "RUNNING"
            self.standing.add(node)
            return "STANDING"
        return self._vote(node, fields[1])

    def _vote(self, node: str, candidate: str) -> str:
        if self.leader or candidate not in self.standing or len(self.nodes) < 3:
            return "NOELECTION"
        if node in self.votes:
            return "SPENT"
        self.votes[node] = candidate
        if list(self.votes.values()).count(candidate) < 2:
            return "VOTED"
        self.leader = candidate
        self.standing.clear()
        self.votes.clear()
        return "ELECTED"


@peer(
    {
        "DEFINE <target>": "ADDED | KNOWN",
        "NEEDS <target> <target>": "NOTED | CIRCLE | UNKNOWN",
        "BUILD <target>": "BUILT | UPTODATE | BLOCKED | UNKNOWN",
        "TOUCH <target>": "STALE | DIRTY | UNKNOWN",
        "CLEAN": "CLEANED | EMPTY",
    },
    '<target> ::= r"[a-z]{3,6}"',
)
class Builds:
    """A target is built after what it needs, and is dirty when that is."""

    def __init__(self, chance: random.Random) -> None:
        self.needs: dict[str, set[str]] = {}
        self.built: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        if command == "CLEAN":
            had_some = bool(self.built)
            self.built.clear()
            return "CLEANED" if had_some else "EMPTY"
        target = fields[0]
        if command == "DEFINE":
            is_known = target in self.needs
            self.needs.setdefault(target, set())
            return "KNOWN" if is_known else "ADDED"
        if any(each not in self.needs for each in fields):
            return "UNKNOWN"
        if command == "NEEDS":
            if target in self._below(fields[1]):
                return "CIRCLE"
            self.needs[target].add(fields[1])
            return "NOTED"
        if command == "TOUCH":
            above = [each for each in self.needs if target in self._below(each)]
            was_built = target in self.built
            self.built.difference_update(above)
            return "STALE" if was_built else "DIRTY"
        if target in self.built:
            return "UPTODATE"
        if not self.needs[target] <= self.built:
            return "BLOCKED"
        self.built.add(target)
        return "BUILT"

    def _below(self, target: str) -> list[str]:
        found = [target]
        for each in found:
            found.extend(sorted(self.needs[each].difference(found)))
        return found


@peer(
    {
        "BILL <customer> <amount>": "INVOICE <invoice>",
        "PAY <invoice> <amount>": "SETTLED | PARTLY | TOOMUCH | CANCELLED | NOTHINGDUE | NOINVOICE",
        "REMIND <invoice>": "REMINDED | COLLECTION | NOTHINGDUE | CANCELLED | NOINVOICE",
        "CANCEL <invoice>": "CANCELLED | TOOLATE | NOINVOICE",
        "SOLVENT <customer>": "YES | DEBTOR | NOBODY",
    },
    '<customer> ::= r"[A-Z][a-z]{2,6}"',
    '<amount> ::= "10" | "20" | "30"',
    '<invoice> ::= r"I[0-9]{5}"',
)
class Invoices:
    """What is not paid is reminded of twice; what is partly paid is not cancelled."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.due: dict[str, int] = {}
        self.owner: dict[str, str] = {}
        self.reminders: dict[str, int] = {}
        self.touched: set[str] = set()
        self.cancelled: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        name = fields[0]
        if command == "BILL":
            invoice = f"I{self.chance.randrange(10**5):05}"
            self.due[invoice], self.owner[invoice], self.reminders[invoice] = int(fields[1]), name, 0
            return f"INVOICE {invoice}"
        if command == "SOLVENT":
            if name not in self.owner.values():
                return "NOBODY"
            is_due = any(self.due[each] and self.owner[each] == name for each in self.due)
            return "DEBTOR" if is_due else "YES"
        if name not in self.due:
            return "NOINVOICE"
        if name in self.cancelled:
            return "CANCELLED"
        if command == "CANCEL":
            if name in self.touched:
                return "TOOLATE"
            self.cancelled.add(name)
            self.due[name] = 0
            return "CANCELLED"
        if not self.due[name]:
            return "NOTHINGDUE"
        if command == "REMIND":
            self.reminders[name] += 1
            return "REMINDED" if self.reminders[name] < 3 else "COLLECTION"
        amount = int(fields[1])
        if amount > self.due[name]:
            return "TOOMUCH"
        self.due[name] -= amount
        self.touched.add(name)
        return "PARTLY" if self.due[name] else "SETTLED"


@peer(
    {
        "SUBSCRIBE <address>": "CONFIRM <token> | ALREADY | BLOCKED",
        "CONFIRMED <token>": "WELCOME | USED | BADTOKEN",
        "SEND": "SENT <count> | NOBODY",
        "BOUNCE <address>": "COUNTED | REMOVED | NOTSUBSCRIBED",
        "COMPLAIN <address>": "BLOCKED | NOTSUBSCRIBED",
    },
    '<address> ::= r"[a-z]{2,5}" "@x"',
    '<token> ::= r"[0-9]{6}"',
    '<count> ::= "1" | "2" | "3"',
)
class Newsletter:
    """Who has confirmed gets it, until two bounces or a complaint; at most three are counted."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.tokens: dict[str, str] = {}
        self.used: set[str] = set()
        self.bounces: dict[str, int] = {}
        self.blocked: set[str] = set()

    def answer(self, command: str, *fields: str) -> str:
        if command == "SEND":
            return f"SENT {min(3, len(self.bounces))}" if self.bounces else "NOBODY"
        name = fields[0]
        if command == "SUBSCRIBE":
            if name in self.blocked or name in self.bounces:
                return "BLOCKED" if name in self.blocked else "ALREADY"
            token = f"{self.chance.randrange(10**6):06}"
            self.tokens[token] = name
            return f"CONFIRM {token}"
        if command == "CONFIRMED":
            if name not in self.tokens or name in self.used:
                return "USED" if name in self.used else "BADTOKEN"
            self.used.add(name)
            self.bounces[self.tokens[name]] = 0
            return "WELCOME"
        if name not in self.bounces:
            return "NOTSUBSCRIBED"
        if command == "COMPLAIN":
            del self.bounces[name]
            self.blocked.add(name)
            return "BLOCKED"
        self.bounces[name] += 1
        if self.bounces[name] < 2:
            return "COUNTED"
        del self.bounces[name]
        return "REMOVED"
