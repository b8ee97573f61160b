"""Random dialogues of palaver with palaver, in memory: whether the innocent are accused, and the guilty found.

Each spec is a random dialogue on one to three connections with constraints on all of its history. Two sessions of it
talk to each other over wires that cut and delay; then there must be no finding. In the same world, one message of one
side is changed on its way, so that it is no message of the spec, or breaks a constraint there and then: the other side
must find that message.

    .venv/bin/python tests/session/dialogue_worlds.py --specs 500 --sessions 20000 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import palaver
from palaver.party import ConnectionMode
from palaver.random_source import RandomSource
from palaver.session.engine import Session, Timeouts
from palaver.session.findings import Finding, Verdict
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.session.strategy import RandomStrategy
from palaver.testing import MemoryNetwork

# Nobody waits in vain: the longest delay is much shorter.
CALM = Timeouts(timeout=60.0, patience=60.0, quiet=5.0)
CLIENTS = ("A", "B", "C")


class Said(NamedTuple):
    """A message as the constraints of these specs see it."""

    symbol: str
    values: tuple[str, ...]

    @staticmethod
    def of(symbol: str, data: bytes) -> Said:
        return Said(symbol, tuple(data.decode().split()[1:]))


@dataclass(frozen=True)
class Kind:
    """A kind of message: who sends it on which connection, and its fields, `w` for words and `n` for numbers."""

    name: str
    is_client: bool
    link: int
    fields: str

    @property
    def symbol(self) -> str:
        return f"<{self.name}>"

    @property
    def rule(self) -> str:
        fields = "".join({"w": ' " " <word>', "n": ' " " <num>'}[each] for each in self.fields)
        return f'<{self.name}> ::= "{self.name}"{fields} "\\n"'

    def mention(self, *, splits_server: bool) -> str:
        client, server = CLIENTS[self.link], f"S{self.link}" if splits_server else "S"
        one, other = (client, server) if self.is_client else (server, client)
        return f"<{one}:{other}:{self.name}>"

    def random_data(self, random: Random, words: Sequence[str]) -> bytes:
        values = []
        for each in self.fields:
            if each == "n":
                values.append(str(random.randrange(100)))
            else:
                values.append(random.choice(words) if words and random.random() < 0.7 else _word(random))
        return (" ".join([self.name, *values]) + "\n").encode()


def _word(random: Random) -> str:
    return "".join(random.choice("abcdefghij") for _ in range(random.randint(1, 2)))


@dataclass(frozen=True)
class Rule:
    """A constraint: its text, its Python, and a function that tells if it is broken for good after some messages."""

    text: str
    is_broken: Callable[[Sequence[Said]], bool]
    python: str = ""


@dataclass
class Dialogue:
    """A random spec."""

    kinds: list[Kind] = field(default_factory=list)
    states: dict[str, list[Kind]] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)  # of the start symbol
    rules: list[Rule] = field(default_factory=list)
    links: int = 1

    def text(self, *, splits_server: bool) -> str:
        lines = [f"<start> ::= {' '.join(self.body)}"]
        for name, kinds in self.states.items():
            said = " ".join(kind.mention(splits_server=splits_server) for kind in kinds)
            lines.append(f"<{name}> ::= {said}")
        lines += [kind.rule for kind in self.kinds]
        lines += ['<word> ::= r"[a-j]{1,2}"', '<num> ::= r"[0-9]|[1-9][0-9]"']
        lines += dict.fromkeys(rule.python for rule in self.rules if rule.python)
        lines += [f"where {rule.text}" for rule in self.rules]
        return "\n".join(lines) + "\n"


class DialogueWriter:
    """Writes random dialogues in which it is always clear who sends next."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._dialogue = Dialogue(links=self._random.choice([1, 1, 2, 3]))

    def write(self) -> Dialogue:
        dialogue, random = self._dialogue, self._random
        for number in range(random.randint(1, 3)):
            self._add_state(f"x{number}")
        names = list(dialogue.states)
        self._add_greetings()
        for _ in range(random.randint(1, 2)):
            dialogue.body.append(self._block(names))
        self._rules_of_states()
        if random.random() < 0.25:
            self._add_collection()
        self._add_last()
        random.shuffle(dialogue.rules)
        del dialogue.rules[3:]
        return dialogue

    def _kind(self, *, is_client: bool, fields: str | None = None, link: int | None = None) -> Kind:
        random = self._random
        fields = random.choice(["", "w", "n", "wn", "ww"]) if fields is None else fields
        link = random.randrange(self._dialogue.links) if link is None else link
        kind = Kind(f"m{len(self._dialogue.kinds)}", is_client, link, fields)
        self._dialogue.kinds.append(kind)
        return kind

    def _add_state(self, name: str) -> None:
        """An exchange: it begins with a message of the client and ends with one of the server."""
        random = self._random
        first = self._kind(is_client=True, fields=random.choice(["w", "wn", "n"]))
        middle = [self._kind(is_client=random.random() < 0.5) for _ in range(random.choice([0, 0, 1, 2]))]
        last = self._kind(is_client=False, fields=random.choice(["w", "wn", "n", ""]))
        self._dialogue.states[name] = [first, *middle, last]

    def _add_greetings(self) -> None:
        """Each party sends something on its connection."""
        for link in range(self._dialogue.links):
            kinds = [self._kind(is_client=is_client, fields="", link=link) for is_client in (True, False)]
            self._dialogue.states[f"hello{link}"] = kinds
            self._dialogue.body.append(f"<hello{link}>")

    def _block(self, names: Sequence[str]) -> str:
        random = self._random
        chosen = random.sample(names, min(len(names), random.choice([1, 1, 2])))
        inside = f"<{chosen[0]}>" if len(chosen) == 1 else f"({' | '.join(f'<{each}>' for each in chosen)})"
        return inside + random.choice(["", "{2}", "{1,3}", "{3}", "{2,5}"])

    def _add_last(self) -> None:
        quit_, bye = self._kind(is_client=True, fields="", link=0), self._kind(is_client=False, fields="", link=0)
        self._dialogue.states["end"] = [quit_, bye]
        self._dialogue.body.append("<end>")

    def _add_collection(self) -> None:
        """Some words that are put, and then got: as many of them."""
        put, stop = self._kind(is_client=True, fields="w", link=0), self._kind(is_client=True, fields="", link=0)
        got, done = self._kind(is_client=False, fields="w", link=0), self._kind(is_client=False, fields="", link=0)
        states = self._dialogue.states
        states |= {"put": [put], "stop": [stop], "got": [got], "done": [done]}
        self._dialogue.body.append("<put>{1,3} <stop> <got>{1,3} <done>")

        def is_broken(said: Sequence[Said]) -> bool:
            puts, gots = (sum(each.symbol == kind.symbol for each in said) for kind in (put, got))
            return gots > puts or (puts != gots and any(each.symbol == done.symbol for each in said))

        self._dialogue.rules.append(Rule(f"len(*{put.symbol}.<word>) == len(*{got.symbol}.<word>)", is_broken))

    def _rules_of_states(self) -> None:
        makers = [self._distinct, self._rising, self._bounded_sum, self._echo, self._subset, self._count]
        # A sum that is bounded, and numbers that rise, may leave no number to be said.
        makers.remove(self._random.choice([self._rising, self._bounded_sum]))
        for _ in range(self._random.randint(1, 4)):
            maker = self._random.choice(makers)
            rule = maker()
            if maker == self._count:  # two counts may leave no exchange to be begun
                makers.remove(maker)
            if rule is not None:
                self._dialogue.rules.append(rule)

    def _some_kind(self, wanted: str) -> Kind | None:
        kinds = [kind for kind in self._dialogue.kinds if kind.fields.count(wanted) == 1]
        return self._random.choice(kinds) if kinds else None

    def _distinct(self) -> Rule | None:
        kind = self._some_kind("w")
        if kind is None:
            return None
        symbol, at = kind.symbol, kind.fields.index("w")

        def is_broken(said: Sequence[Said]) -> bool:
            words = [each.values[at] for each in said if each.symbol == symbol]
            return len(words) != len(set(words))

        text, python = self._random.choice(
            [
                (f"len(set(str(w) for w in *{symbol}.<word>)) == len(*{symbol}.<word>)", ""),
                (f"distinct(*{symbol}.<word>)", _DISTINCT),
                (f"distinct(<start>.find_subtrees('{symbol}'))" if kind.fields == "w" else "True", _DISTINCT),
                (f"forall <m> in {symbol}: alone(<m>)" if kind.fields == "w" else "True", _ALONE),
            ]
        )
        return None if text == "True" else Rule(text, is_broken, python)

    def _rising(self) -> Rule | None:
        kind = self._some_kind("n")
        if kind is None:
            return None
        symbol, at = kind.symbol, kind.fields.index("n")

        def is_broken(said: Sequence[Said]) -> bool:
            numbers = [int(each.values[at]) for each in said if each.symbol == symbol]
            return numbers != sorted(numbers)

        return Rule(f"rising(*{symbol}.<num>)", is_broken, _RISING)

    def _bounded_sum(self) -> Rule | None:
        kind = self._some_kind("n")
        if kind is None:
            return None
        symbol, at, most = kind.symbol, kind.fields.index("n"), self._random.choice([100, 150])

        def is_broken(said: Sequence[Said]) -> bool:
            return sum(int(each.values[at]) for each in said if each.symbol == symbol) > most

        return Rule(f"sum(int(n) for n in *{symbol}.<num>) <= {most}", is_broken)

    def _pair(self) -> tuple[str, Kind, Kind, int, int] | None:
        """An exchange with a word in its first message, and one in its last."""
        states = [
            (name, kinds[0], kinds[-1])
            for name, kinds in self._dialogue.states.items()
            if kinds[0].fields.count("w") == 1 == kinds[-1].fields.count("w")
        ]
        if not states:
            return None
        name, first, last = self._random.choice(states)
        return name, first, last, first.fields.index("w"), last.fields.index("w")

    def _echo(self) -> Rule | None:
        pair = self._pair()
        if pair is None:
            return None
        name, first, last, at, other = pair

        def is_broken(said: Sequence[Said]) -> bool:
            asked = [each.values[at] for each in said if each.symbol == first.symbol]
            answered = [each.values[other] for each in said if each.symbol == last.symbol]
            return any(one != two for one, two in zip(asked, answered, strict=False))

        first_word, last_word = f"{first.symbol}.<word>", f"{last.symbol}.<word>"
        count = len(self._dialogue.states[name])
        text, python = self._random.choice(
            [
                (f"forall <x> in <{name}>: <x>.{first_word} == <x>.{last_word}", ""),
                (f"forall <x> in <{name}>: echoes(<x>.get_root() and <x>, {count})", _ECHOES),
                (f"forall <x> in <{name}>: echoes(<x>, {count})", _ECHOES),
                (f"all(echoes(x, {count}) for x in *<{name}>)", _ECHOES),
                (f"forall <m> in {last.symbol}: as_asked(<m>)", _AS_ASKED),
                (f"all(strictly(x) for x in *<{name}>)", _STRICTLY),
            ]
        )
        return Rule(text, is_broken, python)

    def _subset(self) -> Rule | None:
        pair = self._pair()
        if pair is None:
            return None
        _, first, last, _, _ = pair
        text = f"known(*{last.symbol}.<word>, *{first.symbol}.<word>)"
        return Rule(text, lambda _: False, _KNOWN)  # a word may still be asked for

    def _count(self) -> Rule | None:
        """At most so many exchanges of a kind; at least as many as there have to be."""
        name = self._random.choice(list(self._dialogue.states))
        blocks = [block for block in self._dialogue.body if f"<{name}>" in block]
        if len({"|" in block for block in blocks}) == 2:  # whoever takes it too often cannot go on later
            return None
        needed = sum(_fewest(block, name) for block in self._dialogue.body)
        most = needed + self._random.choice([0, 1])
        last = self._dialogue.states[name][0].symbol

        def is_broken(said: Sequence[Said]) -> bool:
            return sum(each.symbol == last for each in said) > most

        text = self._random.choice([f"len(*<{name}>) <= {most}", f"|<{name}>| < {most + 1}", f"len(*{last}) <= {most}"])
        return Rule(text, is_broken)


