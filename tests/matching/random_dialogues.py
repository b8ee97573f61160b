"""Dialogues at random: rules over a few states and messages, some of which are numbers."""

from __future__ import annotations

import ast
from random import Random

from naive_dialogue import NUMBER

from palaver.source import Source
from palaver.spec.ast import Choice, Expr, Expression, Literal, Mention, Permutation, Ref, Repeat, Selector, Sequence
from palaver.trees.node import Node

COUNT = Expression("int(<n>)", (Mention("n", Selector(NUMBER)),), ast.Constant(0), Source("test.fan", "int(<n>)"))
STATES = ("<start>", "<s>", "<t>", "<u>")
SENDERS = {"<a>": "C", "<b>": "S", "<c>": "S"}
BOUNDS: list[tuple[int, int | None]] = [(0, 1), (0, None), (1, None), (0, 2), (1, 2), (2, 2), (2, 3)]


class RandomDialogue:
    """Rules over a few states and messages: any recursion, empty rules, ambiguity, repetitions, permutations."""

    def __init__(self, seed: int, *, is_computed: bool = False, has_empty: bool = True) -> None:
        self.random = Random(seed)
        self.has_empty = has_empty
        self.is_computed = is_computed
        self.states = STATES[: self.random.randint(1, len(STATES))]
        self.rules = {state: self.expr(self.random.randint(1, 3), self.states) for state in self.states}
        pair = Sequence((Ref("<a>", "C"), Repeat(Ref("<b>", "S"), 0, 1)))
        choices: list[Expr] = [pair, Repeat(Ref(NUMBER, "C"), COUNT, COUNT)]
        self.rules["<x>"] = self.random.choice(choices)
        self.rules |= {symbol: Literal(symbol[1:-1]) for symbol in (*SENDERS, NUMBER)}

    def expr(self, depth: int, states: tuple[str, ...]) -> Expr:
        kind = self.random.random() if depth else 0.0
        if kind < 0.3:
            return self.reference(states)
        if kind < 0.6:
            return Sequence(self.some(depth, states))
        if kind < 0.8:
            return Choice(self.some(depth, states))
        if kind < 0.95 and self.is_computed and self.random.random() < 0.5:
            return Repeat(self.expr(depth - 1, states), COUNT, self.random.choice([COUNT, None]))
        if kind < 0.95:
            return Repeat(self.expr(depth - 1, states), *self.random.choice(BOUNDS))
        return Permutation(self.some(depth, states))

    def some(self, depth: int, states: tuple[str, ...]) -> tuple[Expr, ...]:
        return tuple(self.expr(depth - 1, states) for _ in range(self.random.randint(2, 3)))

    def reference(self, states: tuple[str, ...]) -> Expr:
        kind = self.random.random()
        if kind < 0.1 and self.has_empty:
            return Literal("")
        if kind < 0.45:
            return Ref(self.random.choice(states))
        if kind < 0.55 and self.is_computed:
            return Ref(NUMBER, "C")
        symbol = self.random.choice(list(SENDERS))
        return Ref(symbol, SENDERS[symbol])


def number_in(expression: Expression, node: Node | None) -> int:
    """The bound of a computed repetition, from the number that was said."""
    assert node is not None
    return int(str(node.children[0]))
