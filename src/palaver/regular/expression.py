"""Regular expressions as textbooks define them (Kleene 1956): characters, concatenation, alternation, repetition.

A regular expression here always accepts something: the constructors leave out what never matches, and None stands for
the empty language. So every part of an expression can be completed, and an automaton never runs into a dead end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Never, TypeAlias, TypeVar, assert_never

from palaver.lean_dataclasses import dataclass
from palaver.regular.charset import CharSet

Inner = TypeVar("Inner", covariant=True)


@dataclass(frozen=True, slots=True)
class CharacterClass:
    chars: CharSet


@dataclass(frozen=True, slots=True)
class Concatenation(Generic[Inner]):
    parts: tuple[Inner, ...]


@dataclass(frozen=True, slots=True)
class Alternation(Generic[Inner]):
    options: tuple[Inner, ...]


@dataclass(frozen=True, slots=True)
class Repetition(Generic[Inner]):
    body: Inner
    least: int
    most: int | None


RegularExpression: TypeAlias = (
    "CharacterClass | Concatenation[RegularExpression] | Alternation[RegularExpression] | Repetition[RegularExpression]"
)
EMPTY_WORD: Concatenation[Never] = Concatenation(())


def concatenation(parts: Iterable[RegularExpression | None]) -> RegularExpression | None:
    found = []
    for part in parts:
        if part is None:
            return None
        if part is not EMPTY_WORD:
            found.append(part)
    return found[0] if len(found) == 1 else Concatenation(tuple(found)) if found else EMPTY_WORD


def alternation(options: Iterable[RegularExpression | None]) -> RegularExpression | None:
    found = tuple(option for option in options if option is not None)
    return Alternation(found) if len(found) > 1 else found[0] if found else None


def repetition(body: RegularExpression | None, least: int, most: int | None) -> RegularExpression | None:
    if body is None:
        return None if least else EMPTY_WORD
    if body is EMPTY_WORD or most == 0:
        return EMPTY_WORD
    # If the body can be empty then any number of iterations below the upper limit can be.
    return Repetition(body, 0 if can_be_empty(body) else least, most)


def can_be_empty(expression: RegularExpression) -> bool:
    """Return True if the expression accepts the empty word."""
    return length_range(expression)[0] == 0


def length_range(expression: RegularExpression) -> tuple[int, int | None]:
    """The lengths of the shortest and of the longest word (None: there is no longest)."""
    match expression:
        case CharacterClass():
            return 1, 1
        case Concatenation(parts) | Alternation(parts):
            ranges = [length_range(part) for part in parts]
            shortest, longest = [least for least, _ in ranges], [most for _, most in ranges if most is not None]
            is_sum = isinstance(expression, Concatenation)
            most = None if len(longest) < len(ranges) else sum(longest) if is_sum else max(longest)
            return sum(shortest) if is_sum else min(shortest), most
        case Repetition(body, least, most):
            shortest_body, longest_body = length_range(body)
            return shortest_body * least, None if longest_body is None or most is None else longest_body * most
        case _:
            assert_never(expression)


def character_sets(expression: RegularExpression) -> Iterator[CharSet]:
    """The sets of the expression's characters, from left to right."""
    match expression:
        case CharacterClass(chars):
            yield chars
        case Concatenation(parts) | Alternation(parts):
            for part in parts:
                yield from character_sets(part)
        case Repetition(body):
            yield from character_sets(body)
        case _:
            assert_never(expression)
