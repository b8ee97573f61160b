"""Dialogue grammars: a grammar cut off at its messages, which become its terminals, and the terms of its rules.

A rule that leads to a message is a *state*. Symbols and terminals that stand beside messages in a state without a
sender, and lead to no message, are messages of the party `StdOut`; for terminals a symbol is made up. A symbol that can
only be empty is no message; it is just a part of the tree.

The right-hand sides of states become *terms*: messages, states, sequences, loops. They are compared by identity. Loops
that count down are made from others while a session goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, assert_never

from palaver.grammar.analysis import backwards, cyclic_components, leading_to, reachable
from palaver.grammar.printing import show_expr
from palaver.lean_dataclasses import dataclass, replace
from palaver.spec.ast import Bit, Bound, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.spec.traversal import refs, walk
from palaver.trees.node import Node, NonTerminal, Part

STDOUT = "StdOut"


class MessageType(NamedTuple):
    """A symbol with its sender, and its recipient if the spec names one."""

    symbol: str
    sender: str
    recipient: str | None


@dataclass(frozen=True)
class DialogueGrammar:
    """The rules of a grammar above its messages."""

    start: Ref  # a message of StdOut if there is no other
    states: Mapping[str, Expr]  # every reference in them is a state, a message, or empty
    silent: Mapping[str, Expr]  # the rules that the empty ones consist of
    texts: Mapping[str, Expr]  # the expressions of symbols made up for terminals
    messages: tuple[MessageType, ...]  # each once, in the order of the spec


def cut_at_messages(rules: Mapping[str, Expr], start: str) -> DialogueGrammar:
    """The dialogue grammar of `start`."""
    unprefixed = {
        name: tuple(ref.symbol for ref in refs(body) if ref.sender is None and ref.symbol in rules)
        for name, body in rules.items()
    }
    order = list(reachable(start, unprefixed))
    says = [name for name in order if any(ref.sender is not None for ref in refs(rules[name]))]
    users = backwards({name: unprefixed[name] for name in order})
    talking = leading_to(says, users)
    sounding = leading_to([name for name in order if any(map(_is_text, walk(rules[name])))], users)
    cutter = _Cutter(talking, {name for name in order if name not in talking and name not in sounding})
    first = cutter.cut(Ref(start))
    assert isinstance(first, Ref), "a reference stays one"
    states = {name: cutter.cut(rules[name]) for name in order if name in talking}
    said = [ref for body in (first, *states.values()) for ref in refs(body)]
    messages = [MessageType(ref.symbol, ref.sender, ref.recipient) for ref in said if ref.sender is not None]
    return DialogueGrammar(
        first,
        states,
        {name: rules[name] for name in order if name in cutter.silent},
        cutter.texts,
        tuple(dict.fromkeys(messages)),
    )


def _is_text(expr: Expr) -> bool:
    """Return True for a terminal that is not empty."""
    match expr:
        case Literal(value):
            return bool(value)
        case Bit() | Pattern():
            return True
        case Ref() | Sequence() | Choice() | Repeat() | Permutation():
            return False
        case _:
            assert_never(expr)


class _Cutter:
    def __init__(self, talking: frozenset[str], silent: set[str]) -> None:
        self.talking = talking
        self.silent = silent
        self.texts: dict[str, Expr] = {}

    def cut(self, expr: Expr) -> Expr:
        """`expr` with a sender at every message."""
        match expr:
            case Ref(symbol, None):
                is_said = symbol not in self.talking and symbol not in self.silent
                return replace(expr, sender=STDOUT) if is_said else expr
            case Sequence(parts) | Permutation(parts):
                return replace(expr, parts=tuple(map(self.cut, parts)))
            case Choice(options):
                return replace(expr, options=tuple(map(self.cut, options)))
            case Repeat(body):
                return replace(expr, body=self.cut(body))
            case Literal() | Bit() | Pattern() if _is_text(expr):
                symbol = f"<{show_expr(expr)}>"
                self.texts[symbol] = expr
                return Ref(symbol, STDOUT, span=expr.span)
            case Ref() | Literal() | Bit() | Pattern():
                return expr
            case _:
                assert_never(expr)


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

    edges = {name: tuple(dict.fromkeys(_beginnings(item, is_empty))) for name, item in rules.items()}
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
