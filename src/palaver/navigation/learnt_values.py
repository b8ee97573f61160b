"""Learnt values, chosen by Thompson sampling (Thompson 1933): what was said or heard as a symbol is offered again.

A server that remembers answers by names: whether a key is there depends on the very key. So each value of a value
symbol (`grammar/value_symbols.py`) is kept together with the *exchange* that it was last part of: our message, and the
answer to it. All values with the same last exchange are a *class*: "a name that was last in LOCK, answered by LOCKED".
It approximates the peer's state for that value by one step. Three more classes are `FRESH`, a value that was never
used, `EARLIER`, one of an earlier session, and `TOGETHER`, the one that was last in a message with a value which the
message has already: who was invited to this room. Values that the peer has invented count as much as ours, and so do
those of symbols that a constraint ties to this one.

Which class is drawn depends on the purpose of the message. If it is to bring a certain answer, then the classes are the
arms of a bandit: the class is preferred that has brought that answer. If it has no purpose but to change the history,
the class that was least used in this message is taken; a fresh value twice as often as others, or half as often if the
peer makes the values of this symbol. A random walk draws a known value every second time. If the peer answers to values
of earlier sessions as to fresh ones, then it forgets between sessions, and they are hardly offered any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import field
from typing import Any, NamedTuple, TypeAlias

from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass
from palaver.navigation.navigation_limits import (
    MAX_KEPT_VALUE,
    MAX_KNOWN_VALUES,
    MAX_NESTED_VALUES,
    MAX_RECALLING_ATTEMPTS,
    MAX_VALUES_OF_MESSAGE,
    SHARE_OF_FORGOTTEN,
    SHARE_THAT_REMEMBERS,
    USES_BEFORE_FORGOTTEN,
)
from palaver.random_source import RandomSource
from palaver.trees.node import Leaf, Node
from palaver.trees.tree import Tree
from palaver.trees.values import leaves_of

# Our message, and the answer to it; empty if none has come yet.
Exchange: TypeAlias = tuple[str, str]

FRESH: Exchange = ("", "fresh")
EARLIER: Exchange = ("", "earlier")
TOGETHER: Exchange = ("", "together")

# The weight of a failure against a success: a class that failed may still succeed after another history.
_WEIGHT_OF_FAILURE = 0.5
# Values that were together before are expected to succeed, as if they had done so before.
_HOPE_OF_TOGETHER = 3
# A random walk draws a known value so often, and of these one of an earlier session.
_SHARE_OF_KNOWN = 0.5
_SHARE_OF_EARLIER = 0.1


class ChosenValue(NamedTuple):
    """A field of a message of ours, the class of its value, and the value; None if it is fresh."""

    symbol: str
    last: Exchange
    node: Node | None

    def __str__(self) -> str:
        if self.node is None:
            return f"{self.symbol} is fresh"
        text = "".join(leaf if isinstance(leaf, str) else repr(leaf) for leaf in leaves_of(self.node))
        if self.last == EARLIER:
            return f"{self.symbol} is {text!r} of an earlier session"
        if self.last == TOGETHER:
            return f"{self.symbol} is {text!r}, last together with another value of this message"
        message, answer = self.last
        if not message:
            return f"{self.symbol} is {text!r}, last in {answer}"  # before we had said anything
        return f"{self.symbol} is {text!r}, last in {message}{f', answered by {answer}' if answer else ''}"


@dataclass(slots=True)
class _KnownValue:
    node: Node
    last: Exchange
    others: dict[str, Node] = field(default_factory=dict)  # by symbol, the value that was last beside it


class _HeardAnswer(NamedTuple):
    """An answer to our last message, and the answers that were possible."""

    message: str
    answer: str
    node: Node
    possible: Sequence[str]


_Key: TypeAlias = tuple[Leaf, ...]
_Values: TypeAlias = dict[_Key, _KnownValue]  # in the order of their last use


class LearntValues:
    """The values of all sessions of a run."""

    def __init__(
        self,
        symbols: Sequence[str],
        tied: Mapping[str, tuple[str, ...]],
        above: Callable[[Iterable[str]], frozenset[str]],
        read: Callable[[str, Tree | str | bytes], Node | None],
        chance: RandomSource,
    ) -> None:
        self.choices: list[ChosenValue] = []  # the fields of the latest message of ours
        self._symbols = frozenset(symbols)
        self._tied = {symbol: tied.get(symbol, ()) for symbol in symbols}
        self._noted = self._symbols.union(*self._tied.values())
        self.holders = self._noted | above(self._noted)  # all symbols with values inside, also messages
        self._read = read
        self._chance = chance
        self._session: dict[str, _Values] = {}
        self._earlier: dict[str, _Values] = {}
        self._message = ""  # of ours, that is made now
        self._wanted: str | None = None  # the answer that it is to bring
        self._is_walking = True
        self._invented: set[str] = set()  # symbols of which the peer has made values
        # The uses of values of earlier sessions, by whether they brought an answer which fresh values had not brought.
        self._earlier_uses: Counter[bool] = Counter()
        self._attempts = 0
        self._focus: dict[str, _KnownValue] | None = None
        self.is_focused = False  # each symbol keeps its value
        self._renewed: dict[str, None] = {}  # symbols that are to be fresh next
        self._sent: Sequence[ChosenValue] = ()  # the fields of our last message that was sent
        self._sent_values: Sequence[tuple[Node, _Key]] = ()
        self._answer: _HeardAnswer | None = None  # the latest, of which nothing is learnt yet
        # By message, answer, symbol and class: how often that answer was possible, and how often it came.
        self._tried: Counter[tuple[str, str, str, Exchange]] = Counter()
        self._came: Counter[tuple[str, str, str, Exchange]] = Counter()
        self._used: Counter[tuple[str, str, Exchange]] = Counter()  # by message, symbol and class

    def begin_session(self) -> None:
        """Begin another session: the values of the last one are those of an earlier session from now on."""
        self._learn()
        self._add_session_to(self._earlier)
        self._session = {}
        self._sent = self._sent_values = ()
        self.focus(False)

    def beside(self, chance: RandomSource) -> LearntValues:
        """The same for sessions that go on beside these: what they learn is known to both."""
        self._learn()
        other = copy(self)
        other._chance = chance
        other.choices, other._session = [], {}
        other._sent = other._sent_values = ()
        other.focus(False)
        return other

    def _all_values(self) -> dict[str, _Values]:
        """The values of this session and of earlier ones, as they are for the next."""
        self._learn()
        together = {symbol: dict(known) for symbol, known in self._earlier.items()}
        self._add_session_to(together)
        return together

    def _add_session_to(self, earlier: dict[str, _Values]) -> None:
        for symbol, values in self._session.items():
            known = earlier.setdefault(symbol, {})
            for key, value in values.items():
                known.pop(key, None)
                known[key] = _KnownValue(value.node, EARLIER)
            _forget_oldest(known)

    def aim(self, message: str, wanted: str | None = None, *, is_walking: bool = False) -> None:
        """Set the message of ours that is made next, and the answer that it is to bring."""
        self._learn()
        self._message, self._wanted, self._is_walking = message, wanted, is_walking
        self._attempts = 0

    def begin(self) -> None:
        """Begin a message, or another attempt at it."""
        self._attempts += 1
        self.choices = []

    def recall(self, symbol: str) -> Node | None:
        """A known value of a symbol; None if it is to be fresh."""
        self._learn()
        if symbol not in self._symbols or self._attempts > MAX_RECALLING_ATTEMPTS:
            return None
        if symbol in self._renewed:
            self.choices.append(ChosenValue(symbol, FRESH, None))
            return None
        focused = self._focused(symbol)
        if focused is not None:
            self.choices.append(ChosenValue(symbol, focused.last, focused.node))
            return focused.node
        classes = self._classes(symbol)
        if self._is_forgetful and self._chance.random() >= SHARE_OF_FORGOTTEN:
            classes.pop(EARLIER, None)
        if companion := self._companion(symbol):
            classes[TOGETHER] = [companion]
        if self._is_walking:
            last = self._drawn(classes)
        elif self._wanted is None:
            last = self._least_used(symbol, classes)
        else:
            last = self._most_promising(symbol, self._wanted, classes)
        node = None if last == FRESH else self._chance.pick(classes[last])
        self.choices.append(ChosenValue(symbol, last, node))
        return node

    def focus(self, is_on: bool) -> None:
        """From now on each symbol keeps the value that it has next; or no longer."""
        self._learn()
        self._focus = {} if is_on else None
        self._renewed = {}
        self.is_focused = is_on

    def refocus(self) -> None:
        """From now on some of the symbols that keep their values have fresh ones, which they keep then."""
        self._learn()
        self._renewed = {symbol: None for symbol in self._focus or () if self._chance.random() < 0.5}

    def _focused(self, symbol: str) -> _KnownValue | None:
        """The value that a symbol keeps; None if it has none, or if the message has it already."""
        if self._focus is None or any(choice.symbol == symbol for choice in self.choices):
            return None
        return self._focus.get(symbol)

    def _companion(self, symbol: str) -> Node | None:
        """The value that was last in a message with one which this message has already."""
        for choice in self.choices:
            if choice.node is not None:
                known = self._session.get(choice.symbol, {}).get(tuple(leaves_of(choice.node)))
                if known is not None and symbol in known.others:
                    return known.others[symbol]
        return None

    def _classes(self, symbol: str) -> dict[Exchange, list[Node]]:
        """The known values by their class, the latest last."""
        classes: dict[Exchange, list[Node]] = {}
        for name in (symbol, *self._tied[symbol]):
            for known in (self._earlier, self._session):
                for value in known.get(name, {}).values():
                    node = value.node if name == symbol else self._read(symbol, Tree(value.node))
                    if node is not None:
                        classes.setdefault(value.last, []).append(node)
        return classes

    def _drawn(self, classes: Mapping[Exchange, list[Node]]) -> Exchange:
        chance = self._chance
        if not classes or chance.random() >= _SHARE_OF_KNOWN:
            return FRESH
        of_session = [last for last, nodes in classes.items() if last != EARLIER for _ in nodes]
        if not of_session or (EARLIER in classes and chance.random() < _SHARE_OF_EARLIER):
            return EARLIER if EARLIER in classes and chance.random() < _SHARE_OF_KNOWN else FRESH
        return chance.pick(of_session)

    def _least_used(self, symbol: str, classes: Mapping[Exchange, list[Node]]) -> Exchange:
        best, least = FRESH, float("inf")
        weight_of_fresh = 2 if symbol in self._invented else 0.5  # values of the peer cannot be guessed
        for last in (FRESH, *classes):
            used = self._used[self._message, symbol, last]
            times = (used * weight_of_fresh if last == FRESH else used) + self._chance.random()
            if times < least:
                best, least = last, times
        return best

    def _most_promising(self, symbol: str, wanted: str, classes: Mapping[Exchange, list[Node]]) -> Exchange:
        best, most = FRESH, -1.0
        for last in (FRESH, *classes):
            arm = (self._message, wanted, symbol, last)
            came, tried = self._came[arm], self._tried[arm]
            hope = _HOPE_OF_TOGETHER if last == TOGETHER else 1
            drawn = self._chance.stream.betavariate(hope + came, 1 + (tried - came) * _WEIGHT_OF_FAILURE)
            if drawn > most:
                best, most = last, drawn
        return best

    def said(self, message: str, node: Node) -> None:
        """Note a message of ours."""
        self._learn()
        self._sent, self.choices = self.choices, []
        self._sent_values = list(self._values_in(node))
        for choice in self._sent:
            self._used[message, choice.symbol, choice.last] += 1
        for value, key in self._sent_values:
            self._note(value, key, (message, ""))
        self._note_companions(self._sent_values)

    def heard(self, message: str, answer: str, node: Node, possible: Sequence[str]) -> None:
        """Note an answer to our last message, one of those that were possible; it is looked into when that matters."""
        self._learn()
        self._answer = _HeardAnswer(message, answer, node, possible)

    def _learn(self) -> None:
        """Look into the latest answer."""
        if self._answer is None:
            return
        (message, answer, node, possible), self._answer = self._answer, None
        heard = list(self._values_in(node))
        self._invented.update(v.symbol for v, key in heard if key not in self._session.get(v.symbol, ()))
        for value, key in (*self._sent_values, *heard):
            self._note(value, key, (message, answer))
        for choice in self._sent:
            for each in possible:
                self._tried[message, each, choice.symbol, choice.last] += 1
            self._came[message, answer, choice.symbol, choice.last] += 1
            if choice.last == EARLIER:
                self._earlier_uses[not self._came[message, answer, choice.symbol, FRESH]] += 1
        self._sent = ()

    @property
    def _is_forgetful(self) -> bool:
        """True if the peer answers to values of earlier sessions as to fresh ones."""
        uses = self._earlier_uses.total()
        return uses >= USES_BEFORE_FORGOTTEN and self._earlier_uses[True] < SHARE_THAT_REMEMBERS * uses

    def _note_companions(self, values: Sequence[tuple[Node, _Key]]) -> None:
        """Note which values of other symbols each value of a message is beside."""
        for value, key in values:
            known = self._session[value.symbol].get(key)
            for other, _ in values:
                if known is not None and other.symbol != value.symbol:
                    known.others[other.symbol] = other

    def _values_in(self, node: Node) -> Iterator[tuple[Node, _Key]]:
        """The values in a message, from left to right, as many as are remembered."""
        count, stack = 0, [(node, 0)]
        while stack and count < MAX_VALUES_OF_MESSAGE:
            here, depth = stack.pop()
            if here.symbol in self._noted:
                yield here, tuple(leaves_of(here))
                count, depth = count + 1, depth + 1
            if depth < MAX_NESTED_VALUES:
                stack.extend((child, depth) for child in reversed(here.children) if isinstance(child, Node))

    def as_data(self) -> dict[str, Any]:
        """The values and their successes, as JSON can hold them, for another run; bytes are lists of one text."""
        values = [
            [symbol, data if isinstance(data, str) else [data.decode("latin-1")]]
            for symbol, known in self._all_values().items()
            for value in known.values()
            if (data := _data_of(value.node)) is not None
        ]
        arms = [[*arm[:3], *arm[3], tried, self._came[arm]] for arm, tried in self._tried.items()]
        return {"values": values, "arms": arms, "used": [[*key[:2], *key[2], n] for key, n in self._used.items()]}

    def add_data(self, data: Mapping[str, Any]) -> None:
        """Add the values of another run, which are those of earlier sessions here, and their successes."""
        for symbol, value in data["values"]:
            node = None
            if symbol in self._noted:
                node = self._read(symbol, value if isinstance(value, str) else value[0].encode("latin-1"))
            if node is not None:
                known = self._earlier.setdefault(symbol, {})
                known[tuple(leaves_of(node))] = _KnownValue(node, EARLIER)
                _forget_oldest(known)
        for message, answer, symbol, *last, tried, came in data["arms"]:
            arm = (message, answer, symbol, (last[0], last[1]))
            self._tried[arm] += tried
            self._came[arm] += came
        for message, symbol, *last, times in data["used"]:
            self._used[message, symbol, (last[0], last[1])] += times

    def _note(self, node: Node, key: _Key, last: Exchange) -> None:
        known = self._session.setdefault(node.symbol, {})
        before = known.pop(key, None)
        known[key] = _KnownValue(node, last, before.others if before is not None else {})
        if self._focus is not None:
            self._focus[node.symbol] = known[key]
            self._renewed.pop(node.symbol, None)
        _forget_oldest(known)


def _data_of(node: Node) -> str | bytes | None:
    """The text that a value is written as; None if it is too long to be kept, or has bits that fill no bytes."""
    try:
        data = Tree(node).serialised()
    except PalaverError:
        return None
    return data if len(data) <= MAX_KEPT_VALUE else None


def _forget_oldest(known: _Values) -> None:
    while len(known) > MAX_KNOWN_VALUES:
        del known[next(iter(known))]
