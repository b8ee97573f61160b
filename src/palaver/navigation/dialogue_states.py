"""The protocol state machine of a spec: its states, equivalence classes of futures (Nerode 1958), and their messages.

The states are classes of the futures that the dialogue automaton knows (`matching/dialogue_automaton.py`), found by
breadth-first search. A future is everything that may still happen; a right-recursive dialogue has finitely many.
Futures that differ only in their history are one state: the beginning of `<work>` is the same state wherever `<work>`
stands, and a loop is in the same state after each of its rounds. A dialogue that nests without end has infinitely many
states; then the machine is cut off, and is not complete.

The number of rounds of a computed repetition is known only in a session. Here it is arbitrary, and the number of rounds
left makes no difference between states. So the machine may allow more than the spec, and never less.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple, assert_never
from weakref import WeakKeyDictionary

from palaver.lean_dataclasses import dataclass
from palaver.matching.dialogue_automaton import AnyFields, DialogueRules, DialogueState, DottedRule
from palaver.matching.dialogue_grammar import (
    ChoiceTerm,
    ComputedLoopTerm,
    DialogueTerm,
    EmptyTextTerm,
    LeftCornerTerm,
    LoopTerm,
    MessageTerm,
    MessageType,
    PermutationTerm,
    RoundEndTerm,
    RuleEndTerm,
    SequenceTerm,
    StateTerm,
    computed_loops,
)
from palaver.matching.forecaster import Forecaster
from palaver.navigation.navigation_limits import MAX_FUTURES, MAX_FUTURES_OF_STATE, MAX_OPEN_RULES
from palaver.trees.node import NonTerminal

# The name of the state after the last message. Other names have brackets.
_END = "end"


@dataclass(frozen=True, slots=True, eq=False)  # a machine has each state once, and counts are kept by state
class DiagramState:
    """A state of the dialogue, named after the innermost open rule, with a number if the rule has several."""

    number: int
    name: str
    symbol: str  # the rule; "end" after the last message
    is_beginning: bool  # no message of that rule was sent yet
    can_end: bool  # the session may end here


class DialogueTransition(NamedTuple):
    """A message that leads from one state to another, or back to the same."""

    source: DiagramState
    move: MessageType
    target: DiagramState


class DialogueStateMachine:
    """The states and transitions of a dialogue, in the order of the search: the first state is the initial one."""

    def __init__(self, forecaster: Forecaster, most: int = MAX_FUTURES) -> None:
        self._keys = _FutureClasses(forecaster.positions)
        reachable = _ReachableStates(forecaster, self._keys, most)
        self.is_complete = reachable.is_complete
        self.states = tuple(self._named(reachable))
        self._by_key = dict(zip(reachable.can_end, self.states, strict=True))
        # Most futures that are looked up are among those of the search.
        self._by_future = {future: self._by_key[key] for future, key in reachable.futures.items()}
        self.transitions = tuple(
            DialogueTransition(state, move, self._by_key[target])
            for key, state in self._by_key.items()
            for move, targets in reachable.steps.get(key, {}).items()
            for target in targets
        )

    def state_of(self, future: DialogueState) -> DiagramState | None:
        """The state of a future of the forecaster; None if the machine was cut off before it."""
        state = self._by_future.get(future)
        return self._by_key.get(self._keys.of(future)) if state is None else state

    def _named(self, reachable: _ReachableStates) -> Iterator[DiagramState]:
        found = [self._keys.symbol(key) for key in reachable.can_end]
        # The plain name of a rule is that of its beginning; the other states of the rule are numbered.
        numbers: dict[int, int] = {}
        counts: dict[str, int] = {}
        for number, (symbol, _) in sorted(enumerate(found), key=lambda each: not each[1].is_beginning):
            counts[symbol] = numbers[number] = counts.get(symbol, 0) + 1
        ends = reachable.can_end.values()
        for number, ((symbol, is_beginning), can_end) in enumerate(zip(found, ends, strict=True)):
            name = symbol if numbers[number] == 1 else f"{symbol} {numbers[number]}"
            yield DiagramState(number, name, symbol, is_beginning, can_end)


class _ReachableStates:
    """Everything that is reachable from the beginning, found by breadth-first search."""

    def __init__(self, forecaster: Forecaster, keys: _FutureClasses, most: int) -> None:
        self._compiled = compiled = forecaster.compiled
        self.futures: dict[DialogueState, int] = {}
        self.can_end: dict[int, bool] = {}  # by the keys of states, in the order of the search
        self.steps: dict[int, dict[MessageType, dict[int, None]]] = {}
        self.is_complete = True
        self._fields = AnyFields(forecaster.positions) if forecaster.positions.has_computed_loops else None
        self._keys = keys
        expanded: Counter[int] = Counter()
        self._add(compiled.beginning)
        todo = deque(self.futures)
        while todo:
            future = todo.popleft()
            key = self.futures[future]
            expanded[key] += 1
            if expanded[key] > MAX_FUTURES_OF_STATE:
                continue
            for move, target in self._steps_from(future):
                if target not in self.futures:
                    if len(self.futures) == most or _is_too_deep(target):
                        self.is_complete = False
                        continue
                    self._add(target)
                    todo.append(target)
                self.steps.setdefault(key, {}).setdefault(move, {})[self.futures[target]] = None

    def _add(self, future: DialogueState) -> None:
        key = self.futures[future] = self._keys.of(future)
        self.can_end[key] = self.can_end.get(key, False) or self._compiled.can_end(future, self._fields)

    def _steps_from(self, future: DialogueState) -> Iterator[tuple[MessageType, DialogueState]]:
        for move in self._compiled.moves(future, self._fields):
            for step in self._compiled.steps(future, move, self._fields):
                yield move, self._compiled.state_after(step)


def _is_too_deep(future: DialogueState) -> bool:
    """Return True if more rules are open than are followed."""
    level: DialogueState | None = future
    for _ in range(MAX_OPEN_RULES):
        level = None if level is None else level.following
    return level is not None


class _StateLabel(NamedTuple):
    """The rule of a state."""

    symbol: str
    is_beginning: bool


class _FutureClasses:
    """The equivalence classes of futures, as numbers: equivalent futures have the same number."""

    def __init__(self, positions: DialogueRules) -> None:
        self._positions = positions
        self._counted = {loop.body for rule in positions.rules.values() for loop in computed_loops(rule)}
        self._normals: dict[DottedRule, DottedRule] = {}
        self._grown: dict[tuple[str, str], DottedRule] = {}
        self._numbers: dict[tuple[DottedRule, int], int] = {}
        self._tops: list[DottedRule] = []  # by number
        self._below: WeakKeyDictionary[DialogueState, int] = WeakKeyDictionary()
        self._owners = {item: name for name, rule in positions.rules.items() for item in _inside(rule)}
        self._beginnings: dict[DottedRule, str] = {}
        for name in positions.rules:
            self._beginnings.setdefault(self._normal(positions.body(name)), name)

    def of(self, future: DialogueState) -> int:
        """The number of the class of a future."""
        below = -1 if future.following is None else self._number_below(future.following)
        position = self._normal(future.position)
        while (symbol := self._entered(position)) is not None:
            assert position.rest is not None, "a rule that is entered is not the end"
            below = self._pushed(position.rest, below)
            position = self._normal(self._positions.body(symbol))
        return below if position.is_over else self._number(position, below)

    def _number_below(self, future: DialogueState) -> int:
        """The number of the continuation after the innermost rule."""
        levels: list[DialogueState] = []
        level: DialogueState | None = future
        while level is not None and level not in self._below:
            levels.append(level)
            level = level.following
        number = -1 if level is None else self._below[level]
        for level in reversed(levels):
            number = self._below[level] = self._pushed(level.position, number)
        return number

    def _pushed(self, position: DottedRule, below: int) -> int:
        position = self._normal(position)
        while (symbol := self._entered(position)) is not None:
            assert position.rest is not None, "a rule that is entered is not the end"
            if not self._normal(position.rest).is_over:
                break  # following every rule that is still to come might not terminate
            position = self._normal(self._positions.body(symbol))
        return below if position.is_over else self._number(position, below)

    def _entered(self, position: DottedRule) -> NonTerminal | None:
        """The only symbol that can be entered at a position; None if there are others, or if it is left-recursive."""
        item = position.item
        if isinstance(item, StateTerm) and item.can_send and item.symbol not in self._positions.circles:
            return item.symbol
        return None

    def _number(self, position: DottedRule, below: int) -> int:
        number = self._numbers.setdefault((position, below), len(self._tops))
        if number == len(self._tops):
            self._tops.append(position)
        return number

    def _normal(self, position: DottedRule) -> DottedRule:
        """The position without silent items at its beginning, and without the rounds left of computed loops."""
        if isinstance(position.item, LeftCornerTerm):
            # The continuation of a growing tree may depend on fields, too.
            return self._grown.setdefault((position.item.goal, position.item.symbol), position)
        if position not in self._normals:
            self._normals[position] = self._uniform(
                self._uncounted(position) if self._counted else _without_silent_items(position)
            )
        return self._normals[position]

    def _uniform(self, position: DottedRule) -> DottedRule:
        """The position with its loop as at the beginning, whether or not rounds were made."""
        item = position.item
        if not isinstance(item, LoopTerm) or position.rest is None:
            return position
        return self._positions.at(self._positions.loop(item.body, (item.least, item.most)), position.rest)

    def _uncounted(self, position: DottedRule) -> DottedRule:
        # The end of a round stays, because it may be the last round of a computed loop.
        items: list[DialogueTerm] = []
        here = position
        while here.rest is not None:
            is_round = isinstance(here.item, RoundEndTerm)
            goes_on = isinstance(here.rest.item, LoopTerm) and not self._is_count(here.rest.item)
            is_left_out = not items and _is_silent(here.item) and (not is_round or goes_on)
            if not is_left_out and not self._is_count(here.item):
                items.append(here.item)
            here = here.rest
        return self._positions.at(SequenceTerm(tuple(items)), here)

    def _is_count(self, item: DialogueTerm) -> bool:
        return isinstance(item, LoopTerm) and item.body in self._counted

    def symbol(self, number: int) -> _StateLabel:
        """The rule of a state."""
        top = self._tops[number]
        if top in self._beginnings:
            return _StateLabel(self._beginnings[top], True)
        here: DottedRule | None = top
        while here is not None:
            owner = self._owner(here.item)
            if owner is not None:
                return _StateLabel(owner, False)
            here = here.rest
        return _StateLabel(_END, False)

    def _owner(self, item: DialogueTerm) -> str | None:
        match item:
            case LeftCornerTerm(goal=goal):
                return goal
            case LoopTerm(body=body):
                return self._owners.get(item) or self._owners.get(body)
            case PermutationTerm(items=parts):
                return self._owners.get(item) or self._owners.get(parts[0])
            case StateTerm(symbol=symbol):
                return self._owners.get(item, symbol)
            case (
                MessageTerm()
                | EmptyTextTerm()
                | SequenceTerm()
                | ChoiceTerm()
                | ComputedLoopTerm()
                | RoundEndTerm()
                | RuleEndTerm()
            ):
                return self._owners.get(item)
            case _:
                assert_never(item)


def _without_silent_items(position: DottedRule) -> DottedRule:
    """The position without silent items at its beginning."""
    while position.rest is not None and _is_silent(position.item):
        position = position.rest
    return position


def _is_silent(item: DialogueTerm) -> bool:
    """Return True if an item has no message and no choice."""
    match item:
        case EmptyTextTerm() | RoundEndTerm():
            return True
        case StateTerm():
            return not item.can_send
        case (
            MessageTerm()
            | SequenceTerm()
            | ChoiceTerm()
            | LoopTerm()
            | ComputedLoopTerm()
            | PermutationTerm()
            | LeftCornerTerm()
            | RuleEndTerm()
        ):
            return False
        case _:
            assert_never(item)


def _inside(item: DialogueTerm) -> Iterator[DialogueTerm]:
    """An item, and all items inside of it."""
    todo = [item]
    while todo:
        here = todo.pop()
        yield here
        match here:
            case SequenceTerm(items=items) | ChoiceTerm(options=items) | PermutationTerm(items=items):
                todo += items
            case LoopTerm(body=body) | ComputedLoopTerm(body=body):
                todo.append(body)
            case MessageTerm() | StateTerm() | EmptyTextTerm() | RoundEndTerm() | LeftCornerTerm() | RuleEndTerm():
                pass
            case _:
                assert_never(here)
