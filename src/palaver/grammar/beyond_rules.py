"""The second root of a spec, `<beyond>`: rules about messages that the session does not have.

    <beyond>     ::= <legal> | <disordered> | <misspelt>
    <disordered> ::= <Client:any_mail> <Server:bad_order>

Its alternatives are an ordered choice: the first whose message fits decides. Without an answer behind it, a message is
allowed by the protocol, though this spec never says it; with one, it is wrong, and has to be answered so. The session
does not lead there, so coverage, diagrams and parties know nothing of these rules; to FANDANGO they are rules that
nobody uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from palaver.grammar.fixpoints import generator_arguments, nullable_symbols, reachable
from palaver.grammar.ir import BEYOND, SILENCE, Grammar, source_of
from palaver.spec.ast import Choice, Expr, Ref, Rule
from palaver.spec.diagnostics import Reporter
from palaver.spec.traversal import refs, symbols_in


def split_beyond(
    rules: Mapping[str, Rule], start: str, mentioned: Collection[str]
) -> tuple[dict[str, Rule], Mapping[str, Rule]]:
    """The rules of the session, and those that only `<beyond>` leads to.

    What constraints and settings have `mentioned` stays with the session.
    """
    if BEYOND not in rules:
        return dict(rules), MappingProxyType({})
    children = {name: symbols_in(rule.body) for name, rule in rules.items()}
    arguments = {name: generator_arguments(rule) for name, rule in rules.items()}
    below = reachable(BEYOND, children, arguments)
    kept: set[str] = set()
    for root in rules:
        if (root not in below or root == start or root in mentioned) and root not in kept:
            kept |= reachable(root, children, arguments).keys()
    apart = {name for name in below if name not in kept}
    beyond = {name: rule for name, rule in rules.items() if name in apart}
    return {name: rule for name, rule in rules.items() if name not in apart}, MappingProxyType(beyond)


def beyond_alternatives(grammar: Grammar) -> tuple[Expr, ...]:
    """The alternatives of `<beyond>`, in order."""
    rule = grammar.beyond.get(BEYOND)
    if rule is None:
        return ()
    return rule.body.options if isinstance(rule.body, Choice) else (rule.body,)


def check_beyond(grammar: Grammar, parties: Collection[str], report: Reporter) -> None:
    """Report alternatives of `<beyond>` that mean nothing: without a message, or never reached."""
    if BEYOND not in grammar.beyond:
        return
    root = grammar.beyond[BEYOND]
    rules = {**grammar.rules, **grammar.beyond}
    first: set[tuple[str | None, str]] = set()
    for option in beyond_alternatives(grammar):
        messages = list(_messages_in(option, rules))
        if not messages:
            hint = "an alternative is a message, and what may answer it: <Client:any_line> <Server:bad_command>"
            report.warning(source_of(root), option.span, f"this alternative of {BEYOND} has no message", hint)
            continue
        for ref in messages:
            if ref.sender not in parties:
                hint = f"the session has {', '.join(parties) or 'no parties'}"
                report.warning(source_of(root), option.span, f"{ref.sender} says nothing in the session", hint)
        opening = {(ref.sender, ref.symbol) for ref in messages if ref.sender == messages[0].sender}
        if opening <= first:
            message = f"this alternative of {BEYOND} is never reached: earlier ones have the same messages"
            report.warning(source_of(root), option.span, message, "remove it, or put it first")
        first |= opening


def _messages_in(option: Expr, rules: Mapping[str, Rule]) -> Iterator[Ref]:
    """The messages of an alternative, in the order of the spec; the first is what is wrong, or allowed."""
    todo, seen = list(refs(option)), set[str]()
    while todo:
        ref = todo.pop(0)
        if ref.sender is not None:
            yield ref
        elif ref.symbol not in seen:
            seen.add(ref.symbol)
            todo[:0] = refs(rules[ref.symbol].body)


def closing_answers(grammar: Grammar) -> frozenset[str]:
    """The messages of `<beyond>` that stand for the end of a connection: they are empty, and not `<silence>`."""
    return _empty_answers(grammar) - {SILENCE}


def silent_answers(grammar: Grammar) -> frozenset[str]:
    """The message of `<beyond>` that stands for no answer at all, `<silence>`, if it is empty."""
    return _empty_answers(grammar) & {SILENCE}


def _empty_answers(grammar: Grammar) -> frozenset[str]:
    rules = {**grammar.rules, **grammar.beyond}
    said = {ref.symbol for rule in grammar.beyond.values() for ref in refs(rule.body) if ref.sender is not None}
    return nullable_symbols(rules) & said