def _fewest(block: str, name: str) -> int:
    """How many nodes of a name a block of the dialogue has at least."""
    if f"<{name}>" not in block or "|" in block:
        return 0
    return int(block[block.index("{") + 1]) if "{" in block else 1


_DISTINCT = """
def distinct(nodes):
    texts = [str(node) for node in nodes]
    return len(texts) == len(set(texts))
"""
_ALONE = """
def alone(node):
    same = [other for other in node.get_root().find_subtrees(node.symbol) if str(other) == str(node)]
    return len(same) == 1
"""
_RISING = """
def rising(numbers):
    return all(int(one) <= int(two) for one, two in zip(numbers, numbers[1:]))
"""
_ECHOES = """
def word_in(node):
    return str(next(iter(node.find_subtrees("<word>"))))
def echoes(exchange, count):
    return word_in(exchange[0]) == word_in(exchange[count - 1])
"""
_STRICTLY = """
def strictly(exchange):
    words = [str(word) for word in exchange.find_subtrees("<word>")]
    return len(words) > 1 and words[0] == words[-1]
"""
_AS_ASKED = """
def as_asked(message):
    words = [str(word) for word in message.parent[0].find_subtrees("<word>")]
    return str(next(iter(message.find_subtrees("<word>")))) == words[0]
"""
_KNOWN = """
def known(answers, questions):
    return {str(each) for each in answers} <= {str(each) for each in questions}
"""


