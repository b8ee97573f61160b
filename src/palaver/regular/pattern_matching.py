"""Matching of patterns in bounded work, for all places of a text at once (bitwise parallelism, Cameron et al. 2014).

Python's `re` goes back and tries again, and a text can be made on which that takes exponential time.
`backtracking_cost` tells from the pattern alone that it does not; otherwise `matches_at_all` is asked.

That works for all patterns without memory (back-references, atomic groups): it computes, from right to left, the set of
all places in the text from which a part of the pattern leads to one of a set of places. A set of places is a bit set,
so a character class is one shift and one mask for all of them, a look-around is an intersection, and a repetition is a
fixed point. Nothing is tried twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple, assert_never

from palaver.errors import Undecided
from palaver.regular.expression import EMPTY_WORD, Alternation, Concatenation, Repetition
from palaver.regular.regex_parser import (
    Anchor,
    BackReference,
    Conditional,
    Group,
    LookAround,
    PatternCharacter,
    PatternSyntax,
    WordBoundary,
)
from palaver.regular.regular_limits import MAX_BACKTRACKING_STEPS, MAX_SET_OPERATIONS


class BacktrackingCost(NamedTuple):
    """A bound on the steps of `re`: a factor, and the power of the length of the text that it is multiplied with."""

    factor: int
    power: int

    def is_small(self, length: int) -> bool:
        """Return True if a text of this length needs at most `MAX_BACKTRACKING_STEPS`."""
        return length < MAX_BACKTRACKING_STEPS and self.factor * (length + 1) ** self.power <= MAX_BACKTRACKING_STEPS


def backtracking_cost(syntax: PatternSyntax) -> BacktrackingCost | None:
    """A bound on the steps that `re` needs at most; None if none is known that is not exponential.

    Each repetition may end anywhere, which counts only if there is one way to do each of its rounds.
    """
    match syntax:
        case PatternCharacter() | BackReference() | Anchor() | WordBoundary():
            return BacktrackingCost(1, 0)
        case Concatenation(parts):
            costs = [backtracking_cost(part) for part in parts]
            known = [cost for cost in costs if cost is not None]
            power = sum(cost.power for cost in known)
            return BacktrackingCost(prod(cost.factor for cost in known), power) if len(known) == len(costs) else None
        case Alternation(options):
            return _alternatives(options)
        case Conditional(_, yes, no):
            return _alternatives((yes, no))
        case Group(_, body) | LookAround(body):
            return backtracking_cost(body)
        case Repetition(body, _, most):
            if most is not None and most <= 1:
                return _alternatives((body, EMPTY_WORD))
            return BacktrackingCost(1, 1) if _is_certain(body) else None
        case _:
            assert_never(syntax)


def _alternatives(options: tuple[PatternSyntax, ...]) -> BacktrackingCost | None:
    costs = [backtracking_cost(option) for option in options]
    known = [cost for cost in costs if cost is not None]
    power = max((cost.power for cost in known), default=0)
    return BacktrackingCost(sum(cost.factor for cost in known), power) if len(known) == len(costs) else None


def _is_certain(syntax: PatternSyntax) -> bool:
    """Return True if there is at most one way to match at a place, and it reads something or is a condition."""
    match syntax:
        case PatternCharacter() | Anchor() | WordBoundary():
            return True
        case Concatenation(parts):
            return all(map(_is_certain, parts))
        case Alternation(options):
            firsts = [_first(option) for option in options]
            return all(map(_is_certain, options)) and all(
                one is not None and other is not None and not one.chars & other.chars
                for number, one in enumerate(firsts)
                for other in firsts[:number]
            )
        case Group(_, body) | LookAround(body):
            return _is_certain(body)
        case Repetition() | BackReference() | Conditional():
            return False
        case _:
            assert_never(syntax)


def _first(syntax: PatternSyntax) -> PatternCharacter | None:
    """The character that something begins with, if it is a single one."""
    while not isinstance(syntax, PatternCharacter):
        if isinstance(syntax, Group):
            syntax = syntax.body
        elif isinstance(syntax, Concatenation) and syntax.parts:
            syntax = syntax.parts[0]
        else:
            return None
    return syntax


def matches_at_all(syntax: PatternSyntax, text: str, name: str) -> bool:
    """Return True if a pattern without memory, called `name`, matches all of `text`.

    :raises Undecided: it takes too much work
    """
    return bool(_PlaceSets(text, name).starts(syntax, 1 << len(text)) & 1)


class _PlaceSets:
    """Sets of places in one text: bit n stands for the place before the character number n."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._everywhere = (2 << len(text)) - 1
        self._standing: dict[int, int] = {}  # where a character stands that fits, by the identity of the class
        self._cost = 1 + len(text) // 1024  # of one operation on a set
        self._work = 0

    def starts(self, syntax: PatternSyntax, ends: int) -> int:
        """All places from which a match leads to one of `ends`."""
        match syntax:
            case PatternCharacter():
                return ends >> 1 & self._where(syntax)
            case Concatenation(parts):
                for part in reversed(parts):
                    ends = self.starts(part, ends)
                return ends
            case Alternation(options):
                found = 0
                for option in options:
                    found |= self.starts(option, ends)
                return found
            case Repetition(body, least, most):
                return self._repeated(body, least, most, ends)
            case Group(_, body):
                return self.starts(body, ends)
            case LookAround(body, is_negative, is_behind, width):
                found = self.starts(body, self._everywhere)
                if is_behind:
                    found <<= width
                return ends & ~found if is_negative else ends & found
            case Anchor():
                return ends & self._at(syntax)
            case WordBoundary(word, is_negative):
                inside = self._bits(char in word for char in self._text)
                found = inside ^ inside << 1
                return ends & ~found if is_negative else ends & found
            case BackReference() | Conditional():
                raise AssertionError("a pattern with memory")
            case _:
                assert_never(syntax)

    def _repeated(self, body: PatternSyntax, least: int, most: int | None, ends: int) -> int:
        found = added = ends
        more = most
        while added and (more is None or more > least):
            self._spend()
            added = self.starts(body, added) & ~found
            found |= added
            more = None if more is None else more - 1
        for _ in range(least):
            self._spend()
            before, found = found, self.starts(body, found)
            if found == before:
                break
        return found

    def _spend(self) -> None:
        self._work += self._cost
        if self._work > MAX_SET_OPERATIONS:
            MAX_SET_OPERATIONS.reached()
            raise Undecided(f"matching {len(self._text)} characters with the pattern {self._name} takes too many steps")

    def _where(self, character: PatternCharacter) -> int:
        key = id(character)
        if key not in self._standing:
            chars = character.chars
            fits = {char: char in chars for char in set(self._text)}
            self._standing[key] = self._bits(fits[char] for char in self._text)
        return self._standing[key]

    def _bits(self, members: Iterable[bool]) -> int:
        digits = "".join(["1" if each else "0" for each in members])
        return int(digits[::-1] or "0", 2)

    def _at(self, anchor: Anchor) -> int:
        size = len(self._text)
        if anchor is Anchor.START:
            return 1
        if anchor is Anchor.END:
            return 1 << size
        breaks = self._bits(char == "\n" for char in self._text)
        if anchor is Anchor.LINE_START:
            return 1 | breaks << 1
        return 1 << size | (breaks if anchor is Anchor.LINE_END else breaks & 1 << size >> 1)
