"""Specs for the benchmark of guidance that are too regular to be written by hand."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BUNDLED = Path(__file__).parent.parent / "src" / "palaver" / "specs"

# What the reference must be told besides the SMTP spec: {port} is that of the server.
SMTP_PARTIES = """
class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:{port}", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:{port}", connection_mode=ConnectionMode.EXTERNAL)
        self.start()
"""


def ladder(rungs: int) -> str:
    """A ladder: on each rung one of the messages leads up, one down to the ground, and one away.

    Whoever chooses at random gets up a rung every third time, so hardly ever to the top.
    """
    return "\n".join(_ladder(rungs))


def _ladder(rungs: int) -> Iterator[str]:
    yield "<start> ::= <rung0>"
    for rung in range(rungs):
        yield f"<rung{rung}> ::= <climb{rung}> <rung{rung + 1}> | <trap{rung}> <rung0> | <leave>"
        yield f"<climb{rung}> ::= <Client:step{rung % 3}> <Server:held>"
        yield f"<trap{rung}> ::= <Client:slip> <Server:fallen>"
    yield f"<rung{rungs}> ::= <Client:ring> <Server:sound> <leave>"
    yield "<leave> ::= <Client:bye> <Server:end>"
    for kind in range(3):
        yield f'<step{kind}> ::= "step {kind} " <foot> "\\n"'
    yield '<foot> ::= "left" | "right"'
    yield '<held> ::= "held" <creak>? "\\n"'
    yield '<creak> ::= r" [a-z]+"'
    yield '<slip> ::= "slip\\n"'
    yield '<fallen> ::= "fallen\\n"'
    yield '<ring> ::= "ring\\n"'
    yield '<sound> ::= "sound\\n"'
    yield '<bye> ::= "bye\\n"'
    yield '<end> ::= "end\\n"'


# --- Many rules ------------------------------------------------------------------------------------------------------

ROOMS = 62
COMMANDS = 40
REPLIES = 30
WORDS = 38
LOOKS = 2


def large() -> str:
    """A dialogue of 300 rules: rooms with doors between them, each opened by another exchange of messages.

    Exchanges share their commands, so now and then two doors begin with the same one, and what is said next decides.
    """
    return "\n".join(_large(random.Random(0)))


def _large(chance: random.Random) -> Iterator[str]:
    yield "<start> ::= <Server:reply0> <room0>"
    for room in range(ROOMS):
        near, far = (room + 1) % ROOMS, chance.randrange(ROOMS)
        ways = [f"<door{room}> <room{near}>", f"<gate{room}> <room{far}>", "<leave>"]
        if room % 3 == 0:
            ways.append(f"<look{room % LOOKS}> <room{room}>")
        yield f"<room{room}> ::= {' | '.join(ways)}"
        command, other = chance.sample(range(COMMANDS), 2)
        yes, no, done = (f"<Server:reply{number}>" for number in chance.sample(range(REPLIES), 3))
        yield f"<door{room}> ::= <Client:command{command}> {yes}"
        # The server may ask back.
        yield f"<gate{room}> ::= <Client:command{other}> ({no} | {done} <Client:command{command}> {yes})"
    for number in range(LOOKS):
        yield f"<look{number}> ::= <Client:command{COMMANDS - number - 1}> <Server:reply{number}>"
    yield "<leave> ::= <Client:bye> <Server:end>"
    for number in range(COMMANDS):
        yield f'<command{number}> ::= "C{number}" (" " <word{number % WORDS}>)? "\\n"'
    for number in range(REPLIES):
        yield f'<reply{number}> ::= "{100 + number} " <word{(number * 7) % WORDS}> "\\n"'
    for number in range(WORDS):
        yield f'<word{number}> ::= "w{number}" | "v{number}"'
    yield '<bye> ::= "BYE\\n"'
    yield '<end> ::= "END\\n"'


# --- Many ways -------------------------------------------------------------------------------------------------------


class Size(NamedTuple):
    """The numbers of rules of each kind in a dialogue with many ways."""

    states: int
    ways: tuple[int, ...]  # of the states, in turn
    exchanges: int
    commands: int
    replies: int
    words: int


def many_rules() -> str:
    """A dialogue of 1000 rules and 100 states, with 80 000 paths: three or four exchanges in each state."""
    return "\n".join(_fan_out(random.Random(1), Size(100, (3, 4, 3), 420, 240, 80, 150)))


def many_ways() -> str:
    """A dialogue with 20 exchanges in each of 30 states: 4 million paths, more than may be made one by one."""
    return "\n".join(_fan_out(random.Random(2), Size(30, (20,), 60, 60, 20, 20)))


def _fan_out(chance: random.Random, size: Size) -> Iterator[str]:
    states, ways, exchanges, commands, replies, words = size
    yield "<start> ::= <Server:reply0> <state0>"
    for state in range(states):
        taken = chance.sample(range(exchanges), ways[state % len(ways)])
        # The first way leads on, so that all states are reached.
        targets = [(state + 1) % states, *(chance.randrange(states) for _ in taken[1:])]
        choices = [f"<exchange{number}> <state{to}>" for number, to in zip(taken, targets, strict=True)]
        yield f"<state{state}> ::= {' | '.join((*choices, '<leave>'))}"
    for number in range(exchanges):
        yes, no = chance.sample(range(replies), 2)
        yield f"<exchange{number}> ::= <Client:command{number % commands}> (<Server:reply{yes}> | <Server:reply{no}>)"
    yield "<leave> ::= <Client:bye> <Server:end>"
    for number in range(commands):
        yield f'<command{number}> ::= "C{number}" (" " <word{number % words}>)? "\\n"'
    for number in range(replies):
        yield f'<reply{number}> ::= "{1000 + number} " <word{(number * 7) % words}> "\\n"'
    for number in range(words):
        yield f'<word{number}> ::= "w{number}" | "v{number}"'
    yield '<bye> ::= "BYE\\n"'
    yield '<end> ::= "END\\n"'


# --- Answers that never come -----------------------------------------------------------------------------------------


def bundled(name: str) -> str:
    """A bundled spec without what it only notes: nobody aims for that, and a server that says it at random is odd."""
    text = (BUNDLED / f"{name}.fan").read_text()
    for noted in re.findall(r"^# \[note\].*\n<(\w+)>", text, re.MULTILINE):
        text = re.sub(rf" \| <(?:\w+:)*{noted}>", "", text)
    return text


def smtp_with_moody_server() -> str:
    """SMTP with a server that is not always willing: it may put off a letter, and refuse to help."""
    return _replaced(
        bundled("smtp"),
        ("<Client:message> <Server:ok>", "<Client:message> (<Server:ok> | <Server:later>)"),
        ("<Client:help> <Server:advice>", "<Client:help> (<Server:advice> | <Server:no_help>)"),
        # Advice may be a refusal with 500, 502 or 504, so this one is none that a willing server gives.
        ("<refused>         ::=", '<no_help>         ::= r"55[0-9] [ -~]*" "\\r\\n"\n<refused>         ::='),
        ("<ok>              ::=", '<later>           ::= r"4[0-9][0-9] [ -~]*" "\\r\\n"\n<ok>              ::='),
    )


def smtp_with_curt_server() -> str:
    """The same by a server that always is willing, and says no word more than it must."""
    return (
        _replaced(smtp_with_moody_server(), ("(<Server:ok> | <Server:later>)", "<Server:ok>"))
        .replace("(<Server:advice> | <Server:no_help>)", "<Server:advice>")
        .replace("<extension>* ", "")
    )


def ftp() -> str:
    return bundled("ftp")


def ftp_without_listings() -> str:
    """FTP by a server that has nothing to list."""
    return ftp().replace("<ServerData:ClientData:listing>?", "")


def _replaced(text: str, *changes: tuple[str, str]) -> str:
    """The text with each change made, which must be possible once."""
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
