"""Regular expressions in the textbook sense: characters, sequences, alternatives, loops.

Everything that textbooks do not have is widened (a look-around or an anchor to nothing, a back-reference to any
text), so an outline accepts at least what its pattern accepts. If nothing had to be widened the pattern is *plain*
and the outline exact.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from re import _constants as op  # type: ignore[attr-defined]  # private, but the only door to the parsed form;
from re import _parser as parser  # type: ignore[attr-defined]  # these two lines are the only place that opens it.
from typing import Any, TypeAlias

from palaver.grammar.charset import END_OF_UNICODE, EVERY, CharSet

__all__ = [
    "CHARACTERS",
    "NOTHING",
    "REPEATS",
    "Chars",
    "Fork",
    "Loop",
    "Outline",
    "Outliner",
    "Series",
    "can_be_empty",
    "characters",
    "flags_inside",
    "is_plain",
    "op",
    "parser",
    "quietly_compile",
]


@dataclass(frozen=True, slots=True)
class Chars:
    chars: CharSet


@dataclass(frozen=True, slots=True)
class Series:
    parts: tuple[Outline, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    options: tuple[Outline, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    body: Outline
    least: int
    most: int | None


Outline: TypeAlias = Chars | Series | Fork | Loop
NOTHING = Series(())

CHARACTERS = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_TYPE_FLAGS = re.ASCII | re.LOCALE | re.UNICODE
_PLAIN = frozenset(
    (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN, op.BRANCH, op.SUBPATTERN, op.MAX_REPEAT, op.MIN_REPEAT, op.FAILURE)
)


def is_plain(tree: Any) -> bool:
    """Whether nothing in a parsed pattern has to be widened."""
    stack = [tree]
    while stack:
        for kind, value in stack.pop():
            if kind not in _PLAIN:
                return False
            if kind is op.SUBPATTERN:
                stack.append(value[3])
            elif kind in REPEATS:
                stack.append(value[2])
            elif kind is op.BRANCH:
                stack.extend(value[1])
    return True


class Outliner:
    """Makes outlines over one alphabet. What can never match is cut away at once: None stands for it.

    So every part of an outline that is left can be completed, and a thread that is alive has a future.
    """

    def __init__(self, alphabet: CharSet) -> None:
        self.alphabet = alphabet

    def sequence(self, tree: Any, flags: int) -> Outline | None:
        parts = []
        for kind, value in tree:
            part = self.part(kind, value, flags)
            if part is None:
                return None
            if part is not NOTHING:
                parts.append(part)
        return parts[0] if len(parts) == 1 else Series(tuple(parts)) if parts else NOTHING

    def part(self, kind: Any, value: Any, flags: int) -> Outline | None:
        if kind in REPEATS:
            return self.loop(value, flags)
        if kind is op.SUBPATTERN:
            return self.sequence(value[3], flags_inside(value, flags))
        if kind is op.BRANCH:
            return self.choice(value[1], flags)
        if kind is op.ATOMIC_GROUP:
            return self.sequence(value, flags)
        if kind is op.GROUPREF_EXISTS:
            _, yes, no = value
            return self.choice((yes, no if no is not None else ()), flags)
        if kind is op.GROUPREF:
            return Loop(Chars(self.alphabet), 0, None)
        if kind is op.ASSERT_NOT and not value[1]:
            return None  # (?!): nothing is never absent
        if kind in (op.ASSERT, op.ASSERT_NOT, op.AT):
            return NOTHING
        chars = CharSet() if kind is op.FAILURE else characters(kind, value, flags) & self.alphabet
        return Chars(chars) if chars else None

    def choice(self, trees: Sequence[Any], flags: int) -> Outline | None:
        options = tuple(option for tree in trees if (option := self.sequence(tree, flags)) is not None)
        return Fork(options) if len(options) > 1 else options[0] if options else None

    def loop(self, value: Any, flags: int) -> Outline | None:
        least, most, tree = value
        body = self.sequence(tree, flags)
        limit = None if most is op.MAXREPEAT or most >= op.MAXREPEAT else int(most)
        if body is None:
            return None if least else NOTHING
        if body is NOTHING or limit == 0:
            return NOTHING
        # If the body can be empty then any number of iterations below the upper limit can be.
        return Loop(body, 0 if can_be_empty(body) else int(least), limit)


def flags_inside(group: Any, flags: int) -> int:
    """The flags that hold inside a group, given those around it."""
    _, added, removed, _ = group
    if added & _TYPE_FLAGS:
        flags &= ~_TYPE_FLAGS
    return int((flags | added) & ~removed)


def can_be_empty(outline: Outline) -> bool:
    """Whether it accepts the empty text."""
    match outline:
        case Chars():
            return False
        case Series(parts):
            return all(map(can_be_empty, parts))
        case Fork(options):
            return any(map(can_be_empty, options))
        case Loop(body, least, _):
            return least == 0 or can_be_empty(body)


# As plain numbers: to combine flags of `re` takes longer than all the rest.
_DOTALL, _IGNORECASE, _ASCII = int(re.DOTALL), int(re.IGNORECASE), int(re.ASCII)


def characters(kind: Any, value: Any, flags: int) -> CharSet:
    """The set that one character of a pattern stands for."""
    if kind is op.ANY:
        return EVERY if flags & _DOTALL else EVERY - CharSet.of("\n")
    if kind is op.LITERAL and not flags & _IGNORECASE:
        return CharSet((value, value + 1))
    if kind is op.NOT_LITERAL and not flags & _IGNORECASE:
        return EVERY - CharSet((value, value + 1))
    if kind is op.IN and not flags & _IGNORECASE and not any(item[0] is op.CATEGORY for item in value):
        pairs = [item[1] if item[0] is op.RANGE else (item[1], item[1]) for item in value if item[0] is not op.NEGATE]
        members = CharSet.ranges(pairs)
        return EVERY - members if value[0][0] is op.NEGATE else members
    if kind is op.LITERAL:
        value = [(op.LITERAL, value)]
    elif kind is op.NOT_LITERAL:
        value = [(op.NEGATE, None), (op.LITERAL, value)]
    return _ask_python("".join(map(_class_item, value)), flags & (_IGNORECASE | _ASCII))


_CATEGORY_TEXT = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s", op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _class_item(item: tuple[Any, Any]) -> str:
    kind, value = item
    if kind is op.NEGATE:
        return "^"
    if kind is op.CATEGORY:
        return _CATEGORY_TEXT[value]
    return CharSet.ranges([value if kind is op.RANGE else (value, value)]).as_class()


@cache
def _ask_python(members: str, flags: int) -> CharSet:
    """The set of a bracket expression, found by matching it against every character there is.

    Case-insensitive matching and \\w have so many special cases that only `re` itself knows them all.
    """
    runs = quietly_compile(f"[{members}]+", flags).finditer(_every_character())
    return CharSet(tuple(bound for run in runs for bound in run.span()))


@cache
def _every_character() -> str:
    return "".join(map(chr, range(END_OF_UNICODE)))


def quietly_compile(text: str, flags: int) -> re.Pattern[str]:
    """The pattern as `re` has it; what it warns about is none of the user's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(text, flags)
