"""Messages that may come at any time: notices, keep-alives, deliveries to subscribers.

A spec says them once, in a rule of its own:

    <at_any_time> ::= <Server:Client:notice> | <Server:Client:ping> <Client:Server:pong>

It is as if `<at_any_time>*` stood behind every other message of the session. So everything that knows grammars knows
these messages, too: constraints, coverage, and whatever is made up or read. To FANDANGO it is a rule that nobody uses.
"""

from __future__ import annotations

from collections.abc import Mapping

from palaver.grammar.fixpoints import reachable
from palaver.lean_dataclasses import replace
from palaver.spec.ast import Expr, Literal, Ref, Repeat, Rule, Sequence
from palaver.spec.traversal import map_refs, refs

SYMBOL = "<at_any_time>"


def with_unsolicited_messages(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """These rules, in which what may come at any time may follow every message."""
    if SYMBOL not in rules:
        return dict(rules)
    edges = {name: [ref.symbol for ref in refs(rule.body)] for name, rule in rules.items()}
    # Nothing comes between the messages of such an interlude: it would be a second one, and is read as such.
    inside = reachable(SYMBOL, edges)

    def followed(ref: Ref) -> Expr:
        # After the end of a connection, which is an empty message, nothing can come.
        if ref.sender is None or rules[ref.symbol].body == Literal(""):
            return ref
        return Sequence((ref, Repeat(Ref(SYMBOL, span=ref.span), 0, None, ref.span)), ref.span)

    return {
        name: rule if name in inside else replace(rule, body=map_refs(rule.body, followed))
        for name, rule in rules.items()
    }
