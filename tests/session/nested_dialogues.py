"""Random dialogues of states inside of states, with conditions that nested quantifiers say of them.

Each state begins with a message of the client and an answer, has a state inside that is repeated, and ends with more
messages. The word of a message is tied to that of an earlier message of the same state, or of a state around it: it is
the same, or another one. That is said in many ways: by quantifiers inside of each other with paths of every kind, by
code that looks at states as a whole or upwards, and over lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from history_dialogues import Dialogue, Kind, Rule, Said


class Level(NamedTuple):
    """A state: messages, then the states inside of it, then messages again; and how often it is repeated."""

    name: str
    first: tuple[Kind, ...]
    last: tuple[Kind, ...]
    fewest: int
    most: int

    @property
    def symbol(self) -> str:
        return f"<{self.name}>"


class Place(NamedTuple):
    """A message of a state: the number of its level, and of the message in it."""

    level: int
    at: int
    kind: Kind


@dataclass
class NestedDialogue(Dialogue):
    """A random spec of states inside of each other."""

    levels: list[Level] = field(default_factory=list)  # the outermost first
    _nodes: list[tuple[str, frozenset[int]]] = field(default_factory=list)  # an automaton: a message, and what follows

    def text(self, *, splits_server: bool) -> str:
        def mentions(kinds: Sequence[Kind]) -> str:
            return " ".join(kind.mention(splits_server=splits_server) for kind in kinds)

        lines = [f"<start> ::= {self._repeated(0)} {mentions(self.kinds[-2:])}"]
        for at, level in enumerate(self.levels):
            lines.append(f"{level.symbol} ::= {mentions(level.first)} {self._repeated(at + 1)} {mentions(level.last)}")
        lines += [kind.rule for kind in self.kinds]
        lines += ['<word> ::= r"[a-j]{1,2}"']
        lines += dict.fromkeys(rule.python for rule in self.rules if rule.python)
        lines += [f"where {rule.text}" for rule in self.rules]
        return "\n".join(lines) + "\n"

    def _repeated(self, at: int) -> str:
        if at == len(self.levels):
            return ""
        level = self.levels[at]
        return f"{level.symbol}{{{level.fewest},{level.most}}}"

    def expected(self, said: Sequence[str]) -> set[str]:
        if not self._nodes:
            self._nodes.append(("", self._rounds(0, self._row(self.kinds[-2:], frozenset()))))
        now = self._nodes[-1][1]
        for symbol in said:
            now = frozenset(after for at in now if self._nodes[at][0] == symbol for after in self._nodes[at][1])
        return {self._nodes[at][0] for at in now}

    def _row(self, kinds: Sequence[Kind], after: frozenset[int]) -> frozenset[int]:
        for kind in reversed(kinds):
            self._nodes.append((kind.symbol, after))
            after = frozenset((len(self._nodes) - 1,))
        return after

    def _rounds(self, at: int, after: frozenset[int]) -> frozenset[int]:
        if at == len(self.levels):
            return after
        level, rest = self.levels[at], after
        for number in reversed(range(level.most)):
            entry = self._row(level.first, self._rounds(at + 1, self._row(level.last, rest)))
            rest = entry | after if number >= level.fewest else entry
        return rest

    def words(self, said: Sequence[Said], source: Place, target: Place) -> list[tuple[str, str]]:
        """The words of two messages of one state, or of a state inside of it, as often as both were sent."""
        found: list[tuple[str, str]] = []
        latest = ""
        for each in said:
            if each.symbol == source.kind.symbol:
                latest = each.values[0]
            elif each.symbol == target.kind.symbol:
                found.append((latest, each.values[0]))
        return found


class NestedWriter:
    """Writes random dialogues of states inside of each other."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._dialogue = NestedDialogue()

    def write(self) -> NestedDialogue:
        random, dialogue = self._random, self._dialogue
        depth = random.choice([1, 2, 2, 3])
        for at in range(depth):
            first = self._kinds([True, *(False,) * (random.random() < 0.6), *(True,) * (random.random() < 0.3)])
            # It is clear who sends next: where a state may be repeated or not, it is the client.
            sides = [at < depth - 1 or random.random() < 0.5, random.random() < 0.5]
            last = self._kinds(sides[: random.randint(0 if at < depth - 1 else 1, 2)])
            dialogue.levels.append(Level(f"x{at}", first, last, *random.choice([(1, 1), (1, 2), (2, 2), (1, 3)])))
        self._kinds([True, False])
        places = self._places()
        tied: set[str] = set()
        for _ in range(random.randint(1, 3)):
            pairs = [(one, two) for one in places for two in places if self._may_tie(one, two)]
            pairs = [(one, two) for one, two in pairs if two.kind.symbol not in tied]
            if pairs:
                source, target = random.choice(pairs)
                tied.add(target.kind.symbol)
                dialogue.rules.append(self._rule(source, target))
        return dialogue

    def _kinds(self, sides: Sequence[bool]) -> tuple[Kind, ...]:
        kinds = self._dialogue.kinds
        kinds += [Kind(f"m{len(kinds) + at}", is_client, 0, "w") for at, is_client in enumerate(sides)]
        return tuple(kinds[len(kinds) - len(sides) :])

    def _places(self) -> list[Place]:
        return [
            Place(number, at, kind)
            for number, level in enumerate(self._dialogue.levels)
            for at, kind in enumerate((*level.first, *level.last))
        ]

    def _may_tie(self, source: Place, target: Place) -> bool:
        if source.level == target.level:
            return source.at < target.at
        return source.level < target.level and source.at < len(self._dialogue.levels[source.level].first)

    def _rule(self, source: Place, target: Place) -> Rule:
        random, dialogue = self._random, self._dialogue
        is_same = random.random() < 0.7
        form, text, python = self._said(source, target, "==" if is_same else "!=")

        def is_broken(said: Sequence[Said]) -> bool:
            words = dialogue.words(said, source, target)
            if form.startswith("if"):
                words = [(one, two) for one, two in words if len(one) == 1]
            return any((one == two) is not is_same for one, two in words)

        return Rule(f"nested: {form}", text, is_broken, python)

    def _said(self, source: Place, target: Place, relation: str) -> tuple[str, str, str]:
        """The name of a form, its text, and its Python."""
        random = self._random
        outer, asked, told = self._dialogue.levels[source.level].symbol, source.kind.symbol, target.kind.symbol
        around = self._around(source.level)
        inside, plain = "<v>", around
        if source.level < target.level:
            inside, plain = "<h>", f"{around}forall <h> in {self._path(source.level, target.level, '<v>')}: "
        word = random.choice([f"{inside}.{told}.<word>", f"{inside}..{told}..<word>"])
        known = f"<v>.{asked}.<word>"
        upwards = f"(word_above(<m>, '{outer}', '{asked}') {relation} str(<m>.<word>))"
        return random.choice(
            [
                *[("plain", f"{plain}{word} {relation} {known}", "")] * 3,
                ("turned round", f"{plain}str({known}) {relation} str({word})", ""),
                ("if, arrow", f"{plain}len(str({known})) == 1 -> {word} {relation} {known}", ""),
                ("if, or", f"{plain}(len(str({known})) != 1 or {word} {relation} {known})", ""),
                ("messages", f"{around}forall <m> in <v>..{told}: <m>.<word> {relation} {known}", ""),
                ("below", f"{around}<v>..{told}.<word> {relation} {known}", ""),
                ("whole", f"{plain}all(w {relation} str({known}) for w in words_of({inside}, '{told}'))", _WORDS),
                ("list", f"{around}all(str(w) {relation} str({known}) for w in *<v>..{told}..<word>)", ""),
                ("upwards", f"forall <m> in {told}: {upwards}", _ABOVE),
                ("upwards, path", f"forall <m> in {outer}..{told}: {upwards}", _ABOVE),
            ]
        )

    def _around(self, level: int) -> str:
        """Quantifiers that bind `<v>` to each state of a level."""
        random, levels = self._random, self._dialogue.levels
        form = random.choice(["alone", "alone", "inside", "path"]) if level else "alone"
        if form == "alone":
            return f"forall <v> in {levels[level].symbol}: "
        first = random.randrange(level)
        if form == "path":
            return f"forall <v> in {self._path(first, level, levels[first].symbol)}: "
        return f"forall <u> in {levels[first].symbol}: forall <v> in {self._path(first, level, '<u>')}: "

    def _path(self, first: int, last: int, base: str) -> str:
        """A path from a state to those of a level inside of it."""
        symbols = [level.symbol for level in self._dialogue.levels[first + 1 : last + 1]]
        if self._random.random() < 0.5:
            return f"{base}..{symbols[-1]}"
        return ".".join([base, *symbols])


_WORDS = """
def words_of(state, symbol):
    return [str(message)[:-1].split()[-1] for message in state.find_subtrees(symbol)]
"""
_ABOVE = """
def word_above(message, state, symbol):
    around = message
    while around.symbol != state:
        around = around.parent
    return str(next(iter(around.find_subtrees(symbol))))[:-1].split()[-1]
"""
