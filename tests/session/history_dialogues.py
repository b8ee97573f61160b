"""Random dialogue specs with constraints on their history, and what is wrong in a row of messages of them.

A dialogue has exchanges of one client or several with one server, each on a connection of its own. Constraints are
written in many ways: over lists, by quantifiers, as models, and as Python that looks upwards or at everything. They
never contradict each other, whatever is said: whoever obeys them can always go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

CLIENTS = ("A", "B", "C")


class Said(NamedTuple):
    """A message as the constraints of these specs see it."""

    symbol: str
    values: tuple[str, ...]

    @staticmethod
    def of(symbol: str, data: bytes) -> Said:
        return Said(symbol, tuple(data.decode().split()[1:]))


IsBroken = Callable[[Sequence[Said]], bool]


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

    def values_in(self, said: Sequence[Said], wanted: str) -> list[str]:
        """The values of the only field of a sort, in all messages of this kind."""
        at = self.fields.index(wanted)
        return [each.values[at] for each in said if each.symbol == self.symbol]

    def random_data(self, random: Random, words: Sequence[str]) -> bytes:
        values = []
        for each in self.fields:
            if each == "n":
                values.append(str(random.randrange(100)))
            else:
                values.append(random.choice(words) if words and random.random() < 0.7 else random_word(random))
        return (" ".join([self.name, *values]) + "\n").encode()


def random_word(random: Random) -> str:
    return "".join(random.choice("abcdefghij") for _ in range(random.randint(1, 2)))


@dataclass(frozen=True)
class Rule:
    """A constraint: its text, its Python, and a function that tells if it is broken for good after some messages."""

    form: str
    text: str
    is_broken: IsBroken
    python: str = ""


class Block(NamedTuple):
    """One of some states, repeated."""

    states: tuple[str, ...]
    fewest: int = 1
    most: int = 1

    def __str__(self) -> str:
        inside = "|".join(f"<{each}>" for each in self.states)
        inside = f"({inside})" if len(self.states) > 1 else inside
        return inside if self.fewest == self.most == 1 else f"{inside}{{{self.fewest},{self.most}}}"


@dataclass
class Dialogue:
    """A random spec."""

    kinds: list[Kind] = field(default_factory=list)
    states: dict[str, list[Kind]] = field(default_factory=dict)
    unordered: set[str] = field(default_factory=set)  # states whose two messages come in any order
    body: list[Block] = field(default_factory=list)  # of the start symbol
    rules: list[Rule] = field(default_factory=list)
    links: int = 1

    def text(self, *, splits_server: bool) -> str:
        lines = [f"<start> ::= {' '.join(map(str, self.body))}", "from functools import reduce"]
        for name, kinds in self.states.items():
            said = [kind.mention(splits_server=splits_server) for kind in kinds]
            orders = [said, said[::-1]] if name in self.unordered else [said]
            lines.append(f"<{name}> ::= {' | '.join(' '.join(order) for order in orders)}")
        lines += [kind.rule for kind in self.kinds]
        lines += ['<word> ::= r"[a-j]{1,2}"', '<num> ::= r"[0-9]|[1-9][0-9]"']
        lines += dict.fromkeys(rule.python for rule in self.rules if rule.python)
        lines += [f"where {rule.text}" for rule in self.rules]
        return "\n".join(lines) + "\n"

    def expected(self, said: Sequence[str]) -> set[str]:
        """The messages, by their symbols, that the grammar allows after some others."""
        now = set(self._places(0, 0))
        for symbol in said:
            now = {place for one in now if one.row[0] == symbol for place in self._after(one)}
        return {place.row[0] for place in now}

    def _after(self, place: _Place) -> Iterator[_Place]:
        if len(place.row) > 1:
            yield place._replace(row=place.row[1:])
        else:
            yield from self._places(place.block, place.rounds + 1)

    def _places(self, block: int, rounds: int) -> Iterator[_Place]:
        """Where a dialogue may be that has had some rounds of a block."""
        if block == len(self.body):
            return
        now = self.body[block]
        if rounds < now.most:
            for name in now.states:
                row = tuple(kind.symbol for kind in self.states[name])
                yield _Place(block, rounds, row)
                if name in self.unordered:
                    yield _Place(block, rounds, row[::-1])
        if rounds >= now.fewest:
            yield from self._places(block + 1, 0)


class _Place(NamedTuple):
    """A place in a dialogue: the messages ahead in this round of a block."""

    block: int
    rounds: int
    row: tuple[str, ...]


class DialogueWriter:
    """Writes random dialogues. It is clear who sends next, but where two messages come in any order."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._dialogue = Dialogue(links=self._random.choice([1, 1, 2, 3]))
        self._tied: set[tuple[str, str]] = set()  # fields that another message decides
        self._ruled: set[tuple[str, str]] = set()  # fields with other rules

    def write(self) -> Dialogue:
        dialogue, random = self._dialogue, self._random
        names = [f"x{number}" for number in range(random.randint(1, 3))]
        for name in names:
            self._add_state(name)
        self._add_greetings()
        for _ in range(random.randint(1, 2)):
            chosen = tuple(random.sample(names, min(len(names), random.choice([1, 1, 2]))))
            dialogue.body.append(Block(chosen, *random.choice([(1, 1), (2, 2), (1, 3), (3, 3), (2, 5)])))
        if random.random() < 0.3:
            self._add_race()
        self._add_rules()
        if random.random() < 0.25:
            self._add_collection()
        self._add_last()
        random.shuffle(dialogue.rules)
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
            self._dialogue.body.append(Block((f"hello{link}",)))

    def _add_race(self) -> None:
        """Two messages in any order: of both sides at once, or of one side on two connections."""
        random = self._random
        ours = random.random() < 0.5
        first, second = (self._kind(is_client=each, fields="n") for each in (ours, random.choice([ours, not ours])))
        self._dialogue.states["race"] = [first, second]
        self._dialogue.unordered.add("race")
        # What comes before and after is clear, or both sides may decide at once how it goes on.
        for name in ("ready", "calm"):
            self._dialogue.states[name] = [self._kind(is_client=side, fields="", link=0) for side in (True, False)]
        rounds = random.choice([1, 2, 3])
        self._dialogue.body += [Block(("ready",)), Block(("race",), rounds, rounds), Block(("calm",))]

    def _add_last(self) -> None:
        self._dialogue.states["end"] = [self._kind(is_client=side, fields="", link=0) for side in (True, False)]
        self._dialogue.body.append(Block(("end",)))

    def _add_collection(self) -> None:
        """Some words that are put, and then got: as many of them."""
        put, stop = self._kind(is_client=True, fields="w", link=0), self._kind(is_client=True, fields="", link=0)
        got, done = self._kind(is_client=False, fields="w", link=0), self._kind(is_client=False, fields="", link=0)
        self._dialogue.states |= {"put": [put], "stop": [stop], "got": [got], "done": [done]}
        self._dialogue.body += [Block(("put",), 1, 3), Block(("stop",)), Block(("got",), 1, 3), Block(("done",))]

        def is_broken(said: Sequence[Said]) -> bool:
            puts, gots = (sum(each.symbol == kind.symbol for each in said) for kind in (put, got))
            return gots > puts or (puts != gots and any(each.symbol == done.symbol for each in said))

        text = f"len(*{put.symbol}.<word>) == len(*{got.symbol}.<word>)"
        self._dialogue.rules.append(Rule("collection", text, is_broken))

    def _add_rules(self) -> None:
        makers = [
            *(self._distinct, self._distinct_over_both, self._model, self._rising, self._bounded_sum),
            *(self._echo, self._subset, self._implication, self._count, self._least),
        ]
        # A sum that is bounded, and numbers that rise, may leave no number to be said.
        makers.remove(self._random.choice([self._rising, self._bounded_sum]))
        for _ in range(self._random.randint(2, 5)):
            maker = self._random.choice(makers)
            rule = maker()
            if maker in (self._count, self._least):  # two of them may leave no exchange to be begun
                makers = [each for each in makers if each not in (self._count, self._least)]
            if rule is not None and len(self._dialogue.rules) < 3:
                self._dialogue.rules.append(rule)

    def _some_kind(self, wanted: str, *, is_client: bool | None = None) -> Kind | None:
        kinds = [
            kind
            for kind in self._dialogue.kinds
            if kind.fields.count(wanted) == 1 and (kind.symbol, wanted) not in self._tied
            if is_client is None or kind.is_client is is_client
        ]
        if not kinds:
            return None
        kind = self._random.choice(kinds)
        self._ruled.add((kind.symbol, wanted))
        return kind

    def _distinct(self) -> Rule | None:
        kind = self._some_kind("w")
        if kind is None:
            return None
        symbol = kind.symbol

        def is_broken(said: Sequence[Said]) -> bool:
            words = kind.values_in(said, "w")
            return len(words) != len(set(words))

        forms = [
            ("distinct: set", f"len(set(str(w) for w in *{symbol}.<word>)) == len(*{symbol}.<word>)", ""),
            ("distinct: list", f"distinct(*{symbol}.<word>)", _DISTINCT),
        ]
        if kind.fields == "w":
            forms += [
                ("distinct: start", f"distinct(<start>.find_subtrees('{symbol}'))", _DISTINCT),
                ("distinct: root", f"forall <m> in {symbol}: alone(<m>)", _ALONE),
                ("distinct: parents", f"all(fresh(m) for m in *{symbol})", _FRESH),
            ]
        form, text, python = self._random.choice(forms)
        return Rule(form, text, is_broken, python)

    def _distinct_over_both(self) -> Rule | None:
        """No word is sent twice, whichever side sends it."""
        one, other = self._some_kind("w", is_client=True), self._some_kind("w", is_client=False)
        if one is None or other is None:
            return None

        def is_broken(said: Sequence[Said]) -> bool:
            words = one.values_in(said, "w") + other.values_in(said, "w")
            return len(words) != len(set(words))

        text = f"distinct(list(*{one.symbol}.<word>) + list(*{other.symbol}.<word>))"
        return Rule("distinct: both sides", text, is_broken, _DISTINCT)

    def _model(self) -> Rule | None:
        """A state that every message changes: the words so far."""
        kind = self._some_kind("w")
        if kind is None:
            return None

        def is_broken(said: Sequence[Said]) -> bool:
            words = kind.values_in(said, "w")
            return len(words) != len(set(words))

        return Rule("model", f"reduce(noted, *{kind.symbol}, ((), True))[1]", is_broken, _NOTED)

    def _rising(self) -> Rule | None:
        kind = self._some_kind("n")
        if kind is None:
            return None

        def is_broken(said: Sequence[Said]) -> bool:
            numbers = [int(each) for each in kind.values_in(said, "n")]
            return numbers != sorted(numbers)

        return Rule("rising", f"rising(*{kind.symbol}.<num>)", is_broken, _RISING)

    def _bounded_sum(self) -> Rule | None:
        kind = self._some_kind("n")
        if kind is None:
            return None
        most = self._random.choice([100, 150])

        def is_broken(said: Sequence[Said]) -> bool:
            return sum(int(each) for each in kind.values_in(said, "n")) > most

        return Rule("sum", f"sum(int(n) for n in *{kind.symbol}.<num>) <= {most}", is_broken)

    def _pair(self, wanted: str) -> tuple[str, Kind, Kind] | None:
        """An exchange with such a field in its first message, and one in its last that nothing else is said of."""
        states = [
            (name, kinds[0], kinds[-1])
            for name, kinds in self._dialogue.states.items()
            if kinds[0].fields.count(wanted) == 1 == kinds[-1].fields.count(wanted)
            if name not in self._dialogue.unordered and (kinds[-1].symbol, wanted) not in self._ruled
        ]
        if not states:
            return None
        name, first, last = self._random.choice(states)
        self._tied.add((last.symbol, wanted))
        return name, first, last

    def _echo(self) -> Rule | None:
        pair = self._pair("w")
        if pair is None:
            return None
        name, first, last = pair

        def is_broken(said: Sequence[Said]) -> bool:
            asked, answered = first.values_in(said, "w"), last.values_in(said, "w")
            return any(one != two for one, two in zip(asked, answered, strict=False))

        first_word, last_word = f"{first.symbol}.<word>", f"{last.symbol}.<word>"
        count = len(self._dialogue.states[name])
        form, text, python = self._random.choice(
            [
                ("plain", f"forall <x> in <{name}>: <x>.{first_word} == <x>.{last_word}", ""),
                ("get_root", f"forall <x> in <{name}>: echoes(<x>.get_root() and <x>, {count})", _ECHOES),
                ("code", f"forall <x> in <{name}>: echoes(<x>, {count})", _ECHOES),
                ("all", f"all(echoes(x, {count}) for x in *<{name}>)", _ECHOES),
                ("list", f"all_echo(*<{name}>, {count})", _ECHOES),
                ("parent", f"forall <m> in {last.symbol}: as_asked(<m>)", _AS_ASKED),
                ("strict", f"all(strictly(x) for x in *<{name}>)", _STRICTLY),
            ]
        )
        return Rule(f"echo: {form}", text, is_broken, python)

    def _implication(self) -> Rule | None:
        """A number above 50 is answered by one above 50."""
        pair = self._pair("n")
        if pair is None:
            return None
        name, first, last = pair

        def is_broken(said: Sequence[Said]) -> bool:
            asked, answered = first.values_in(said, "n"), last.values_in(said, "n")
            return any(int(one) > 50 >= int(two) for one, two in zip(asked, answered, strict=False))

        one, two = f"int(<x>.{first.symbol}.<num>) > 50", f"int(<x>.{last.symbol}.<num>) > 50"
        form, condition = self._random.choice([("arrow", f"{one} -> {two}"), ("or", f"not ({one}) or {two}")])
        return Rule(f"implication: {form}", f"forall <x> in <{name}>: {condition}", is_broken)

    def _subset(self) -> Rule | None:
        pair = self._pair("w")
        if pair is None:
            return None
        _, first, last = pair
        text = f"known(*{last.symbol}.<word>, *{first.symbol}.<word>)"
        return Rule("subset", text, lambda _: False, _KNOWN)  # a word may still be asked for

    def _count(self) -> Rule | None:
        """At most so many exchanges of a kind; at least as many as there have to be."""
        name = self._random.choice(list(self._dialogue.states))
        blocks = [block for block in self._dialogue.body if name in block.states]
        if len({len(block.states) > 1 for block in blocks}) == 2:  # whoever takes it too often cannot go on later
            return None
        most = sum(block.fewest for block in blocks if len(block.states) == 1) + self._random.choice([0, 1])
        first = self._dialogue.states[name][0].symbol

        def is_broken(said: Sequence[Said]) -> bool:
            return sum(each.symbol == first for each in said) > most

        text = self._random.choice(
            [f"len(*<{name}>) <= {most}", f"|<{name}>| < {most + 1}", f"len(*{first}) <= {most}"]
        )
        return Rule("count: at most", text, is_broken)

    def _least(self) -> Rule | None:
        """At least one exchange of a kind that could be left out."""
        name = self._random.choice(list(self._dialogue.states))
        if not any(name in block.states for block in self._dialogue.body):
            return None
        first = self._dialogue.states[name][0].symbol
        form, text = self._random.choice([("exists", f"exists <x> in <{name}>: True"), ("len", f"len(*{first}) >= 1")])
        return Rule(f"count: at least, {form}", text, lambda _: False)


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
_FRESH = """
def fresh(node):
    top = node
    while top.parent is not None:
        top = top.parent
    return sum(str(other) == str(node) for other in top.find_subtrees(node.symbol)) == 1
"""
_NOTED = """
def noted(state, message):
    words, is_right = state
    word = str(next(iter(message.find_subtrees("<word>"))))
    return (words + (word,), is_right and word not in words)
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
def all_echo(exchanges, count):
    return all(echoes(each, count) for each in exchanges)
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
