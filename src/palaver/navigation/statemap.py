"""The state diagram that is embedded in a spec: what can be said from where, and where that leads.

How it works
============

The forecaster's futures are the states (`matching/dialogue.py`): a future is all that may still happen, and for a
right-recursive dialogue there are finitely many. Several futures are one state here if they differ only in how they
came about: to be about to enter `<work>` is the same state wherever `<work>` stands, and a loop is where it was after
each of its rounds. A dialogue that nests without end has states without end; then the map ends somewhere, and says
so.

How many rounds a computed repetition makes is only known in a conversation. In the map it makes any number of them, and
how many are left makes no difference between states. So the map allows more than the spec there, and never less.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from palaver.matching.cut import MessageType
from palaver.matching.dialogue import Future
from palaver.matching.forecaster import Forecaster
from palaver.matching.items import (
    All,
    ComputedLoop,
    Enter,
    Fork,
    Grown,
    Item,
    Loop,
    Mark,
    Put,
    Row,
    computed_loops,
)
from palaver.matching.positions import AnyFields, Position, Positions
from palaver.trees.node import NonTerminal

# A diagram of more cannot be read, and coverage of more says little.
MOST_FUTURES = 2_000

# Futures that are one state lead to the same states. Only where a computed repetition is one, there may be some that do
# not; but there may also be futures without end that do.
_MOST_OF_ONE_STATE = 3

# Rules that nest deeper than this nest without end, and the deeper they are, the longer it takes to look at them.
_DEEPEST = 64

# What the state is called in which all has been said. Other names have brackets.
END = "end"


@dataclass(frozen=True, slots=True, eq=False)  # a map has each state once, and much is counted by state
class State:
    """A place in the dialogue.

    It is called after the innermost rule that is open there; if there are several in one rule, they are numbered.
    """

    number: int
    name: str
    symbol: str  # the rule; "end" if all has been said
    is_beginning: bool  # whether nothing of that rule has been said yet
    can_end: bool  # whether this may have been all


class Transition(NamedTuple):
    """A message that leads from one state to another, or back to the same."""

    source: State
    move: MessageType
    target: State


class StateMap:
    """The states and transitions of a dialogue, in the order in which a walk in the order of the spec meets them."""

    def __init__(self, forecaster: Forecaster, most: int = MOST_FUTURES) -> None:
        self.messages = forecaster.messages
        self.beginning = forecaster.compiled.beginning
        self._forecaster = forecaster
        self._most = most

    # It is drawn when it is first looked at, which may be never.

    @cached_property
    def _keys(self) -> _Keys:
        return _Keys(self._forecaster.positions)

    @cached_property
    def _exploration(self) -> _Exploration:
        return _Exploration(self._forecaster, self._keys, self._most)

    @property
    def is_complete(self) -> bool:
        return self._exploration.is_complete

    @cached_property
    def states(self) -> tuple[State, ...]:
        return tuple(self._named(self._exploration))

    @cached_property
    def _by_key(self) -> dict[int, State]:
        return dict(zip(self._exploration.can_end, self.states, strict=True))

    @cached_property
    def _by_future(self) -> dict[Future, State]:
        # The futures that make up the map are kept: what is looked up is mostly one of them.
        return {future: self._by_key[key] for future, key in self._exploration.futures.items()}

    @cached_property
    def _targets(self) -> dict[tuple[State, MessageType], tuple[State, ...]]:
        return {
            (self._by_key[source], move): tuple(self._by_key[target] for target in targets)
            for source in self._by_key
            for move, targets in self._exploration.steps.get(source, {}).items()
        }

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        return tuple(
            Transition(source, move, target) for (source, move), targets in self._targets.items() for target in targets
        )

    @property
    def initial(self) -> State:
        """Where nothing has been said."""
        return self.states[0]

    def state_of(self, future: Future) -> State | None:
        """The state of a future of the forecaster; None if the map ends before it."""
        state = self._by_future.get(future)
        return self._by_key.get(self._keys.of(future)) if state is None else state

    def targets(self, source: State, move: MessageType) -> tuple[State, ...]:
        """Where a message may lead from a state."""
        return self._targets.get((source, move), ())

    def _named(self, exploration: _Exploration) -> Iterator[State]:
        found = [self._keys.symbol(key) for key in exploration.can_end]
        # The beginning of a rule is what its name stands for; all other states are somewhere inside.
        numbers: dict[int, int] = {}
        counts: dict[str, int] = {}
        for number, (symbol, _) in sorted(enumerate(found), key=lambda each: not each[1].is_beginning):
            counts[symbol] = numbers[number] = counts.get(symbol, 0) + 1
        ends = exploration.can_end.values()
        for number, ((symbol, is_beginning), can_end) in enumerate(zip(found, ends, strict=True)):
            name = symbol if numbers[number] == 1 else f"{symbol} {numbers[number]}"
            yield State(number, name, symbol, is_beginning, can_end)


class _Exploration:
    """All that can be reached from the beginning."""

    def __init__(self, forecaster: Forecaster, keys: _Keys, most: int) -> None:
        self._compiled = compiled = forecaster.compiled
        self.futures: dict[Future, int] = {}
        self.can_end: dict[int, bool] = {}  # by the keys of states, in the order in which they are met
        self.steps: dict[int, dict[MessageType, dict[int, None]]] = {}
        self.is_complete = True
        self._fields = AnyFields(forecaster.positions) if forecaster.positions.has_computed_loops else None
        self._keys = keys
        looked_at: Counter[int] = Counter()
        self._meet(compiled.beginning)
        todo = deque(self.futures)
        while todo:
            future = todo.popleft()
            key = self.futures[future]
            looked_at[key] += 1
            if looked_at[key] > _MOST_OF_ONE_STATE:
                continue
            for move, target in self._steps_from(future):
                if target not in self.futures:
                    if len(self.futures) == most or _is_too_high(target):
                        self.is_complete = False
                        continue
                    self._meet(target)
                    todo.append(target)
                self.steps.setdefault(key, {}).setdefault(move, {})[self.futures[target]] = None

    def _meet(self, future: Future) -> None:
        key = self.futures[future] = self._keys.of(future)
        self.can_end[key] = self.can_end.get(key, False) or self._compiled.can_end(future, self._fields)

    def _steps_from(self, future: Future) -> Iterator[tuple[MessageType, Future]]:
        for move in self._compiled.moves(future, self._fields):
            for step in self._compiled.steps(future, move, self._fields):
                yield move, self._compiled.future_after(step)


def _is_too_high(future: Future) -> bool:
    """Whether more rules are open than anybody wants to follow."""
    level: Future | None = future
    for _ in range(_DEEPEST):
        level = None if level is None else level.following
    return level is not None


class _Place(NamedTuple):
    symbol: str
    is_beginning: bool


class _Keys:
    """Numbers of futures: the same for those that are one state."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._counted = {loop.body for rule in positions.rules.values() for loop in computed_loops(rule)}
        self._normals: dict[Position, Position] = {}
        self._grown: dict[tuple[str, str], Position] = {}
        self._numbers: dict[tuple[Position, int], int] = {}
        self._tops: list[Position] = []  # by number
        self._below: WeakKeyDictionary[Future, int] = WeakKeyDictionary()
        self._owners = {item: name for name, rule in positions.rules.items() for item in _inside(rule)}
        self._beginnings: dict[Position, str] = {}
        for name in positions.rules:
            self._beginnings.setdefault(self._normal(positions.body(name)), name)

    def of(self, future: Future) -> int:
        """The number of a future."""
        below = -1 if future.following is None else self._number_below(future.following)
        position = self._normal(future.position)
        while (symbol := self._entered(position)) is not None:
            assert position.rest is not None, "what can be entered is not the end"
            below = self._pushed(position.rest, below)
            position = self._normal(self._positions.body(symbol))
        return below if position.is_over else self._number(position, below)

    def _number_below(self, future: Future) -> int:
        """The number of what is left when a rule ends."""
        levels: list[Future] = []
        level: Future | None = future
        while level is not None and level not in self._below:
            levels.append(level)
            level = level.following
        number = -1 if level is None else self._below[level]
        for level in reversed(levels):
            number = self._below[level] = self._pushed(level.position, number)
        return number

    def _pushed(self, position: Position, below: int) -> int:
        position = self._normal(position)
        while (symbol := self._entered(position)) is not None:
            assert position.rest is not None, "what can be entered is not the end"
            if not self._normal(position.rest).is_over:
                break  # to follow every rule that is still to come could take for ever
            position = self._normal(self._positions.body(symbol))
        return below if position.is_over else self._number(position, below)

    def _entered(self, position: Position) -> NonTerminal | None:
        """The state that is all that can be entered at a position. One that begins with itself grows from inside."""
        item = position.item
        if isinstance(item, Enter) and item.can_talk and item.symbol not in self._positions.circles:
            return item.symbol
        return None

    def _number(self, position: Position, below: int) -> int:
        number = self._numbers.setdefault((position, below), len(self._tops))
        if number == len(self._tops):
            self._tops.append(position)
        return number

    # --- What makes no difference -------------------------------------------------------------------------------------

    def _normal(self, position: Position) -> Position:
        """The position without what says nothing at its beginning, and without what computed loops have left to do."""
        if isinstance(position.item, Grown):
            # What a tree may still grow into may depend on fields, too.
            return self._grown.setdefault((position.item.goal, position.item.symbol), position)
        if position not in self._normals:
            self._normals[position] = self._uniform(self._uncounted(position) if self._counted else _loud(position))
        return self._normals[position]

    def _uniform(self, position: Position) -> Position:
        """The same position whether a loop has not begun or has come back to where it began."""
        item = position.item
        if not isinstance(item, Loop) or position.rest is None:
            return position
        return self._positions.at(self._positions.loop(item.body, (item.least, item.most)), position.rest)

    def _uncounted(self, position: Position) -> Position:
        # The end of a round stays: whether a computed loop follows it, or its last round is over, cannot be told.
        items: list[Item] = []
        here = position
        while here.rest is not None:
            is_round = isinstance(here.item, Mark)
            goes_on = isinstance(here.rest.item, Loop) and not self._is_count(here.rest.item)
            is_left_out = not items and _is_silent(here.item) and (not is_round or goes_on)
            if not is_left_out and not self._is_count(here.item):
                items.append(here.item)
            here = here.rest
        return self._positions.at(Row(tuple(items)), here)

    def _is_count(self, item: Item) -> bool:
        return isinstance(item, Loop) and item.body in self._counted

    # --- Names --------------------------------------------------------------------------------------------------------

    def symbol(self, number: int) -> _Place:
        """The rule that a state is in."""
        top = self._tops[number]
        if top in self._beginnings:
            return _Place(self._beginnings[top], True)
        here: Position | None = top
        while here is not None:
            owner = self._owner(here.item)
            if owner is not None:
                return _Place(owner, False)
            here = here.rest
        return _Place(END, False)

    def _owner(self, item: Item) -> str | None:
        match item:
            case Grown(goal=goal):
                return goal
            case Loop(body=body):
                return self._owners.get(item) or self._owners.get(body)
            case All(items=parts):
                return self._owners.get(item) or self._owners.get(parts[0])
            case Enter(symbol=symbol):
                return self._owners.get(item, symbol)
            case _:
                return self._owners.get(item)


def _loud(position: Position) -> Position:
    """The position without what says nothing at its beginning."""
    while position.rest is not None and _is_silent(position.item):
        position = position.rest
    return position


def _is_silent(item: Item) -> bool:
    """Whether nothing can be said or chosen here."""
    return isinstance(item, Put | Mark) or (isinstance(item, Enter) and not item.can_talk)


def _inside(item: Item) -> Iterator[Item]:
    """An item, and all that it consists of."""
    todo = [item]
    while todo:
        here = todo.pop()
        yield here
        match here:
            case Row(items=items) | Fork(options=items) | All(items=items):
                todo += items
            case Loop(body=body) | ComputedLoop(body=body):
                todo.append(body)
