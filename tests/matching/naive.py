"""A naive recogniser: the definition of a grammar's language, written as plainly as possible."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from random import Random
from typing import TypeAlias

from palaver.spec.ast import Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.trees.node import Node, NonTerminal, Part

ALPHABET = "ab"
# Long enough to see whether any of the patterns below can go on.
EXTENSIONS = [""] + ["".join(more) for size in (1, 2, 3) for more in product("abc", repeat=size)]


Spans: TypeAlias = Mapping[tuple[str, int], frozenset[int]]
Span: TypeAlias = tuple[int, int, frozenset[str]]  # with the symbols around it
Derivations: TypeAlias = Iterator[tuple[Part, ...]]


class Naive:
    """The readings of one text by one grammar."""

    def __init__(self, rules: Mapping[str, Expr], text: str, patience: int = 1_000_000) -> None:
        self.patience = patience  # how many steps to look for trees: the definition knows no short cuts
        self.rules = rules
        self.text = text
        self._settled: dict[tuple[Expr, int], set[int]] = {}

    @cached_property
    def spans(self) -> dict[tuple[str, int], frozenset[int]]:
        """(symbol, start) to all its ends."""
        size = len(self.text)
        spans: dict[tuple[str, int], frozenset[int]] = {
            (s, i): frozenset() for s in self.rules for i in range(size + 1)
        }
        while True:
            after = {(s, i): frozenset(self.ends(self.rules[s], i, spans)) for s, i in spans}
            if after == spans:
                return spans
            spans = after

    def ends(self, expr: Expr, start: int, spans: Spans) -> set[int]:
        match expr:
            case Literal(str(value)):
                return {start + len(value)} if self.text.startswith(value, start) else set()
            case Pattern(str(source)):
                return {end for end in range(start, len(self.text) + 1) if re.fullmatch(source, self.text[start:end])}
            case Ref(symbol):
                return set(spans[symbol, start])
            case Sequence(parts):
                here = {start}
                for part in parts:
                    here = {end for at in here for end in self.ends(part, at, spans)}
                return here
            case Choice(options):
                return {end for option in options for end in self.ends(option, start, spans)}
            case Permutation(parts):
                if not parts:
                    return {start}
                return {
                    end
                    for number, part in enumerate(parts)
                    for at in self.ends(part, start, spans)
                    for end in self.ends(Permutation(parts[:number] + parts[number + 1 :]), at, spans)
                }
            case Repeat(body, int(least), int() | None as most):
                return self._repeat_ends(body, least, most, start, spans)
        raise AssertionError(expr)

    def _repeat_ends(self, body: Expr, least: int, most: int | None, start: int, spans: Spans) -> set[int]:
        found: set[int] = set()
        here, count = {start}, 0
        while here and (most is None or count <= most):
            if count >= least:
                if here <= found:
                    break
                found |= here
            here = {end for at in here for end in self.ends(body, at, spans)}
            count += 1
        return found

    def settled(self, expr: Expr, start: int) -> set[int]:
        key = expr, start
        if key not in self._settled:
            self._settled[key] = self.ends(expr, start, self.spans)
        return self._settled[key]

    def is_complete(self, symbol: str) -> bool:
        return len(self.text) in self.spans[symbol, 0]

    # --- Whether the text can go on ---------------------------------------------------------------------------------

    @cached_property
    def _open(self) -> set[tuple[str, int]]:
        """(symbol, start) for which the text from there on is the beginning of something longer."""
        found: set[tuple[str, int]] = set()
        while True:
            after = {(s, i) for s, i in self.spans if self._goes_on(self.rules[s], i, found)}
            if after == found:
                return found
            found = after

    def _goes_on(self, expr: Expr, start: int, found: set[tuple[str, int]]) -> bool:
        rest = self.text[start:]
        match expr:
            case Literal(str(value)):
                return value.startswith(rest) and len(value) > len(rest)
            case Pattern(str(source)):
                return any(re.fullmatch(source, rest + more) for more in EXTENSIONS if more)
            case Ref(symbol):
                return (symbol, start) in found
            case Sequence(parts):
                here = {start}
                for part in parts:
                    if any(self._goes_on(part, at, found) for at in here):
                        return True
                    here = {end for at in here for end in self.settled(part, at)}
                return False
            case Choice(options):
                return any(self._goes_on(option, start, found) for option in options)
            case Permutation(parts):
                return any(
                    self._goes_on(part, start, found)
                    or any(
                        self._goes_on(Permutation(parts[:number] + parts[number + 1 :]), at, found)
                        for at in self.settled(part, start)
                    )
                    for number, part in enumerate(parts)
                )
            case Repeat(body, int(least), int() | None as most):
                seen: set[int] = set()
                here, count = {start}, 0
                while here and (most is None or count < most):
                    if any(self._goes_on(body, at, found) for at in here):
                        return True
                    if count >= least and here <= seen:
                        return False
                    seen |= here
                    here = {end for at in here for end in self.settled(body, at)}
                    count += 1
                return False
        raise AssertionError(expr)

    def may_go_on(self, symbol: str) -> bool:
        return (symbol, 0) in self._open

    # --- Trees ------------------------------------------------------------------------------------------------------

    def trees(self, symbol: str) -> Iterator[Node]:
        return self._symbol(symbol, 0, len(self.text), frozenset())

    def _symbol(self, symbol: str, start: int, end: int, inside: frozenset[str]) -> Iterator[Node]:
        """`inside`: the symbols around this one with the very same span."""
        if symbol in inside or end not in self.spans[symbol, start]:
            return
        span = (start, end, inside | {symbol})
        for children in self._derive(self.rules[symbol], start, end, span):
            yield Node(NonTerminal(symbol), children)

    def _derive(self, expr: Expr, start: int, end: int, span: Span) -> Derivations:
        self.patience -= 1
        if self.patience < 0 or end not in self.settled(expr, start):
            return
        match expr:
            case Literal() | Pattern():
                yield (self.text[start:end],)
            case Ref(symbol):
                inside = span[2] if (start, end) == span[:2] else frozenset()
                for node in self._symbol(symbol, start, end, inside):
                    yield (node,)
            case Sequence(parts):
                yield from self._derive_sequence(flat(parts), start, end, span)
            case Choice(options):
                for option in options:
                    yield from self._derive(option, start, end, span)
            case Permutation(parts):
                yield from self._derive_permutation(parts, start, end, span)
            case Repeat(body, int(least), int() | None as most):
                yield from self._derive_repeat(body, least, most, 0, start, end, span)

    def _derive_sequence(self, parts: tuple[Expr, ...], start: int, end: int, span: Span) -> Derivations:
        if not parts:
            if start == end:
                yield ()
            return
        for middle in range(end, start - 1, -1):
            for first in self._derive(parts[0], start, middle, span):
                for rest in self._derive_sequence(parts[1:], middle, end, span):
                    yield first + rest

    def _derive_permutation(self, parts: tuple[Expr, ...], start: int, end: int, span: Span) -> Derivations:
        if not parts:
            if start == end:
                yield ()
            return
        for number, part in enumerate(parts):
            for middle in range(end, start - 1, -1):
                for first in self._derive(part, start, middle, span):
                    for rest in self._derive_permutation(parts[:number] + parts[number + 1 :], middle, end, span):
                        yield first + rest

    def _derive_repeat(
        self, body: Expr, least: int, most: int | None, count: int, start: int, end: int, span: Span
    ) -> Derivations:
        if count >= least and start == end:
            yield ()
        if most is not None and count >= most:
            return
        for middle in range(end, start - 1, -1):
            if count >= least and middle == start:
                continue
            for first in self._derive(body, start, middle, span):
                for rest in self._derive_repeat(body, least, most, count + 1, middle, end, span):
                    yield first + rest


def flat(parts: tuple[Expr, ...]) -> tuple[Expr, ...]:
    found: list[Expr] = []
    for part in parts:
        found.extend(flat(part.parts) if isinstance(part, Sequence) else (part,))
    return tuple(found)


# --- Random grammars -----------------------------------------------------------------------------------------------

PATTERNS = ["a*", "[ab]", "b+", "a|ab", "(ab)*", "a?b?", "(?!b)[ab]+", "a{1,2}", "b$", "[ab]*b", "(?:a|b){2}"]
LITERALS = ["a", "b", "ab", "ba", "", "aab"]


def random_grammar(random: Random) -> dict[str, Expr]:
    """A grammar over a and b in which every symbol can end."""
    while True:
        symbols = [f"<{name}>" for name in "stuv"[: random.randint(1, 4)]]
        rules = {symbol: _random_expr(random, symbols, 3) for symbol in symbols}
        if all_end(rules):
            return rules


def _random_expr(random: Random, symbols: list[str], depth: int) -> Expr:
    kind = random.randrange(14) if depth else random.randrange(6)
    if kind < 2:
        return Literal(random.choice(LITERALS))
    if kind == 2:
        return Pattern(random.choice(PATTERNS))
    if kind < 6:
        return Ref(random.choice(symbols))
    several = tuple(_random_expr(random, symbols, depth - 1) for _ in range(random.randint(2, 3)))
    if kind < 9:
        return Sequence(several)
    if kind < 12:
        return Choice(several)
    if kind == 12:
        return Permutation(several)
    least = random.choice([0, 0, 0, 1, 1, 2])
    most = random.choice([None, None, least, least + 1, least + 2])
    return Repeat(several[0], least, most)


def all_end(rules: Mapping[str, Expr]) -> bool:
    ending: set[str] = set()

    def ends(expr: Expr) -> bool:
        match expr:
            case Ref(symbol):
                return symbol in ending
            case Sequence(parts) | Permutation(parts):
                return all(map(ends, parts))
            case Choice(options):
                return any(map(ends, options))
            case Repeat(body):
                # Stricter than needed: what cannot end must not occur at all, or nobody could say what may go on.
                return ends(body)
        return True

    for _ in rules:
        ending |= {symbol for symbol, body in rules.items() if ends(body)}
    return len(ending) == len(rules)
