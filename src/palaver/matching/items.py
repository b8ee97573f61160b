"""The rules of a dialogue as items: what is said, entered, repeated; and which of them can be empty or begin with what.

Items are compared by identity, and those that count down are made from others while a dialogue goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from palaver.grammar import cycles
from palaver.matching.cut import Dialogue, MessageType
from palaver.spec.ast import Bound, Choice, Expr, Literal, Permutation, Ref, Repeat, Sequence
from palaver.trees.node import Node, NonTerminal, Part


class Say:
    """A message."""

    can_talk = True

    def __init__(self, move: MessageType) -> None:
        self.move = move


class Enter:
    """A state, or a symbol that is always empty."""

    def __init__(self, symbol: NonTerminal, *, can_talk: bool) -> None:
        self.symbol = symbol
        self.can_talk: bool = can_talk


class Put:
    """Text of no length."""

    can_talk = False

    def __init__(self, part: Part) -> None:
        self.part = part


class Row:
    """One item after the other."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items = items
        self.can_talk: bool = any(item.can_talk for item in items)


class Fork:
    """One of several items."""

    def __init__(self, options: tuple[Item, ...]) -> None:
        self.options = options
        self.can_talk: bool = any(option.can_talk for option in options)


class Loop:
    """So many rounds more."""

    def __init__(self, body: Item, least: int, most: int | None) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.can_talk: bool = most != 0 and body.can_talk


class ComputedLoop:
    """As many rounds as the fields tell when this is reached."""

    def __init__(self, body: Item, least: Bound, most: Bound | None) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.can_talk: bool = body.can_talk


class All:
    """Each item once, in any order."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items = items
        self.can_talk: bool = any(item.can_talk for item in items)


class Mark:
    """The end of a round: since its beginning, something must have been said."""

    can_talk = False


class Grown:
    """A tree of `symbol` has been finished on the way to one of `goal`."""

    can_talk = True

    def __init__(self, goal: NonTerminal, symbol: NonTerminal) -> None:
        self.goal = goal
        self.symbol = symbol


class End:
    """The end of a rule."""

    can_talk = False


Item: TypeAlias = Say | Enter | Put | Row | Fork | Loop | ComputedLoop | All | Mark | Grown | End


def items_of(dialogue: Dialogue) -> dict[NonTerminal, Item]:
    """What the rules of all states and of all empty symbols consist of."""
    translation = _Translation(dialogue)
    rules = {**dialogue.states, **dialogue.silent}
    return {NonTerminal(name): translation.item(body) for name, body in rules.items()}


def start_item(dialogue: Dialogue) -> Item:
    """What the whole dialogue is."""
    return _Translation(dialogue).item(dialogue.start)


class _Translation:
    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue

    def item(self, expr: Expr) -> Item:
        match expr:
            case Ref(symbol, None):
                return Enter(NonTerminal(symbol), can_talk=symbol in self._dialogue.states)
            case Ref(symbol, str(sender), recipient):
                return Say(MessageType(symbol, sender, recipient))
            case Sequence(parts):
                return Row(tuple(map(self.item, parts)))
            case Choice(options):
                return Fork(tuple(map(self.item, options)))
            case Permutation(parts):
                return All(tuple(map(self.item, parts)))
            case Repeat(body, int(least), None | int() as most):
                return Loop(self.item(body), least, most)
            case Repeat(body, least, most):
                return ComputedLoop(self.item(body), least, most)
            case Literal(value):
                return Put(value)
            case _:
                raise AssertionError(f"the cut leaves no {type(expr).__name__}")


def computed_loops(item: Item) -> Iterator[ComputedLoop]:
    """The computed loops inside an item."""
    match item:
        case Row(items=items) | Fork(options=items) | All(items=items):
            for each in items:
                yield from computed_loops(each)
        case Loop(body=body):
            yield from computed_loops(body)
        case ComputedLoop(body=body):
            yield item
            yield from computed_loops(body)


# --- Emptiness --------------------------------------------------------------------------------------------------------

LoopBounds: TypeAlias = tuple[int, int | None]
# How many rounds a computed loop makes; None if that is not known.
LoopBoundsOf: TypeAlias = Callable[[ComputedLoop], LoopBounds | None]


def nothing(item: Item, empty: Mapping[NonTerminal, Node], ask: LoopBoundsOf) -> tuple[Part, ...] | None:
    """The parts that an item is if nothing is said, given the empty trees of symbols; None if it must talk."""
    match item:
        case Put(part=part):
            return (part,)
        case Enter(symbol=symbol):
            return (empty[symbol],) if symbol in empty else None
        case Row(items=items) | All(items=items):
            rows = [nothing(each, empty, ask) for each in items]
            return None if None in rows else tuple(part for row in rows if row is not None for part in row)
        case Fork(options=options):
            ways = (nothing(option, empty, ask) for option in options)
            return next((way for way in ways if way is not None), None)
        case Loop(body=body, least=least):
            return () if not least else _times(nothing(body, empty, ask), least)
        case ComputedLoop(body=body):
            rounds = ask(item)
            return None if rounds is None else () if not rounds[0] else _times(nothing(body, empty, ask), rounds[0])
        case Mark() | End():
            return ()
        case Say() | Grown():
            return None


def _times(parts: tuple[Part, ...] | None, times: int) -> tuple[Part, ...] | None:
    return None if parts is None else parts * times


def empty_trees(
    rules: Mapping[NonTerminal, Item], ask: LoopBoundsOf, known: Mapping[NonTerminal, Node] | None = None
) -> dict[NonTerminal, Node]:
    """For each symbol that can be empty its smallest such tree, or the first of those; and those that are known."""
    found = dict(known or {})
    while True:
        fresh = {
            name: Node(name, parts)
            for name, item in rules.items()
            if name not in found and (parts := nothing(item, found, ask)) is not None
        }
        if not fresh:
            return found
        found |= fresh


# --- Beginnings -------------------------------------------------------------------------------------------------------


# Symbols that can begin with each other, for each that can begin with itself.
RecursiveGroup: TypeAlias = tuple[NonTerminal, ...]
RecursiveGroups: TypeAlias = dict[NonTerminal, RecursiveGroup]


def circles(rules: Mapping[NonTerminal, Item], can_be_empty: Mapping[NonTerminal, Node]) -> RecursiveGroups:
    """The symbols that can begin with each other."""

    def is_empty(item: Item) -> bool:
        return nothing(item, can_be_empty, lambda _: (0, None)) is not None

    edges: dict[str, tuple[NonTerminal, ...]] = {
        name: tuple(dict.fromkeys(_beginnings(item, is_empty))) for name, item in rules.items()
    }
    return cycles.circles(edges, rules)


def _beginnings(item: Item, is_empty: Callable[[Item], bool]) -> Iterator[NonTerminal]:
    """The symbols that `item` can begin with, nothing being said before them."""
    match item:
        case Enter(symbol=symbol):
            yield symbol
        case Row(items=items):
            for each in items:
                yield from _beginnings(each, is_empty)
                if not is_empty(each):
                    break
        case Fork(options=items) | All(items=items):
            for each in items:
                yield from _beginnings(each, is_empty)
        case Loop(body=body) | ComputedLoop(body=body):
            yield from _beginnings(body, is_empty)
