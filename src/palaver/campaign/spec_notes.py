"""The notes of a spec on its rules: what a peer may do, though it is not what one expects of it.

    # [note] RFC 5321 (4.2): the greeting has several lines
    <long_greeting> ::= …

A message of the peer that has such a symbol in it, or that only such a rule leads to, is told of once in a campaign;
where sessions of another run are repeated, once in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from palaver.campaign.events import Event, MessageReceived, SessionStarted
from palaver.campaign.oracles import Observation
from palaver.compiled import Spec
from palaver.grammar.analysis import reachable
from palaver.session.findings import Severity
from palaver.spec.traversal import refs
from palaver.trees.node import Node, Part


class SpecNotes:
    """An oracle that tells which rules with a note were used."""

    def __init__(self, spec: Spec) -> None:
        grammar = spec.grammar
        self._notes = grammar.noted
        messages = {message.symbol for message in spec.analysis.messages}
        symbols = {name: [ref.symbol for ref in refs(rule.body)] for name, rule in grammar.rules.items()}
        # By message, the rules with a note that every way to it goes through; and those that may be inside of it.
        self._above = spec.analysis.noted_messages
        self._inside = {name: frozenset(reachable(name, symbols)).intersection(self._notes) for name in messages}
        self._told: set[str] = set()

    def observe(self, event: Event) -> Iterable[Observation]:
        """Tell of the rules with a note that a message of the peer brings, if they were never told of."""
        if isinstance(event, SessionStarted) and event.is_repeated:
            self._told.clear()
        if not isinstance(event, MessageReceived) or event.message.aside:
            return
        message = event.message
        for noted in (*self._above.get(message.symbol, ()), *self._found_in(message.symbol, message.node)):
            if noted not in self._told:
                self._told.add(noted)
                text = f"{message.symbol} from {message.sender}: {self._notes[noted]}"
                yield Observation(text, Severity.NOTE, message.sender, rule=noted)

    def _found_in(self, symbol: str, node: Node) -> Iterator[str]:
        inside = self._inside.get(symbol)
        stack: list[Part] = [node] if inside else []
        while stack:
            part = stack.pop()
            if isinstance(part, Node):
                if part.symbol in self._notes:
                    yield part.symbol
                stack.extend(reversed(part.children))
