"""A naive forecaster: the definition of a dialogue grammar, written as plainly as possible.

A history is a tuple of letters. For each symbol, and each history before which it may stand, two sets are grown until
nothing more comes: the histories after it (`complete`), and those in the middle of it, just after some message
(`partial`). None is longer than the horizon.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from palaver.spec.ast import Choice, Expr, Expression, Literal, Permutation, Ref, Repeat, Sequence
from palaver.trees.node import Node, OpenNode, Part, Parties

History = tuple[str, ...]
# The messages that are numbers: their symbol, and the values they come in.
NUMBER = "<n>"
NUMBERS = ("0", "1", "2")


class NaiveDialogue:
    def __init__(self, rules: Mapping[str, Expr], horizon: int) -> None:
        self.rules = rules
        self.horizon = horizon
        self.complete: dict[tuple[str, History], frozenset[History]] = {("<start>", ()): frozenset()}
        self.partial: dict[tuple[str, History], frozenset[History]] = {("<start>", ()): frozenset()}
        while True:
            before = (dict(self.complete), dict(self.partial))
            for symbol, history in list(self.complete):
                complete, partial = self.after(rules[symbol], history)
                self.complete[symbol, history] = frozenset(complete)
                self.partial[symbol, history] = frozenset(partial)
            if (self.complete, self.partial) == before:
                break
        self.whole = self.complete["<start>", ()]
        self.begun = self.partial["<start>", ()]

    def moves(self, history: History) -> set[str]:
        return {more[-1] for more in self.begun if more[:-1] == history}

    def can_end(self, history: History) -> bool:
        return history in self.whole

    def after(self, expr: Expr, history: History) -> tuple[set[History], set[History]]:
        match expr:
            case Literal():
                return {history}, set()
            case Ref(symbol, None):
                key = (symbol, history)
                return set(self.complete.setdefault(key, frozenset())), set(self.partial.setdefault(key, frozenset()))
            case Ref(symbol):
                letters = NUMBERS if symbol == NUMBER else (symbol[1:-1],)
                said = {(*history, letter) for letter in letters} if len(history) < self.horizon else set()
                return said, set(said)
            case Sequence(parts):
                return self.in_a_row(parts, history)
            case Choice(options):
                found = [self.after(option, history) for option in options]
            case Permutation(parts):
                found = [self.in_a_row(order, history) for order in permutations(parts)]
            case Repeat(body, least, most):
                return self.repeated(body, *self.bounds(least, most, history), history)
            case _:
                raise AssertionError(expr)
        return set().union(*(complete for complete, _ in found)), set().union(*(partial for _, partial in found))

    def in_a_row(self, parts: tuple[Expr, ...], history: History) -> tuple[set[History], set[History]]:
        here, partial = {history}, set[History]()
        for part in parts:
            found = [self.after(part, each) for each in here]
            here = set().union(*(complete for complete, _ in found))
            partial |= set().union(*(begun for _, begun in found))
        return here, partial

    def bounds(
        self, least: int | Expression, most: int | Expression | None, history: History
    ) -> tuple[int, int | None]:
        """The bounds as numbers; a computed one is the last number said, and there is no way on if there is none."""
        if not isinstance(least, Expression):
            assert not isinstance(most, Expression)
            return least, most
        numbers = [int(letter) for letter in history if letter in NUMBERS]
        least = numbers[-1] if numbers else 1 << 30
        return least, least if isinstance(most, Expression) else most

    def repeated(self, body: Expr, least: int, most: int | None, history: History) -> tuple[set[History], set[History]]:
        if least == 1 << 30 or (most is not None and least > most):
            return set(), set()
        complete, partial = set[History](), set[History]()
        here = {history}
        # After as many empty rounds as needed, more than the horizon and the bounds say nothing new.
        for times in range(least + self.horizon + 1 if most is None else most + 1):
            if times >= least:
                complete |= here
            if times != most:
                found = [self.after(body, each) for each in here]
                here = set().union(*(after for after, _ in found))
                partial |= set().union(*(begun for _, begun in found))
        return complete, partial


# --- Trees ------------------------------------------------------------------------------------------------------------


def messages_of(tree: Node) -> History:
    """The letters of the messages in a tree."""
    found: list[str] = []
    stack: list[Part] = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, Node) and part.parties is not None:
            found.append(str(part.children[0]))
        elif isinstance(part, Node):
            stack.extend(reversed(part.children))
    return tuple(found)


def is_derivation(tree: Node, rules: Mapping[str, Expr]) -> bool:
    """Return True if each node is made by its rule; an open node, by a prefix of it. Computed bounds do not count."""
    stack: list[Part] = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, Node) and part.parties is None:
            ends, is_begun = matched(rules[part.symbol], part.children, 0)
            if len(part.children) not in ends and not (isinstance(part, OpenNode) and is_begun):
                return False
            stack.extend(part.children)
    return True


def matched(expr: Expr, parts: tuple[Part, ...], start: int) -> tuple[set[int], bool]:
    """The places where `expr` can end among the children of a node; True if they can end in the middle of it."""
    match expr:
        case Literal(value):
            return ({start + 1}, False) if parts[start : start + 1] == (value,) else (set(), start == len(parts))
        case Ref(symbol, sender, recipient):
            if start == len(parts):
                return set(), True
            parties = None if sender is None else Parties(sender, recipient)
            part = parts[start]
            is_it = isinstance(part, Node) and (part.symbol, part.parties) == (symbol, parties)
            return ({start + 1} if is_it else set()), False
        case Sequence(items):
            return matched_in_a_row(items, parts, start)
        case Choice(options):
            found = [matched(option, parts, start) for option in options]
        case Permutation(items):
            found = [matched_in_a_row(order, parts, start) for order in permutations(items)]
        case Repeat(body, least, most):
            if isinstance(least, Expression) or isinstance(most, Expression):
                least, most = 0, None
            rounds = least + len(parts) if most is None else most
            found = [matched_in_a_row((body,) * times, parts, start) for times in range(least, rounds + 1)]
    return set().union(*(ends for ends, _ in found)), any(is_begun for _, is_begun in found)


def matched_in_a_row(items: tuple[Expr, ...], parts: tuple[Part, ...], start: int) -> tuple[set[int], bool]:
    here, is_begun = {start}, start == len(parts)
    for item in items:
        found = [matched(item, parts, at) for at in here]
        here = set().union(*(ends for ends, _ in found))
        is_begun = is_begun or any(begun for _, begun in found)
    return here, is_begun


def all_trees(rules: Mapping[str, Expr], history: History) -> set[str]:
    """Every tree of a history, on one line each. No rule may begin with itself, and no round of a loop be empty."""

    def read(expr: Expr, start: int) -> set[tuple[int, str]]:
        match expr:
            case Ref(symbol, None):
                return {(end, f"{symbol[1:-1]}({text.strip()}) ") for end, text in read(rules[symbol], start)}
            case Ref(symbol):
                is_next = start < len(history) and history[start] == symbol[1:-1]
                return {(start + 1, f"{symbol[1:-1]} ")} if is_next else set()
            case Sequence(parts):
                return read_in_a_row(parts, start)
            case Choice(options):
                return set().union(*(read(option, start) for option in options))
            case Permutation(parts):
                return set().union(*(read_in_a_row(order, start) for order in permutations(parts)))
            case Repeat(body, int(least), int() | None as most):
                most = len(history) if most is None else most
                return set().union(*(read_in_a_row((body,) * times, start) for times in range(least, most + 1)))
            case _:
                raise AssertionError(expr)

    def read_in_a_row(parts: tuple[Expr, ...], start: int) -> set[tuple[int, str]]:
        found = {(start, "")}
        for part in parts:
            found = {(end, text + more) for at, text in found for end, more in read(part, at)}
        return found

    return {text.strip() for end, text in read(Ref("<start>"), 0) if end == len(history)}
