"""Random dialogues of palaver with palaver, in memory: whether the innocent are accused, and the guilty found.

Each spec is a random dialogue on one to three connections with constraints on all of its history (`history_dialogues`),
or one of states inside of states (`nested_dialogues`).
Two sessions of it talk to each other over wires that cut and delay; then there must be no finding. In the same world,
one message of one side is changed on its way: it follows the grammar and breaks a constraint there and then, or is one
that is not its turn, or no message at all. The other side must find that message.

    .venv/bin/python tests/session/dialogue_worlds.py --specs 500 --sessions 20000 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, TypeAlias

from history_dialogues import CLIENTS, Dialogue, DialogueWriter, Kind, Said
from nested_dialogues import NestedWriter

import palaver
from palaver.party import ConnectionMode
from palaver.random_source import RandomSource
from palaver.session.engine import Session, Timeouts
from palaver.session.findings import Finding, Verdict
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.session.strategy import RandomStrategy
from palaver.testing import MemoryNetwork

WRONG = ("innocent accused", "inconclusive", "wrong side", "not found", "crash")  # what must never be
# Nobody waits in vain: the longest delay is much shorter.
CALM = Timeouts(timeout=60.0, patience=60.0, quiet=5.0)


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


Messages: TypeAlias = tuple[tuple[str, bytes], ...]  # their symbols and data


class Change(NamedTuple):
    """A message of one side that is changed on its way."""

    how: str  # what is wrong with it
    is_client: bool
    before: Messages  # what this side has sent and received before; otherwise nothing is changed
    data: bytes
    sender: str  # as the other side calls it


class ChangingSession(Session):
    """A session one of whose messages is changed on its way."""

    def __init__(self, *arguments: Any) -> None:
        *others, self._change = arguments
        self.has_changed = False
        super().__init__(*others)

    def say(self, party: Any, message: Any, recipient: str | None) -> None:
        change = self._change
        # Sessions learn from each other, so this one may go another way.
        if change is not None and not self.has_changed and _messages(self)[:-1] == change.before:
            self.has_changed = True
            message = change.data
        super().say(party, message, recipient)


def _messages(session: Session) -> Messages:
    return tuple((each.symbol, each.data) for each in session.said)


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


def _written(seed: int, *, is_nested: bool) -> Dialogue:
    return NestedWriter(seed).write() if is_nested else DialogueWriter(seed).write()


def check(seed: int, sessions: int, figures: Figures, *, is_nested: bool = False) -> None:
    """Make a spec, and let it talk so often, with and without a changed message."""
    dialogue = _written(seed, is_nested=is_nested)
    world = World(dialogue)
    figures.counts["specs"] += 1
    for rule in dialogue.rules:
        figures.counts[f"constraint, {rule.form}"] += 1
    for number in range(sessions):
        _check_session(world, seed * 1000 + number, figures)


def _check_session(world: World, seed: int, figures: Figures) -> None:
    caller, listener = world.run(seed)
    figures.counts["sessions"] += 1
    figures.counts["messages"] += len(caller.said)
    about = f"seed {seed}\n{world.dialogue.text(splits_server=False)}"
    for session in (caller, listener):
        for finding in session.findings:
            is_ours = finding.verdict is Verdict.INCONCLUSIVE
            figures.trouble("inconclusive" if is_ours else "innocent accused", about + finding.show())
    if caller.findings or listener.findings:
        return
    random = Random(seed)
    is_client = random.random() < 0.5
    change = _change(world, caller if is_client else listener, random, is_client=is_client)
    sessions = world.run(seed, change)
    honest, changed = sessions[1 if is_client else 0], sessions[0 if is_client else 1]
    if not changed.has_changed:
        figures.counts["went another way"] += 1
        return
    figures.counts["changed"] += 1
    figures.counts[f"changed, {change.how}"] += 1
    _judge(honest, change, about, figures)


def _judge(honest: Session, change: Change, about: str, figures: Figures) -> None:
    """Note whether the side that was told something wrong has found that."""
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


def _change(world: World, session: Session, random: Random, *, is_client: bool) -> Change:
    """A change of one message of a side that makes it wrong, whatever comes after it."""
    dialogue, messages = world.dialogue, _messages(session)
    kinds = {kind.symbol: kind for kind in dialogue.kinds}
    places = [at for at, (symbol, _) in enumerate(messages) if kinds[symbol].is_client is is_client]
    random.shuffle(places)
    ways = random.sample(["constraint", "turn", "bytes"], 3)
    if random.random() < 0.5:  # more often by a constraint, if any can be broken
        ways.sort(key="constraint".__ne__)
    for how in ways:
        for at in places:
            symbol, data = messages[at]
            changed = _WAYS[how](dialogue, kinds[symbol], messages[:at], data, random)
            if changed is not None:
                sender = CLIENTS[kinds[symbol].link] if is_client else "S"
                return Change(how, is_client, messages[:at], changed, sender)
    raise AssertionError("a byte can always be inserted")


def _broken_constraint(dialogue: Dialogue, kind: Kind, before: Messages, data: bytes, random: Random) -> bytes | None:
    """A message that follows the grammar, and with which a constraint can hold no more."""
    said = [Said.of(symbol, data) for symbol, data in before]
    words = [value for each in said for value in each.values if value.isalpha()]
    expected = dialogue.expected([each.symbol for each in said])
    kinds = [each for each in dialogue.kinds if _is_like(each, kind) and each.symbol in expected]
    for _ in range(60):
        other = random.choice([kind, *kinds])
        data = other.random_data(random, words)
        if any(rule.is_broken([*said, Said.of(other.symbol, data)]) for rule in dialogue.rules):
            return data
    return None


def _wrong_turn(dialogue: Dialogue, kind: Kind, before: Messages, data: bytes, random: Random) -> bytes | None:
    """A message of the spec whose turn it is not. Of several connections it is not known which came first."""
    if dialogue.links > 1 or dialogue.unordered:
        return None
    expected = dialogue.expected([symbol for symbol, _ in before])
    kinds = [each for each in dialogue.kinds if _is_like(each, kind) and each.symbol not in expected]
    return random.choice(kinds).random_data(random, []) if kinds else None


def _no_message(_: Dialogue, __: Kind, ___: object, data: bytes, random: Random) -> bytes:
    """A message with a byte in it that no message has."""
    place = random.randrange(len(data))
    return data[:place] + b"#" + data[place:]


_WAYS: dict[str, Callable[[Dialogue, Kind, Messages, bytes, Random], bytes | None]] = {
    "constraint": _broken_constraint,
    "turn": _wrong_turn,
    "bytes": _no_message,
}


def _is_like(one: Kind, other: Kind) -> bool:
    """Whether two kinds of messages are sent by the same party on the same connection."""
    return one.link == other.link and one.is_client is other.is_client


def run(specs: int, sessions: int, seed: int, *, stops: bool = False, is_nested: bool = False) -> Figures:
    """Check so many specs with so many sessions in all."""
    figures = Figures()
    each = max(1, sessions // specs)
    for number in range(specs):
        try:
            check(seed * 100_000 + number, each, figures, is_nested=is_nested)
        except Exception:
            dialogue = _written(seed * 100_000 + number, is_nested=is_nested)
            figures.trouble("crash", dialogue.text(splits_server=False) + traceback.format_exc())
        if stops and figures.troubles:
            break
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--specs", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nested", action="store_true", help="states inside of states (nested_dialogues)")
    parser.add_argument("--stop", action="store_true", help="end at the first trouble")
    parser.add_argument("--show", type=int, default=5, help="how many troubles are shown")
    options = parser.parse_args()
    figures = run(options.specs, options.sessions, options.seed, stops=options.stop, is_nested=options.nested)
    for trouble in figures.troubles[: options.show]:
        print(trouble)
    print(figures.show())
    sys.exit(
        any(figures.counts[what] for what in ("innocent accused", "inconclusive", "wrong side", "not found", "crash"))
    )


if __name__ == "__main__":
    main()
