"""Terms of dialogue rules: messages, states, sequences, loops; which can be empty, and which symbols they begin with.

Terms are compared by identity. Loops that count down are made from others while a session goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from palaver.grammar.analysis import cyclic_components
from palaver.matching.dialogue_grammar import DialogueGrammar, MessageType
from palaver.spec.ast import Bit, Bound, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.trees.node import Node, NonTerminal, Part


@dataclass(eq=False)
class MessageTerm:
    """A message."""

    move: MessageType
    can_send = True


@dataclass(eq=False)
class StateTerm:
    """A state, or a symbol that is always empty."""

    symbol: NonTerminal
    can_send: bool


@dataclass(eq=False)
class EmptyTextTerm:
    """Text of no length."""

    part: Part
    can_send = False


class SequenceTerm:
    """One term after the other."""

    def __init__(self, items: tuple[DialogueTerm, ...]) -> None:
        self.items = items
        self.can_send: bool = any(item.can_send for item in items)


class ChoiceTerm:
    """One of several terms."""

    def __init__(self, options: tuple[DialogueTerm, ...]) -> None:
        self.options = options
        self.can_send: bool = any(option.can_send for option in options)


class LoopTerm:
    """A repetition with the rounds that are left."""

    def __init__(self, body: DialogueTerm, least: int, most: int | None) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.can_send: bool = most != 0 and body.can_send


class ComputedLoopTerm:
    """A repetition whose bounds are computed from fields when it is reached."""

    def __init__(self, body: DialogueTerm, least: Bound, most: Bound | None) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.can_send: bool = body.can_send


class PermutationTerm:
    """Each term once, in any order."""

    def __init__(self, items: tuple[DialogueTerm, ...]) -> None:
        self.items = items
        self.can_send: bool = any(item.can_send for item in items)


class RoundEndTerm:
    """The end of a round, in which a message must have come."""

    can_send = False


@dataclass(eq=False)
class LeftCornerTerm:
    """A tree of `symbol` is complete, as a left corner on the way to a tree of `goal`."""

    goal: NonTerminal
    symbol: NonTerminal
    can_send = True


class RuleEndTerm:
    """The end of a rule."""

    can_send = False


DialogueTerm: TypeAlias = (
    MessageTerm
    | StateTerm
    | EmptyTextTerm
    | SequenceTerm
    | ChoiceTerm
    | LoopTerm
    | ComputedLoopTerm
    | PermutationTerm
    | RoundEndTerm
    | LeftCornerTerm
    | RuleEndTerm
)


def terms_of(dialogue: DialogueGrammar) -> dict[NonTerminal, DialogueTerm]:
    """The terms of the rules of all states and of all empty symbols."""
    return {NonTerminal(name): term(body, dialogue) for name, body in {**dialogue.states, **dialogue.silent}.items()}


def term(expr: Expr, dialogue: DialogueGrammar) -> DialogueTerm:
    """The term of an expression in a dialogue grammar."""
    match expr:
        case Ref(symbol, None):
            return StateTerm(NonTerminal(symbol), can_send=symbol in dialogue.states)
        case Ref(symbol, str(sender), recipient):
            return MessageTerm(MessageType(symbol, sender, recipient))
        case Sequence(parts):
            return SequenceTerm(tuple(term(part, dialogue) for part in parts))
        case Choice(options):
            return ChoiceTerm(tuple(term(option, dialogue) for option in options))
        case Permutation(parts):
            return PermutationTerm(tuple(term(part, dialogue) for part in parts))
        case Repeat(body, int(least), None | int() as most):
            return LoopTerm(term(body, dialogue), least, most)
        case Repeat(body, least, most):
            return ComputedLoopTerm(term(body, dialogue), least, most)
        case Literal(value):
            return EmptyTextTerm(value)
        case Ref() | Bit() | Pattern():
            raise AssertionError(f"a dialogue grammar has no {type(expr).__name__}")
        case _:
            assert_never(expr)


def computed_loops(item: DialogueTerm) -> Iterator[ComputedLoopTerm]:
    """The computed loops inside a term."""
    match item:
        case SequenceTerm(items=items) | ChoiceTerm(options=items) | PermutationTerm(items=items):
            for each in items:
                yield from computed_loops(each)
        case LoopTerm(body=body):
            yield from computed_loops(body)
        case ComputedLoopTerm(body=body):
            yield item
            yield from computed_loops(body)
        case MessageTerm() | StateTerm() | EmptyTextTerm() | RoundEndTerm() | LeftCornerTerm() | RuleEndTerm():
            pass
        case _:
            assert_never(item)


LoopBounds: TypeAlias = tuple[int, int | None]
# Gives the bounds of a computed loop; None if they are not known.
LoopBoundsOf: TypeAlias = Callable[[ComputedLoopTerm], LoopBounds | None]


def nothing(item: DialogueTerm, empty: Mapping[NonTerminal, Node], ask: LoopBoundsOf) -> tuple[Part, ...] | None:
    """The parts of a term without messages, given the empty trees of symbols; None if it needs a message."""
    match item:
        case EmptyTextTerm(part=part):
            return (part,)
        case StateTerm(symbol=symbol):
            return (empty[symbol],) if symbol in empty else None
        case SequenceTerm(items=items) | PermutationTerm(items=items):
            rows = [nothing(each, empty, ask) for each in items]
            return None if None in rows else tuple(part for row in rows if row is not None for part in row)
        case ChoiceTerm(options=options):
            ways = (nothing(option, empty, ask) for option in options)
            return next((way for way in ways if way is not None), None)
        case LoopTerm(body=body, least=least):
            return () if not least else _times(nothing(body, empty, ask), least)
        case ComputedLoopTerm(body=body):
            rounds = ask(item)
            return None if rounds is None else () if not rounds[0] else _times(nothing(body, empty, ask), rounds[0])
        case RoundEndTerm() | RuleEndTerm():
            return ()
        case MessageTerm() | LeftCornerTerm():
            return None
        case _:
            assert_never(item)


def _times(parts: tuple[Part, ...] | None, times: int) -> tuple[Part, ...] | None:
    return None if parts is None else parts * times


def empty_trees(
    rules: Mapping[NonTerminal, DialogueTerm], ask: LoopBoundsOf, known: Mapping[NonTerminal, Node] | None = None
) -> dict[NonTerminal, Node]:
    """The smallest empty tree of each symbol that has one, the first of those of equal size; and those known."""
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


# Symbols that can begin with each other: a strongly connected component of the left-corner relation.
RecursiveGroup: TypeAlias = tuple[NonTerminal, ...]
RecursiveGroups: TypeAlias = dict[NonTerminal, RecursiveGroup]


def left_recursive_groups(
    rules: Mapping[NonTerminal, DialogueTerm], can_be_empty: Mapping[NonTerminal, Node]
) -> RecursiveGroups:
    """For each left-recursive symbol, the symbols that can begin with each other."""

    def is_empty(item: DialogueTerm) -> bool:
        return nothing(item, can_be_empty, lambda _: (0, None)) is not None

    edges: dict[str, tuple[NonTerminal, ...]] = {
        name: tuple(dict.fromkeys(_beginnings(item, is_empty))) for name, item in rules.items()
    }
    return cyclic_components(rules, edges)


def _beginnings(item: DialogueTerm, is_empty: Callable[[DialogueTerm], bool]) -> Iterator[NonTerminal]:
    """The symbols that a term can begin with, no message coming before them."""
    match item:
        case StateTerm(symbol=symbol):
            yield symbol
        case SequenceTerm(items=items):
            for each in items:
                yield from _beginnings(each, is_empty)
                if not is_empty(each):
                    break
        case ChoiceTerm(options=items) | PermutationTerm(items=items):
            for each in items:
                yield from _beginnings(each, is_empty)
        case LoopTerm(body=body) | ComputedLoopTerm(body=body):
            yield from _beginnings(body, is_empty)
        case MessageTerm() | EmptyTextTerm() | RoundEndTerm() | LeftCornerTerm() | RuleEndTerm():
            pass
        case _:
            assert_never(item)
