"""Steered makers: trees that cover what was never covered, by greedy choices (a goal of Purdom 1972).

A second set of makers stands beside the plain one. On the way down it keeps the *state* of the node whose children are
made, and at each choice it asks the `Steering` for the values of the options there: the best one is taken, a random one
if several are best or none has a value. A repetition goes on while there is something new in its body. So one message
packs in much that is new.

Below a node where no option has a value the plain makers take over, so nothing that is covered costs much more than
without steering. Only they use pools of ready nodes: a choice inside of one could not be steered. They also make the
arguments of generators, which are not part of the text.
"""

from __future__ import annotations

from typing import assert_never

from palaver.generation import makers as plain
from palaver.generation.compiler import MakerCompiler, Task
from palaver.generation.generation_limits import MAX_STEERED_ATTEMPTS, MAX_STEERED_ROUNDS, MAX_UNSTEERED_ROUNDS
from palaver.generation.makers import Attempts, Derivation, Many, One
from palaver.grammar.analysis import can_be_empty, least_size
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.spec.traversal import names_in, terminal_label
from palaver.trees.node import Node, Part

Names = tuple[str, ...]


class SteeredCompiler(MakerCompiler):
    """Makes the steered makers of a grammar; `unsteered` has made the plain ones."""

    def __init__(self, task: Task, unsteered: MakerCompiler) -> None:
        super().__init__(task)
        self._unsteered = unsteered
        self._argument_makers = unsteered.makers

    def symbol(self, ref: Ref, rule: str) -> One:
        return entered(ref.symbol, super().symbol(ref, rule), self._unsteered.symbol(ref, rule))

    def _is_recalled(self, symbol: str) -> bool:
        """Return True if all values of a symbol cover the same: otherwise a known one would hide what is missing."""
        return super()._is_recalled(symbol) and _is_uniform(self._rules[symbol].body)

    def _pool(self, symbol: str) -> tuple[Node, ...] | None:
        return None

    def _attempts(self, ref: Ref) -> Attempts:
        return steered_at_first(self.expanded(ref), self._unsteered.expanded(ref))

    def _terminal(self, expr: Literal | Bit | Pattern) -> One:
        return noted(terminal_label(expr), super()._terminal(expr))

    def _choice_of_ones(self, makers: list[One], options: tuple[Expr, ...]) -> One:
        costs, names = self._costs(options), [_names(option) for option in options]
        return lambda run: makers[best(run, costs, names)](run)

    def _choice_of_many(self, makers: list[Many], options: tuple[Expr, ...]) -> Many:
        costs, names = self._costs(options), [_names(option) for option in options]
        return lambda run, out: makers[best(run, costs, names)](run, out)

    def _counted(self, expr: Repeat, once: Many) -> Many:
        least, most = expr.least, expr.most
        if not isinstance(least, int) or not (most is None or isinstance(most, int)) or least == most:
            return super()._counted(expr, once)
        further = plain.if_not_empty(once) if can_be_empty(expr.body, self._nullable) else once
        # As many as the plain makers would make at most.
        spread = self._most if most is None else min(most - least, max(self._most, 1) * 4)
        return repetition(once, further, least, spread, least_size(expr.body, self._sizes), _names(expr.body))


def _names(expr: Expr) -> Names:
    return tuple(dict.fromkeys(names_in(expr)))


def _is_uniform(expr: Expr) -> bool:
    """Return True if every text of an expression is made of the same terminals."""
    match expr:
        case Literal() | Bit() | Pattern():
            return True
        case Sequence(parts) | Permutation(parts):
            return all(map(_is_uniform, parts))
        case Repeat(body, least):
            return isinstance(least, int) and least > 0 and _is_uniform(body)
        case Choice() | Ref():
            return False
        case _:
            assert_never(expr)


def entered(name: str, steered: One, unsteered: One) -> One:
    """A symbol, with steering if something in it is worth more."""

    def make(run: Derivation) -> Part:
        above = run.state
        state = run.steering.enter(above, name)
        if state is None:
            return unsteered(run)
        run.state = state
        part = steered(run)
        run.steering.leave()
        run.state = above
        return part

    return make


def noted(name: str, make: One) -> One:
    """A terminal."""

    def make_noted(run: Derivation) -> Part:
        run.steering.enter(run.state, name)
        return make(run)

    return make_noted


def steered_at_first(steered: One, unsteered: One) -> Attempts:
    later = plain.by_the_rule(unsteered)

    def attempts(run: Derivation) -> plain.MakeNode:
        left, attempt_later = MAX_STEERED_ATTEMPTS, later(run)

        def attempt(nodes: int | None = None) -> Node:
            nonlocal left
            left -= 1
            if left < 0:
                return attempt_later(nodes)
            run.left = run.left if nodes is None else nodes
            node = steered(run)
            assert isinstance(node, Node), "the maker of a symbol makes a node"
            return node

        return attempt

    return attempts


def best(run: Derivation, costs: list[int], names: list[Names]) -> int:
    """The best option that the nodes left suffice for; by chance if several are, or none is worth anything."""
    worth, state = run.steering.worth, run.state
    allowed = max(run.left, min(costs))
    most, found = 0.0, list[int]()
    for at, cost in enumerate(costs):
        if cost <= allowed and (here := worth(state, names[at])) >= most:
            if here > most:
                most, found = here, []
            found.append(at)
    chosen = found[int(run.random() * len(found))] if len(found) > 1 else found[0]
    run.steering.choose(state, names[chosen])
    return chosen


def repetition(once: Many, further: Many, least: int, spread: int, cost: int, names: Names) -> Many:
    """A repetition that goes up to `spread` beyond its least count; each round takes `cost` nodes or more."""
    rounds, modest = min(spread, MAX_STEERED_ROUNDS), min(spread, MAX_UNSTEERED_ROUNDS) + 1

    def some(run: Derivation, out: list[Part]) -> None:
        for _ in range(least):
            once(run, out)
        invites, state = run.steering.invites, run.state
        done = 0
        while done < rounds and run.left >= cost and invites(state, names):
            run.steering.choose(state, names)
            further(run, out)
            done += 1
        if not done:
            for _ in range(int(run.random() * modest)):
                if run.left < cost:
                    break
                further(run, out)

    return some
