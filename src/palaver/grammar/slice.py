"""A grammar with only some of its messages: what one side says, or what we take part in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from types import MappingProxyType

from palaver.grammar.analyse import ENDLESS, least_sizes
from palaver.grammar.ir import Grammar
from palaver.spec.ast import Choice, Expr, Literal, Permutation, Ref, Repeat, Rule, Sequence


def slice_parties(grammar: Grammar, parties: Collection[str]) -> Grammar:
    """`grammar` without the messages that none of `parties` sends, and without the rules that become empty by that.

    A start symbol that becomes empty stands for the empty text.
    """
    return slice_messages(grammar, lambda message: message.sender in parties)


def slice_messages(grammar: Grammar, is_kept: Callable[[Ref], bool]) -> Grammar:
    """`grammar` without the messages that are not kept, and without the rules that become empty by that."""
    gone: set[str] = set()
    while True:
        bodies = {name: _kept(rule.body, is_kept, gone) for name, rule in grammar.rules.items() if name not in gone}
        rules = {name: replace(grammar.rules[name], body=body) for name, body in bodies.items() if body is not None}
        # A loop whose way out was somebody else's message never ends; it goes the same way as what is empty.
        sizes = least_sizes(rules)
        lost = {name for name in bodies if sizes.get(name, ENDLESS) >= ENDLESS}
        if not lost:
            break
        gone |= lost
    rules.setdefault(grammar.start, Rule(grammar.start, Literal("")))
    for name in sorted(gone):
        # Constraints may still mention what is gone; they hold for all none of it.
        rules.setdefault(name, Rule(name, Literal("")))
    return replace(grammar, rules=MappingProxyType(rules), own=grammar.own - gone)


def _kept(expr: Expr, is_kept: Callable[[Ref], bool], gone: Collection[str]) -> Expr | None:
    """What is left of `expr`; None if nothing is."""
    match expr:
        case Ref(symbol, sender):
            return None if symbol in gone or (sender is not None and not is_kept(expr)) else expr
        case Sequence(parts) | Permutation(parts):
            kept = tuple(left for part in parts if (left := _kept(part, is_kept, gone)) is not None)
            if len(kept) > 1:
                return replace(expr, parts=kept)
            return kept[0] if kept else None
        case Choice(options):
            kept = tuple(left for option in options if (left := _kept(option, is_kept, gone)) is not None)
            if len(kept) > 1:
                return replace(expr, options=kept)
            return kept[0] if kept else None
        case Repeat(body):
            left = _kept(body, is_kept, gone)
            return None if left is None else replace(expr, body=left)
        case _:
            return expr
