"""The state machine that an interaction grammar embeds, read off its rules.

A rule is a state. Each of its alternatives is a transition: the last symbol is the state it leads to, and what stands
before that is said on the way. An alternative that ends otherwise ends the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from palaver.grammar.analyse import Analysis
from palaver.grammar.show import show_expr
from palaver.spec.ast import Choice, Expr, Ref, Sequence

END = "[*]"


class Transition(NamedTuple):
    """From one state to another, saying some things on the way."""

    state: str
    target: str
    said: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.state} --> {self.target}" + (f": {' '.join(self.said)}" if self.said else "")


def transitions(analysis: Analysis) -> Iterator[Transition]:
    """All transitions, in the order in which a walk from the start symbol meets the states. Messages are not opened."""
    yield Transition(END, analysis.grammar.start)
    met = {analysis.grammar.start}
    todo = [Ref(analysis.grammar.start)]
    while todo:
        state = todo.pop(0)
        if state.sender is not None:
            yield Transition(show_expr(state), END, (show_expr(state),))
            continue
        for items in _alternatives(analysis.grammar.rules[state.symbol].body):
            last = items[-1] if items else None
            if not isinstance(last, Ref):
                yield Transition(state.symbol, END, tuple(map(show_expr, items)))
                continue
            target = show_expr(last)
            yield Transition(state.symbol, target, tuple(map(show_expr, items[:-1])))
            if target not in met:
                met.add(target)
                todo.append(last)


def _alternatives(expr: Expr) -> list[list[Expr]]:
    """The sequences that `expr` is a choice of."""
    match expr:
        case Choice(options):
            return [items for option in options for items in _alternatives(option)]
        case Sequence(parts):
            combined = product(*(_alternatives(part) for part in parts))
            return [[item for items in combination for item in items] for combination in combined]
        case _:
            return [[expr]]
