"""Dialogue grammars: a grammar cut off at its messages, which become its terminals.

A rule that leads to a message is a *state*. Symbols and terminals that stand beside messages in a state without a
sender, and lead to no message, are messages of the party `StdOut`; for terminals a symbol is made up. A symbol that can
only be empty is no message; it is just a part of the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

from palaver.grammar.analysis import reachable
from palaver.grammar.printing import show_expr
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.spec.traversal import refs, walk

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
    says = {name for name in order if any(ref.sender is not None for ref in refs(rules[name]))}
    talking = _leading_to(says, order, unprefixed)
    sounding = _leading_to({name for name in order if any(map(_is_text, walk(rules[name])))}, order, unprefixed)
    cutter = _Cutter(talking, {name for name in order if name not in talking and name not in sounding})
    first = cutter.cut(Ref(start))
    assert isinstance(first, Ref), "a reference stays one"
    states = {name: cutter.cut(rules[name]) for name in order if name in talking}
    messages = (_message(ref) for body in (first, *states.values()) for ref in refs(body) if ref.sender is not None)
    return DialogueGrammar(
        first,
        states,
        {name: rules[name] for name in order if name in cutter.silent},
        cutter.texts,
        tuple(dict.fromkeys(messages)),
    )


def _leading_to(found: set[str], order: list[str], edges: Mapping[str, tuple[str, ...]]) -> set[str]:
    """The symbols that are among `found`, or lead there."""
    users: dict[str, list[str]] = {}
    for name in order:
        for symbol in edges[name]:
            users.setdefault(symbol, []).append(name)
    everywhere = ""  # an extra node that leads to all of `found`
    users[everywhere] = [name for name in order if name in found]
    return set(reachable(everywhere, users)) - {everywhere}


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


def _message(ref: Ref) -> MessageType:
    assert ref.sender is not None, "a message has a sender"
    return MessageType(ref.symbol, ref.sender, ref.recipient)


class _Cutter:
    def __init__(self, talking: set[str], silent: set[str]) -> None:
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