class World:
    """Two sessions of a dialogue that talk to each other, and what is between them."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self._caller = self._setup(calls=True)
        self._listener = self._setup(calls=False)

    def _setup(self, *, calls: bool) -> SessionSetup:
        spec = palaver.loads(self.dialogue.text(splits_server=not calls))
        networks: dict[str, tuple[str, ConnectionMode]] = {}
        for link in sorted({kind.link for kind in self.dialogue.kinds}):
            place = f"tcp://127.0.0.1:{link + 1}"
            if calls:
                networks[CLIENTS[link]] = (place, ConnectionMode.CONNECT)
            else:
                networks[CLIENTS[link]] = (place, ConnectionMode.EXTERNAL)
                networks[f"S{link}"] = (place, ConnectionMode.OPEN)
        if calls:
            networks["S"] = ("1", ConnectionMode.EXTERNAL)
        return SessionSetup(spec, RoleAssignment(networks))

    def run(self, seed: int, change: Change | None = None) -> tuple[ChangingSession, ChangingSession]:
        """Let both talk: the one who calls, and the one who listens."""
        random = Random(seed)
        chance = RandomSource(seed)
        network = MemoryNetwork(wire=_wire(random), hold=lambda link: random.random() < 0.2)
        sessions = []
        for name, setup, is_client in (("listener", self._listener, False), ("caller", self._caller, True)):
            own = change if change is not None and change.is_client is is_client else None
            strategy = RandomStrategy(chance / name / "player")
            session = ChangingSession(setup, strategy, chance / name, CALM, own)
            sessions.append(session)
            network.add(session)
        network.run()
        return sessions[1], sessions[0]


class Change(NamedTuple):
    """A message of one side that is changed on its way."""

    is_client: bool
    number: int  # of the messages of that side
    data: bytes
    sender: str  # as the other side calls it


class ChangingSession(Session):
    """A session one of whose messages is changed on its way."""

    def __init__(self, *arguments: Any) -> None:
        *others, self._change = arguments
        self._sent = 0
        super().__init__(*others)

    @property
    def has_changed(self) -> bool:
        """Whether the message was sent that is changed."""
        return self._change is not None and self._sent > self._change.number

    def say(self, party: Any, message: Any, recipient: str | None) -> None:
        change = self._change
        if change is not None and self._sent == change.number:
            message = change.data
        self._sent += 1
        super().say(party, message, recipient)


def _wire(random: Random) -> Callable[[str, bytes], Iterable[tuple[float, bytes]]]:
    """Cuts and delays, by chance."""
    sizes = [random.choice([1, 2, 5, 50, 50]) for _ in range(5)]
    longest = random.choice([0.0, 0.0, 0.01, 0.5])

    def wire(link: str, data: bytes) -> Iterator[tuple[float, bytes]]:
        start = 0
        while start < len(data):
            end = start + random.choice(sizes)
            yield random.random() * longest, data[start:end]
            start = end

    return wire


@dataclass
class Figures:
    """What was seen."""

    counts: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)

    def trouble(self, what: str, text: str) -> None:
        self.counts[what] += 1
        self.troubles.append(f"=== {what}\n{text}")

    def show(self) -> str:
        return "\n".join(f"{name}: {count}" for name, count in sorted(self.counts.items()))


def check(seed: int, sessions: int, figures: Figures) -> None:
    """Make a spec, and let it talk so often, with and without a changed message."""
    dialogue = DialogueWriter(seed).write()
    world = World(dialogue)
    figures.counts["specs"] += 1
    figures.counts["constraints"] += len(dialogue.rules)
    for number in range(sessions):
        _check_session(world, seed * 1000 + number, figures)


def _check_session(world: World, seed: int, figures: Figures) -> None:
    dialogue = world.dialogue
    caller, listener = world.run(seed)
    figures.counts["sessions"] += 1
    figures.counts["messages"] += len(caller.said)
    about = f"seed {seed}\n{dialogue.text(splits_server=False)}"
    for session in (caller, listener):
        for finding in session.findings:
            if finding.verdict is Verdict.INCONCLUSIVE:
                figures.counts["inconclusive"] += 1
                figures.troubles.append(f"=== inconclusive\n{about}{finding.show()}")
            elif not any(each.verdict is Verdict.INCONCLUSIVE for each in (*caller.findings, *listener.findings)):
                figures.trouble("innocent accused", about + finding.show())
    if caller.findings or listener.findings:
        return
    change = _change(world, caller, Random(seed))
    if change is None:
        return
    sessions = world.run(seed, change)
    honest = sessions[1 if change.is_client else 0]
    if not sessions[0 if change.is_client else 1].has_changed:
        return  # sessions learn from each other, so this one went another way
    figures.counts["changed"] += 1
    about += f"changed: {change}\n"
    if not honest.findings:
        figures.trouble("not found", about)
        return
    finding = honest.findings[0]
    if finding.verdict is not Verdict.FAIL or finding.party != change.sender:
        figures.trouble("wrong side", about + finding.show())
    elif not _names(finding, change.data):
        figures.trouble("wrong message", about + finding.show())
    else:
        figures.counts["found"] += 1


def _names(finding: Finding, data: bytes) -> bool:
    """Whether a finding is about a message, or what has come of it."""
    return bool(finding.got) and (finding.got.startswith(data) or data.startswith(finding.got))


def _change(world: World, honest: Session, random: Random) -> Change | None:
    """A change of one message that makes it wrong, whatever comes after it."""
    dialogue = world.dialogue
    kinds = {kind.symbol: kind for kind in dialogue.kinds}
    at = random.randrange(len(honest.said))
    message = honest.said[at]
    kind = kinds[message.symbol]
    number = sum(kinds[each.symbol].is_client == kind.is_client for each in honest.said[:at])
    sender = CLIENTS[kind.link] if kind.is_client else "S"
    before = [Said.of(each.symbol, each.data) for each in honest.said[:at]]
    words = [value for each in before for value in each.values]
    words = [word for word in words if word.isalpha()]
    if kind.fields and random.random() < 0.8:
        for _ in range(40):
            data = kind.random_data(random, words)
            after = [*before, Said.of(kind.symbol, data)]
            if any(rule.is_broken(after) for rule in dialogue.rules):
                return Change(kind.is_client, number, data, sender)
    place = random.randrange(len(message.data))
    return Change(kind.is_client, number, message.data[:place] + b"#" + message.data[place:], sender)


def run(specs: int, sessions: int, seed: int, *, stops: bool = False) -> Figures:
    """Check so many specs with so many sessions in all."""
    figures = Figures()
    each = max(1, sessions // specs)
    for number in range(specs):
        try:
            check(seed * 100_000 + number, each, figures)
        except Exception:
            dialogue = DialogueWriter(seed * 100_000 + number).write()
            figures.trouble("crash", dialogue.text(splits_server=False) + traceback.format_exc())
        if stops and figures.troubles:
            break
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--specs", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stop", action="store_true", help="end at the first trouble")
    parser.add_argument("--show", type=int, default=5, help="how many troubles are shown")
    options = parser.parse_args()
    figures = run(options.specs, options.sessions, options.seed, stops=options.stop)
    for trouble in figures.troubles[: options.show]:
        print(trouble)
    print(figures.show())
    sys.exit(any(figures.counts[what] for what in ("innocent accused", "wrong side", "crash")))


if __name__ == "__main__":
    main()
